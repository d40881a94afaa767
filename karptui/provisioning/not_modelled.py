"""Features used by a cluster that the engine does not model as text."""

from __future__ import annotations

from typing import Final

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodepool import is_aws
from karptui.karpenter.settings import Settings
from karptui.kube.volumes import unread_text
from karptui.provisioning.volumes import unread_of_volumes

KUBE_SCHEDULER_APPROXIMATED: Final = (
    "kube-scheduler's filters are exact; its scores are approximated, without images and preferred pod affinity"
)
PREEMPTION: Final = "preemption"


def not_modelled(inventory: Inventory, settings: Settings, *, keeps_replicas: bool = False) -> list[str]:
    """Return a sentence for each feature of a cluster that affects Karpenter but is not modelled.

    Args:
        keeps_replicas: Whether the caller simulates static NodePools' replicas.
    """
    sentences = []
    claiming = sum(1 for pod in inventory.pods if pod.template.has_resource_claims and not pod.node_name)
    if claiming and not settings.ignore_dra_requests:
        sentences.append(
            f"IGNORE_DRA_REQUESTS is false, but devices of Dynamic Resource Allocation are not modelled: {claiming}"
            " pending pods that request devices are scheduled by their other requests only"
        )
    if settings.gate("NodeRepair") and settings.repair_policies is None and not is_aws(inventory.nodepools):
        groups = ", ".join(sorted({pool.node_class_ref.group for pool in inventory.nodepools}))
        sentences.append(f"the repair policies of {groups} are unknown, so no node counts as unhealthy")
    static = [pool.name for pool in inventory.nodepools if pool.is_static]
    if static and settings.gate("StaticCapacity") and not keeps_replicas:
        sentences.append(
            f"static NodePools ({', '.join(sorted(static))}): creating and removing their replicas is not simulated;"
            " their nodes count for scheduling"
        )
    if inventory.capacity_buffers and settings.gate("CapacityBuffer"):
        sentences.append("CapacityBuffers use the replicas in their status; percentages are not computed")
    return [*sentences, *filter(None, [unread_text(unread_of_volumes(inventory))])]
