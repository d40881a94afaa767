"""How many nodes of a NodePool may be disrupted now for each reason, and which budget limits it.

Rules: ``GetAllowedDisruptionsByReason`` in ``pkg/apis/v1/nodepool.go`` and ``BuildDisruptionBudgetMapping`` in
``pkg/controllers/disruption/helpers.go``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from karptui.disruption.cron import Schedule, ScheduleError, parse_schedule
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.karpenter.requirements import parse_integer
from karptui.karpenter.settings import Settings
from karptui.kube.durations import DurationError, parse_duration
from karptui.provisioning.state_node import StateNode

UNLIMITED: Final = (1 << 31) - 1
"""Karpenter's value if no budget applies."""


class Reason(StrEnum):
    """A disruption reason that budgets distinguish."""

    EMPTY = "Empty"
    DRIFTED = "Drifted"
    UNDERUTILIZED = "Underutilized"
    UNHEALTHY = "Unhealthy"
    """Of Repair, since 1.15: nodes that are not ready do not consume its budget."""


_ALWAYS: Final = (Reason.EMPTY, Reason.DRIFTED, Reason.UNDERUTILIZED)
"""Reasons with methods in every cluster."""


REPAIR_GATE: Final = "NodeRepair"


def is_repairing(settings: Settings) -> bool:
    """Return whether Repair is one of the methods: since 1.15, with the gate on and the older controller off."""
    return settings.rules.has_repair_method and settings.gate(REPAIR_GATE) and not settings.legacy_node_repair


def reasons_of(settings: Settings) -> tuple[Reason, ...]:
    """Return the disruption reasons of the controller."""
    return (*_ALWAYS, Reason.UNHEALTHY) if is_repairing(settings) else _ALWAYS


def reasons_of_pool(pool: NodePool, settings: Settings) -> tuple[Reason, ...]:
    """Return the disruption reasons that apply to a NodePool; a static one is never consolidated."""
    reasons = reasons_of(settings)
    return (
        tuple(reason for reason in reasons if reason in (Reason.DRIFTED, Reason.UNHEALTHY))
        if pool.is_static
        else reasons
    )


class BudgetLine(msgspec.Struct, frozen=True, gc=False):
    """A budget at a point in time."""

    index: int
    """Its index in ``spec.disruption.budgets``, from 0."""
    budget: DisruptionBudget
    is_active: bool
    """Whether its window is open; true without a window."""
    allowed: int
    """Nodes it allows; ``UNLIMITED`` outside its window, 0 if it cannot be parsed."""
    problem: str = ""
    """Why it cannot be parsed: then the NodePool allows nothing for any reason."""

    def covers(self, reason: Reason) -> bool:
        """Whether it applies to a reason: absent reasons mean all, an empty list none."""
        return self.budget.reasons is None or reason in self.budget.reasons


class BudgetState(msgspec.Struct, frozen=True, gc=False):
    """A NodePool's allowance for a reason at a point in time: ``allowed - deleting - not_ready = left``."""

    pool_name: str
    reason: Reason
    nodes: int
    """Nodes that percentages refer to: managed, initialized, their instance not terminating."""
    allowed: int
    deleting: tuple[str, ...]
    """Nodes being deleted."""
    not_ready: tuple[str, ...]
    """Nodes whose Ready condition is not True and which are not being deleted."""
    binding: BudgetLine | None
    """The most restrictive budget, the first of equals; None if none applies or the budgets cannot be parsed."""
    problem: str = ""
    """Why the budgets cannot be parsed."""

    @property
    def consuming(self) -> int:
        """Nodes that consume the allowance."""
        return len(self.deleting) + len(self.not_ready)

    @property
    def left(self) -> int:
        """Nodes that may still be disrupted now."""
        return max(self.allowed - self.consuming, 0)

    @property
    def is_announced(self) -> bool:
        """Whether Karpenter publishes an event on the NodePool: only if it has nodes and allows none at all."""
        return self.nodes != 0 and self.allowed == 0


