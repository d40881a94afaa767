"""`karptui budgets`: the Budgets screen as a table, JSON or CSV."""

from __future__ import annotations

import argparse

from karptui.cli.errors import UsageError, fail
from karptui.cli.listing import print_rows, refuse_unseen, report, rows_of
from karptui.cli.options import add_cluster_flags, add_price_flags, add_row_flags
from karptui.clock import LocalZone
from karptui.decode.kinds import Kind


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_cluster_flags(parser)
    add_price_flags(parser)
    add_row_flags(parser, labels_of="NodePools")


def run(args: argparse.Namespace) -> int:
    """Print the budgets. Status 1 if something is missing."""
    from karptui.cli.loading import analysed, load
    from karptui.session.budgets import budget_entries
    from karptui.views.budgets.columns import budgets_table

    try:
        loaded = load(args, (Kind.NODEPOOL, Kind.NODE, Kind.NODECLAIM, Kind.POD))
        refuse_unseen("budgets", loaded, Kind.NODEPOOL)
        loaded = analysed(loaded, simulates=False)
        rows = rows_of(budgets_table(LocalZone()), budget_entries(loaded.view), args, loaded.now_ns)
    except UsageError as error:
        fail(str(error), "budgets")
    print_rows(rows, args)
    return report("budgets", loaded)
