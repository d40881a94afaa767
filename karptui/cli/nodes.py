"""`karptui nodes`: the Nodes screen as a table, JSON or CSV."""

from __future__ import annotations

import argparse

from karptui.cli.errors import UsageError, fail
from karptui.cli.listing import check_resources, print_rows, refuse_unseen, report, rows_of
from karptui.cli.loading import analysed, load
from karptui.cli.options import (
    add_cluster_flags,
    add_column_flags,
    add_price_flags,
    add_row_flags,
    add_usage_flag,
    add_why_flags,
)
from karptui.decode.kinds import Kind


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_cluster_flags(parser)
    add_price_flags(parser)
    add_row_flags(parser, labels_of="nodes", sort_flags=("--node-sort",))
    add_usage_flag(parser)
    add_why_flags(parser)
    parser.add_argument("--node-selector", dest="selector", metavar="K=V", help="the same as -l")
    add_column_flags(parser, default=())


def run(args: argparse.Namespace) -> int:
    """Print the nodes. Status 1 if something is missing."""
    from karptui.views.nodes.columns import nodes_table

    labels = tuple(args.extra_labels)
    try:
        check_resources(args.resources, "--resources")
        loaded = load(args, (Kind.NODE, Kind.NODECLAIM, Kind.POD))
        refuse_unseen("nodes", loaded, Kind.NODE, Kind.NODECLAIM)
        loaded = analysed(loaded, simulates=args.simulate)
        rows = rows_of(
            nodes_table(labels, has_prices=not args.disable_pricing, resources=tuple(args.resources)),
            loaded.view.node_entries,
            args,
            loaded.now_ns,
        )
    except UsageError as error:
        fail(str(error), "nodes")
    print_rows(rows, args)
    return report("nodes", loaded)
