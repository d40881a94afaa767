"""Disruption budgets of NodePools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import at_cost, joined, listed, pool_ref
from karptui.aws.money import per_hour_text
from karptui.disruption.budget_calendar import WEEK_NS, allowance
from karptui.disruption.budgets import (
    REPAIR_GATE,
    BudgetState,
    BudgetValueError,
    Reason,
    Window,
    budget_state,
    read_line,
    read_window,
    reasons_of_pool,
    scaled,
)
from karptui.disruption.cron import ScheduleError
from karptui.disruption.events import Recorder
from karptui.disruption.repair import Repair
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.kube.durations import DurationError
from karptui.kube.timestamps import MINUTE_NS
from karptui.kube.units import counted, verb
from karptui.provisioning.state_node import StateNode
from karptui.whatif.edits import ObjectRef


@rule(
    "budget-always-active",
    title="a budget date that never comes",
    what="A budget's schedule can be read but has no hit within five years, such as February 30th.",
    why="Karpenter computes the next hit after (now - duration), and considers the window open if that hit is not in "
    "the future. For a schedule without hits the library returns the zero time, which is always in the past.",
    source="IsActive in pkg/apis/v1/nodepool.go",
    remedy="Correct the date; to close a pool permanently, omit the schedule.",
)
def _always_active(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        for index, budget in enumerate(pool.budgets or ()):
            window = _window(budget)
            if window is None or window.schedule.next_after(context.now_ns - window.duration_ns) is not None:
                continue
            yield Finding(
                severity=Severity.WARNING,
                objects=(pool_ref(pool),),
                fact=f'Budget {index} of {pool.name} ({budget.nodes} nodes) has the schedule "{budget.schedule}", '
                "a date that never comes: Karpenter then considers its window always open.",
            )


@rule(
    "budget-stops-repair",
    title="a window that stops node repair",
    what="The gate NodeRepair is on, and a budget without reasons allows no node.",
    why="Since 1.15 repair is a disruption method. A budget without reasons limits it too, so unhealthy nodes stay "
    "while the window is open. Karpenter 1.14 ignores budgets when it repairs nodes.",
    source="GetNodePoolDisruptionBudgets in pkg/controllers/disruption/helpers.go",
    remedy="Restrict the budget to the intended reasons: Empty, Drifted, Underutilized.",
)
def _stops_repair(context: AdviceContext) -> Iterator[Finding]:
    settings = context.settings
    if not settings.gate(REPAIR_GATE) or settings.legacy_node_repair:
        return
    when = "stops" if settings.rules.has_repair_method else "would, after an upgrade to 1.15, stop"
    for pool in context.pools:
        for index, budget in enumerate(pool.budgets or ()):
            if budget.reasons is None and budget.nodes in ("0", "0%"):
                yield Finding(
                    severity=Severity.WARNING if settings.rules.has_repair_method else Severity.INFO,
                    objects=(pool_ref(pool),),
                    fact=f"Budget {index} of {pool.name} ({budget.nodes} nodes, every reason) {when} node repair too"
                    + (" while its window is open." if budget.schedule else "."),
                )


def _window(budget: DisruptionBudget) -> Window | None:
    try:
        scaled(budget.nodes, 1)
        return read_window(budget)
    except (ScheduleError, DurationError, BudgetValueError):
        return None


_LONG_NS: Final = 30 * MINUTE_NS


@rule(
    "budget-eaten",
    title="broken nodes use up a disruption budget",
    what="A NodePool's budget allows disruption, and nodes that are not Ready, or have been draining for more than "
    "half an hour, use up all of it.",
    why="Karpenter subtracts nodes being deleted, for any reason, and nodes that are not Ready from the budget. A node "
    "that drains for a day uses up one disruption for a day. Karpenter publishes an event only if the budget itself is "
    "0, so a used-up budget is silent.",
    source="BuildDisruptionBudgetMapping in pkg/controllers/disruption/helpers.go",
    remedy="Repair or delete the nodes that are not Ready, and remove the obstacles of the drains. The gate NodeRepair "
    "deletes broken nodes if the provider supports it.",
)
def _eaten(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodes = context.nodes_of(pool)
        stuck = frozenset(node.name for node in nodes if _has_drained_long(node, context.now_ns))
        use = context.fleet.use.get(pool.name)
        states = [budget_state(pool, reason, use, context.now_ns) for reason in _reasons(context, pool)]
        eaten = [state for state in states if _is_eaten(state, stuck)]
        if not eaten:
            continue
        first = eaten[0]
        eaten = [state for state in eaten if (state.allowed, state.not_ready) == (first.allowed, first.not_ready)]
        rest = [node for node in nodes if node.name not in (*first.not_ready, *first.deleting)]
        if first.reason is Reason.UNHEALTHY:
            repair = Repair(context.fleet, Recorder())
            rest = [node for node in rest if repair.ailment_of(node) is not None]
        if not rest:
            continue
        cost = context.cost(rest)
        parts = []
        if first.not_ready:
            parts.append(f"{counted(len(first.not_ready), 'node')} not Ready ({listed(first.not_ready)})")
        if first.deleting:
            since = " for more than 30m" if stuck & set(first.deleting) else ""
            parts.append(f"{counted(len(first.deleting), 'node')} terminating{since} ({listed(first.deleting)})")
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool), *(ObjectRef("Node", name) for name in (*first.not_ready, *first.deleting))),
            fact=f"{pool.name} allows {first.allowed:,} of {counted(first.nodes, 'node')} to be disrupted for "
            f"{joined([state.reason for state in eaten])}, and {joined(parts)} "
            f"{verb(len(first.not_ready) + len(first.deleting), 'uses', 'use')} all of it: the other "
            f"{counted(len(rest), 'node')}{at_cost(cost)} {verb(len(rest), 'is', 'are')} blocked, without an event.",
            per_hour=cost,
        )


def _has_drained_long(node: StateNode, now_ns: int) -> bool:
    claim = node.claim
    return claim is not None and claim.is_deleting and now_ns - claim.deletion_ns > _LONG_NS


def _is_eaten(state: BudgetState, stuck: frozenset[str]) -> bool:
    """Return whether nodes that are broken or stuck make the difference between something and nothing left."""
    passing = sum(name not in stuck for name in state.deleting)
    return not state.problem and state.left == 0 and state.allowed > passing


@rule(
    "budget-never-opens",
    title="budgets that never open",
    what="For at least one reason, a NodePool with nodes allows no disruption now or within a week.",
    why="The smallest of the budgets that apply at an instant counts. A budget of 0 without a schedule, or several "
    "whose schedules together cover all hours, closes the pool permanently; drifted nodes then keep old images, and "
    "nothing is consolidated. Expiration and deletion continue.",
    source="GetAllowedDisruptionsByReason in pkg/apis/v1/nodepool.go",
    remedy="Give that budget a schedule and duration, or restrict it to some reasons; the Budgets screen shows the "
    "week.",
)
def _never_opens(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodes = context.nodes_of(pool)
        if not nodes or not pool.budgets:
            continue
        reasons = _reasons(context, pool)
        shut = [reason for reason in reasons if _is_shut(context, pool, reason)]
        if not shut:
            continue
        drifted = sum(1 for node in nodes if node.claim is not None and node.claim.is_true("Drifted"))
        drifted *= Reason.DRIFTED in shut
        waits = f" {counted(drifted, 'drifted node')} {verb(drifted, 'is', 'are')} not replaced." if drifted else ""
        # A pool may be closed for one reason on purpose. Closed for all of them, only expiry and repair are left.
        hurts = bool(drifted) or (not pool.is_static and set(reasons) - set(shut) <= {Reason.UNHEALTHY})
        cost = context.cost(nodes)
        yield Finding(
            severity=Severity.WARNING if hurts else Severity.INFO,
            objects=(pool_ref(pool),),
            fact=f"The budgets of {pool.name} allow no disruption for {joined(shut)} at any time in the next 7 days "
            f"({counted(len(nodes), 'node')}{', ' + per_hour_text(cost) if cost else ''}).{waits}",
            per_hour=cost,
        )


def _reasons(context: AdviceContext, pool: NodePool) -> tuple[Reason, ...]:
    return reasons_of_pool(pool, context.settings)


def _is_shut(context: AdviceContext, pool: NodePool, reason: Reason) -> bool:
    use = context.fleet.use.get(pool.name)
    state = budget_state(pool, reason, use, context.now_ns)
    if state.problem or state.nodes == 0 or state.allowed > 0:
        return False
    spans = allowance(pool, reason, use, context.now_ns, context.now_ns + WEEK_NS)
    return all(span.allowed <= 0 for span in spans)


@rule(
    "budget-unreadable",
    title="a budget that cannot be read",
    what="A disruption budget has a schedule, duration or nodes value that Karpenter cannot parse, or a duration "
    "without a schedule.",
    why="One invalid budget closes its NodePool for every reason, whatever the other budgets are. A schedule has five "
    "cron fields in UTC; Sunday is 0 only; a TZ prefix or a sixth field is not supported.",
    source="GetAllowedDisruptionsByReason in pkg/apis/v1/nodepool.go",
    remedy="Correct the budget: five fields, days of the week 0 to 6, a duration of hours and minutes.",
)
def _unreadable(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodes = context.nodes_of(pool)
        for index, budget in enumerate(pool.budgets or ()):
            line = read_line(index, budget, len(nodes), context.now_ns)
            if not line.problem:
                continue
            cost = context.cost(nodes)
            yield Finding(
                severity=Severity.ERROR,
                objects=(pool_ref(pool),),
                fact=f"Budget {index} of {pool.name} cannot be read ({line.problem}): the pool is closed for every "
                f"reason, so none of its {counted(len(nodes), 'node')}{at_cost(cost)} is replaced for drift or "
                "consolidated.",
                per_hour=cost,
            )
            break


@rule(
    "budget-without-duration",
    title="a budget without duration",
    what="A disruption budget has a schedule and no duration.",
    why="A budget's window starts at each time of its schedule and lasts for its duration; without a duration it is "
    "empty. The API server requires both, but objects stored before that rule remain.",
    source="IsActive in pkg/apis/v1/nodepool.go",
    remedy="Add the duration that the window should last.",
)
def _without_duration(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        for index, budget in enumerate(pool.budgets or ()):
            if budget.schedule is None or budget.duration not in (None, "0s", "0"):
                continue
            if read_line(index, budget, 1, context.now_ns).problem:
                continue
            yield Finding(
                severity=Severity.WARNING,
                objects=(pool_ref(pool),),
                fact=f'Budget {index} of {pool.name} ({budget.nodes} nodes) has the schedule "{budget.schedule}" and '
                "no duration: its window has no length, so it never applies.",
            )
