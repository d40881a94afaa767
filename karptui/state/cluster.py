"""One generation of a cluster: its objects, which of them belong together, and the inventory that engines take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import msgspec

from karptui.decode.kinds import WORKLOAD_KINDS, Kind
from karptui.karpenter.inventory import NO_HISTORY, ClusterHistory, Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Event, Node
from karptui.kube.pod import Pod
from karptui.kube.workload import DaemonSet, PodDisruptionBudget
from karptui.state.usage import NodeUsage, PodsByNode

_NO_KEYS: Final[Mapping[str, str]] = MappingProxyType({})


class Links(msgspec.Struct, frozen=True):
    """Names of the two halves of each machine, either way."""

    claim_of_node: Mapping[str, str] = _NO_KEYS
    node_of_claim: Mapping[str, str] = _NO_KEYS


NO_LINKS: Final = Links()


def link(nodes: Iterable[Node], claims: Iterable[NodeClaim]) -> Links:
    """Match nodes with NodeClaims: by providerID, or by node name if one of them has no providerID yet.

    A node that came back under an old name has another providerID, and so is not taken for the old claim's. Where
    several would do, the one is taken that names the other half, and else the latest; never by the order they came in.
    """
    by_provider: dict[str, NodeClaim] = {}
    by_node_name: dict[str, list[NodeClaim]] = {}
    for claim in claims:
        if claim.provider_id:
            node_claim = by_provider.get(claim.provider_id)
            by_provider[claim.provider_id] = claim if node_claim is None else max(node_claim, claim, key=_recency)
        if claim.node_name:
            by_node_name.setdefault(claim.node_name, []).append(claim)
    claim_of_node: dict[str, str] = {}
    node_of_claim: dict[str, Node] = {}
    for node in nodes:
        matching = by_provider.get(node.provider_id) if node.provider_id else None
        if matching is None:
            matching = _by_name(node, by_node_name.get(node.name, ()))
        if matching is not None:
            claim_of_node[node.name] = matching.name
            other = node_of_claim.get(matching.name)
            node_of_claim[matching.name] = node if other is None else _nearer(matching, other, node)
    return Links(claim_of_node, {claim: node.name for claim, node in node_of_claim.items()})


def _recency(claim: NodeClaim) -> tuple[bool, int, str]:
    return not claim.is_deleting, claim.created_ns, claim.name


def _nearer(claim: NodeClaim, node: Node, other: Node) -> Node:
    """Return the node that matches a claim, of two with its providerID."""
    return max(node, other, key=lambda node: (node.name == claim.node_name, node.created_ns, node.name))


def _by_name(node: Node, claims: Iterable[NodeClaim]) -> NodeClaim | None:
    open_claims = [claim for claim in claims if not (claim.provider_id and node.provider_id)]
    return max(open_claims, key=_recency, default=None)


def is_relinking(old: Node | NodeClaim | None, new: Node | NodeClaim | None) -> bool:
    """Whether a change to a node or a claim can change what belongs together."""
    return _bond(old) != _bond(new)


def _bond(item: Node | NodeClaim | None) -> tuple[object, ...]:
    if item is None:
        return ()
    if isinstance(item, NodeClaim):
        return item.provider_id, item.node_name, item.is_deleting, item.created_ns
    return item.provider_id, item.created_ns


_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class ClusterState(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Everything a screen shows at one time comes from one of these; ``reduce`` makes the next.

    Nothing in it is ever changed, so any thread may read it. Keys are ``namespace/name``, or the name alone of
    cluster-scoped objects.
    """

    generation: int = 0
    """Counts up with every change."""
    engines_from: int = 0
    """First generation with the same objects of all kinds that engines read."""
    objects: Mapping[Kind, Mapping[str, Any]] = MappingProxyType({})
    """By kind and key, in the order they first came."""
    pods_by_node: PodsByNode = MappingProxyType({})
    """Pods that have not ended, by node name and key; those without a node under the empty name. There may be pods of
    a node that is not (yet) known."""
    node_usage: Mapping[str, NodeUsage] = MappingProxyType({})
    """Pod requests by node name; nodes without pods are left out."""
    links: Links = NO_LINKS
    history: ClusterHistory = NO_HISTORY
    """Deleted objects seen so far; empty for a snapshot."""
    unread: frozenset[str] = frozenset()
    """Kinds that may not be listed, are yet to come, or that a file does not hold: that there are none says nothing."""

    def of(self, kind: Kind) -> Mapping[str, Any]:
        """Return the objects of a kind by key."""
        return self.objects.get(kind, _NOTHING)

    @property
    def pods(self) -> Mapping[str, Pod]:
        """Every pod, including ended ones."""
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

    def claim_of(self, node_name: str) -> NodeClaim | None:
        """Return the NodeClaim of a node, None if there is none."""
        name = self.links.claim_of_node.get(node_name)
        return None if name is None else self.nodeclaims.get(name)

    def node_of(self, claim_name: str) -> Node | None:
        """Return the node of a NodeClaim, None if there is none."""
        name = self.links.node_of_claim.get(claim_name)
        return None if name is None else self.nodes.get(name)

    def claims_without_node(self) -> Iterator[NodeClaim]:
        """Return the NodeClaims that have no node: not yet, or no more."""
        return (claim for name, claim in self.nodeclaims.items() if name not in self.links.node_of_claim)


EMPTY: Final = ClusterState()
"""The cluster before anything is known of it."""


FIELDS: Final[Mapping[Kind, str]] = {
    Kind.POD: "pods",
    Kind.NODE: "nodes",
    Kind.NODEPOOL: "nodepools",
    Kind.NODECLAIM: "nodeclaims",
    Kind.NODECLASS: "nodeclasses",
    Kind.NODEOVERLAY: "overlays",
    Kind.DAEMONSET: "daemonsets",
    Kind.PDB: "pdbs",
    Kind.PVC: "claims",
    Kind.PV: "volumes",
    Kind.STORAGE_CLASS: "storage_classes",
    Kind.CSI_NODE: "csi_nodes",
    Kind.NAMESPACE: "namespaces",
    Kind.PRIORITY_CLASS: "priority_classes",
    Kind.SERVICE: "services",
    Kind.EVENT: "events",
    Kind.CAPACITY_BUFFER: "capacity_buffers",
    Kind.POD_TEMPLATE: "pod_templates",
    Kind.LEASE: "leases",
    Kind.VPA: "vpas",
    Kind.WEBHOOK: "webhooks",
}
"""Field of the inventory by kind; the kinds that are not here are ``workloads``."""


@lru_cache(maxsize=1)
def inventory_of(state: ClusterState) -> Inventory:
    """Return the engines' input; the same object for the same generation."""
    fields: dict[str, Any] = {field: tuple(state.of(kind).values()) for kind, field in FIELDS.items()}
    fields["workloads"] = tuple(item for kind in WORKLOAD_KINDS for item in state.of(kind).values())
    return Inventory(**fields, unread=state.unread)


def objects_of(inventory: Inventory) -> dict[Kind, dict[str, Any]]:
    """Return the objects of an inventory by kind and key; kinds without any are left out."""
    objects: dict[Kind, dict[str, Any]] = {
        kind: {item.key: item for item in items}
        for kind, field in FIELDS.items()
        if (items := getattr(inventory, field))
    }
    for workload in inventory.workloads:
        objects.setdefault(Kind(workload.kind), {})[workload.key] = workload
    return objects
