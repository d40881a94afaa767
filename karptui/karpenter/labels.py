"""Karpenter's labels, annotations, taints and the rules about label keys.

Rules: pkg/apis/v1/labels.go, pkg/apis/v1/taints.go; the AWS keys: pkg/apis/v1/labels.go of the AWS provider.
"""

from __future__ import annotations

from typing import Final

from karptui.kube.taints import NO_EXECUTE, NO_SCHEDULE, Taint

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
HOSTNAME: Final = "kubernetes.io/hostname"
WINDOWS_BUILD: Final = "node.kubernetes.io/windows-build"

SPOT: Final = "spot"
ON_DEMAND: Final = "on-demand"
RESERVED: Final = "reserved"

DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
MIRROR_POD: Final = "kubernetes.io/config.mirror"
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
TERMINATION_TIMESTAMP: Final = "karpenter.sh/nodeclaim-termination-timestamp"
MIN_VALUES_RELAXED: Final = "karpenter.sh/nodeclaim-min-values-relaxed"
NODEPOOL_HASH: Final = "karpenter.sh/nodepool-hash"

DISRUPTED_TAINT: Final = Taint("karpenter.sh/disrupted", NO_SCHEDULE)
UNREGISTERED_TAINT: Final = Taint("karpenter.sh/unregistered", NO_EXECUTE)

KEY_ALIASES: Final = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
}
"""Older keys and what Karpenter reads them as, in requirements only."""
