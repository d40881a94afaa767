"""The allocatable ledger: how advertised memory is reduced to the largest pod.

Advertised → contiguous memory of arm64 kernels → VM overhead → kubeReserved, systemReserved, eviction → allocatable →
DaemonSets → largest pod. Source of the sums: pkg/cloudprovider/types.go of Karpenter and
pkg/providers/instancetype/types.go of its AWS provider.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

import msgspec

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.instance_types import allocatable
from karptui.aws.nodeclass import Ec2NodeClass, NodeClassError
from karptui.aws.overhead import MIB, contiguous_memory_mib, eviction_threshold, vm_overhead_mib
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.settings import Settings
from karptui.kube import resources
from karptui.kube.quantity import Quantity, QuantityFormat, of_units
from karptui.kube.resources import EPHEMERAL_STORAGE, MEMORY, ResourceList

PERCENT_DIGITS: Final = 4
"""Decimals of an overhead percent as users write it: 0.0488."""
_SCALE: Final[int] = 10**PERCENT_DIGITS


class Ledger(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The steps from advertised memory to allocatable resources of a type in a NodeClass."""

    advertised_memory_bytes: int
    contiguous_memory_bytes: int
    """Reserved by arm64 kernels; 0 on amd64."""
    vm_overhead_bytes: int
    """VM_MEMORY_OVERHEAD_PERCENT in bytes; not applied if the memory was reported by a node."""
    vm_memory_overhead_percent: float
    is_memory_discovered: bool
    """Whether the capacity was reported by a node of the type instead of estimated."""
    capacity: ResourceList
    kube_reserved: ResourceList
    system_reserved: ResourceList
    allocatable: ResourceList


def build_ledger(
    facts: InstanceTypeFacts, instance_type: InstanceType, settings: Settings, *, is_memory_discovered: bool = False
) -> Ledger:
    """Return the ledger of a resolved type.

    Args:
        settings: VM_MEMORY_OVERHEAD_PERCENT is used.
        is_memory_discovered: Whether it was resolved with memory reported by a node.
    """
    overhead = instance_type.overhead
    return Ledger(
        advertised_memory_bytes=facts.memory_mib * MIB,
        contiguous_memory_bytes=contiguous_memory_mib(facts) * MIB,
        vm_overhead_bytes=vm_overhead_mib(facts, settings.vm_memory_overhead_percent) * MIB,
        vm_memory_overhead_percent=settings.vm_memory_overhead_percent,
        is_memory_discovered=is_memory_discovered,
        capacity=instance_type.capacity,
        kube_reserved=overhead.kube_reserved,
        system_reserved=overhead.system_reserved,
        allocatable=allocatable(instance_type),
    )


def largest_pod(allocatable: ResourceList, daemons: ResourceList) -> dict[str, Quantity]:
    """Return the largest requests that fit next to a node's DaemonSet pods, never negative."""
    left = resources.subtract(allocatable, daemons)
    return {name: amount if amount.nano > 0 else Quantity(0, amount.format) for name, amount in left.items()}


def fitting_overhead_percent(
    facts: InstanceTypeFacts,
    nodeclass: Ec2NodeClass,
    ledger: Ledger,
    needed: Quantity,
) -> float | None:
    """Return the largest VM_MEMORY_OVERHEAD_PERCENT at which a type has enough memory, None if there is none.

    Only memory is considered. Eviction thresholds in percent refer to the estimate. None also if a node has reported
    its memory, so the setting has no effect, and if Karpenter cannot parse the threshold.

    Args:
        ledger: Its kubeReserved and systemReserved do not depend on the percent.
        needed: Memory of the pod and the DaemonSets together.
    """
    if ledger.is_memory_discovered:
        return None
    size_mib = facts.memory_mib - contiguous_memory_mib(facts)
    kept_nano = resources.nano(ledger.kube_reserved, MEMORY) + resources.nano(ledger.system_reserved, MEMORY)

    def fits(overhead_mib: int) -> bool:
        memory = of_units((size_mib - overhead_mib) * MIB, QuantityFormat.BINARY_SI)
        eviction = eviction_threshold(memory, ledger.capacity[EPHEMERAL_STORAGE], nodeclass)[MEMORY]
        return memory.nano - kept_nano - eviction.nano >= needed.nano

    try:
        if not fits(0):
            return None
    except NodeClassError:
        return None
    low, high = 0, size_mib
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return _percent_of_overhead(facts, low, size_mib)


def _percent_of_overhead(facts: InstanceTypeFacts, overhead_mib: int, size_mib: int) -> float:
    """Return the largest percent whose overhead is at most this many MiB, in Karpenter's double arithmetic."""
    percent = overhead_mib / size_mib
    while vm_overhead_mib(facts, percent) > overhead_mib:
        percent = math.nextafter(percent, 0)
    return percent


def rounded_down(percent: float) -> float:
    """Return an overhead percent rounded down, so that pods still fit."""
    return math.floor(Fraction(percent) * _SCALE) / _SCALE


def rounded_up(percent: float) -> float:
    """Return an overhead percent rounded up, so that the estimate stays safe."""
    return math.ceil(Fraction(percent) * _SCALE) / _SCALE


def matching_overhead_percent(facts: InstanceTypeFacts, reported_memory_bytes: int) -> float:
    """Return the smallest overhead percent whose estimate does not exceed the memory reported by nodes of the type."""
    size_mib = facts.memory_mib - contiguous_memory_mib(facts)
    return _percent_of_overhead(facts, max(0, size_mib - reported_memory_bytes // MIB), size_mib)


def safe_overhead_percent(reported: Iterable[tuple[InstanceTypeFacts, int]]) -> float | None:
    """Return the smallest overhead percent that overestimates no type, None without reports.

    Args:
        reported: Types with the memory capacity in bytes reported by a node.
    """
    return max((matching_overhead_percent(facts, memory) for facts, memory in reported), default=None)
