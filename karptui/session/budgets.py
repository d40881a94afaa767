"""One row of the Budgets screen: a NodePool and one reason to disrupt its nodes."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import msgspec

from karptui.disruption.budget_calendar import AllowanceSpan, LineWindow, PoolBudgets
from karptui.disruption.budgets import BudgetState, Reason, reasons_of
from karptui.karpenter.nodepool import NodePool
from karptui.session.cluster_view import ClusterView
from karptui.session.readiness import is_out_of_reach, unready_because


class WindowChange(NamedTuple):
    """A window that opens or closes, and the allowed disruptions from then on."""

    at_ns: int
    before: int
    allowed: int


class BudgetEntry(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A NodePool and a reason; without ``budgets`` its budgets are not evaluated."""

    pool: NodePool
    reason: Reason
    budgets: PoolBudgets | None = None
    is_passed_over: bool = False
    """Whether this Karpenter does not manage the NodePool: it disrupts none of its nodes."""
    missing: str = ""
    """The missing permission, as text; empty if ``budgets`` is known or pending."""

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return f"{self.pool.name}/{self.reason}"

    @cached_property
    def _place(self) -> int:
        return list(Reason).index(self.reason)

    @property
    def state(self) -> BudgetState | None:
        """The currently allowed disruptions."""
        return self.budgets.states[self._place] if self.budgets is not None else None

    @property
    def week(self) -> tuple[AllowanceSpan, ...]:
        """The allowed disruptions from the last midnight UTC on."""
        return self.budgets.weeks[self._place] if self.budgets is not None else ()

    @property
    def binding(self) -> LineWindow | None:
        """The line that allows least, with its window."""
        state = self.state
        if state is None or self.budgets is None or state.binding is None:
            return None
        return self.budgets.windows[state.binding.index]

    @property
    def unreadable(self) -> tuple[LineWindow, ...]:
        """Lines that cannot be read; one of them closes the pool for every reason."""
        return (
            tuple(window for window in self.budgets.windows if window.line.problem) if self.budgets is not None else ()
        )

    def change(self, now_ns: int) -> WindowChange | None:
        """Return the next time more or fewer nodes are allowed, by windows alone and within a week."""
        held = None
        for span in self.week:
            if held is not None:
                return WindowChange(span.start_ns, held.allowed, span.allowed)
            if span.end_ns > now_ns:
                held = span
        return None


def budget_entries(view: ClusterView) -> tuple[BudgetEntry, ...]:
    """Return a row for every NodePool and reason."""
    budgets = view.analysis.budgets if view.analysis is not None else None
    reasons = reasons_of(view.evidence.settings)
    missing = unready_because(view) if budgets is None and is_out_of_reach(view) else ""
    return tuple(
        BudgetEntry(pool, reason, pool_budgets, budgets is not None and pool_budgets is None, missing)
        for name, pool in view.state.nodepools.items()
        for pool_budgets in (budgets.get(name) if budgets is not None else None,)
        for reason in (reasons if pool_budgets is None else [state.reason for state in pool_budgets.states])
    )
