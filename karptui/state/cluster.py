"""One generation of a cluster: every object, and what is worked out from them as they change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import NO_HISTORY, ClusterHistory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.nodepool import NodePool
from karptui.kube.event import Event
from karptui.kube.node import Node
from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod
from karptui.kube.workload import DaemonSet
from karptui.state.links import NO_LINKS, Links
from karptui.state.usage import NO_USAGE, NodeUsage, PodsByNode

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class ClusterState(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Everything a screen shows at one time comes from one of these; ``reduce`` makes the next.

    Nothing in it is ever changed, so any thread may read it. Keys are ``namespace/name``, or the name alone of
    cluster-scoped objects.
    """

    generation: int = 0
    """Counts up with every change."""
    objects: Mapping[Kind, Mapping[str, Any]] = MappingProxyType({})
    """By kind and key, in the order they first came."""
    pods_by_node: PodsByNode = MappingProxyType({})
    """Pods that have not ended, by node name and key; those without a node under the empty name. There may be pods of
    a node that is not (yet) known."""
    node_usage: Mapping[str, NodeUsage] = MappingProxyType({})
    """What pods ask, by node name; nodes without pods are left out."""
    links: Links = NO_LINKS
    history: ClusterHistory = NO_HISTORY
    """What has been seen to go; nothing of a cluster that is looked at once."""

    def of(self, kind: Kind) -> Mapping[str, Any]:
        """Return the objects of a kind by key."""
        return self.objects.get(kind, _NOTHING)

    @property
    def pods(self) -> Mapping[str, Pod]:
        """Every pod, also those that have ended."""
        return self.objects.get(Kind.POD, _NOTHING)

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Nodes by name."""
        return self.objects.get(Kind.NODE, _NOTHING)

    @property
    def nodeclaims(self) -> Mapping[str, NodeClaim]:
        """NodeClaims by name."""
        return self.objects.get(Kind.NODECLAIM, _NOTHING)

    @property
    def nodepools(self) -> Mapping[str, NodePool]:
        """NodePools by name."""
        return self.objects.get(Kind.NODEPOOL, _NOTHING)

    @property
    def nodeclasses(self) -> Mapping[str, NodeClass]:
        """NodeClasses of every provider by ``kind/name``."""
        return self.objects.get(Kind.NODECLASS, _NOTHING)

    @property
    def daemonsets(self) -> Mapping[str, DaemonSet]:
        """DaemonSets by key."""
        return self.objects.get(Kind.DAEMONSET, _NOTHING)

    @property
    def pdbs(self) -> Mapping[str, PodDisruptionBudget]:
        """PodDisruptionBudgets by key."""
        return self.objects.get(Kind.PDB, _NOTHING)

    @property
    def events(self) -> Mapping[str, Event]:
        """Events by key."""
        return self.objects.get(Kind.EVENT, _NOTHING)

    @property
    def pending_pods(self) -> Mapping[str, Pod]:
        """Pods without a node, by key."""
        return self.pods_by_node.get("", _NOTHING)

    def pods_on(self, node_name: str) -> Mapping[str, Pod]:
        """Return the pods bound to a node that have not ended, by key."""
        return self.pods_by_node.get(node_name, _NOTHING) if node_name else _NOTHING

    def usage(self, node_name: str) -> NodeUsage:
        """Return what pods ask of a node."""
        return self.node_usage.get(node_name, NO_USAGE)

    def claim_of(self, node_name: str) -> NodeClaim | None:
        """Return the NodeClaim behind a node, None where there is none."""
        name = self.links.claim_of_node.get(node_name)
        return None if name is None else self.nodeclaims.get(name)

    def node_of(self, claim_name: str) -> Node | None:
        """Return the node that a NodeClaim has become, None where it has not."""
        name = self.links.node_of_claim.get(claim_name)
        return None if name is None else self.nodes.get(name)

    def claims_without_node(self) -> Iterator[NodeClaim]:
        """Return the NodeClaims that have no node: not yet, or no more."""
        return (claim for name, claim in self.nodeclaims.items() if name not in self.links.node_of_claim)


EMPTY: Final = ClusterState()
"""The cluster before anything is known of it."""
