"""A weekly disruption window, written as budgets and proven by their calendar for two weeks."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec.structs import replace

from karptui.disruption.budget_calendar import WEEK_NS, allowance
from karptui.disruption.budgets import PoolUse, Reason, scaled
from karptui.errors import RequestError
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.kube.timestamps import DAY_NS, MINUTE_NS
from karptui.kube.units import counted, first_of
from karptui.solve.answer import Effort, Solved, Tried
from karptui.solve.goals.consolidate_after import days_of, figures_of_plays
from karptui.solve.question import GoalQuestion
from karptui.solve.weekly_windows import Minutes, offset_of, week_of, window_budgets
from karptui.studies.forecasts import forecast_of
from karptui.whatif.edits import ObjectRef, SetField
from karptui.whatif.scenario import Replay

_SHARE: Final = re.compile(r"(?:100|[0-9]{1,2})%|[0-9]{1,9}", re.ASCII)
_REASONS: Final = (Reason.EMPTY, Reason.DRIFTED, Reason.UNDERUTILIZED)
_SUNDAY_NS: Final = 3 * DAY_NS
"""From the epoch, a Thursday, to the first Sunday."""


def find(question: GoalQuestion) -> Solved:
    """Return the answer to the goal."""
    base, share, zone_name = question.base, question.text("share"), question.text("zone")
    if not _SHARE.fullmatch(share):
        raise RequestError(f"share: {share!r:.60} is neither a number of nodes nor a percentage such as 10%")
    try:
        # UTC needs no database of time zones, which small containers lack.
        offset, changes_at = offset_of(UTC if zone_name == "UTC" else ZoneInfo(zone_name), base.now_ns)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise RequestError(f"zone: {zone_name!r:.60} is no time zone such as Europe/Berlin or UTC") from None
    try:
        week = week_of(question.text("weekdays"), question.text("hours"), offset)
    except ValueError as error:
        raise RequestError(str(error)) from None
    pools = [question.pool("nodepool")] if question.text("nodepool") else list(base.inventory.nodepools)
    if not pools:
        raise RequestError("there is no NodePool")
    budgets = window_budgets(week, share)
    _prove(pools[0], budgets, week, share, base.now_ns)
    when = f"{question.text('weekdays')} {question.text('hours')} {zone_name}"
    whose = f"NodePool {pools[0].name}" if len(pools) == 1 else f"all {len(pools)} NodePools"
    question.asked = f"the budgets of {whose} for disruption of {share} on {when}, and none at other times"
    edits = tuple(
        SetField(ObjectRef("NodePool", pool.name), ("spec", "disruption", "budgets"), budgets) for pool in pools
    )
    played = forecast_of(base).play(horizon_ns=DAY_NS, reporter=question.report, pause=base.pause)
    now = figures_of_plays([played], 1)
    ((_, figures),) = question.asked_of_each(days_of, (1, 1), [("", edits)])
    tried = Tried(
        parts=(f"{whose}: {counted(len(budgets), 'budget')}, {share} on {when}, 0 at other times",),
        outcome=f"{counted(figures.evictions or 0, 'eviction')} within a day from now",
        edits=edits,
        figures=figures,
        is_enough=True,
    )
    return Solved(
        replay=Replay.NEXT,
        now=now,
        best=tried,
        runner_up=None,
        is_reached=True,
        effort=Effort(tried=1, all=1, how="one set of budgets, proven by the budget calendar for two weeks"),
        approximated=(*played.assumptions, "a day from now: the window may not open in it"),
        not_modelled=(*played.not_modelled, "expiration and interruption, which no budget stops"),
        risk="; ".join(filter(None, (_replaced(pools), _zone_risk(zone_name, changes_at)))),
    )


def _replaced(pools: list[NodePool]) -> str:
    names = [pool.name for pool in pools if pool.budgets]
    return f"the current budgets of {first_of(names, 3)} are replaced" if names else ""


def _zone_risk(zone: str, changes_at: datetime | None) -> str:
    if changes_at is None:
        return ""
    day = f"{changes_at:%Y-%m-%d}"
    return f"schedules are in UTC: the clocks of {zone} change on {day}, which shifts the window by as much"


def _prove(pool: NodePool, budgets: list[dict[str, str]], week: tuple[Minutes, ...], share: str, now_ns: int) -> None:
    """Check by the budget calendar that exactly the window is open in the next two weeks."""
    use = PoolUse(nodes=100)
    written = tuple(
        DisruptionBudget(budget["nodes"], budget.get("schedule"), budget.get("duration")) for budget in budgets
    )
    edited = replace(pool, budgets=written)
    for reason in _REASONS:
        for span in allowance(edited, reason, use, now_ns, now_ns + 2 * WEEK_NS):
            minute = (span.start_ns + span.end_ns) // 2 // MINUTE_NS
            at = (minute - _SUNDAY_NS // MINUTE_NS) % (WEEK_NS // MINUTE_NS)
            is_open = any(part.start <= at < part.end for part in week)
            if span.allowed != (scaled(share, use.nodes) if is_open else 0):
                raise RequestError("the budgets do not give this window: report this as a bug")
