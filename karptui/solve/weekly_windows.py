"""Budgets for a weekly disruption window: a share of the nodes inside of it, none outside.

The most restrictive active budget counts, so the time outside of the window needs budgets of 0 nodes. Schedules are in
UTC: a window in a zone with daylight saving time is right until its offset changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Any, Final, NamedTuple

from karptui.kube.timestamps import NS_PER_SECOND

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