def read_line(index: int, budget: DisruptionBudget, nodes: int, now_ns: int) -> BudgetLine:
    """Return a budget's state at a point in time for a NodePool with this number of nodes."""
    try:
        window = read_window(budget)
        is_active = window is None or window.is_open(now_ns)
        allowed = scaled(budget.nodes, nodes) if is_active else UNLIMITED
    except (ScheduleError, DurationError, BudgetValueError) as error:
        return BudgetLine(index, budget, is_active=False, allowed=0, problem=str(error))
    return BudgetLine(index, budget, is_active, allowed)


class BudgetValueError(ValueError):
    """Raised for a ``nodes`` value that is neither an integer nor a percentage."""


def scaled(value: str, nodes: int) -> int:
    """Return a budget's ``nodes`` as a number of nodes; percentages are rounded up.

    Raises:
        BudgetValueError: If it is neither an integer nor a percentage.
    """
    whole = parse_integer(value)
    if whole is not None:
        return whole
    percent = parse_integer(value[:-1]) if value.endswith("%") else None
    if percent is None:
        raise BudgetValueError(f'nodes is "{value}", neither an integer nor a percentage')
    return math.ceil(percent * nodes / 100)


class Window(msgspec.Struct, frozen=True, gc=False):
    """The window of a budget with a schedule: open from each match for the duration."""

    schedule: Schedule
    duration_ns: int

    def is_open(self, now_ns: int) -> bool:
        """Whether the schedule matches within the last ``duration_ns``; a schedule without matches is always open."""
        match = self.schedule.next_after(now_ns - self.duration_ns)
        return match is None or match <= now_ns


def read_window(budget: DisruptionBudget) -> Window | None:
    """Return a budget's window, or None if it always applies.

    Raises:
        ScheduleError: If a duration has no schedule, or the schedule cannot be parsed.
        DurationError: If the duration cannot be parsed.
    """
    if budget.schedule is None and budget.duration is None:
        return None
    duration_ns = 0 if budget.duration is None else parse_duration(budget.duration)
    return Window(parse_schedule(budget.schedule or ""), duration_ns)


class PoolUse(msgspec.Struct, frozen=True, gc=False):
    """Node counts of a NodePool for its budgets."""

    nodes: int = 0
    deleting: tuple[str, ...] = ()
    not_ready: tuple[str, ...] = ()


_UNUSED: Final = PoolUse()


def count_use(nodes: Iterable[StateNode], commanded: frozenset[str] = frozenset()) -> dict[str, PoolUse]:
    """Return the counted and the budget-consuming nodes, by NodePool.

    Args:
        commanded: Names of nodes in a disruption command, which count as being deleted.
    """
    totals: dict[str, int] = {}
    deleting: dict[str, list[str]] = {}
    not_ready: dict[str, list[str]] = {}
    for node in nodes:
        if node.claim is None or not (node.is_initialized or node.is_rebooting) or node.is_ending:
            continue
        pool = node.nodepool_name
        totals[pool] = totals.get(pool, 0) + 1
        if node.is_marked_for_deletion or node.is_rebooting or node.name in commanded:
            deleting.setdefault(pool, []).append(node.name)
        elif not node.is_ready:
            not_ready.setdefault(pool, []).append(node.name)
    return {
        pool: PoolUse(count, tuple(sorted(deleting.get(pool, ()))), tuple(sorted(not_ready.get(pool, ()))))
        for pool, count in totals.items()
    }


def budget_state(pool: NodePool, reason: Reason, use: PoolUse | None, now_ns: int) -> BudgetState:
    """Return a NodePool's allowance for a reason at a point in time."""
    use = use or _UNUSED
    lines = [read_line(i, budget, use.nodes, now_ns) for i, budget in enumerate(pool.budgets or ())]
    problem = next((line.problem for line in lines if line.problem), "")
    binding = min(
        (line for line in lines if line.is_active and line.covers(reason)),
        key=lambda line: line.allowed,
        default=None,
    )
    allowed = UNLIMITED if binding is None else min(binding.allowed, UNLIMITED)
    return BudgetState(
        pool_name=pool.name,
        reason=reason,
        nodes=use.nodes,
        allowed=0 if problem else allowed,
        deleting=use.deleting,
        not_ready=() if reason is Reason.UNHEALTHY else use.not_ready,
        binding=None if problem else binding,
        problem=problem,
    )
