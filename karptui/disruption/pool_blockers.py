"""What a NodePool's rules put in the way of its nodes.

Budgets and replicas; what keeps Emptiness and consolidation off: consolidateAfter, the policy, missing labels, unknown
types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from karptui.disruption import static_drift
from karptui.disruption.blocker import Blocker, Wanted
from karptui.disruption.budget_calendar import next_opening, opened_at
from karptui.disruption.budgets import UNLIMITED, VOLUNTARY, BudgetState, PoolUse, Reason, budget_state
from karptui.disruption.codes import Code
from karptui.disruption.command import Method
from karptui.disruption.consolidate_after import quiet_period
from karptui.disruption.emptiness import CONSOLIDATABLE
from karptui.disruption.fleet import Fleet
from karptui.disruption.price import PriceBook
from karptui.disruption.termination import deadline_of
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from karptui.karpenter.nodepool import WHEN_EMPTY, NodePool
from karptui.kube.objects import condition_of
from karptui.provisioning.state_node import StateNode

_CONSOLIDATION: Final = frozenset({Method.MULTI_NODE, Method.SINGLE_NODE})
_REMOVAL: Final = _CONSOLIDATION | {Method.EMPTINESS}
_LABEL_CODES: Final = ((CAPACITY_TYPE, Code.NO_CAPACITY_TYPE_LABEL), (ZONE, Code.NO_ZONE_LABEL))


def consolidation_blockers(fleet: Fleet, node: StateNode, pool: NodePool, book: PriceBook) -> Iterator[Blocker]:
    """Yield what keeps Emptiness and consolidation from a managed node of a dynamic NodePool."""
    yield from _of_labels(node, book)
    assert node.claim is not None
    if pool.consolidate_after_ns is None:
        message = f'NodePool "{pool.name}" has consolidation disabled'
        yield _of_pool(pool, Code.CONSOLIDATION_DISABLED, _REMOVAL, "Never", message)
    elif not node.claim.is_true(CONSOLIDATABLE):
        yield _quiet(fleet, node, pool)
    if pool.consolidation_policy == WHEN_EMPTY and not fleet.is_empty(node):
        message = f'NodePool "{pool.name}" has consolidation policy WhenEmpty, but node is not empty'
        yield _of_pool(pool, Code.WHEN_EMPTY_POLICY, _CONSOLIDATION, WHEN_EMPTY, message)
    if node.name in fleet.buffered:
        message = f'Node "{_node_name(node)}" has buffer pods'
        yield _of_node(node, Code.BUFFER_PODS, frozenset({Method.EMPTINESS}), "", message)


def _of_labels(node: StateNode, book: PriceBook) -> Iterator[Blocker]:
    type_name = node.labels.get(INSTANCE_TYPE, "")
    if type_name not in book.types:
        message = f'Instance Type "{type_name}" not found'
        yield _of_node(node, Code.INSTANCE_TYPE_UNKNOWN, _CONSOLIDATION, type_name, message)
    for key, code in _LABEL_CODES:
        if key not in node.labels:
            yield _of_node(node, code, _CONSOLIDATION, key, f'Node does not have label "{key}"')


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
        what = "a pod came or went" if period.has_pod_event else "the node was initialised"
        code, since_ns, until_ns = Code.CONSOLIDATE_AFTER, period.since_ns, period.until_ns
        message = f"consolidateAfter of its NodePool has not passed since {what}"
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
    """Finds what a node's NodePool puts in its way; budgets are worked out once for each NodePool."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._budgets: dict[str, tuple[Blocker, ...]] = {}
        self._headroom: dict[str, static_drift.StaticHeadroom] = {}
        self._by_name = {node.name: node for node in fleet.nodes}

    def of_pool(self, name: str) -> tuple[Blocker, ...]:
        """Return what a NodePool puts in the way of every node of it; nothing where it does not resolve."""
        resolved = self._fleet.resolved(name)
        if resolved is None:
            return ()
        pool, _ = resolved
        return (*self._of_budgets(pool), *(self._of_replicas(pool) if pool.is_static else ()))

    def of(self, node: StateNode, wanted: Wanted) -> Iterator[Blocker]:
        """Yield what the NodePool of a managed node puts in its way."""
        resolved = self._fleet.resolved(node.nodepool_name)
        if resolved is None:
            return
        pool, book = resolved
        found = [*self.of_pool(pool.name)]
        if not pool.is_static:
            found.extend(consolidation_blockers(self._fleet, node, pool, book))
        for blocker in found:
            yield self._as_wanted(blocker, wanted)

    @staticmethod
    def _as_wanted(blocker: Blocker, wanted: Wanted) -> Blocker:
        since_ns = wanted.since(blocker.blocks, blocker.since_ns)
        return replace(blocker, since_ns=since_ns, is_wanted=wanted.any_of(blocker.blocks))

    def _of_budgets(self, pool: NodePool) -> tuple[Blocker, ...]:
        found = self._budgets.get(pool.name)
        if found is None:
            found = self._budgets[pool.name] = tuple(self._exhausted(pool))
        return found

    def _exhausted(self, pool: NodePool) -> Iterator[Blocker]:
        """Yield the budgets that leave nothing now; reasons that the same line shuts share a blocker."""
        use = self._fleet.use.get(pool.name)
        shut: dict[tuple[object, ...], Blocker] = {}
        for reason in VOLUNTARY:
            if pool.is_static and reason is not Reason.DRIFTED:
                continue
            state = budget_state(pool, reason, use, self._fleet.now_ns)
            if state.left:
                continue
            blocks = frozenset({Method.STATIC_DRIFT}) if pool.is_static else _BY_REASON[reason]
            key = (state.binding.index if state.binding is not None else -1, state.allowed)
            known = shut.get(key)
            if known is None:
                shut[key] = self._budget_blocker(pool, state, use, blocks)
            else:
                shut[key] = replace(known, blocks=known.blocks | blocks)
        yield from shut.values()

    def _budget_blocker(
        self, pool: NodePool, state: BudgetState, use: PoolUse | None, blocks: frozenset[Method]
    ) -> Blocker:
        since_ns, until_ns = self._budget_times(pool, state, use)
        if state.problem:
            message = f"a budget cannot be read, which closes the NodePool for every reason: {state.problem}"
        else:
            taken = f"{len(state.deleting)} deleting, {len(state.not_ready)} NotReady"
            message = f"the budget allows {state.allowed} of {state.nodes} nodes; {taken}; none left"
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
        """Return since when nothing has been left, and until when: by the window, or by the nodes that use it up."""
        now_ns = self._fleet.now_ns
        if state.allowed > 0:
            return self._consumed_since(state), self._first_end(state)
        if state.binding is None:
            return None, None
        return opened_at(state.binding.budget, now_ns), next_opening(pool, state.reason, use, now_ns)

    def _consumed_since(self, state: BudgetState) -> int | None:
        """Return when the last of the nodes that use the budget up began to do so."""
        began = []
        for name in (*state.deleting, *state.not_ready):
            node = self._by_name[name]
            assert node.claim is not None
            ready = condition_of(node.node.conditions, "Ready") if node.node is not None else None
            since_ns = node.claim.deletion_ns or (0 if ready is None else ready.last_transition_ns)
            if since_ns:
                began.append(since_ns)
        return max(began, default=None)

    def _first_end(self, state: BudgetState) -> int | None:
        """Return the first deadline of the nodes that are deleted."""
        claims = (self._by_name[name].claim for name in state.deleting)
        deadlines = (deadline_of(claim) for claim in claims if claim is not None)
        return min((deadline.at_ns for deadline in deadlines if deadline is not None), default=None)

    def _of_replicas(self, pool: NodePool) -> Iterator[Blocker]:
        room = self._headroom.get(pool.name)
        if room is None:
            room = self._headroom[pool.name] = static_drift.headroom(self._fleet, pool)
        if room.code:
            yield Blocker(
                code=Code(room.code),
                blocks=frozenset({Method.STATIC_DRIFT}),
                object_kind="NodePool",
                object_key=pool.name,
                value=f"replicas {room.replicas}, nodes {room.active + room.deleting}, limit {room.node_limit or '-'}",
                message=_STATIC_MESSAGES[room.code],
            )


_STATIC_MESSAGES: Final = {
    static_drift.STATIC_SCALING: "the NodePool has more nodes than replicas: drift waits until it has come down",
    static_drift.STATIC_NO_HEADROOM: "limits.nodes leaves no room for a replacement beside the node",
}


def budget_text(state: BudgetState) -> str:
    """Return the line that binds, as it is written: nodes, schedule, duration and reasons."""
    if state.binding is None:
        return "" if state.allowed != UNLIMITED else "no budget"
    budget = state.binding.budget
    parts = [f"nodes {budget.nodes}"]
    if budget.schedule is not None:
        parts.append(f"schedule {budget.schedule} for {budget.duration or '0s'}")
    if budget.reasons is not None:
        parts.append(f"reasons {' '.join(budget.reasons)}")
    return ", ".join(parts)
