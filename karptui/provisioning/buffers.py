"""Virtual pods of CapacityBuffers: room that is asked for ahead of the pods.

Rules: ``pkg/state/virtualpods/utilities.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from karptui.karpenter.inventory import CapacityBuffer, Inventory
from karptui.kube.objects import EMPTY_LABELS, condition_of
from karptui.kube.pod import Pod, PodTemplate

_PRIORITY = -(2**31)
_READY = "ReadyForProvisioning"


def buffer_pods(inventory: Inventory, now_ns: int) -> tuple[Pod, ...]:
    """Return the virtual pods of the buffers that are ready; they have no phase and no volumes.

    Args:
        inventory: The cluster.
        now_ns: When they come into being.
    """
    return tuple(
        pod
        for buffer in sorted(inventory.capacity_buffers, key=lambda one: (one.namespace, one.name))
        for pod in _pods_of(buffer, inventory, now_ns)
    )


def _pods_of(buffer: CapacityBuffer, inventory: Inventory, now_ns: int) -> Iterator[Pod]:
    ready = condition_of(buffer.conditions, _READY)
    if ready is None or ready.status != "True" or not buffer.has_spec_ref:
        return
    template = _template_of(buffer, inventory)
    if template is None:
        return
    template = msgspec.structs.replace(
        template, namespace=buffer.namespace, owners=(), annotations=EMPTY_LABELS, priority=_PRIORITY
    )
    for i in range(1, buffer.replicas + 1):
        yield Pod(
            name=f"capacity-buffer-{buffer.name}-{i}",
            template=template,
            uid=f"{buffer.uid}-{i}",
            created_ns=now_ns,
            scheduled_reason="Unschedulable",
        )


def _template_of(buffer: CapacityBuffer, inventory: Inventory) -> PodTemplate | None:
    for named in inventory.pod_templates:
        if (named.namespace, named.name) == (buffer.namespace, buffer.pod_template_name):
            return named.template
    for workload in inventory.workloads:
        key = (workload.namespace, workload.kind, workload.name)
        if key == (buffer.namespace, buffer.scalable_kind, buffer.scalable_name):
            return workload.template
    return None
