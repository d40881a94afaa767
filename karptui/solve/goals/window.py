"""A weekly disruption window, written as budgets and proven by their calendar for two weeks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec.structs import replace

from karptui.disruption.budget_calendar import WEEK_NS, allowance
from karptui.disruption.budgets import PoolUse, Reason, scaled
from karptui.errors import RequestError
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.kube.timestamps import DAY_NS, MINUTE_NS, NS_PER_SECOND
from karptui.kube.units import counted, first_of
from karptui.solve.answer import Effort, Solved, Tried
from karptui.solve.goals.consolidate_after import days_of, figures_of_plays
from karptui.solve.question import GoalQuestion
from karptui.studies.forecasts import forecast_of
from karptui.whatif.edits import ObjectRef, SetField
from karptui.whatif.scenario import Replay

_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DAY: Final = 24 * 60
_WEEK: Final = 7 * _DAY
_HOURS: Final = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))?-([0-9]{1,2})(?::([0-9]{2}))?", re.ASCII)


class Minutes(NamedTuple):
    """Minutes of a week in UTC, from Sunday 00:00; the end is excluded."""

    start: int
    end: int


def week_of(weekdays: str, hours: str, offset_minutes: int) -> tuple[Minutes, ...]:
    """Return when a window is open, merged and in order.

    Args:
        weekdays: Days on which it opens: ``mon-fri``, ``sat,sun``, ``daily``.
        hours: ``22:00-06:00``; an end that is not after the start is on the next day.
        offset_minutes: Minutes that local time is ahead of UTC.

    Raises:
        ValueError: If days or hours cannot be read, with a message for the user.
    """
    match = _HOURS.fullmatch(hours.strip())
    parts = [int(part or 0) for part in match.groups()] if match is not None else [99]
    if match is None or parts[0] > 23 or parts[1] > 59 or parts[2] > 24 or parts[3] > 59 or parts[2:] > [24, 0]:
        raise ValueError(f"{hours!r:.60} is not a time of day such as 22:00-06:00")
    start, end = parts[0] * 60 + parts[1], parts[2] * 60 + parts[3]
    length = end - start if end > start else end - start + _DAY
    starts = ((day * _DAY + start - offset_minutes) % _WEEK for day in _days(weekdays))
    return tuple(_merged(part for begin in starts for part in _within_week(begin, begin + length)))


def _days(text: str) -> list[int]:
    words = text.strip().lower()
    if words in ("daily", "*"):
        return list(range(7))
    days: list[int] = []
    for word in words.split(","):
        first, dash, last = (part.strip() for part in word.partition("-"))
        if first not in _DAYS or (dash and last not in _DAYS):
            raise ValueError(f"{text!r:.60} names no weekdays such as mon-fri, sat,sun or daily")
        begin, end = _DAYS.index(first), _DAYS.index(last or first)
        days += [day % 7 for day in range(begin, end + 1 + (7 if end < begin else 0))]
    return days


def _within_week(start: int, end: int) -> Iterator[Minutes]:
    yield Minutes(start, min(end, _WEEK))
    if end > _WEEK:
        yield Minutes(0, end - _WEEK)


def _merged(parts: Iterator[Minutes]) -> Iterator[Minutes]:
    begin = finish = -1
    for part in sorted(parts):
        if part.start > finish:
            if finish > begin:
                yield Minutes(begin, finish)
            begin = part.start
        finish = max(finish, part.end)
    if finish > begin:
        yield Minutes(begin, finish)


def window_budgets(week: Sequence[Minutes], share: str) -> list[dict[str, Any]]:
    """Return the budgets of a window: the share always, and 0 nodes for each gap; gaps alike share a budget."""
    gaps: dict[tuple[int, int], list[int]] = {}
    for window, following in pairwise((*week, Minutes(week[0].start + _WEEK, 0))):
        if following.start > window.end:
            gaps.setdefault((window.end % _DAY, following.start - window.end), []).append(window.end // _DAY % 7)
    return [
        {"nodes": share},
        *(
            {
                "nodes": "0",
                "schedule": f"{minute % 60} {minute // 60} * * {','.join(_DAYS[day] for day in sorted(days))}",
                "duration": f"{length // 60}h{length % 60}m" if length % 60 else f"{length // 60}h",
            }
            for (minute, length), days in sorted(gaps.items())
        ),
    ]


def offset_of(zone: tzinfo, now_ns: int) -> tuple[int, datetime | None]:
    """Return the minutes that a zone is ahead of UTC, and when that changes within a year; None if it does not."""
    now = datetime.fromtimestamp(now_ns // NS_PER_SECOND, UTC)
    offset = now.astimezone(zone).utcoffset() or timedelta()
    for hours in range(366 * 24):
        later = now + timedelta(hours=hours)
        if later.astimezone(zone).utcoffset() != offset:
            return int(offset.total_seconds()) // 60, later
    return int(offset.total_seconds()) // 60, None


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
