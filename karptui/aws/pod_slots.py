"""Maximum number of pods on a node: network interfaces, ``maxPods``, ``podsPerCore``.

Source: ``pods`` and ``ENILimitedPods`` in pkg/providers/instancetype/types.go in Karpenter's AWS provider.
"""

from __future__ import annotations

from typing import Final

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.nodeclass import Ec2NodeClass, NodeClassError
from karptui.karpenter.nodeclass import EC2_KIND

PODS_WITHOUT_ENI_LIMIT: Final = 110
HOST_NETWORK_PODS: Final = 2
"""aws-node and kube-proxy use the host network and need no address."""


def eni_limited_pods(facts: InstanceTypeFacts, reserved_enis: int, efa_only_on_first_card: int) -> int:
    """Return the number of pods that the default card's interfaces have addresses for.

    An interface uses its first address itself. Types without a usable interface accept no pods.
    """
    enis = facts.card_enis[facts.default_card] - reserved_enis - efa_only_on_first_card
    return enis * (facts.ipv4_per_eni - 1) + HOST_NETWORK_PODS if enis > 0 else 0


def max_pods(facts: InstanceTypeFacts, nodeclass: Ec2NodeClass, reserved_enis: int) -> int:
    """Return the number of pods that the kubelet is configured to accept.

    ``maxPods: 0`` is a limit, ``podsPerCore: 0`` is not. Karpenter ignores prefix delegation and IPv6.
    """
    kubelet, family = nodeclass.kubelet, nodeclass.family
    if isinstance(kubelet.max_pods, str):
        raise NodeClassError(
            f"{EC2_KIND} {nodeclass.name}: spec.kubelet.maxPods: must be a whole number, "
            "is text: write it without quotes"
        )
    if kubelet.max_pods is not None:
        pods = kubelet.max_pods
    elif family.limits_pods_by_enis:
        pods = eni_limited_pods(facts, reserved_enis, nodeclass.efa_only_on_first_card)
    else:
        pods = PODS_WITHOUT_ENI_LIMIT
    if family.honours_pods_per_core and kubelet.pods_per_core is not None and kubelet.pods_per_core > 0:
        return min(pods, kubelet.pods_per_core * facts.vcpus)
    return pods
