"""`karptui pause`: how to stop voluntary disruption, what goes on, its cost, and what its end releases."""

from __future__ import annotations

import argparse
from typing import Final

from karptui.cli.listing import rows_of
from karptui.cli.many import assumption_lines, chosen, each_of, one_base, opened, print_report, table_lines
from karptui.cli.options import add_horizon_flag, add_study_flags, add_workers_flag, refuse_unused
from karptui.cli.streams import show_percent

_REASONS: Final = ("Empty", "Drifted", "Underutilized")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pool", metavar="NAME", action="append", default=[], help="only this NodePool; repeatable (default: all)"
    )
    parser.add_argument(
        "--reason",
        metavar="REASON",
        action="append",
        choices=_REASONS,
        default=[],
        help="only disruption for this reason: Empty, Drifted or Underutilized; repeatable (default: all voluntary)",
    )
    parser.add_argument(
        "--until",
        metavar="TIME",
        default="",
        help="end of the pause: 2h, 18:00Z, 2026-11-28T18:00:00Z (default: none)",
    )
    parser.add_argument(
        "--release", action="store_true", help="end the active pauses instead, and show what that releases"
    )
    add_horizon_flag(parser, "length of the forecast after the release, and of a simulated pause without an end")
    add_study_flags(parser, rows="removals", filter_example="why=expires", sort_example="evictions=dsc")
    add_workers_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Print the change and its effects. Status 1 if something is missing."""
    from karptui.disruption.budgets import Reason
    from karptui.disruption.pauses import PauseRequest
    from karptui.studies.pause import pause
    from karptui.views.column import plain
    from karptui.views.pause import REPORT, TABLE, command_lines, headline, more_lines

    if args.release:
        refuse_unused(args, ("until",), "is the end of a new pause: it cannot be combined with --release")
    rows_of(TABLE, (), args, 0)  # refuses a filter or an order before anything is simulated
    named, base = one_base(args)
    request = PauseRequest(tuple(args.pool), tuple(map(Reason, args.reason)), args.until, is_release=args.release)
    with opened(args.workers or "1") as workers:
        report = pause(base, request, horizon_ns=args.horizon, reporter=show_percent, each=each_of(workers))
    rows = chosen(TABLE, report.events, args)
    return print_report(
        named,
        plain(REPORT, report),
        ("removals", rows),
        [headline(report), *more_lines(report)],
        command_lines(report, args.context or ""),
        table_lines(rows, args),
        assumption_lines(report.assumed, report.changed.not_modelled),
        args=args,
    )
