"""`karptui audit`: the recorded actions."""

from __future__ import annotations

import argparse
from pathlib import Path

from karptui.cli.listing import print_rows, rows_of
from karptui.cli.option_values import file_name
from karptui.cli.options import add_row_flags
from karptui.cli.streams import UsageError, say
from karptui.kube.units import counted


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", type=file_name, nargs="?", help="an audit file; this machine's by default"
    )
    add_row_flags(
        parser, labels_of=None, rows="actions", filter_example="outcome=refused action=delete", sort_example="time=asc",
        forms=("table", "json", "csv"),
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Print the actions. Status 1 if a line cannot be read, 2 if there is no audit file."""
    import time

    from karptui.actions.audit_record import entries_of
    from karptui.paths import audit_file
    from karptui.sources.actions.audit import read_audit
    from karptui.views.actions import TABLE

    try:
        path = Path(args.file) if args.file else audit_file()
        if not args.file and not path.exists():
            raise UsageError(f"{path}: there is no audit file: no action was carried out on this machine")
        records, unreadable = read_audit(path)
    except OSError as error:
        raise UsageError(f"the audit file cannot be read: {error.strerror or error}") from error
    rows = rows_of(TABLE, entries_of(records), args, time.time_ns())
    print_rows(rows, args)
    if unreadable:
        say(f"{path}: {counted(unreadable, 'line')} cannot be read")
    return 1 if unreadable else 0
