"""When a NodePool's budgets open and close: the next change, and all budgets with their windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

import msgspec

from karptui.disruption.budgets import (
    BudgetLine,
    BudgetState,
    PoolUse,
    Reason,
    Window,
    budget_state,
    read_line,
    read_window,
    reasons_of,
)
from karptui.disruption.cron import IntervalSchedule, ScheduleError
from karptui.disruption.fleet import Fleet
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.kube.durations import DurationError
from karptui.kube.timestamps import DAY_NS, MINUTE_NS

WEEK_NS: Final = 7 * DAY_NS
_MAX_MATCHES: Final = 20_000
"""More than the matches of an every-minute schedule in a week; bounds the work for malicious schedules."""


class TimeSpan(msgspec.Struct, frozen=True, gc=False):
    """A time range, its end excluded."""

    start_ns: int
    end_ns: int


class AllowanceSpan(msgspec.Struct, frozen=True, gc=False):
    """A time range in which a NodePool's allowance for a reason is constant."""

    start_ns: int
    end_ns: int
    allowed: int


def open_spans(window: Window, start_ns: int, end_ns: int) -> Iterator[TimeSpan]:
    """Yield the spans within ``[start_ns, end_ns)`` during which a window is open, in order, merged if they overlap."""
    if isinstance(window.schedule, IntervalSchedule):
        if window.is_open(start_ns):
            yield TimeSpan(start_ns, end_ns)
        return
    if window.schedule.next_after(start_ns - window.duration_ns) is None:
        yield TimeSpan(start_ns, end_ns)
        return
    begin = finish = start_ns
    cursor = start_ns - window.duration_ns
    for _ in range(_MAX_MATCHES):
        match = window.schedule.next_after(cursor)
        if match is None or match >= end_ns or window.duration_ns <= 0:
            break
        cursor = match
        if match > finish:
            if finish > begin:
                yield TimeSpan(begin, min(finish, end_ns))
            begin = match
        finish = match + window.duration_ns
        if finish >= end_ns:
            break
        cursor = max(cursor, _last_minute_match(window, finish))
    if finish > begin:
        yield TimeSpan(begin, min(finish, end_ns))


def _last_minute_match(window: Window, finish_ns: int) -> int:
    """Return a time just before a match in the last minute of a span, or 0 without one.

    Earlier matches only repeat that the window is open: skipping them avoids walking through long overlapping windows.
    """
    before_ns = finish_ns - MINUTE_NS
    match = window.schedule.next_after(before_ns) if window.duration_ns > MINUTE_NS else None
    return before_ns if match is not None and match <= finish_ns else 0


def known_window(budget: DisruptionBudget) -> Window | None:
    """Return a budget's window; None if it always applies or cannot be parsed."""
    try:
        return read_window(budget)
    except (ScheduleError, DurationError):
        return None


def windows_of(pool: NodePool) -> Iterator[Window]:
    """Yield the windows of a NodePool's budgets, as far as they can be parsed."""
    return filter(None, map(known_window, pool.budgets or ()))


def allowance(pool: NodePool, reason: Reason, use: PoolUse | None, start_ns: int, end_ns: int) -> list[AllowanceSpan]:
    """Return a NodePool's allowances for a reason from ``start_ns`` to ``end_ns``; equal neighbours are merged.

    Node counts are the current ones. A budget that cannot be parsed allows nothing throughout.
    """
    moments = {start_ns, end_ns}
    for window in windows_of(pool):
        for span in open_spans(window, start_ns, end_ns):
            moments.update((span.start_ns, span.end_ns))
    spans: list[AllowanceSpan] = []
    for begin, finish in pairwise(sorted(moments)):
        allowed = budget_state(pool, reason, use, begin).allowed
        if spans and spans[-1].allowed == allowed:
            spans[-1] = AllowanceSpan(spans[-1].start_ns, finish, allowed)
        else:
            spans.append(AllowanceSpan(begin, finish, allowed))
    return spans


def next_opening(pool: NodePool, reason: Reason, use: PoolUse | None, now_ns: int) -> int | None:
    """Return when windows next allow more nodes than now; None if they do not within a week."""
    spans = allowance(pool, reason, use, now_ns, now_ns + WEEK_NS)
    return next((span.start_ns for span in spans if span.allowed > spans[0].allowed), None)


