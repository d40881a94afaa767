"""Clusters without some of their nodes, whose pods wait for a place."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.pod_predicates import UNSCHEDULABLE, is_reschedulable
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS


def as_pending(pod: Pod) -> Pod:
    """Return a pod as its workload recreates it after its node is deleted."""
    return replace(
        pod,
        node_name="",
        nominated_node_name="",
        phase="Pending",
        deletion_ns=ABSENT_NS,
        start_ns=ABSENT_NS,
        ready=None,
        scheduled_reason=UNSCHEDULABLE,
        scheduled_message="",
        scheduled_ns=ABSENT_NS,
        waiting_reason="",
    )


def without_nodes(inventory: Inventory, names: Collection[str], *, keeps_lost: bool = False) -> Inventory:
    """Return a cluster without some nodes (by name, or NodeClaim name without node) and their NodeClaims.

    Pods that are recreated become pending, and other pods are removed. Pods of DaemonSets and static pods stay listed
    on their node, because Karpenter reads the requests of a DaemonSet from a live pod.

    Args:
        keeps_lost: Whether pods that nothing recreates become pending, too.
    """
    nodes = {node.name for node in inventory.nodes if node.name in names}
    provider_ids = {node.provider_id for node in inventory.nodes if node.name in nodes and node.provider_id}
    return replace(
        inventory,
        nodes=tuple(node for node in inventory.nodes if node.name not in nodes),
        nodeclaims=tuple(
            claim
            for claim in inventory.nodeclaims
            if claim.name not in names and claim.node_name not in nodes and claim.provider_id not in provider_ids
        ),
        pods=tuple(
            _freed(pod, nodes)
            for pod in inventory.pods
            if keeps_lost or pod.node_name not in nodes or not pod.template.is_lost_if_evicted
        ),
    )


def from_scratch(inventory: Inventory) -> Inventory:
    """Return a cluster without the nodes that Karpenter launched for pods.

    Unmanaged nodes and nodes of static NodePools stay, with their pods.
    """
    static = {pool.name for pool in inventory.nodepools if pool.is_static}
    kept = tuple(claim for claim in inventory.nodeclaims if claim.labels.get(NODEPOOL) in static)
    going = {claim.provider_id for claim in inventory.nodeclaims if claim.labels.get(NODEPOOL) not in static}
    names = {
        node.name
        for node in inventory.nodes
        if (node.labels.get(NODEPOOL) and node.labels[NODEPOOL] not in static) or node.provider_id in going - {""}
    }
    return replace(without_nodes(inventory, names, keeps_lost=True), nodeclaims=kept)


def _freed(pod: Pod, nodes: Collection[str]) -> Pod:
    return as_pending(pod) if pod.node_name in nodes and is_reschedulable(pod) else pod
