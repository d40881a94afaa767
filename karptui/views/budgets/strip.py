"""Seven days of a budget as characters, each for a few hours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karptui.disruption.budget_calendar import DAY_NS, AllowanceSpan
from karptui.disruption.budgets import UNLIMITED

HOUR_NS: Final = DAY_NS // 24
CLOSED, PARTLY, MANY, ANY = "·", "~", "+", "∞"
LEGEND: Final = f"1-9 nodes allowed, {MANY} ten or more, {ANY} no limit, {CLOSED} closed, {PARTLY} open for part of it"


def strip_text(week: Sequence[AllowanceSpan], hours: int, *, days: int = 7, first_day: int = 0) -> str:
    """Return a character per ``hours`` from midnight UTC on, days set apart.

    Args:
        week: What is allowed, from a midnight UTC on.
        hours: How many hours a character stands for; a part of a day.
        days: How many days.
        first_day: How many days to leave out first.
    """
    if not week:
        return ""
    step_ns = hours * HOUR_NS
    made = []
    for day in range(first_day, first_day + days):
        start_ns = week[0].start_ns + day * DAY_NS
        made.append("".join(_mark(week, start_ns + i * step_ns, step_ns) for i in range(24 // hours)))
    return "│".join(made)


def _mark(week: Sequence[AllowanceSpan], start_ns: int, step_ns: int) -> str:
    allowed = [span.allowed for span in week if span.start_ns < start_ns + step_ns and span.end_ns > start_ns]
    least = min(allowed, default=0)
    if least == 0:
        return PARTLY if any(allowed) else CLOSED
    if least >= UNLIMITED:
        return ANY
    return MANY if least > 9 else str(least)