def opened_at(budget: DisruptionBudget, now_ns: int) -> int | None:
    """Return when the currently open window opened, or None if the budget has no window or always applies.

    Consecutive windows without a gap count as one, up to a week back.
    """
    window = known_window(budget)
    if window is None:
        return None
    start_ns = now_ns - WEEK_NS
    for span in open_spans(window, start_ns, now_ns + 1):
        if span.end_ns > now_ns:
            return span.start_ns if span.start_ns > start_ns else None
    return None


_UNUSED: Final = PoolUse()


class LineWindow(msgspec.Struct, frozen=True, gc=False):
    """A budget with its window: the open one, or the next."""

    line: BudgetLine
    is_windowed: bool = False
    """Whether it has a window; without one, it always applies."""
    start_ns: int | None = None
    """When the window opened or opens; None if that is more than a week away."""
    end_ns: int | None = None
    """When it closes; None if that is more than a week away."""


class PoolBudgets(msgspec.Struct, frozen=True, eq=False):
    """The state of a NodePool's budgets."""

    pool: NodePool
    use: PoolUse
    minute_ns: int
    """The minute it applies to: windows open and close on the minute."""
    states: tuple[BudgetState, ...]
    """One per reason of the controller's methods, in the order of ``Reason``."""
    windows: tuple[LineWindow, ...]
    """One per budget, in order."""
    weeks: tuple[tuple[AllowanceSpan, ...], ...]
    """For each reason, the allowances for eight days from the last UTC midnight, with the current nodes."""


def pool_budgets(fleet: Fleet, pool: NodePool, before: PoolBudgets | None = None) -> PoolBudgets:
    """Return the state of a NodePool's budgets.

    Args:
        before: The previous state, returned if nothing has changed.
    """
    use, now_ns = fleet.use.get(pool.name, _UNUSED), fleet.now_ns
    minute_ns = now_ns - now_ns % MINUTE_NS
    reasons = reasons_of(fleet.settings)
    if before is not None and len(before.states) != len(reasons):
        before = None
    if before is not None and before.pool is pool and before.use == use and before.minute_ns == minute_ns:
        return before
    budgets = pool.budgets or ()
    return PoolBudgets(
        pool=pool,
        use=use,
        minute_ns=minute_ns,
        states=tuple(budget_state(pool, reason, use, now_ns) for reason in reasons),
        windows=tuple(_window(i, budget, use.nodes, now_ns) for i, budget in enumerate(budgets)),
        weeks=before.weeks
        if before is not None and _is_same_week(before, pool, use, now_ns)
        else _weeks(pool, use, now_ns, reasons),
    )


def _is_same_week(before: PoolBudgets, pool: NodePool, use: PoolUse, now_ns: int) -> bool:
    is_same_day = before.minute_ns // DAY_NS == now_ns // DAY_NS
    return is_same_day and before.pool is pool and before.use.nodes == use.nodes


def _weeks(
    pool: NodePool, use: PoolUse, now_ns: int, reasons: Iterable[Reason]
) -> tuple[tuple[AllowanceSpan, ...], ...]:
    """Return the allowances for each reason; reasons with the same budgets share them."""
    start_ns = now_ns - now_ns % DAY_NS
    spans_by_coverage: dict[tuple[bool, ...], tuple[AllowanceSpan, ...]] = {}
    weeks = []
    for reason in reasons:
        coverage = tuple(budget.reasons is None or reason in budget.reasons for budget in pool.budgets or ())
        if coverage not in spans_by_coverage:
            spans_by_coverage[coverage] = tuple(allowance(pool, reason, use, start_ns, start_ns + WEEK_NS + DAY_NS))
        weeks.append(spans_by_coverage[coverage])
    return tuple(weeks)


def _window(index: int, budget: DisruptionBudget, nodes: int, now_ns: int) -> LineWindow:
    line = read_line(index, budget, nodes, now_ns)
    window = known_window(budget)
    if window is None:
        return LineWindow(line)
    start_ns = now_ns - now_ns % DAY_NS
    limit_ns = start_ns + WEEK_NS + DAY_NS
    span = next((span for span in open_spans(window, start_ns, limit_ns) if span.end_ns > now_ns), None)
    if span is None:
        return LineWindow(line, is_windowed=True)
    end_ns = span.end_ns if span.end_ns < limit_ns else None
    return LineWindow(line, is_windowed=True, start_ns=_window_start(budget, span, now_ns), end_ns=end_ns)


def _window_start(budget: DisruptionBudget, span: TimeSpan, now_ns: int) -> int | None:
    return span.start_ns if span.start_ns > now_ns else opened_at(budget, now_ns)
