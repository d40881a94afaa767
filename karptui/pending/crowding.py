"""DaemonSets that Karpenter does not expect on new nodes, and that leave pods no room there."""

from __future__ import annotations

from typing import NamedTuple

from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube import resources
from karptui.kube.objects import controller_of
from karptui.kube.pod import Pod
from karptui.kube.taints import untolerated
from karptui.pending.messages import NOMINATED, PodMessages
from karptui.state.cluster import ClusterState


class Crowding(NamedTuple):
    """A DaemonSet that leaves a pod no room on the nodes that were launched for it."""

    daemonset: str
    """``namespace/name``."""
    label: str
    """A label that it selects, and that nodes get only after they join."""
    resource: str
    nodes: tuple[str, ...]


def crowding_of(pod: Pod, messages: PodMessages, state: ClusterState) -> Crowding | None:
    """Return the DaemonSet that leaves a nominated pod no room on its node; None without one.

    Karpenter plans the pods of DaemonSets that fit the NodeClaim's labels. Another agent may give the node more labels,
    and so more pods: the next node that Karpenter launches is too small again.
    """
    message = messages.karpenter
    targets = [name for _, name in message.targets] if message is not None and message.reason == NOMINATED else ()
    nominated = next((claim for name in targets if (claim := state.nodeclaims.get(name)) is not None), None)
    first = _on_node(pod, nominated, state) if nominated is not None else None
    if nominated is None or first is None:
        return None
    pool = nominated.labels.get(NODEPOOL)
    others = [c for c in state.nodeclaims.values() if c.labels.get(NODEPOOL) == pool and c.created_ns >= pod.created_ns]
    nodes = [claim.node_name for claim in others if _on_node(pod, claim, state) == first]
    return Crowding(*first, tuple(sorted({nominated.node_name, *nodes})))


def _on_node(pod: Pod, claim: NodeClaim, state: ClusterState) -> tuple[str, str, str] | None:
    """Return the DaemonSet, label and resource for which a pod does not fit on a node; None if it is another reason."""
    node = state.nodes.get(claim.node_name)
    if node is None or not claim.is_true("Initialized") or untolerated(node.taints, pod.template.tolerations):
        return None
    pods = state.pods_on(node.name).values()
    used = resources.add(pod.requests, *(other.requests for other in pods))
    for resource in pod.requests:
        lacking = resources.nano(used, resource) - resources.nano(node.allocatable, resource)
        for other in pods if lacking > 0 else ():
            owner, selects = controller_of(other.owners), other.template.node_selector
            late = next((key for key in selects if key not in claim.labels and key in node.labels), "")
            is_large = resources.nano(other.requests, resource) >= lacking
            if owner is not None and other.template.is_daemonset_owned and late and is_large:
                return f"{other.namespace}/{owner.name}", late, resource
    return None
