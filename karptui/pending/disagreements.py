"""Where Karpenter, the scheduler and the engine disagree about a pending pod."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.pending.causes import PodDestination

PATIENCE_NS: Final = 300 * NS_PER_SECOND
"""Maximum start time of a nominated node."""
SHORT_PATIENCE_NS: Final = 120 * NS_PER_SECOND
"""How long Karpenter and the scheduler may know of different states."""


class DisagreementCode(StrEnum):
    """Kind of a disagreement."""

    LAUNCH_REFUSED = "launch refused"
    """A launch of the NodePool failed."""
    LAUNCHES_STOPPED = "launches stopped"
    """Karpenter schedules no pods while a NodeClaim without provider ID cannot launch."""
    VOLUME_NODE_GONE = "volume's node gone"
    """A local volume is on a node that does not exist."""
    VOLUME_IN_USE = "volume in use"
    """Another pod uses its volume, which only one pod may use."""
    VOLUME_NOT_CREATED = "volume not created"
    """The volume of its claim cannot be created, or its driver does not create it."""
    VOLUME_OF_ANOTHER = "volume of another claim"
    """Its claim names a volume that still belongs to another claim."""
    VOLUME_LABEL = "volume's label on no node"
    """Its volume requires an older label of nodes, which no node has, and which Karpenter reads as the newer one."""
    VOLUME_ZONE = "volume's zone not read"
    """A label of its volume ties it to a zone: kube-scheduler reads that, Karpenter does not."""
    NO_STORAGE_CLASS = "no StorageClass"
    """Its claim is not bound and names no StorageClass."""
    FOREIGN_TAINT = "taint of another controller"
    """Nodes that were launched meanwhile have a taint that their NodePool does not announce."""
    GATE_UNSERVED = "gate not served"
    """The controller of its scheduling gate runs no pod."""
    NOT_ADMITTED = "not admitted"
    """The quota of its queue does not admit its group: a PodGroup of Volcano, or a Workload of Kueue."""
    SCHEDULER_ABSENT = "no such scheduler"
    """Its scheduler has said nothing, and no ready pod has the scheduler's name."""
    VICTIMS_REMAIN = "nominated node in use"
    """Pods of lower priority take long to end on the node that kube-scheduler nominated."""
    CLAIM_NOT_CREATED = "ResourceClaim not created"
    """Kubernetes cannot create a ResourceClaim of it."""
    TOO_MANY_VOLUMES = "too many volumes"
    """It has more volumes of a driver than any node attaches."""
    HOST_GONE = "selected node gone"
    """It selects by hostname a node that does not exist."""
    POD_REQUESTS = "requests of the whole pod"
    """It has requests for the whole pod, which this Karpenter does not count."""
    LEFT_TAINT = "taint left by the Cluster Autoscaler"
    """The nodes that it selects have the Cluster Autoscaler's taint for long."""
    OTHERS_FULL = "nodes of others full"
    """It selects nodes that Karpenter does not manage, and kube-scheduler refuses these; no NodePool has the label."""
    OTHERS_CORDONED = "nodes of others cordoned"
    """It selects nodes that Karpenter does not manage, and these are cordoned; no NodePool has the label."""
    CROWDED = "crowded"
    """A DaemonSet that Karpenter does not expect on new nodes leaves it no room there."""
    NOMINATED = "nominated"
    """Karpenter nominated a node, and the pod is still pending."""
    UNSCHEDULABLE_NOW = "unschedulable now"
    """Karpenter nominated a node; the engine finds none."""
    FITS_NOW = "fits now"
    """Karpenter found the pod unschedulable; the engine does not."""
    NO_EVENT = "Karpenter is silent"
    """Karpenter has events about other pods, but not about this one."""
    VOLUMES_UNREAD = "volumes not read"
    """kube-scheduler refuses the pod; it fits on a node if its unread volumes are ignored."""
    REFUSED_BY_SCHEDULER = "room by Karpenter's rules"
    """kube-scheduler refuses the pod; by Karpenter's rules it fits on a node."""


NOT_LAUNCHED: Final = frozenset({DisagreementCode.LAUNCH_REFUSED, DisagreementCode.LAUNCHES_STOPPED})
"""Disagreements because of which a new node that the engine finds may not come."""
DECISIVE: Final = frozenset(
    {
        DisagreementCode.VOLUME_NODE_GONE,
        DisagreementCode.VOLUME_IN_USE,
        DisagreementCode.VOLUME_NOT_CREATED,
        DisagreementCode.VOLUME_OF_ANOTHER,
        DisagreementCode.VOLUME_LABEL,
        DisagreementCode.VOLUME_ZONE,
        DisagreementCode.NO_STORAGE_CLASS,
        DisagreementCode.FOREIGN_TAINT,
        DisagreementCode.GATE_UNSERVED,
        DisagreementCode.NOT_ADMITTED,
        DisagreementCode.SCHEDULER_ABSENT,
        DisagreementCode.VICTIMS_REMAIN,
        DisagreementCode.CLAIM_NOT_CREATED,
        DisagreementCode.TOO_MANY_VOLUMES,
        DisagreementCode.HOST_GONE,
        DisagreementCode.POD_REQUESTS,
        DisagreementCode.LEFT_TAINT,
        DisagreementCode.CROWDED,
    }
)
"""Disagreements about what keeps a pod pending whatever Karpenter launches."""


class Disagreement(msgspec.Struct, frozen=True):
    """One disagreement."""

    code: DisagreementCode
    since_ns: int = 0
    """Time of the message or the refused launch, or when the pod was created."""
    now_ns: int = 0
    """Time of the comparison."""
    name: str = ""
    """The NodePool whose launch failed, the claim of the volume, the taint, or the nominated NodeClaim or node."""
    stage: str | None = None
    """Phase of the nominated node, empty if it is gone; None without a nominated node."""
    error_code: str = ""
    message: str = ""
    """Error message of a failed launch without a code, label that a DaemonSet selects, or label or zone of a volume."""
    user: str = ""
    """The pod that uses the volume, its driver, the controller of the gate, or another scheduler than kube-scheduler.

    Of a DaemonSet that leaves no room, the resource.
    """
    nodes: tuple[str, ...] = ()
    """Nodes on which the pods fit, the missing node of a volume, NodeClaims that cannot launch, or preempted pods."""
    volumes: tuple[int, int] = (0, 0)
    """The number of its volumes, and the most that a node attaches."""
    pods: int = 1
    """Number of pods with the same cause."""
    destination: PodDestination | None = None
    """Where the pod fits now."""
    drivers: tuple[str, ...] = ()
    """Drivers for volumes that are registered on nodes."""
    has_default: bool = True
    """Whether there may be a default StorageClass."""
    knows_volumes: bool = True
