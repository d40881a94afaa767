"""What disruption budgets allow before and after."""

from __future__ import annotations

from karptui.disruption.budgets import UNLIMITED, Reason, budget_state
from karptui.provisioning.template import served_pools
from karptui.whatif.lines import BudgetLine
from karptui.whatif.situation import Situation

_Allowance = dict[tuple[str, str], tuple[int | None, int | None]]


def budget_changes(before: Situation, after: Situation) -> tuple[BudgetLine, ...]:
    """Return the NodePools and reasons for which budgets allow or leave another number of nodes."""
    if before is after:
        return ()
    old, new = _allowances(before), _allowances(after)
    nothing = (0, 0)
    return tuple(
        BudgetLine(pool, reason, *_crossed(old.get((pool, reason), nothing), new.get((pool, reason), nothing)))
        for pool, reason in dict.fromkeys((*new, *old))
        if old.get((pool, reason), nothing) != new.get((pool, reason), nothing)
    )


def _crossed(
    old: tuple[int | None, int | None], new: tuple[int | None, int | None]
) -> tuple[int | None, int | None, int | None, int | None]:
    return old[0], new[0], old[1], new[1]


def _allowances(situation: Situation) -> _Allowance:
    use = situation.budget_use
    found: _Allowance = {}
    for pool in served_pools(situation.inventory.nodepools):
        for reason in Reason:
            state = budget_state(pool, reason, use.get(pool.name), situation.now_ns)
            is_unlimited = state.allowed >= UNLIMITED
            found[pool.name, str(reason)] = (None, None) if is_unlimited else (state.allowed, state.left)
    return found
