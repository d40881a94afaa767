"""One row of the Nodes screen: a node with its NodeClaim, or a NodeClaim that has no node yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec

from karptui.aws.prices import Price
from karptui.decode.kinds import Kind
from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.labels import COMPUTE_TYPE
from karptui.karpenter.nodeclaim import NodeClaim, node_key
from karptui.kube import resources
from karptui.kube.objects import EMPTY_LABELS, Node
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import ResourceList
from karptui.kube.timestamps import ABSENT_NS
from karptui.kube.usage import Used
from karptui.state.usage import NodeUsage, Share

if TYPE_CHECKING:
    from karptui.disruption.analysis import NodeFindings

ACCELERATOR_WORDS: Final = ("gpu", "neuron", "gaudi", "tpu", "/mig-")
"""Parts of the names of extended resources that are counted as accelerators."""


NEEDED_FOR_WHY: Final = (Kind.NODE, Kind.NODECLAIM, Kind.NODEPOOL, Kind.POD)
"""Kinds without which blockers are unknown."""


class PodAccess(StrEnum):
    """Whether pod requests are known."""

    KNOWN = "known"
    PENDING = "pending"
    """Pods have not arrived yet."""
    FORBIDDEN = "forbidden"


class Delta(msgspec.Struct, frozen=True, gc=False):
    """Node minus claim; negative means that pods planned for the node may not fit."""

    cpu_millis: int
    memory_bytes: int
    pods: int

    @property
    def is_smaller(self) -> bool:
        """Whether the node has less of something than its claim promised."""
        return min(self.cpu_millis, self.memory_bytes, self.pods) < 0


class NodeEntry(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A node, a NodeClaim, or both, and their pod requests."""

    node: Node | None
    claim: NodeClaim | None
    usage: NodeUsage | None = None
    """Pod requests; None without a node."""
    access: PodAccess = PodAccess.KNOWN
    price: Price | None = None
    """Price per hour; None if unknown."""
    findings: NodeFindings | None = None
    """Why it is still here; None until that is worked out."""
    hidden: frozenset[str] = frozenset()
    """Kinds that may not be listed."""
    used: Used | None = None
    """Live usage; None without metrics-server."""

    @property
    def is_auto_mode(self) -> bool:
        """Whether EKS Auto Mode runs it."""
        return self.labels.get(COMPUTE_TYPE) == "auto"

    @property
    def is_managed(self) -> bool:
        """Whether Karpenter manages it, by its NodeClaim, or by its label where NodeClaims may not be listed."""
        return self.claim is not None or (Kind.NODECLAIM in self.hidden and bool(self.pool))

    @property
    def is_out_of_reach(self) -> bool:
        """Whether what keeps it cannot be worked out because something may not be listed."""
        return self.is_managed and not self.hidden.isdisjoint(NEEDED_FOR_WHY)

    @property
    def daemons(self) -> ResourceList:
        """Sum of the DaemonSet pods' requests, with their slots as ``pods``."""
        return self.usage.daemonset if self.usage is not None else resources.EMPTY

    @property
    def workload(self) -> ResourceList:
        """Sum of all other pods' requests, with their slots as ``pods``."""
        return self.usage.workload if self.usage is not None else resources.EMPTY

    @property
    def name(self) -> str:
        """The node's name, or the claim's while there is no node."""
        if self.node is not None:
            return self.node.name
        return self.claim.name if self.claim is not None else ""

    @property
    def key(self) -> str:
        """Identity across refreshes: the claim's name if there is a claim, because it exists before the node."""
        return node_key(self.claim, self.name)

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels, or the claim's while there is no node."""
        if self.node is not None:
            return self.node.labels
        return self.claim.labels if self.claim is not None else EMPTY_LABELS

    def label(self, key: str) -> str:
        """Return a label of the node, else of the claim, else nothing."""
        value = self.labels.get(key, "")
        if not value and self.claim is not None:
            return self.claim.labels.get(key, "")
        return value

    @property
    def pool(self) -> str:
        """Name of the NodePool; empty for a node that Karpenter does not manage."""
        return self.label(karpenter_labels.NODEPOOL)

    @property
    def instance_type(self) -> str:
        """Name of the instance type."""
        return self.label(karpenter_labels.INSTANCE_TYPE)

    @property
    def capacity_type(self) -> str:
        """``spot``, ``on-demand``, ``reserved`` or nothing; of an EKS node group by its own label."""
        capacity_type = karpenter_labels.capacity_type_of(self.labels)
        return capacity_type or (karpenter_labels.capacity_type_of(self.claim.labels) if self.claim is not None else "")

    @property
    def zone(self) -> str:
        """Name of the zone."""
        return self.label(karpenter_labels.ZONE)

    @property
    def architecture(self) -> str:
        """``amd64``, ``arm64`` or nothing."""
        return self.label(karpenter_labels.ARCH) or (self.node.architecture if self.node is not None else "")

    @property
    def created_ns(self) -> int:
        """Creation time of the node, or of the claim while there is no node."""
        if self.node is not None:
            return self.node.created_ns
        return self.claim.created_ns if self.claim is not None else ABSENT_NS

    @property
    def expires_ns(self) -> int | None:
        """When Karpenter expires it; None if never, or if it is being deleted."""
        return self.claim.expires_ns if self.claim is not None and not self.claim.is_deleting else None

    @property
    def image(self) -> str:
        """The machine image of the NodeClaim, or the system that the node reports."""
        image = self.claim.image_id if self.claim is not None else ""
        return image or (self.node.os_image if self.node is not None else "")

    @property
    def is_deleting(self) -> bool:
        """Whether the node or its claim is being deleted."""
        return any(item is not None and item.is_deleting for item in (self.node, self.claim))

    @property
    def allocatable(self) -> ResourceList:
        """The node's allocatable resources; empty while there is no node."""
        return self.node.allocatable if self.node is not None else resources.EMPTY

    @cached_property
    def cpu(self) -> Share:
        """Cpu in millicores."""
        return self.share(resources.CPU, NANO_PER_MILLI)

    @cached_property
    def memory(self) -> Share:
        """Memory in bytes."""
        return self.share(resources.MEMORY, NANO)

    @cached_property
    def pods(self) -> Share:
        """Pod slots."""
        return self.share(resources.PODS, NANO)

    @cached_property
    def ephemeral(self) -> Share:
        """Ephemeral storage in bytes."""
        return self.share(resources.EPHEMERAL_STORAGE, NANO)

    @cached_property
    def accelerators(self) -> Share:
        """GPUs and their like, all kinds together."""
        names = [name for name in self.allocatable if is_accelerator(name)]
        shares = [self.share(name, NANO) for name in names]
        return Share(sum(s.daemons for s in shares), sum(s.workload for s in shares), sum(s.capacity for s in shares))

    @cached_property
    def delta(self) -> Delta | None:
        """The node's capacity minus the claim's estimate; None if one of them is unknown."""
        if self.node is None or self.claim is None or not self.node.allocatable or not self.claim.allocatable:
            return None
        real, promised = self.node.allocatable, self.claim.allocatable
        return Delta(
            resources.cpu_millis(real) - resources.cpu_millis(promised),
            resources.memory_bytes(real) - resources.memory_bytes(promised),
            resources.pod_count(real) - resources.pod_count(promised),
        )

    def share(self, name: str, unit: int) -> Share:
        """Return the requests of a resource by its name, in the unit of this many nano-units."""
        return Share(
            -(-resources.nano(self.daemons, name) // unit),
            -(-resources.nano(self.workload, name) // unit),
            resources.nano(self.allocatable, name) // unit,
        )


def is_accelerator(resource: str) -> bool:
    """Whether an extended resource is a GPU or something like it."""
    return "/" in resource and any(word in resource for word in ACCELERATOR_WORDS)


def going_nodes(entries: Iterable[NodeEntry]) -> tuple[NodeEntry, ...]:
    """Return the simulated nodes that a method wants and removes, now or without blockers."""
    return tuple(
        entry
        for entry in entries
        if (findings := entry.findings) is not None
        and (findings.why.outcome is not None or (findings.freed is not None and findings.freed.goes))
    )
