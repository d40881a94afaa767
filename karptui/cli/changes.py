"""`karptui changes`: what changed between two moments of a history, and who changed it."""

from __future__ import annotations

import argparse
from contextlib import closing

from karptui.cli.listing import has_lines_above, print_rows, rows_of
from karptui.cli.options import add_cluster_flags, add_row_flags, add_span_flags, refuse_unused
from karptui.cli.source import chosen_history
from karptui.cli.streams import put, say
from karptui.views.sanitize import page


def configure(parser: argparse.ArgumentParser) -> None:
    add_span_flags(parser, since="-30m")
    add_cluster_flags(parser, takes_several=False)
    add_row_flags(parser, labels_of=None, filter_example="kind=NodePool by=argocd", sort_example="when=dsc")


def run(args: argparse.Namespace) -> int:
    """Print the changes. Status 2 if there is no history, or nothing of that time."""
    from karptui.session.changes import changes_of
    from karptui.sources.history.store import History
    from karptui.views.changes import TABLE, headline

    refuse_unused(args, ("karpenter_version",), "has no effect: no rules decide here")
    with closing(History(chosen_history(args))) as history:
        last_ns = history.end_ns()
        until_ns = args.until(last_ns) if args.until is not None else last_ns
        change_set = changes_of(history, args.since(last_ns), until_ns)
    if has_lines_above(args):
        put(page(headline(change_set)), is_error=not change_set.changes)
    rows = rows_of(TABLE, change_set.changes, args, change_set.to_ns)
    if rows or args.output in ("json", "csv"):
        print_rows(rows, args)
    for note in change_set.notes:
        say(note)
    return 0
