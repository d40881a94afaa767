"""What of a cluster the engine leaves out of account, in sentences."""

from __future__ import annotations

from typing import Final

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodepool import is_aws
from karptui.karpenter.settings import Settings
from karptui.kube.volumes import unread_text
from karptui.provisioning.volumes import unread_of_volumes

KUBE_SCHEDULER_APPROXIMATED: Final = (
    "kube-scheduler's filters hold; its scores are approximated, without images and preferred pod affinity"
)


def not_modelled(inventory: Inventory, settings: Settings, *, keeps_replicas: bool = False) -> list[str]:
    """Return a sentence for each thing in a cluster that Karpenter would weigh and the engine does not.

    Args:
        inventory: The cluster.
        settings: What the controller was started with.
        keeps_replicas: Whether static NodePools are brought to their replicas by the caller.
    """
    sentences = []
    claiming = sum(1 for pod in inventory.pods if pod.template.has_resource_claims and not pod.node_name)
    if claiming and not settings.ignore_dra_requests:
        sentences.append(
            f"IGNORE_DRA_REQUESTS is false: devices of Dynamic Resource Allocation are not allocated, so the {claiming}"
            " waiting pods that ask for them are placed by their other requests alone"
        )
    if settings.gate("NodeRepair") and settings.repair_policies is None and not is_aws(inventory.nodepools):
        groups = ", ".join(sorted({pool.node_class_ref.group for pool in inventory.nodepools}))
        sentences.append(f"the repair policies of {groups} are not known, so no node counts as unhealthy")
    static = [pool.name for pool in inventory.nodepools if pool.is_static]
    if static and settings.gate("StaticCapacity") and not keeps_replicas:
        sentences.append(
            f"static NodePools ({', '.join(sorted(static))}) are filled up to their replicas by a loop of their own,"
            " which is not simulated; their nodes count as places for pods"
        )
    if inventory.capacity_buffers and settings.gate("CapacityBuffer"):
        sentences.append(
            "CapacityBuffers are taken at the replicas in their status; how many a percentage comes to is not computed"
        )
    return [*sentences, *filter(None, [unread_text(unread_of_volumes(inventory))])]
