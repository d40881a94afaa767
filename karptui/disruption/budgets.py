"""How many nodes of a NodePool may be disrupted now, for which reason, and which line of the budgets says so.

Rules: ``GetAllowedDisruptionsByReason`` in ``pkg/apis/v1/nodepool.go`` and ``BuildDisruptionBudgetMapping`` in
``pkg/controllers/disruption/helpers.go``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from karptui.disruption.schedule import Schedule, ScheduleError, parse_schedule
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.karpenter.requirements import parse_integer
from karptui.karpenter.settings import Settings
from karptui.kube.durations import DurationError, parse_duration
from karptui.provisioning.state_node import StateNode

UNLIMITED: Final = (1 << 31) - 1
"""What Karpenter takes where no budget applies."""


class Reason(StrEnum):
    """What a budget tells apart."""

    EMPTY = "Empty"
    DRIFTED = "Drifted"
    UNDERUTILIZED = "Underutilized"
    UNHEALTHY = "Unhealthy"
    """Repair's, since 1.15: nodes that are not ready do not use it up."""


_ALWAYS: Final = (Reason.EMPTY, Reason.DRIFTED, Reason.UNDERUTILIZED)
"""The reasons of methods that every cluster has."""


REPAIR_GATE: Final = "NodeRepair"


def is_repairing(settings: Settings) -> bool:
    """Return whether Repair is a method of the controller: since 1.15, with the gate, not by the older controller."""
    return settings.rules.has_repair_method and settings.gate(REPAIR_GATE) and not settings.legacy_node_repair


def reasons_of(settings: Settings) -> tuple[Reason, ...]:
    """Return the reasons for which a controller disrupts nodes."""
    return (*_ALWAYS, Reason.UNHEALTHY) if is_repairing(settings) else _ALWAYS


def reasons_of_pool(pool: NodePool, settings: Settings) -> tuple[Reason, ...]:
    """Return the reasons for which a controller disrupts nodes of a NodePool: a static one is never consolidated."""
    reasons = reasons_of(settings)
    return tuple(one for one in reasons if one in (Reason.DRIFTED, Reason.UNHEALTHY)) if pool.is_static else reasons


class BudgetLine(msgspec.Struct, frozen=True, gc=False):
    """One budget at one instant."""

    index: int
    """Its position in ``spec.disruption.budgets``, from 0."""
    budget: DisruptionBudget
    is_active: bool
    """Whether its window is open, or it has none."""
    allowed: int
    """Nodes it allows; ``UNLIMITED`` outside its window, 0 where it cannot be read."""
    problem: str = ""
    """Why it cannot be read: then the whole NodePool is closed for every reason."""

    def covers(self, reason: Reason) -> bool:
        """Whether it applies to a reason: absent reasons are all of them, an empty list is none."""
        return self.budget.reasons is None or reason in self.budget.reasons


class BudgetState(msgspec.Struct, frozen=True, gc=False):
    """A NodePool's allowance for one reason at one instant: ``allowed - deleting - not_ready = left``."""

    pool_name: str
    reason: Reason
    nodes: int
    """Nodes the percentages are of: managed, initialised, their instance not terminating."""
    allowed: int
    deleting: tuple[str, ...]
    """Nodes that are on their way out."""
    not_ready: tuple[str, ...]
    """Nodes whose Ready condition is not True and that are not deleting."""
    binding: BudgetLine | None
    """The line that allows least, the first of equals; None where none applies or the budgets cannot be read."""
    problem: str = ""
    """Why the budgets cannot be read."""

    @property
    def consuming(self) -> int:
        """Nodes that use the allowance up, for whatever cause."""
        return len(self.deleting) + len(self.not_ready)

    @property
    def left(self) -> int:
        """Nodes that may still be disrupted now."""
        return max(self.allowed - self.consuming, 0)

    @property
    def is_announced(self) -> bool:
        """Whether Karpenter says so on the NodePool: only where nothing is allowed at all and there are nodes."""
        return self.nodes != 0 and self.allowed == 0


def read_line(index: int, budget: DisruptionBudget, nodes: int, now_ns: int) -> BudgetLine:
    """Return a budget at an instant for a pool of so many nodes."""
    try:
        window = read_window(budget)
        is_active = window is None or window.is_open(now_ns)
        allowed = scaled(budget.nodes, nodes) if is_active else UNLIMITED
    except (ScheduleError, DurationError, BudgetValueError) as error:
        return BudgetLine(index, budget, is_active=False, allowed=0, problem=str(error))
    return BudgetLine(index, budget, is_active, allowed)


class BudgetValueError(ValueError):
    """A ``nodes`` value that is neither an integer nor a percentage."""


def scaled(value: str, nodes: int) -> int:
    """Return the number of nodes that ``nodes`` of a budget comes to; percentages are rounded up.

    Raises:
        BudgetValueError: when it is neither an integer nor a percentage.
    """
    whole = parse_integer(value)
    if whole is not None:
        return whole
    percent = parse_integer(value[:-1]) if value.endswith("%") else None
    if percent is None:
        raise BudgetValueError(f'nodes is "{value}", neither an integer nor a percentage')
    return math.ceil(percent * nodes / 100)


class Window(msgspec.Struct, frozen=True, gc=False):
    """When a budget with a schedule applies: from each hit for the length of its duration."""

    schedule: Schedule
    duration_ns: int

    def is_open(self, now_ns: int) -> bool:
        """Whether a hit lies within the last ``duration_ns``; a schedule that never comes is always open."""
        hit = self.schedule.next_after(now_ns - self.duration_ns)
        return hit is None or hit <= now_ns


def read_window(budget: DisruptionBudget) -> Window | None:
    """Return a budget's window, None where it always applies.

    Raises:
        ScheduleError: when the schedule is missing beside a duration, or cannot be read.
        DurationError: when the duration cannot be read.
    """
    if budget.schedule is None and budget.duration is None:
        return None
    duration_ns = 0 if budget.duration is None else parse_duration(budget.duration)
    return Window(parse_schedule(budget.schedule or ""), duration_ns)


class PoolUse(msgspec.Struct, frozen=True, gc=False):
    """The nodes of a NodePool as budgets count them."""

    nodes: int = 0
    deleting: tuple[str, ...] = ()
    not_ready: tuple[str, ...] = ()


_UNUSED: Final = PoolUse()


def count_use(nodes: Iterable[StateNode], commanded: frozenset[str] = frozenset()) -> dict[str, PoolUse]:
    """Return by NodePool the nodes that count and those that use budgets up.

    Args:
        nodes: Every state node.
        commanded: Names of nodes that a disruption command already holds: they count as deleting.
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
    """Return what a NodePool allows for a reason at an instant."""
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
