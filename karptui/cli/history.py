"""`karptui history`: nodes, cost, requests, launches, removals and savings over time, from the recorded history."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING, Final

from karptui.cli.listing import has_lines_above, print_lines, print_rows, report, rows_of
from karptui.cli.options import add_cluster_flags, add_price_flags, add_row_flags, add_span_flags, add_step_flag
from karptui.cli.source import chosen_history
from karptui.cli.streams import UsageError
from karptui.decode.kinds import Kind
from karptui.kube.timestamps import PastTime

if TYPE_CHECKING:
    from karptui.sources.history.store import History

_MOST: Final = 2_000
"""Steps of one table."""


def configure(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which time, and in which steps")
    add_span_flags(group, since="-24h")
    add_step_flag(group, "length of each row (default: chosen for up to 24 rows)")
    choice = group.add_mutually_exclusive_group()
    choice.add_argument("--pool", metavar="NAME", help="of one NodePool instead of the whole cluster")
    choice.add_argument("--pools", action="store_true", help="a row for each NodePool in addition")
    add_cluster_flags(parser, takes_several=False)
    add_price_flags(parser)
    add_row_flags(parser, labels_of=None, filter_example="nodes>10", sort_example="cost=dsc")


def run(args: argparse.Namespace) -> int:
    """Print the history. Status 1 if something is missing."""
    from karptui.cli.loading import load
    from karptui.session.history_report import default_step, report_of
    from karptui.sources.history.store import History
    from karptui.views.history import lines_above, table_of

    path = chosen_history(args)
    with closing(History(path)) as history:
        from_ns, to_ns = history.recorded_span(*span(history, args.since, args.until))
        step_ns = args.step or default_step(from_ns, to_ns)
        if (to_ns - from_ns) // step_ns >= _MOST:
            raise UsageError(f"--step: that makes more than {_MOST:,} rows; choose a longer step or a shorter time")
        # Prices and NodePools are those of the end.
        args.at = PastTime("", instant_ns=to_ns)
        loaded = load(args, (Kind.NODEPOOL,), is_listed=True)
        view = loaded.view
        nodepools_report = report_of(history, range(from_ns, to_ns, step_ns), view.state.nodepools, view.prices)
    if args.pool is not None and args.pool not in nodepools_report.pools:
        raise UsageError(
            f"there was no NodePool {args.pool} in that time; there were: {', '.join(nodepools_report.pools) or 'none'}"
        )
    steps = [step for step in nodepools_report.steps if args.pools or step.pool == args.pool]
    rows = rows_of(table_of(steps), steps, args, loaded.now_ns, keeps_order=True)
    if has_lines_above(args):
        print_lines(lines_above(steps, nodepools_report.predictions))
    print_rows(rows, args)
    return report(loaded)


def span(history: History, since: PastTime, until: PastTime | None) -> tuple[int, int]:
    """Return the asked time, relative to the end of a history. Raises UsageError: it ends before it begins."""
    newest_ns = history.end_ns()
    to_ns = until(newest_ns) if until is not None else newest_ns
    from_ns = since(newest_ns)
    if newest_ns and from_ns >= to_ns:
        raise UsageError("--from is not before --to")
    return from_ns, to_ns
