"""`karptui policies`: consolidation policies compared, dollars saved against pods evicted."""

from __future__ import annotations

import argparse

from karptui.cli.listing import rows_of
from karptui.cli.many import assumption_lines, chosen, each_of, one_base, opened, print_report, table_lines
from karptui.cli.options import add_play_flags, add_study_flags, add_workers_flag
from karptui.cli.streams import show_percent
from karptui.errors import RequestError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pool", metavar="NAME", action="append", default=[], help="edit only this NodePool; repeatable (default: all)"
    )
    parser.add_argument(
        "--policy",
        metavar="NAME",
        action="append",
        choices=("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"),
        default=[],
        help="try only this one: WhenEmpty, WhenEmptyOrUnderutilized or Balanced; repeatable (default: all)",
    )
    parser.add_argument(
        "--after",
        metavar="DURATIONS",
        type=_afters,
        default=(),
        help="values of consolidateAfter, or Never (default: 0s, 5m, 1h and those in use)",
    )
    add_play_flags(parser, "length of each forecast", "number of seeds from --seed on, to show the range")
    add_study_flags(parser, rows="policies", filter_example="evictions<10 saved>0", sort_example="saved=dsc")
    add_workers_flag(parser)


def _afters(text: str) -> tuple[str, ...]:
    from karptui.studies.policies import afters_of

    try:
        return afters_of(text)
    except RequestError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def run(args: argparse.Namespace) -> int:
    """Print the result of each policy. Status 1 if something is missing."""
    from karptui.studies.policies import POLICIES, compare
    from karptui.views.column import plain
    from karptui.views.table import Rows, sort_items
    from karptui.views.values import REPORT, TABLE, headline, more_lines

    rows_of(TABLE, (), args, 0)  # refuses a filter or an order before anything is simulated
    named, base = one_base(args)
    with opened(args.workers or "1") as workers:
        comparison = compare(
            base,
            pools=args.pool,
            policies=args.policy or POLICIES,
            afters=args.after,
            horizon_ns=args.horizon,
            seed=args.seed,
            seeds=args.seeds,
            reporter=show_percent,
            each=each_of(workers),
        )
    rows = chosen(TABLE, comparison.outcomes, args)
    best_first, _ = sort_items(TABLE, rows.items, TABLE.default_sort, 0)
    return print_report(
        named,
        plain(REPORT, comparison),
        ("outcomes", rows),
        [headline(comparison), *more_lines(comparison)],
        table_lines(rows if args.sort_by else Rows(TABLE, best_first, total=rows.total, now_ns=0), args),
        assumption_lines(comparison.assumed, comparison.not_modelled),
        args=args,
    )
