"""`karptui rollout`: whether changes of NodePools and NodeClasses are rolled out, once or until they are."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Final

from karptui.cli.evidence import configuration, evidence_source
from karptui.cli.fail_on import FAILED
from karptui.cli.listing import rows_of
from karptui.cli.many import assumption_lines, chosen, one_base, print_report, table_lines
from karptui.cli.options import add_horizon_flag, add_study_flags, add_timeout_flag, refuse_unused
from karptui.cli.source import open_source
from karptui.cli.streams import UsageError, say, show_percent
from karptui.cli.whatif_scenarios import NamedBase, cluster_name
from karptui.kube.units import clock_text, duration_text
from karptui.views.sanitize import clean

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView
    from karptui.studies.rollout import RolloutReport
    from karptui.whatif.situation import WhatIfBase

_STALLED: Final = "stalled"
_STEP_SECONDS: Final = 1.0
_FORECAST_SECONDS: Final = 60.0
"""Shortest time between two forecasts of a cluster that is followed."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pool", metavar="NAME", action="append", default=[], help="only this NodePool; repeatable (default: all)"
    )
    parser.add_argument(
        "--nodeclass",
        metavar="NAME",
        action="append",
        default=[],
        help="only this NodeClass, by name or Kind/name; repeatable (default: all)",
    )
    parser.add_argument("--wait", action="store_true", help="follow the live cluster until everything is rolled out")
    add_timeout_flag(parser, "longest time to wait (30m, 2h; default: no limit)")
    parser.add_argument(
        "--fail-on",
        choices=(_STALLED,),
        help="exit with status 3 if nothing can progress: the forecast replaces no old node, and no blocker ends at a"
        " known time; ends --wait",
    )
    add_horizon_flag(parser, "length of the forecast")
    add_study_flags(parser, rows="nodes", filter_example="state=old pool=general", sort_example="gone=dsc")


def run(args: argparse.Namespace) -> int:
    """Print the progress. Status 0 if everything is rolled out, 1 if not yet, 3 if it is stalled."""
    from karptui.studies.rollout import RolloutState
    from karptui.views.column import plain
    from karptui.views.rollout import REPORT, TABLE, headline, more_lines

    rows_of(TABLE, (), args, 0)  # refuses a filter or an order before anything is simulated
    if args.wait:
        if args.snapshot or args.at is not None:
            raise UsageError("--wait follows a live cluster or the demo: a recording does not go on")
        named, report = _Waiting(args).until_done()
    else:
        refuse_unused(args, ("timeout",), "needs --wait")
        named, base = one_base(args)
        report = _report(base, args)
    rows = chosen(TABLE, report.nodes, args)
    status = print_report(
        named,
        plain(REPORT, report),
        ("nodes", rows),
        [headline(report), *more_lines(report)],
        table_lines(rows, args),
        assumption_lines(report.assumed, report.played.not_modelled) if report.played is not None else (),
        args=args,
    )
    if args.fail_on and report.state is RolloutState.STALLED:
        say("--fail-on stalled: the forecast replaces no old node")
        return FAILED
    return max(status, report.state is not RolloutState.DONE)


def _report(base: WhatIfBase, args: argparse.Namespace, *, plays: bool = True) -> RolloutReport:
    from karptui.studies.rollout import rollout_report

    return rollout_report(
        base,
        pools=args.pool,
        nodeclasses=args.nodeclass,
        horizon_ns=args.horizon,
        plays=plays,
        reporter=show_percent,
    )


class _Waiting:
    """Follows a cluster, and reports its progress on standard error."""

    def __init__(self, args: argparse.Namespace) -> None:
        from karptui.session.follower import ClusterFollower

        self._args = args
        source, self._clock = open_source(args)
        evidence = evidence_source(source, configuration(args), args.karpenter_version or "")
        self._follower = ClusterFollower(source, evidence=evidence)
        self._seen: ClusterView | None = None
        self._printed: tuple[tuple[str, str], ...] = ()
        self._played_at = float("-inf")

    def until_done(self) -> tuple[NamedBase, RolloutReport]:
        """Return the last state: done, stalled, or that at the timeout.

        Raises:
            UsageError: The cluster cannot be read within the time.
        """
        timeout = self._args.timeout
        end = time.monotonic() + timeout if timeout is not None else float("inf")
        self._follower.start()
        try:
            if self._follower.failure:
                raise UsageError(self._follower.failure)
            while True:
                is_over = time.monotonic() >= end
                report = self._look(is_last=is_over)
                ends = ("done", _STALLED) if self._args.fail_on else ("done",)
                if report is not None and report.state in ends:
                    return self._named_base(), report
                if is_over:
                    if report is None:
                        raise UsageError(f"{self._follower.title} could not be read within {duration_text(timeout)}")
                    say(f"not rolled out within {duration_text(timeout)}")
                    return self._named_base(), report
                time.sleep(_STEP_SECONDS)
        finally:
            self._follower.stop()

    def _look(self, *, is_last: bool) -> RolloutReport | None:
        """Return the state if it is time for a look and the cluster can be read; None otherwise."""
        from karptui.session.prepare import base_of
        from karptui.session.readiness import is_out_of_reach, unready_because
        from karptui.studies.rollout import RolloutState
        from karptui.views.rollout import group_text, headline

        follower, now = self._follower, self._clock.now_ns()
        follower.poll(now)
        if follower.knows_nodes:
            follower.first_rows_shown()
        view = follower.view
        if unready_because(view) or is_out_of_reach(view) or not (is_last or self._is_due(view)):
            return None
        self._seen = view
        base = base_of(view, now)
        report = _report(base, self._args, plays=False)
        group_texts = tuple((group.name, group_text(group)) for group in report.groups)
        is_changed, self._printed = group_texts != self._printed, group_texts
        if report.state is not RolloutState.DONE and (is_last or is_changed or self._is_forecast_due()):
            self._played_at = time.monotonic()
            report = _report(base, self._args)
        if is_changed:
            say(f"{clock_text(now)} {clean(headline(report))}")
        is_known = report.played is not None or not any(group.left for group in report.groups)
        return report if is_known else None

    def _is_due(self, view: ClusterView) -> bool:
        is_new = self._seen is None or view.state is not self._seen.state
        return is_new or self._is_forecast_due()

    def _is_forecast_due(self) -> bool:
        return time.monotonic() - self._played_at >= _FORECAST_SECONDS

    def _named_base(self) -> NamedBase:
        from karptui.session.prepare import base_of

        return NamedBase(cluster_name(self._args), base_of(self._follower.view, self._clock.now_ns()))
