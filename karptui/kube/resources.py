"""Resource lists, and effective pod requests: what a pod takes from a node.

Rule of requests: ``PodRequests`` of k8s.io/component-helpers/resource (v0.35) with the status of resizes taken into
account, as Karpenter calls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.kube.quantity import Quantity

ResourceList = Mapping[str, Quantity]
"""Amounts by resource name; a name that is missing counts as zero."""

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
NODES: Final = "nodes"
"""Karpenter's own countable: a NodePool's limit may name it."""
HUGEPAGES_PREFIX: Final = "hugepages-"

EMPTY: Final[ResourceList] = MappingProxyType({})


class Shortage(msgspec.Struct, frozen=True, gc=False):
    """A resource of which there is too little."""

    resource: str
    need: Quantity
    """What is asked; on a new node with what daemons ask."""
    room: Quantity
    """What there is for it."""

    @property
    def lacking_nano(self) -> int:
        """What is lacking, in nano-units."""
        return self.need.nano - self.room.nano


def add(*lists: ResourceList) -> dict[str, Quantity]:
    """Return the sum of the lists, name by name, in the format of the first amount that is not zero.

    Rule: ``Merge`` in Karpenter's pkg/utils/resources/resources.go.
    """
    total: dict[str, Quantity] = {}
    for amounts in lists:
        for name, amount in amounts.items():
            present = total.get(name)
            total[name] = amount if present is None else present + amount
    return total


def subtract(left: ResourceList, right: ResourceList) -> dict[str, Quantity]:
    """Return ``left`` less ``right`` for the names of ``left``; may be negative."""
    return {name: amount - right[name] if name in right else amount for name, amount in left.items()}


def maximum(lists: Iterable[ResourceList]) -> dict[str, Quantity]:
    """Return the largest amount of each name over the lists; of equal amounts the first."""
    largest: dict[str, Quantity] = {}
    for amounts in lists:
        for name, amount in amounts.items():
            present = largest.get(name)
            if present is None or amount.nano > present.nano:
                largest[name] = amount
    return largest


def nano(amounts: ResourceList, name: str) -> int:
    """Return an amount in nano-units, 0 where the name is missing."""
    amount = amounts.get(name)
    return amount.nano if amount is not None else 0


def cpu_millis(amounts: ResourceList) -> int:
    """Return cpu in millicores, rounded up."""
    amount = amounts.get(CPU)
    return amount.millis if amount is not None else 0


def memory_bytes(amounts: ResourceList) -> int:
    """Return memory in bytes, rounded up."""
    amount = amounts.get(MEMORY)
    return amount.units if amount is not None else 0


def pod_count(amounts: ResourceList) -> int:
    """Return the number of pod slots."""
    amount = amounts.get(PODS)
    return amount.units if amount is not None else 0


class ContainerRequests(msgspec.Struct, frozen=True, gc=False):
    """The requests of one container."""

    name: str
    requests: ResourceList = EMPTY
    is_sidecar: bool = False
    """An init container with restartPolicy Always."""


class ContainerStatusResources(msgspec.Struct, frozen=True, gc=False):
    """What the kubelet reports of a container's resources."""

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
        return maximum((*wished, status.actuated, status.allocated))

    total: ResourceList = add(*(of(container) for container in containers))
    sidecars: ResourceList = {}
    peaks: list[ResourceList] = []
    for container in init_containers:
        if container.is_sidecar:
            own = of(container)
            total = add(total, own)
            sidecars = add(sidecars, own)
            peaks.append(sidecars)
        else:
            peaks.append(add(container.requests, sidecars))
    result = maximum((total, *peaks)) if peaks else dict(total)
    for name, amount in pod_level.items():
        if name in (CPU, MEMORY) or name.startswith(HUGEPAGES_PREFIX):
            result[name] = amount
    return add(result, overhead) if overhead else result
