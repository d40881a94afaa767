"""When a NodePool's budgets open and close: the next change, and every line with its window over the coming days."""

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
from karptui.disruption.fleet import Fleet
from karptui.disruption.schedule import IntervalSchedule, ScheduleError
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.kube.durations import DurationError
from karptui.kube.timestamps import NS_PER_SECOND

DAY_NS: Final = 86_400 * NS_PER_SECOND
WEEK_NS: Final = 7 * DAY_NS
_MINUTE_NS: Final = 60 * NS_PER_SECOND
_MAX_HITS: Final = 20_000
"""More hits than a schedule of every minute has in a week; keeps a hostile schedule from taking for ever."""


class TimeSpan(msgspec.Struct, frozen=True, gc=False):
    """A stretch of time, the end excluded."""

    start_ns: int
    end_ns: int


class AllowanceSpan(msgspec.Struct, frozen=True, gc=False):
    """A stretch of time in which a NodePool allows the same number of nodes for a reason."""

    start_ns: int
    end_ns: int
    allowed: int


def open_spans(window: Window, start_ns: int, end_ns: int) -> Iterator[TimeSpan]:
    """Yield the spans within ``[start_ns, end_ns)`` in which a window is open, in order, overlapping ones merged."""
    if isinstance(window.schedule, IntervalSchedule):
        if window.is_open(start_ns):
            yield TimeSpan(start_ns, end_ns)
        return
    if window.schedule.next_after(start_ns - window.duration_ns) is None:
        yield TimeSpan(start_ns, end_ns)
        return
    begin = finish = start_ns
    cursor = start_ns - window.duration_ns
    for _ in range(_MAX_HITS):
        hit = window.schedule.next_after(cursor)
        if hit is None or hit >= end_ns or window.duration_ns <= 0:
            break
        cursor = hit
        if hit > finish:
            if finish > begin:
                yield TimeSpan(begin, min(finish, end_ns))
            begin = hit
        finish = hit + window.duration_ns
        if finish >= end_ns:
            break
        cursor = max(cursor, _last_minute_hit(window, finish))
    if finish > begin:
        yield TimeSpan(begin, min(finish, end_ns))


def _last_minute_hit(window: Window, finish_ns: int) -> int:
    """Return an instant right before a hit in the last minute of a span, 0 where there is none.

    Hits before it only repeat that the window is open, so that windows which overlap by far need not be walked through.
    """
    before_ns = finish_ns - _MINUTE_NS
    hit = window.schedule.next_after(before_ns) if window.duration_ns > _MINUTE_NS else None
    return before_ns if hit is not None and hit <= finish_ns else 0


def allowance(pool: NodePool, reason: Reason, use: PoolUse | None, start_ns: int, end_ns: int) -> list[AllowanceSpan]:
    """Return what a NodePool allows for a reason from ``start_ns`` to ``end_ns``, equal neighbours joined.

    Node counts are taken as they are now; a budget that cannot be read closes the pool throughout.
    """
    edges = {start_ns, end_ns}
    for budget in pool.budgets or ():
        try:
            window = read_window(budget)
        except (ScheduleError, DurationError):
            continue
        if window is not None:
            for span in open_spans(window, start_ns, end_ns):
                edges.update((span.start_ns, span.end_ns))
    moments = sorted(edges)
    spans: list[AllowanceSpan] = []
    for begin, finish in pairwise(moments):
        allowed = budget_state(pool, reason, use, begin).allowed
        if spans and spans[-1].allowed == allowed:
            spans[-1] = AllowanceSpan(spans[-1].start_ns, finish, allowed)
        else:
            spans.append(AllowanceSpan(begin, finish, allowed))
    return spans


def next_opening(pool: NodePool, reason: Reason, use: PoolUse | None, now_ns: int) -> int | None:
    """Return when more nodes are allowed than now, by windows alone and within a week; None where that is not so."""
    spans = allowance(pool, reason, use, now_ns, now_ns + WEEK_NS)
    return next((span.start_ns for span in spans if span.allowed > spans[0].allowed), None)


def opened_at(budget: DisruptionBudget, now_ns: int) -> int | None:
    """Return when the window that is open now was opened, None where the budget has none or always applies.

    Windows that follow each other without a gap count as one, looking back a week at most.
    """
    try:
        window = read_window(budget)
    except (ScheduleError, DurationError):
        return None
    if window is None:
        return None
    start_ns = now_ns - WEEK_NS
    for span in open_spans(window, start_ns, now_ns + 1):
        if span.end_ns > now_ns:
            return span.start_ns if span.start_ns > start_ns else None
    return None


MINUTE_NS: Final = 60 * NS_PER_SECOND
_UNUSED: Final = PoolUse()


class LineWindow(msgspec.Struct, frozen=True, gc=False):
    """A budget with its window: the one that is open now, else the next."""

    line: BudgetLine
    is_windowed: bool = False
    """Whether it has a window at all; without, it always applies."""
    start_ns: int | None = None
    """When the window opened or opens; None where that is more than a week off."""
    end_ns: int | None = None
    """When it closes; None where that is more than a week off."""


class PoolBudgets(msgspec.Struct, frozen=True, eq=False):
    """What the budgets of one NodePool come to."""

    pool: NodePool
    use: PoolUse
    minute_ns: int
    """The minute that it holds for: windows open and close on the minute."""
    states: tuple[BudgetState, ...]
    """One for each reason that the controller's methods have, in the order of ``Reason``."""
    windows: tuple[LineWindow, ...]
    """One for each line, in their order."""
    weeks: tuple[tuple[AllowanceSpan, ...], ...]
    """For each of them what is allowed from the last midnight UTC for eight days, as nodes are now."""


def pool_budgets(fleet: Fleet, pool: NodePool, before: PoolBudgets | None = None) -> PoolBudgets:
    """Return what the budgets of a NodePool come to.

    Args:
        fleet: The nodes at one instant.
        pool: One of its NodePools.
        before: What they came to before; returned again where nothing has changed since.
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
    """Return the week of each reason; reasons to which the same lines apply share one."""
    start_ns = now_ns - now_ns % DAY_NS
    made: dict[tuple[bool, ...], tuple[AllowanceSpan, ...]] = {}
    weeks = []
    for reason in reasons:
        covers = tuple(one.reasons is None or reason in one.reasons for one in pool.budgets or ())
        if covers not in made:
            made[covers] = tuple(allowance(pool, reason, use, start_ns, start_ns + WEEK_NS + DAY_NS))
        weeks.append(made[covers])
    return tuple(weeks)


def _window(index: int, budget: DisruptionBudget, nodes: int, now_ns: int) -> LineWindow:
    line = read_line(index, budget, nodes, now_ns)
    try:
        window = read_window(budget)
    except (ScheduleError, DurationError):
        return LineWindow(line)
    if window is None:
        return LineWindow(line)
    start_ns = now_ns - now_ns % DAY_NS
    limit_ns = start_ns + WEEK_NS + DAY_NS
    found = next((span for span in open_spans(window, start_ns, limit_ns) if span.end_ns > now_ns), None)
    if found is None:
        return LineWindow(line, is_windowed=True)
    end_ns = found.end_ns if found.end_ns < limit_ns else None
    return LineWindow(line, is_windowed=True, start_ns=_start(budget, found, now_ns), end_ns=end_ns)


def _start(budget: DisruptionBudget, span: TimeSpan, now_ns: int) -> int | None:
    return span.start_ns if span.start_ns > now_ns else opened_at(budget, now_ns)
