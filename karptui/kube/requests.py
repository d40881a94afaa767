"""Effective pod requests: what a pod takes from a node, from its containers and what the status reports of resizes.

Rule: ``PodRequests`` of k8s.io/component-helpers/resource (v0.35) with the status taken into account, as Karpenter
calls it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from karptui.kube import resources
from karptui.kube.quantity import Quantity
from karptui.kube.resources import CPU, HUGEPAGES_PREFIX, MEMORY, ResourceList


class ContainerRequests(msgspec.Struct, frozen=True, gc=False):
    """The requests of one container."""

    name: str
    requests: ResourceList = resources.EMPTY
    is_sidecar: bool = False
    """An init container with restartPolicy Always."""


class ContainerStatusResources(msgspec.Struct, frozen=True, gc=False):
    """What the kubelet reports of a container's resources."""

    actuated: ResourceList = resources.EMPTY
    """``status.containerStatuses[].resources.requests``."""
    allocated: ResourceList = resources.EMPTY
    """``status.containerStatuses[].allocatedResources``."""


def effective_requests(
    *,
    containers: Sequence[ContainerRequests],
    init_containers: Sequence[ContainerRequests] = (),
    statuses: Mapping[str, ContainerStatusResources] | None = None,
    is_resize_infeasible: bool = False,
    pod_level: ResourceList = resources.EMPTY,
    overhead: ResourceList = resources.EMPTY,
) -> dict[str, Quantity]:
    """Return a pod's effective requests, without the slot it takes itself.

    Args:
        containers: the app containers.
        init_containers: the init containers in order; sidecars keep running beside the app containers.
        statuses: reported resources by container name, only of containers whose status carries ``resources``.
        is_resize_infeasible: the kubelet has refused the resize, so the wish in the spec does not count.
        pod_level: ``spec.resources.requests``; replaces the sum for cpu, memory and huge pages.
        overhead: the runtime class's overhead, added last.
    """
    reported = statuses or {}

    def of(container: ContainerRequests) -> ResourceList:
        status = reported.get(container.name)
        if status is None:
            return container.requests
        wished = () if is_resize_infeasible else (container.requests,)
        return resources.maximum((*wished, status.actuated, status.allocated))

    total: ResourceList = resources.add(*(of(container) for container in containers))
    sidecars: ResourceList = {}
    peaks: list[ResourceList] = []
    for container in init_containers:
        if container.is_sidecar:
            own = of(container)
            total = resources.add(total, own)
            sidecars = resources.add(sidecars, own)
            peaks.append(sidecars)
        else:
            peaks.append(resources.add(container.requests, sidecars))
    result = resources.maximum((total, *peaks)) if peaks else dict(total)
    for name, amount in pod_level.items():
        if name in (CPU, MEMORY) or name.startswith(HUGEPAGES_PREFIX):
            result[name] = amount
    return resources.add(result, overhead) if overhead else result
