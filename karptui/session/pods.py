"""One row of the Pods screen: a pod, its owner, its node, and its protection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from karptui.decode.kinds import Kind
from karptui.disruption.owner import OwnerIndex
from karptui.karpenter.do_not_disrupt import Protection, ProtectionKind, protection_of
from karptui.kube import resources
from karptui.kube.generated_names import written_owner
from karptui.kube.objects import controller_of
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO
from karptui.kube.usage import Used
from karptui.session.nodes import is_accelerator
from karptui.state.cluster import ClusterState

_MADE_BY_OTHERS: Final = (Kind.REPLICASET, Kind.JOB)


class PodOwner(msgspec.Struct, frozen=True, gc=False):
    """The workload that made a pod."""

    kind: str
    name: str
    is_by_name: bool = False
    """Whether it is concluded from the ReplicaSet's name, as the ReplicaSet itself is not known."""


class Owners(NamedTuple):
    """Finds owners in one generation of a cluster."""

    sources: tuple[Mapping[str, Any], ...]
    owner_index: OwnerIndex

    def of(self, pod: Pod) -> PodOwner | None:
        """Return a pod's owner, None if nothing would recreate the pod."""
        owner, controller = self.owner_index.of(pod), controller_of(pod.owners)
        if owner is None or controller is None:
            return None
        if owner.kind == Kind.REPLICASET and f"{pod.namespace}/{owner.name}" not in self.sources[0]:
            kind, name = written_owner(owner.kind, owner.name, pod.template.labels)
            if kind != owner.kind:
                return PodOwner(kind, name, is_by_name=True)
        return PodOwner(owner.kind, owner.name)


def owners_of(state: ClusterState, before: Owners | None = None) -> Owners:
    """Return the owner index of a state; the same object if no relevant workload has changed."""
    sources = tuple(state.of(kind) for kind in _MADE_BY_OTHERS)
    if before is not None and all(source is other for source, other in zip(sources, before.sources, strict=True)):
        return before
    return Owners(sources, OwnerIndex(item for objects in sources for item in objects.values()))


OWNER_WORDS: Final = {
    "ReplicaSet": "rs",
    "DaemonSet": "ds",
    "StatefulSet": "sts",
    "Deployment": "deploy",
    "CronJob": "cj",
    "Job": "job",
    "Node": "node",
    "ReplicationController": "rc",
}
"""Short names of kinds, as kubectl takes them."""


class PodEntry(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A pod and the NodePool of its node."""

    key: str
    """``namespace/name``."""
    pod: Pod
    pool: str = ""
    """Empty while it is not bound, or bound to a node that Karpenter does not manage."""
    made_by: PodOwner | None = None
    """The pod's workload; None if there is none, or it was not looked up."""
    used: Used | None = None
    """Live usage of its containers; None without metrics-server."""
    kept_by: tuple[str, ...] = ()
    """Names of the PodDisruptionBudgets that keep it from being evicted, with or without do-not-disrupt."""

    @property
    def cpu_millis(self) -> int:
        """Cpu requested, in millicores."""
        return resources.cpu_millis(self.pod.requests)

    @property
    def memory_bytes(self) -> int:
        """Memory requested, in bytes."""
        return resources.memory_bytes(self.pod.requests)

    @property
    def accelerators(self) -> int:
        """GPUs and other accelerators requested."""
        return sum(amount.nano // NANO for name, amount in self.pod.requests.items() if is_accelerator(name))

    @property
    def owner(self) -> str:
        """The workload as ``deploy/front``, nothing for a pod on its own."""
        controller = self.made_by or controller_of(self.pod.owners)
        if controller is None:
            return ""
        return f"{OWNER_WORDS.get(controller.kind, controller.kind.lower())}/{controller.name}"

    def protection(self, now_ns: int) -> Protection:
        """Return the current effect of do-not-disrupt on the pod."""
        return protection_of(self.pod, now_ns)

    def keeps_node(self, now_ns: int) -> bool:
        """Return whether do-not-disrupt or PodDisruptionBudgets keep Karpenter from emptying the pod's node."""
        return bool(self.kept_by) or self.protection(now_ns).is_active

    def protection_text(self, now_ns: int) -> str:
        """Return Karpenter's treatment of the pod when its node is removed.

        ``do-not-disrupt`` if that protects now, with its duration; ``PDB front`` if that PodDisruptionBudget
        allows no eviction, ``PDBs`` and their names if several select it; ``DaemonSet``, ``static`` or nothing.
        """
        template = self.pod.template
        protection = self.protection(now_ns)
        if protection.is_active:
            is_endless = protection.kind is ProtectionKind.ALWAYS
            return "do-not-disrupt" if is_endless else f"do-not-disrupt {protection.value}"
        if self.kept_by:
            return f"{'PDBs' if len(self.kept_by) > 1 else 'PDB'} {' '.join(self.kept_by)}"
        if template.is_daemonset_owned:
            return "DaemonSet"
        return "static" if template.is_node_owned else ""
