"""Blockers that a NodePool causes: budgets, replicas, and consolidation's and Emptiness's own conditions.

The conditions are consolidateAfter, the policy, missing labels and unknown types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from karptui.disruption import consolidation, emptiness, static_drift
from karptui.disruption.budget_calendar import next_opening, opened_at
from karptui.disruption.budgets import UNLIMITED, BudgetState, PoolUse, Reason, budget_state, reasons_of_pool
from karptui.disruption.candidate import Candidate
from karptui.disruption.codes import Blocker, Code
from karptui.disruption.command import Method
from karptui.disruption.emptiness import FilterCode, quiet_period
from karptui.disruption.fleet import Fleet
from karptui.disruption.launch_price import ReckonedPrices
from karptui.disruption.should_disrupt import WantedBy
from karptui.disruption.termination import deadline_of
from karptui.karpenter.labels import CAPACITY_TYPE, ZONE
from karptui.karpenter.nodepool import WHEN_EMPTY, NodePool
from karptui.kube.objects import condition_of
from karptui.provisioning.state_node import StateNode

_CONSOLIDATION: Final = frozenset({Method.MULTI_NODE, Method.SINGLE_NODE})
_EMPTINESS: Final = frozenset({Method.EMPTINESS})
_REMOVAL: Final = _CONSOLIDATION | _EMPTINESS
_LABELS: Final = {FilterCode.NO_CAPACITY_TYPE: CAPACITY_TYPE, FilterCode.NO_ZONE: ZONE}


def consolidation_blockers(fleet: Fleet, node: StateNode, pool: NodePool, book: ReckonedPrices) -> Iterator[Blocker]:
    """Yield the unmet conditions of Emptiness and consolidation for a managed node of a dynamic NodePool."""
    candidate = Candidate(fleet, node, pool, book)
    messages: dict[str, str] = {}
    blocks: dict[str, frozenset[Method]] = {}
    conditions = (
        *((unmet, _CONSOLIDATION) for unmet in consolidation.missing_conditions(candidate)),
        *((unmet, _EMPTINESS) for unmet in emptiness.missing_conditions(candidate)),
    )
    for (code, message), methods in conditions:
        messages[code] = message
        blocks[code] = blocks.get(code, frozenset()) | methods
    for code, message in messages.items():
        match code:
            case FilterCode.NEVER:
                yield _of_pool(pool, Code.CONSOLIDATION_DISABLED, blocks[code], "Never", message)
            case FilterCode.POLICY:
                yield _of_pool(pool, Code.WHEN_EMPTY_POLICY, blocks[code], WHEN_EMPTY, message)
            case FilterCode.NOT_CONSOLIDATABLE:
                if FilterCode.NEVER not in messages:
                    yield _quiet(fleet, node, pool)
            case FilterCode.BUFFER:
                yield _of_node(node, Code.BUFFER_PODS, blocks[code], "", f'Node "{_node_name(node)}" has buffer pods')
            case FilterCode.TYPE_UNKNOWN:
                yield _of_node(node, Code.INSTANCE_TYPE_UNKNOWN, blocks[code], candidate.type_name, message)
            case FilterCode.NO_CAPACITY_TYPE | FilterCode.NO_ZONE:
                yield _of_node(node, Code(code), blocks[code], _LABELS[code], message)


def _of_pool(pool: NodePool, code: Code, blocks: frozenset[Method], value: str, message: str) -> Blocker:
    return Blocker(code=code, blocks=blocks, object_kind="NodePool", object_key=pool.name, value=value, message=message)


def _of_node(node: StateNode, code: Code, blocks: frozenset[Method], value: str, message: str) -> Blocker:
    return Blocker(
        code=code, blocks=blocks, object_kind="Node", object_key=_node_name(node), value=value, message=message
    )


def _node_name(node: StateNode) -> str:
    return node.node.name if node.node is not None else ""


def _quiet(fleet: Fleet, node: StateNode, pool: NodePool) -> Blocker:
    assert node.claim is not None
    period = quiet_period(node.claim, pool)
    code, until_ns, message = Code.NOT_CONSOLIDATABLE, None, "the NodeClaim is not marked Consolidatable"
    since_ns = None if period is None else period.until_ns
    if period is not None and period.until_ns > fleet.now_ns:
        change = "a pod was added or removed" if period.has_pod_event else "the node was initialized"
        code, since_ns, until_ns = Code.CONSOLIDATE_AFTER, period.since_ns, period.until_ns
        message = f"consolidateAfter of its NodePool has not passed since {change}"
    return Blocker(
        code=code,
        blocks=_REMOVAL,
        object_kind="NodeClaim",
        object_key=node.claim.name,
        since_ns=since_ns,
        until_ns=until_ns,
        message=message,
    )


_BY_REASON: Final[Mapping[Reason, frozenset[Method]]] = {
    Reason.EMPTY: frozenset({Method.EMPTINESS}),
    Reason.DRIFTED: frozenset({Method.DRIFT}),
    Reason.UNDERUTILIZED: _CONSOLIDATION,
}


class PoolBlockers:
    """Finds the blockers that a node's NodePool causes; budgets are computed once per NodePool."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._budgets: dict[str, tuple[Blocker, ...]] = {}
        self._headroom: dict[str, static_drift.StaticHeadroom] = {}
        self._by_name = {node.name: node for node in fleet.nodes}

    def of_pool(self, name: str) -> tuple[Blocker, ...]:
        """Return the blockers of all nodes of a NodePool; empty if it does not resolve."""
        resolved = self._fleet.resolved(name)
        if resolved is None:
            return ()
        pool, _ = resolved
        return (*self._of_budgets(pool), *(self._of_replicas(pool) if pool.is_static else ()))

    def of(self, node: StateNode, wanted_by: WantedBy) -> Iterator[Blocker]:
        """Yield the blockers that a managed node's NodePool causes."""
        resolved = self._fleet.resolved(node.nodepool_name)
        if resolved is None:
            return
        pool, book = resolved
        blockers = [*self.of_pool(pool.name)]
        if not pool.is_static:
            blockers.extend(consolidation_blockers(self._fleet, node, pool, book))
        for blocker in blockers:
            yield self._as_wanted(blocker, wanted_by)
        if wanted_by.ailment is not None and node.is_initialized:
            state = budget_state(pool, Reason.UNHEALTHY, self._fleet.use.get(pool.name), self._fleet.now_ns)
            if not state.left:
                use = self._fleet.use.get(pool.name)
                repair = frozenset({Method.REPAIR})
                yield self._as_wanted(self._budget_blocker(pool, state, use, repair), wanted_by)

    @staticmethod
    def _as_wanted(blocker: Blocker, wanted_by: WantedBy) -> Blocker:
        since_ns = wanted_by.since_when(blocker.blocks, blocker.since_ns)
        return replace(blocker, since_ns=since_ns, is_wanted=wanted_by.any_of(blocker.blocks))

    def _of_budgets(self, pool: NodePool) -> tuple[Blocker, ...]:
        blockers = self._budgets.get(pool.name)
        if blockers is None:
            blockers = self._budgets[pool.name] = tuple(self._exhausted(pool))
        return blockers

    def _exhausted(self, pool: NodePool) -> Iterator[Blocker]:
        """Yield the budgets that allow no more nodes now; reasons limited by the same budget share a blocker."""
        use = self._fleet.use.get(pool.name)
        exhausted: dict[tuple[object, ...], Blocker] = {}
        for reason in reasons_of_pool(pool, self._fleet.settings):
            if reason is Reason.UNHEALTHY:  # only for unhealthy nodes: see `of`
                continue
            state = budget_state(pool, reason, use, self._fleet.now_ns)
            if state.left:
                continue
            blocks = frozenset({Method.STATIC_DRIFT}) if pool.is_static else _BY_REASON[reason]
            key = (state.binding.index if state.binding is not None else -1, state.allowed)
            blocker = exhausted.get(key)
            if blocker is None:
                exhausted[key] = self._budget_blocker(pool, state, use, blocks)
            else:
                exhausted[key] = replace(blocker, blocks=blocker.blocks | blocks)
        yield from exhausted.values()

    def _budget_blocker(
        self, pool: NodePool, state: BudgetState, use: PoolUse | None, blocks: frozenset[Method]
    ) -> Blocker:
        since_ns, until_ns = self._budget_times(pool, state, use)
        if state.problem:
            message = f"a budget cannot be parsed, so the NodePool allows no disruption: {state.problem}"
        elif not state.allowed:
            ever = "" if until_ns is not None else "; no window will open"
            message = f"the budget allows 0 of {state.nodes} nodes{ever}"
        else:
            disrupted = f"{len(state.deleting)} deleting, {len(state.not_ready)} NotReady"
            message = f"the budget allows {state.allowed} of {state.nodes} nodes; {disrupted}; none left"
        return Blocker(
            code=Code.BUDGET_ZERO,
            blocks=blocks,
            object_kind="NodePool",
            object_key=pool.name,
            value=budget_text(state),
            since_ns=since_ns,
            until_ns=until_ns,
            message=message,
        )

    def _budget_times(self, pool: NodePool, state: BudgetState, use: PoolUse | None) -> tuple[int | None, int | None]:
        """Return since when and until when a budget is exhausted: by its window, or by the nodes that consume it."""
        now_ns = self._fleet.now_ns
        if state.allowed > 0:
            return self._consumed_since(state), self._first_end(state)
        if state.binding is None:
            return None, None
        return opened_at(state.binding.budget, now_ns), next_opening(pool, state.reason, use, now_ns)

    def _consumed_since(self, state: BudgetState) -> int | None:
        """Return when as many nodes as the budget allows had begun to consume it; None if unknown."""
        began = []
        for name in (*state.deleting, *state.not_ready):
            node = self._by_name[name]
            assert node.claim is not None
            ready = condition_of(node.node.conditions, "Ready") if node.node is not None else None
            began.append(node.claim.deletion_ns or (0 if ready is None else ready.last_transition_ns))
        return sorted(began)[state.allowed - 1] or None

    def _first_end(self, state: BudgetState) -> int | None:
        """Return the next deadline of the nodes being deleted; those past it do not end as they should."""
        claims = (self._by_name[name].claim for name in state.deleting)
        deadlines = (deadline_of(claim) for claim in claims if claim is not None)
        ends = (deadline.at_ns for deadline in deadlines if deadline is not None)
        return min((end for end in ends if end > self._fleet.now_ns), default=None)

    def _of_replicas(self, pool: NodePool) -> Iterator[Blocker]:
        headroom = self._headroom.get(pool.name)
        if headroom is None:
            headroom = self._headroom[pool.name] = static_drift.headroom(self._fleet, pool)
        goes_first = static_drift.may_terminate_first(self._fleet) and static_drift.is_refillable(pool)
        if headroom.code and not (headroom.code == static_drift.STATIC_NO_HEADROOM and goes_first):
            yield Blocker(
                code=Code(headroom.code),
                blocks=frozenset({Method.STATIC_DRIFT}),
                object_kind="NodePool",
                object_key=pool.name,
                value=(
                    f"replicas {headroom.replicas}, nodes {headroom.active + headroom.deleting},"
                    f" limit {headroom.node_limit or '-'}"
                ),
                message=_STATIC_MESSAGES[headroom.code],
            )


_STATIC_MESSAGES: Final = {
    static_drift.STATIC_SCALING: "the NodePool has more nodes than replicas: drift waits for the scale-down",
    static_drift.STATIC_NO_HEADROOM: "limits.nodes does not allow a replacement next to the node",
}


def budget_text(state: BudgetState) -> str:
    """Return the limiting budget as text: nodes, schedule, duration and reasons."""
    if state.binding is None:
        return "" if state.allowed != UNLIMITED else "no budget"
    budget = state.binding.budget
    parts = [f"nodes {budget.nodes}"]
    if budget.schedule is not None:
        parts.append(f"schedule {budget.schedule} for {budget.duration or '0s'}")
    if budget.reasons is not None:
        parts.append(f"reasons {' '.join(budget.reasons)}")
    return ", ".join(parts)
