"""Budgets of 0 nodes that pause a NodePool's voluntary disruption: to write one, and to find active ones.

The most restrictive active budget counts, so that a pause does not change the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from karptui.disruption.budget_calendar import WEEK_NS, open_spans
from karptui.disruption.budgets import Reason, read_line, read_window
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.timestamps import DAY_NS, MINUTE_NS, NS_PER_SECOND, parse_past

MOST_BUDGETS: Final = 50
"""Most budgets of a NodePool, by its CRD."""
LONGEST_NS: Final = 31 * DAY_NS
"""Longest pause with an end."""
DEFAULT_BUDGET: Final = {"nodes": "10%"}
"""The budget that the API server sets if a NodePool has none."""
END_FORMS: Final = "a duration (2h, 90m), a time of day in UTC (18:00Z) or a time such as 2026-11-28T18:00:00Z"
_MANY_NODES: Final = 1_000_000
"""Nodes of which only a budget of 0 or 0% allows none."""
_DATE_FIELDS: Final = slice(2, 4)


class PauseRequest(msgspec.Struct, frozen=True):
    """A pause to write, or to end."""

    pools: tuple[str, ...] = ()
    """Names of the NodePools; all if empty."""
    reasons: tuple[Reason, ...] = ()
    """The paused reasons; all voluntary ones if empty."""
    until: str = ""
    """Its end as `end_of` reads it; empty for none."""
    is_release: bool = False
    """Whether active pauses are ended instead."""


class ZeroBudget(msgspec.Struct, frozen=True, gc=False):
    """A budget of 0 nodes that is active now."""

    index: int
    """Its index in ``spec.disruption.budgets``, from 0."""
    budget: DisruptionBudget
    end_ns: int | None
    """When its window closes; None if it does not within a week, or without a window."""
    is_recurring: bool
    """Whether its window opens more often than once a year: a change window rather than a pause."""

    def covers(self, reason: Reason) -> bool:
        """Whether it applies to a reason."""
        return self.budget.reasons is None or reason in self.budget.reasons


def pause_budget(now_ns: int, until_ns: int | None, reasons: Sequence[Reason]) -> dict[str, Any]:
    """Return a budget of 0 nodes as a manifest has it.

    A schedule is a date and time of every year, in UTC; durations have hours and minutes only.

    Args:
        until_ns: End, rounded up to the minute; None for a pause without one.
        reasons: The paused reasons; none for all.
    """
    budget: dict[str, Any] = {"nodes": "0"}
    if reasons:
        budget["reasons"] = [str(reason) for reason in reasons]
    if until_ns is not None:
        start_ns = now_ns - now_ns % MINUTE_NS
        start = datetime.fromtimestamp(start_ns // NS_PER_SECOND, UTC)
        hours, minutes = divmod(-(-(until_ns - start_ns) // MINUTE_NS), 60)
        budget["schedule"] = f"{start.minute} {start.hour} {start.day} {start.month} *"
        budget["duration"] = f"{f'{hours}h' if hours else ''}{f'{minutes}m' if minutes or not hours else ''}"
    return budget


def zero_budgets(pool: NodePool, now_ns: int) -> tuple[ZeroBudget, ...]:
    """Return the budgets of a NodePool that allow no node at all now, whatever its size."""
    return tuple(_zero_budgets(pool, now_ns))


def _zero_budgets(pool: NodePool, now_ns: int) -> Iterator[ZeroBudget]:
    for index, budget in enumerate(pool.budgets or ()):
        line = read_line(index, budget, _MANY_NODES, now_ns)
        if line.problem or not line.is_active or line.allowed:
            continue
        window = read_window(budget)
        if window is None:
            yield ZeroBudget(index, budget, None, is_recurring=False)
            continue
        end_ns = next(open_spans(window, now_ns, now_ns + WEEK_NS)).end_ns
        is_once = all(field.isdecimal() for field in (budget.schedule or "").split()[_DATE_FIELDS] or [""])
        yield ZeroBudget(index, budget, end_ns if end_ns < now_ns + WEEK_NS else None, is_recurring=not is_once)


def budget_documents(pool: NodePool) -> list[dict[str, Any]]:
    """Return a NodePool's budgets as its manifest has them, or the API server's default."""
    disruption = (pool.raw.get("spec") or {}).get("disruption") or {}
    budgets = disruption.get("budgets")
    return [dict(budget) for budget in budgets] if budgets is not None else [dict(DEFAULT_BUDGET)]


def end_of(text: str, now_ns: int) -> int:
    """Return the end of a pause that a text names: a duration from now, a time of day, or a time.

    Raises:
        ValueError: If the text is none of these, with a message for the user.
    """
    text = text.strip()
    try:
        return now_ns + parse_duration(text)
    except DurationError:
        pass
    try:
        time = parse_past(text[:-1] if text[-1:] in ("Z", "z") and "T" not in text else text)
    except ValueError:
        time = None
    if time is None or time.ago_ns is not None:
        raise ValueError(f"{text!r} is not {END_FORMS}")
    if time.instant_ns is not None:
        return time.instant_ns
    return now_ns + ((time.of_day_ns - now_ns) % DAY_NS or DAY_NS)
