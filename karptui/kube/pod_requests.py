"""Effective requests of a pod: containers, sidecars, init containers, resizes in place, pod-level requests, overhead.

Rule: ``PodRequests`` of k8s.io/component-helpers/resource (v0.35), as Karpenter calls it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from karptui.kube.quantity import Quantity
from karptui.kube.resources import CPU, EMPTY, HUGEPAGES_PREFIX, MEMORY, ResourceList, add, maximum


class ContainerRequests(msgspec.Struct, frozen=True, gc=False):
    """Requests of a container."""

    name: str
    requests: ResourceList = EMPTY
    is_sidecar: bool = False
    """An init container with restartPolicy Always."""
    is_init: bool = False
    limits: ResourceList = EMPTY


class ContainerStatusResources(msgspec.Struct, frozen=True, gc=False):
    """Resources of a container as reported by the kubelet."""

    actuated: ResourceList = EMPTY
    """``status.containerStatuses[].resources.requests``."""
    allocated: ResourceList = EMPTY
    """``status.containerStatuses[].allocatedResources``."""


def effective_requests(
    *,
    containers: Sequence[ContainerRequests],
    init_containers: Sequence[ContainerRequests] = (),
    statuses: Mapping[str, ContainerStatusResources] | None = None,
    is_resize_infeasible: bool = False,
    pod_level: ResourceList = EMPTY,
    overhead: ResourceList = EMPTY,
) -> dict[str, Quantity]:
    """Return a pod's effective requests, excluding the pod slot.

    Args:
        init_containers: Init containers in order; sidecars keep running alongside the app containers.
        statuses: Reported resources by container name, only for containers whose status has ``resources``.
        is_resize_infeasible: Whether the kubelet rejected the resize, so the requests in the spec do not count.
        pod_level: ``spec.resources.requests``, which replaces the sum for cpu, memory and huge pages.
        overhead: Overhead of the runtime class, added last.
    """
    reported = statuses or {}

    def of(container: ContainerRequests) -> ResourceList:
        status = reported.get(container.name)
        if status is None:
            return container.requests
        desired = () if is_resize_infeasible else (container.requests,)
        return maximum((*desired, status.actuated, status.allocated))

    total: ResourceList = add(*(of(container) for container in containers))
    sidecars: ResourceList = {}
    peaks: list[ResourceList] = []
    for container in init_containers:
        if container.is_sidecar:
            sidecar = of(container)
            total = add(total, sidecar)
            sidecars = add(sidecars, sidecar)
            peaks.append(sidecars)
        else:
            peaks.append(add(container.requests, sidecars))
    result = maximum((total, *peaks)) if peaks else dict(total)
    for name, amount in pod_level.items():
        if name in (CPU, MEMORY) or name.startswith(HUGEPAGES_PREFIX):
            result[name] = amount
    return add(result, overhead) if overhead else result
