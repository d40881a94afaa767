"""`karptui churn`: how often nodes are replaced and why, as a table, JSON or CSV."""

from __future__ import annotations

import argparse
import shutil
from typing import TYPE_CHECKING, Any

from karptui.cli.listing import WIDTH, has_lines_above, print_json, print_lines, print_rows, report, rows_of
from karptui.cli.options import add_cluster_flags, add_price_flags, add_row_flags
from karptui.cli.streams import UsageError
from karptui.decode.kinds import Kind
from karptui.errors import no_such

if TYPE_CHECKING:
    from karptui.cli.loading import Loaded
    from karptui.disruption.churn.report import Churn


def configure(parser: argparse.ArgumentParser) -> None:
    add_cluster_flags(parser)
    add_price_flags(parser)
    add_row_flags(parser, labels_of="NodePools")
    group = parser.add_argument_group("churn")
    group.add_argument(
        "--replacements", action="store_true", help="NodeClaims that were removed, one by one, instead of NodePools"
    )
    group.add_argument("--pool", metavar="NAME", help="the same of one NodePool")


def run(args: argparse.Namespace) -> int:
    """Print the churn. Status 1 if something is missing."""
    from karptui.session.churn import churn_entries, replacements
    from karptui.views.churn.columns import TABLE as POOLS
    from karptui.views.churn.replacements import TABLE as REPLACEMENTS

    loaded, churn = _load(args)
    if args.replacements or args.pool is not None:
        removed = rows_of(REPLACEMENTS, replacements(churn, args.pool), args, loaded.now_ns)
        if args.output == "json":
            _print_json(churn, {"replacements": removed.values()})
        else:
            _print_lines(churn, args, loaded)
            print_rows(removed, args)
        return report(loaded)
    rows = rows_of(POOLS, churn_entries(loaded.view, churn), args, loaded.now_ns)
    if args.output == "json":
        _print_json(churn, _details(churn, rows.values()))
    else:
        _print_lines(churn, args, loaded)
        print_rows(rows, args)
    return report(loaded)


def _load(args: argparse.Namespace) -> tuple[Loaded, Churn]:
    """Return the cluster and its churn. Raises UsageError: the churn is unknown, or there is no such NodePool."""
    from karptui.cli.loading import load
    from karptui.disruption.churn.report import churn_of
    from karptui.session.churn import unknown_because
    from karptui.state.cluster import inventory_of

    loaded = load(args, (Kind.NODECLAIM, Kind.EVENT, Kind.NODEPOOL, Kind.NODE, Kind.POD), is_listed=True)
    if refusal := unknown_because(loaded.view.statuses):
        raise UsageError(refusal)
    state = loaded.view.state
    if args.pool is not None and args.pool not in state.nodepools:
        raise no_such("NodePool", args.pool, state.nodepools)
    return loaded, churn_of(inventory_of(state), loaded.now_ns, state.history)


def _print_lines(churn: Churn, args: argparse.Namespace, loaded: Loaded) -> None:
    """Print the window, the charts and the loops above a table."""
    from karptui.session.churn import events_hidden
    from karptui.views.churn.sentences import summary_lines

    if has_lines_above(args):
        width = shutil.get_terminal_size((WIDTH, 24)).columns
        is_hidden = events_hidden(loaded.view.statuses)
        print_lines((*summary_lines(churn, width, are_events_hidden=is_hidden), ()))


def _details(churn: Churn, pools: list[dict[str, Any]]) -> dict[str, Any]:
    from karptui.views.churn.sentences import chart_values, loop_values, workload_values

    return {
        "chart": chart_values(churn),
        "pools": pools,
        "workloads": [workload_values(workload) for workload in churn.moved],
        "loops": [loop_values(loop) for loop in churn.loops],
    }


def _print_json(churn: Churn, details: dict[str, Any]) -> None:
    from karptui.views.churn.sentences import window_values

    print_json({"window": window_values(churn.window), **details})
