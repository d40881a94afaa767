"""Karpenter's labels, annotations and taints, and the rules for label keys.

Rules: pkg/apis/v1/labels.go, pkg/apis/v1/taints.go; the AWS keys: pkg/apis/v1/labels.go of the AWS provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from karptui.kube.taints import NO_SCHEDULE, Taint

GROUP: Final = "karpenter.sh"
AWS_GROUP: Final = "karpenter.k8s.aws"

NODEPOOL: Final = "karpenter.sh/nodepool"
REGISTERED: Final = "karpenter.sh/registered"
INITIALIZED: Final = "karpenter.sh/initialized"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
ARCH: Final = "kubernetes.io/arch"
OS: Final = "kubernetes.io/os"
TERMINATION_FINALIZER: Final = "karpenter.sh/termination"
"""Karpenter's finalizer of Nodes and NodeClaims; it removes the Node's when the instance is gone."""
HOSTNAME: Final = "kubernetes.io/hostname"
WINDOWS_BUILD: Final = "node.kubernetes.io/windows-build"

SPOT: Final = "spot"
ON_DEMAND: Final = "on-demand"
RESERVED: Final = "reserved"

EKS_CAPACITY_TYPE: Final = "eks.amazonaws.com/capacityType"
"""Label of nodes in EKS managed node groups."""
_EKS_WORDS: Final = {"ON_DEMAND": ON_DEMAND, "SPOT": SPOT, "CAPACITY_BLOCK": RESERVED}

NODE_CLASS: Final = "karpenter.k8s.aws/ec2nodeclass"
RESERVATION_ID: Final = "karpenter.k8s.aws/capacity-reservation-id"

DO_NOT_EVICT: Final = "karpenter.sh/do-not-evict"
"""Name of the annotation before v1beta1: Karpenter no longer reads it."""
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
DO_NOT_REPAIR: Final = "karpenter.sh/do-not-repair"
DISRUPTION_COST: Final = "karpenter.sh/disruption-cost"
"""Annotation with a pod's eviction cost, which overrides the pod deletion cost; since 1.15."""
POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
TERMINATION_TIMESTAMP: Final = "karpenter.sh/nodeclaim-termination-timestamp"
REBOOT_GRACE_PERIOD: Final = "karpenter.sh/reboot-termination-grace-period"
MIN_VALUES_RELAXED: Final = "karpenter.sh/nodeclaim-min-values-relaxed"
NODEPOOL_HASH: Final = "karpenter.sh/nodepool-hash"

DISRUPTED_TAINT: Final = Taint("karpenter.sh/disrupted", NO_SCHEDULE)

KEY_ALIASES: Final = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "topology.ebs.csi.aws.com/zone": ZONE,
}
"""Older label keys, and the AWS operator's volume zone, with the key Karpenter reads them as; in requirements only."""

_OF_INSTANCES: Final = (
    "hypervisor encryption-in-transit-supported category capability-flex family generation size local-nvme cpu "
    "cpu-manufacturer cpu-sustained-clock-speed-mhz memory ebs-bandwidth network-bandwidth gpu-name "
    "gpu-manufacturer gpu-count gpu-memory accelerator-name accelerator-manufacturer accelerator-count tenancy"
)
WELL_KNOWN: Final = frozenset(
    {NODEPOOL, ZONE, REGION, INSTANCE_TYPE, ARCH, OS, CAPACITY_TYPE, WINDOWS_BUILD, RESERVATION_ID}
    | {
        "karpenter.k8s.aws/capacity-reservation-type",
        "karpenter.k8s.aws/capacity-reservation-interruptible",
        "karpenter.k8s.aws/placement-group-id",
        "karpenter.k8s.aws/placement-group-partition",
        "topology.k8s.aws/zone-id",
    }
    | {f"{AWS_GROUP}/instance-{name}" for name in _OF_INSTANCES.split()}
)
"""Karpenter's and the AWS provider's labels: pods may request them even if the NodePool does not define them."""

AUTO_MODE_GROUP: Final = "eks.amazonaws.com"
"""API group and label domain of EKS Auto Mode."""
COMPUTE_TYPE: Final = "eks.amazonaws.com/compute-type"
"""Label with value ``auto`` on EKS Auto Mode nodes, and `FARGATE` on Fargate nodes."""
FARGATE: Final = "fargate"
AUTO_MODE_LABELS: Final = frozenset(
    f"{AUTO_MODE_GROUP}/{key.partition('/')[2]}" for key in WELL_KNOWN if key.startswith(f"{AWS_GROUP}/instance-")
)
"""EKS Auto Mode's instance type labels: the AWS provider's in another domain."""

RESTRICTED_DOMAINS: Final = frozenset({GROUP, AWS_GROUP})
"""Domains in which only well-known labels may be requested."""

KNOWN_VALUES: Final = {
    CAPACITY_TYPE: frozenset({ON_DEMAND, SPOT, RESERVED}),
    "karpenter.k8s.aws/instance-tenancy": frozenset({"default", "dedicated"}),
}
"""Labels for which a pod must name at least one existing value."""


def is_restricted(key: str) -> bool:
    """Return whether pods and NodePools may not request this label (``IsRestrictedLabel``)."""
    if key in WELL_KNOWN:
        return False
    domain = key.partition("/")[0] if "/" in key else ""
    return key == HOSTNAME or any(
        domain == restricted or domain.endswith(f".{restricted}") for restricted in RESTRICTED_DOMAINS
    )


def capacity_type_of(labels: Mapping[str, str]) -> str:
    """Return ``spot``, ``on-demand``, ``reserved`` or an empty string; also from the EKS managed node group label."""
    return labels.get(CAPACITY_TYPE, "") or _EKS_WORDS.get(labels.get(EKS_CAPACITY_TYPE, ""), "")


def is_disrupted(taints: Iterable[Taint]) -> bool:
    """Return whether Karpenter has tainted a node for disruption; the taint's value does not matter."""
    return any(taint.matches(DISRUPTED_TAINT) for taint in taints)
