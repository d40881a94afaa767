"""Pod deletion costs that Karpenter sets so that a scale-down empties the nodes it would disrupt first.

Rules: ``pkg/controllers/pod/deletioncost`` of v1.15.0; gate PodDeletionCostManagement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, auto
from typing import Final

from karptui.disruption.budgets import Reason, budget_state
from karptui.disruption.drift import DRIFTED
from karptui.disruption.fleet import Fleet
from karptui.disruption.gates import Gate, first_failure
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, POD_DELETION_COST, ZONE, is_disrupted
from karptui.karpenter.pod_predicates import is_managing_costs
from karptui.kube.pod import Pod
from karptui.provisioning.state_node import StateNode

LEAST: Final = str(-(1 << 31))
"""The cost of pods on nodes that are being deleted."""
MAX_NODES: Final = 50
"""Nodes whose pods are updated in one pass, not counting nodes being deleted."""
_REPLICA_SET: Final = ("apps/v1", "ReplicaSet")
_RECREATING: Final = frozenset({_REPLICA_SET, ("batch/v1", "Job"), ("apps/v1", "DaemonSet")})
_IGNORED: Final = frozenset({Gate.IN_COMMAND, Gate.NODEPOOL_UNRESOLVED, Gate.NODEPOOL_NO_TYPES})
"""Gates that this controller ignores."""


class _DeletionOrder(Enum):
    GOING = auto()
    DRIFTED = auto()
    NORMAL = auto()
    REST = auto()


def managed_costs(fleet: Fleet) -> dict[str, str]:
    """Return the deletion costs that a pass changes, by ``namespace/name``; an empty string removes the annotation.

    Only pods on nodes that Karpenter manages are changed, and none while a NodeClaim has no instance.
    """
    if not is_managing_costs(fleet.settings) or not all(claim.provider_id for claim in fleet.inventory.nodeclaims):
        return {}
    bound = _bound(fleet)
    managed = [node for node in fleet.nodes if node.is_managed]
    nodes = sorted(managed, key=lambda node: (-_savings_ratio(fleet, node), node.name))
    groups: dict[_DeletionOrder, list[StateNode]] = {group: [] for group in _DeletionOrder}
    for node in nodes:
        groups[_group(fleet, node, _on(node, bound))].append(node)
    drifted, late = _within(groups[_DeletionOrder.DRIFTED], _budgets(fleet, Reason.DRIFTED))
    normal, over = _within(groups[_DeletionOrder.NORMAL], _budgets(fleet, Reason.UNDERUTILIZED))
    ranked = [*drifted, *normal]
    rest = [*groups[_DeletionOrder.REST], *late, *over]
    changes: dict[str, str] = {}
    for node in groups[_DeletionOrder.GOING]:
        changes |= _changes(_on(node, bound), LEAST)
    written = 0
    costs: Iterable[tuple[StateNode, str]] = (
        *((node, str(rank - len(ranked))) for rank, node in enumerate(ranked)),
        *((node, "") for node in rest),
    )
    for node, cost in costs:
        node_changes = _changes(_on(node, bound), cost)
        if node_changes and written < MAX_NODES:
            changes |= node_changes
            written += 1
    return changes


def _bound(fleet: Fleet) -> dict[str, list[Pod]]:
    """Return the pods of each Node by name, including pods that have ended."""
    by_node: dict[str, list[Pod]] = {node.node.name: [] for node in fleet.nodes if node.node is not None}
    for pod in fleet.inventory.pods:
        if pod.node_name in by_node:
            by_node[pod.node_name].append(pod)
    return by_node


def _on(node: StateNode, bound: Mapping[str, list[Pod]]) -> Sequence[Pod]:
    return () if node.node is None else bound[node.node.name]


def _savings_ratio(fleet: Fleet, node: StateNode) -> float:
    book, labels = fleet.books.get(node.nodepool_name), node.labels
    if book is None:
        return 0.0
    price = book.price(labels.get(INSTANCE_TYPE, ""), labels.get(ZONE, ""), labels.get(CAPACITY_TYPE, ""))
    return price / fleet.pods.disruption_cost(pod for pod in fleet.pods_of(node) if fleet.pods.is_reschedulable(pod))


def _group(fleet: Fleet, node: StateNode, pods: Iterable[Pod]) -> _DeletionOrder:
    taints = node.node.taints if node.node is not None else ()
    if node.is_marked_for_deletion or is_disrupted(taints):
        return _DeletionOrder.GOING
    failure = first_failure(fleet, node)
    if (failure is not None and failure.gate not in _IGNORED) or _is_pinned(pods):
        return _DeletionOrder.REST
    book, pool = fleet.books.get(node.nodepool_name), fleet.pools.get(node.nodepool_name)
    type_name = node.labels.get(INSTANCE_TYPE, "")
    if type_name and (book is None or type_name not in book.types):
        return _DeletionOrder.REST
    if node.claim is not None and node.claim.is_true(DRIFTED) and not (pool is not None and pool.is_static):
        return _DeletionOrder.DRIFTED
    return _DeletionOrder.REST if pool is not None and pool.consolidate_after_ns is None else _DeletionOrder.NORMAL


def _is_pinned(pods: Iterable[Pod]) -> bool:
    """Return whether a pod outside kube-system would not be recreated elsewhere."""
    return any(pod.namespace != "kube-system" and _controller(pod) not in _RECREATING for pod in pods)


def _controller(pod: Pod) -> tuple[str, str] | None:
    return next(((owner.api_version, owner.kind) for owner in pod.template.owners if owner.controller), None)


def _budgets(fleet: Fleet, reason: Reason) -> dict[str, int]:
    return {
        name: budget_state(pool, reason, fleet.use.get(name), fleet.now_ns).left for name, pool in fleet.pools.items()
    }


def _within(nodes: Sequence[StateNode], budgets: Mapping[str, int]) -> tuple[list[StateNode], list[StateNode]]:
    """Return the nodes that their NodePools' budgets allow, and the others, both in order."""
    left = dict(budgets)
    within: list[StateNode] = []
    over: list[StateNode] = []
    for node in nodes:
        if left.get(node.nodepool_name, 0) > 0:
            left[node.nodepool_name] -= 1
            within.append(node)
        else:
            over.append(node)
    return within, over


def _changes(pods: Iterable[Pod], cost: str) -> dict[str, str]:
    return {
        pod.key: cost
        for pod in pods
        if _controller(pod) == _REPLICA_SET and pod.template.annotations.get(POD_DELETION_COST, "") != cost
    }
