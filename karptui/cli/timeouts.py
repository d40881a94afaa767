"""`karptui timeouts`: nodes that consolidation does not evaluate before its timeout."""

from __future__ import annotations

import argparse
from typing import Final

from karptui.cli.fail_on import FAILED
from karptui.cli.many import assumption_lines, chosen, one_base, print_report, table_lines
from karptui.cli.option_values import duration
from karptui.cli.options import add_study_flags
from karptui.kube.timestamps import NS_PER_SECOND

_MOST_ROWS: Final = 40


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--per-simulation",
        metavar="DURATION",
        type=_duration,
        help="Karpenter's time per node (default: from its metrics if readable, else by the number of"
        " nodes: 30ms up to 60, 900ms with 1,000)",
    )
    parser.add_argument(
        "--fail-on",
        type=lambda text: "timeout" if text == "unreached" else text,  # its name before
        choices=("timeout",),
        help="exit with status 3 if a removable node is never evaluated",
    )
    add_study_flags(parser, rows="nodes", filter_example="evaluated=never saves>0", sort_example="saves=dsc")


def _duration(text: str) -> float:
    return duration("200ms or 1s", least_ns=1)(text) / NS_PER_SECOND


def run(args: argparse.Namespace) -> int:
    """Print the order of a pass. Status 1 if something is missing, 3 if a removable node is never evaluated."""
    from karptui.studies.timeouts import consolidation_pass
    from karptui.views.column import plain
    from karptui.views.table import Rows
    from karptui.views.timeouts import REPORT, TABLE, headline, more_lines

    named, base = one_base(args)
    result = consolidation_pass(base, per_simulation=args.per_simulation, metrics=named.metrics)
    rows = chosen(TABLE, result.turns, args)
    shown = list(rows.items)
    if not args.sort_by:
        shown.sort(key=lambda turn: (turn.is_evaluated or not turn.decision, turn.is_evaluated, turn.place))
    left = len(shown) - _MOST_ROWS
    table = table_lines(Rows(TABLE, shown[:_MOST_ROWS], total=len(shown), now_ns=0), args)
    status = print_report(
        named,
        plain(REPORT, result),
        ("nodes", rows),
        [headline(result), *more_lines(result)],
        [*table, *([f"and {left} more: -o json has all"] if left > 0 else [])],
        assumption_lines(result.assumed),
        args=args,
    )
    return FAILED if args.fail_on and result.is_starved else status
