"""`karptui events`: the Events screen as a table, JSON or CSV."""

from __future__ import annotations

import argparse

from karptui.cli.errors import UsageError, fail
from karptui.cli.listing import print_rows, refuse_unseen, report, rows_of
from karptui.cli.options import add_cluster_flags, add_row_flags
from karptui.decode.kinds import Kind


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_cluster_flags(parser)
    add_row_flags(parser, labels_of=None)


def run(args: argparse.Namespace) -> int:
    """Print the events. Status 1 if something is missing."""
    from karptui.cli.loading import load
    from karptui.session.events import Timeline
    from karptui.views.events import TABLE

    try:
        loaded = load(args, (Kind.EVENT, Kind.NODE, Kind.NODECLAIM), is_listed=True)
        refuse_unseen("events", loaded, Kind.EVENT, Kind.NODE, Kind.NODECLAIM)
        rows = rows_of(TABLE, Timeline().entries(loaded.view), args, loaded.now_ns)
    except UsageError as error:
        fail(str(error), "events")
    print_rows(rows, args)
    return report("events", loaded)
