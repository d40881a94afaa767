"""`karptui pending`: the Pending screen as a table, JSON or CSV."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from msgspec.structs import replace

from karptui.cli.errors import UsageError, fail
from karptui.cli.listing import print_rows, refuse_unseen, report, rows_of
from karptui.cli.options import add_cluster_flags, add_namespace_flags, add_price_flags, add_row_flags
from karptui.cli.streams import put
from karptui.decode.kinds import Kind
from karptui.views.sanitize import clean, page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from karptui.session.pending_report import PendingEntry


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_namespace_flags(parser, "only pods of this namespace; all by default")
    add_cluster_flags(parser)
    add_price_flags(parser)
    add_row_flags(parser, labels_of="pods")


def run(args: argparse.Namespace) -> int:
    """Print the pending pods, folded by cause. Status 1 if something is missing."""
    from karptui.cli.loading import load
    from karptui.pending.study import study_pending
    from karptui.session.pending import may_list_events
    from karptui.session.pending_report import PendingEntry
    from karptui.session.prepare import prepare_view
    from karptui.views.pending.columns import TABLE

    needed = (Kind.POD, Kind.NODE, Kind.NODECLAIM, Kind.NODEPOOL, Kind.NODECLASS, Kind.DAEMONSET, Kind.EVENT)
    try:
        loaded = load(args, needed)
        refuse_unseen("pending", loaded, Kind.POD)
        prepared, notes = prepare_view(loaded.view, loaded.now_ns)
        loaded = replace(loaded, notes=tuple(dict.fromkeys((*loaded.notes, *notes))))
        may_list = may_list_events(loaded.view)
        found = study_pending(prepared, loaded.view.state, prices=loaded.view.evidence.price_settings)
        entries = [PendingEntry(group, may_list) for group in found.groups]
        if args.namespace and not args.all_namespaces:
            entries = [entry for entry in entries if entry.group.first.namespace == args.namespace]
        rows = rows_of(TABLE, entries, args, loaded.now_ns)
    except UsageError as error:
        fail(str(error), "pending")
    print_rows(rows, args)
    if args.output in ("table", "wide"):
        _print_entries(rows.items)
    return report("pending", loaded)


def _print_entries(entries: Sequence[PendingEntry]) -> None:
    """Print disagreements of the verdicts, as the screen does below its table."""
    from karptui.views.pending.sentences import disagreement_lines

    for entry in entries:
        for line in disagreement_lines(entry.group):
            put(page(f"{clean(entry.group.name)}: {''.join(text for text, _ in line)}"), is_error=True)
