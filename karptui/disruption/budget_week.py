"""The budgets of a NodePool over the coming days: every line, its window, and what is allowed when."""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.disruption.budget_calendar import DAY_NS, WEEK_NS, AllowanceSpan, Span, allowance, open_spans, opened_at
from karptui.disruption.budgets import BudgetLine, BudgetState, PoolUse, Reason, budget_state, read_line, read_window
from karptui.disruption.fleet import Fleet
from karptui.disruption.schedule import ScheduleError
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.kube.durations import DurationError
from karptui.kube.timestamps import NS_PER_SECOND

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
    """One for each of ``Reason``, in their order."""
    windows: tuple[LineWindow, ...]
    """One for each line, in their order."""
    weeks: tuple[tuple[AllowanceSpan, ...], ...]
    """For each of ``Reason`` what is allowed from the last midnight UTC for eight days, as nodes are now."""


def pool_budgets(fleet: Fleet, pool: NodePool, before: PoolBudgets | None = None) -> PoolBudgets:
    """Return what the budgets of a NodePool come to.

    Args:
        fleet: The nodes at one instant.
        pool: One of its NodePools.
        before: What they came to before; returned again where nothing has changed since.
    """
    use, now_ns = fleet.use.get(pool.name, _UNUSED), fleet.now_ns
    minute_ns = now_ns - now_ns % MINUTE_NS
    if before is not None and before.pool is pool and before.use == use and before.minute_ns == minute_ns:
        return before
    budgets = pool.budgets or ()
    return PoolBudgets(
        pool=pool,
        use=use,
        minute_ns=minute_ns,
        states=tuple(budget_state(pool, reason, use, now_ns) for reason in Reason),
        windows=tuple(_window(i, budget, use.nodes, now_ns) for i, budget in enumerate(budgets)),
        weeks=before.weeks
        if before is not None and _is_same_week(before, pool, use, now_ns)
        else _weeks(pool, use, now_ns),
    )


def _is_same_week(before: PoolBudgets, pool: NodePool, use: PoolUse, now_ns: int) -> bool:
    is_same_day = before.minute_ns // DAY_NS == now_ns // DAY_NS
    return is_same_day and before.pool is pool and before.use.nodes == use.nodes


def _weeks(pool: NodePool, use: PoolUse, now_ns: int) -> tuple[tuple[AllowanceSpan, ...], ...]:
    """Return the week of each reason; reasons to which the same lines apply share one."""
    start_ns = now_ns - now_ns % DAY_NS
    made: dict[tuple[bool, ...], tuple[AllowanceSpan, ...]] = {}
    weeks = []
    for reason in Reason:
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


def _start(budget: DisruptionBudget, span: Span, now_ns: int) -> int | None:
    return span.start_ns if span.start_ns > now_ns else opened_at(budget, now_ns)
