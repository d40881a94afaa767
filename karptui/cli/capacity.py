"""`karptui capacity`: where nodes, pods, free room and dollars are, as a table, JSON or CSV."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from karptui.cli.errors import UsageError, fail
from karptui.cli.listing import print_rows, refuse_unseen, report, rows_of, width_of_terminal
from karptui.cli.loading import analysed, load
from karptui.cli.options import add_cluster_flags, add_price_flags, add_row_flags, add_why_flags
from karptui.cli.streams import put
from karptui.decode.kinds import Kind
from karptui.views.sanitize import page

if TYPE_CHECKING:
    from karptui.cli.loading import Loaded


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from karptui.session.capacity import GROUPINGS

    add_cluster_flags(parser)
    add_price_flags(parser)
    add_row_flags(parser, labels_of=None)
    add_why_flags(parser)
    parser.add_argument(
        "--by",
        choices=GROUPINGS,
        default=GROUPINGS[0],
        help="group nodes by zone and capacity type (the default), NodePool, or instance type",
    )
    parser.add_argument(
        "--packing",
        choices=("cpu", "memory"),
        help="instead of the table a picture: NodePools as boxes, nodes as bins, pods as blocks",
    )


def run(args: argparse.Namespace) -> int:
    """Print the parts of the cluster. Status 1 if something is missing."""
    from karptui.disruption.churn.report import churn_of
    from karptui.session.capacity import capacity_entries
    from karptui.session.churn import unknown_because
    from karptui.state.inventory import inventory_of
    from karptui.views.capacity import capacity_sentence, capacity_table

    try:
        loaded = load(args, (Kind.NODE, Kind.NODECLAIM, Kind.POD))
        refuse_unseen("capacity", loaded, Kind.NODE, Kind.NODECLAIM)
        loaded = analysed(loaded, simulates=args.simulate)
        is_known = not unknown_because(loaded.view.statuses)
        state = loaded.view.state
        churn = churn_of(inventory_of(state), loaded.now_ns, state.history) if is_known else None
        if args.packing is not None:
            _check_picture(args)
        analysis = loaded.view.analysis
        joint = analysis.joint if analysis is not None else None
        entries = capacity_entries(loaded.view.node_entries, args.by, churn, joint)
        table = capacity_table(args.by, has_prices=not args.disable_pricing)
        rows = rows_of(table, entries, args, loaded.now_ns)
    except UsageError as error:
        fail(str(error), "capacity")
    if args.packing is not None:
        _print_picture(loaded, args.packing)
        return report("capacity", loaded)
    if args.output in ("table", "wide") and not args.no_headers:
        said = "".join(text for text, _ in capacity_sentence(entries, args.by))
        put(page(f"{said}\n\n" if said else ""), end="")
    print_rows(rows, args)
    return report("capacity", loaded)


def _check_picture(args: argparse.Namespace) -> None:
    if args.output in ("json", "csv"):
        raise UsageError("--packing is a picture; karptui packing -o json has its figures")


def _print_picture(loaded: Loaded, resource: str) -> None:
    from karptui.session.packing import bins_of
    from karptui.views.packing import packing_lines

    for line in packing_lines(bins_of(loaded.view), resource, width_of_terminal()):
        put(page("".join(text for text, _ in line).rstrip()))
