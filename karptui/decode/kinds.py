"""Kinds that karptui stores, and the API groups they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec


class Kind(StrEnum):
    """A kind that karptui stores; NodeClass includes those of every provider."""

    NODE = "Node"
    POD = "Pod"
    NODEPOOL = "NodePool"
    NODECLAIM = "NodeClaim"
    NODECLASS = "NodeClass"
    NODEOVERLAY = "NodeOverlay"
    DAEMONSET = "DaemonSet"
    PDB = "PodDisruptionBudget"
    REPLICASET = "ReplicaSet"
    DEPLOYMENT = "Deployment"
    STATEFULSET = "StatefulSet"
    JOB = "Job"
    CRONJOB = "CronJob"
    REPLICATION_CONTROLLER = "ReplicationController"
    PVC = "PersistentVolumeClaim"
    PV = "PersistentVolume"
    STORAGE_CLASS = "StorageClass"
    CSI_NODE = "CSINode"
    NAMESPACE = "Namespace"
    PRIORITY_CLASS = "PriorityClass"
    SERVICE = "Service"
    EVENT = "Event"
    CAPACITY_BUFFER = "CapacityBuffer"
    POD_TEMPLATE = "PodTemplate"
    LEASE = "Lease"
    VPA = "VerticalPodAutoscaler"
    WEBHOOK = "ValidatingWebhookConfiguration"


class KindStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of one kind of object, of instance types, prices or usage."""

    kind: str
    phase: str
    """A word of `karptui.sources.source.Phase`, or one like it."""
    since_ns: int
    """When the phase began: nanoseconds since the epoch."""
    last_error: str = ""
    """Why it is not live, or which object could not be read; empty without an error."""
    count: int = 0
    total_estimate: int | None = None
    """Estimated number of objects while syncing; None if the server does not tell."""
    last_contact_ns: int = 0
    """When the server last said anything about this kind: nanoseconds since the epoch, 0 for never."""
    retry_at_ns: int = 0
    """Time of the next attempt in nanoseconds since the epoch; 0 if none is planned."""
    is_left_out: bool = False
    """Whether the kind was not requested when a file was made, so that its absence means nothing."""

    @property
    def is_unread(self) -> bool:
        """Whether nothing can be known of the kind."""
        return self.is_left_out or self.phase == "forbidden"


VOLUME_KINDS: Final = (Kind.PVC, Kind.PV, Kind.STORAGE_CLASS, Kind.CSI_NODE)
"""Kinds that determine where volumes can be attached, and how many per node."""
WORKLOAD_API_VERSIONS: Final[Mapping[Kind, str]] = {
    Kind.REPLICASET: "apps/v1",
    Kind.DEPLOYMENT: "apps/v1",
    Kind.STATEFULSET: "apps/v1",
    Kind.JOB: "batch/v1",
    Kind.CRONJOB: "batch/v1",
}
"""Workload kinds that are read as ``Workload``, with their apiVersion."""
WORKLOAD_KINDS: Final = (*WORKLOAD_API_VERSIONS, Kind.REPLICATION_CONTROLLER)

_CLUSTER_SCOPED_GROUPS: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.NODE: ("",),
    Kind.NODEPOOL: ("karpenter.sh",),
    Kind.NODECLAIM: ("karpenter.sh",),
    Kind.NODEOVERLAY: ("karpenter.sh",),
    Kind.PV: ("",),
    Kind.STORAGE_CLASS: ("storage.k8s.io",),
    Kind.CSI_NODE: ("storage.k8s.io",),
    Kind.NAMESPACE: ("",),
    Kind.PRIORITY_CLASS: ("scheduling.k8s.io",),
    Kind.WEBHOOK: ("admissionregistration.k8s.io",),
}
_GROUPS: Final[Mapping[Kind, tuple[str, ...]]] = {
    **_CLUSTER_SCOPED_GROUPS,
    Kind.POD: ("",),
    Kind.DAEMONSET: ("apps",),
    Kind.PDB: ("policy",),
    Kind.REPLICASET: ("apps",),
    Kind.DEPLOYMENT: ("apps",),
    Kind.STATEFULSET: ("apps",),
    Kind.JOB: ("batch",),
    Kind.CRONJOB: ("batch",),
    Kind.REPLICATION_CONTROLLER: ("",),
    Kind.PVC: ("",),
    Kind.SERVICE: ("",),
    Kind.EVENT: ("", "events.k8s.io"),
    Kind.CAPACITY_BUFFER: ("autoscaling.x-k8s.io",),
    Kind.POD_TEMPLATE: ("",),
    Kind.LEASE: ("coordination.k8s.io",),
    Kind.VPA: ("autoscaling.k8s.io",),
}
OTHER_PROVIDERS: Final = ("eks.amazonaws.com", "oci.oraclecloud.com")
"""NodeClass groups without karpenter in their name: EKS Auto Mode's and Oracle's."""


def may_hold_nodeclasses(group: str) -> bool:
    """Return whether a provider's NodeClasses may belong to this group."""
    return "karpenter" in group or group in OTHER_PROVIDERS


CLUSTER_SCOPED: Final = frozenset({*_CLUSTER_SCOPED_GROUPS, Kind.NODECLASS})
"""Kinds whose objects live in no namespace."""


def kind_named(api_kind: str) -> Kind | None:
    """Return the kind that objects are stored as (NodeClass for ``EC2NodeClass``), or None."""
    if api_kind.endswith(Kind.NODECLASS):
        return Kind.NODECLASS
    return next((kind for kind in Kind if kind == api_kind), None)


def kind_of(api_version: str, kind: str) -> Kind | None:
    """Return the kind that an object is stored as, or None if it is ignored.

    Any kind that ends in ``NodeClass`` is stored as NodeClass if its group names Karpenter or is known.
    """
    group = api_version.rpartition("/")[0]
    if kind.endswith("NodeClass") and may_hold_nodeclasses(group):
        return Kind.NODECLASS
    try:
        stored = Kind(kind)
    except ValueError:
        return None
    return stored if group in _GROUPS.get(stored, ()) else None
