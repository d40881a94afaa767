"""`karptui claims`: the Claims screen as a table, JSON or CSV."""

from __future__ import annotations

import argparse

from karptui.cli.errors import UsageError, fail
from karptui.cli.listing import print_rows, refuse_unseen, report, rows_of
from karptui.cli.options import add_cluster_flags, add_price_flags, add_row_flags
from karptui.decode.kinds import Kind


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_cluster_flags(parser)
    add_price_flags(parser)
    add_row_flags(parser, labels_of="NodeClaims")


def run(args: argparse.Namespace) -> int:
    """Print the NodeClaims. Status 1 if something is missing."""
    from karptui.cli.loading import analysed, load
    from karptui.session.claims import claim_entries
    from karptui.views.claims.columns import TABLE

    try:
        loaded = load(args, (Kind.NODECLAIM, Kind.NODE, Kind.NODEPOOL, Kind.POD))
        refuse_unseen("claims", loaded, Kind.NODECLAIM)
        loaded = analysed(loaded, simulates=False)
        rows = rows_of(TABLE, claim_entries(loaded.view), args, loaded.now_ns)
    except UsageError as error:
        fail(str(error), "claims")
    print_rows(rows, args)
    return report("claims", loaded)
