"""The allocatable ledger: where the advertised memory goes, and what is left for a pod.

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
"""Decimals of an overhead percent as people write it: 0.0488."""


class Ledger(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The account of one instance type in one NodeClass."""

    name: str
    advertised_memory_bytes: int
    contiguous_memory_bytes: int
    """Set aside by arm64 kernels; 0 on amd64."""
    vm_overhead_bytes: int
    """Taken by VM_MEMORY_OVERHEAD_PERCENT; does not apply where the capacity is discovered."""
    vm_memory_overhead_percent: float
    is_memory_discovered: bool
    """Whether the capacity is what a node of the type has reported, not the estimate."""
    capacity: ResourceList
    kube_reserved: ResourceList
    system_reserved: ResourceList
    eviction_threshold: ResourceList
    allocatable: ResourceList


def build_ledger(
    facts: InstanceTypeFacts, instance_type: InstanceType, settings: Settings, *, is_memory_discovered: bool = False
) -> Ledger:
    """Return the account of a resolved type.

    Args:
        facts: What EC2 advertises.
        instance_type: The type as `karptui.aws.instance_types.instance_types` resolved it.
        settings: VM_MEMORY_OVERHEAD_PERCENT counts.
        is_memory_discovered: Whether the type was resolved with memory that a node has reported.
    """
    kept = instance_type.overhead
    return Ledger(
        name=facts.name,
        advertised_memory_bytes=facts.memory_mib * MIB,
        contiguous_memory_bytes=contiguous_memory_mib(facts) * MIB,
        vm_overhead_bytes=vm_overhead_mib(facts, settings.vm_memory_overhead_percent) * MIB,
        vm_memory_overhead_percent=settings.vm_memory_overhead_percent,
        is_memory_discovered=is_memory_discovered,
        capacity=instance_type.capacity,
        kube_reserved=kept.kube_reserved,
        system_reserved=kept.system_reserved,
        eviction_threshold=kept.eviction_threshold,
        allocatable=allocatable(instance_type),
    )


def largest_pod(ledger: Ledger, daemons: ResourceList = resources.EMPTY) -> dict[str, Quantity]:
    """Return the most that one pod may request beside the DaemonSets of a node, never below zero."""
    left = resources.subtract(ledger.allocatable, daemons)
    return {name: amount if amount.nano > 0 else Quantity(0, amount.format) for name, amount in left.items()}


def fitting_overhead_percent(
    facts: InstanceTypeFacts,
    nodeclass: Ec2NodeClass,
    ledger: Ledger,
    needed: Quantity,
) -> float | None:
    """Return the largest VM_MEMORY_OVERHEAD_PERCENT with which a type has the memory, None where none does.

    Other resources are not looked at. Eviction thresholds in percent follow the estimate. Where a node has reported its
    memory the setting has no effect, and the answer is None; so it is where Karpenter cannot read the threshold.

    Args:
        facts: The instance type.
        nodeclass: Decides the eviction threshold.
        ledger: Its kubeReserved and systemReserved, which the percent does not change.
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
    """Return the largest percent that takes no more than so many MiB, in the doubles that Karpenter reckons with."""
    percent = overhead_mib / size_mib
    while vm_overhead_mib(facts, percent) > overhead_mib:
        percent = math.nextafter(percent, 0)
    return percent


def rounded_down(percent: float, digits: int = PERCENT_DIGITS) -> float:
    """Return an overhead percent cut to so many decimals: what fits stays fitting."""
    scale: int = 10**digits
    return math.floor(Fraction(percent) * scale) / scale


def rounded_up(percent: float, digits: int = PERCENT_DIGITS) -> float:
    """Return an overhead percent raised to so many decimals: an estimate that was safe stays safe."""
    scale: int = 10**digits
    return math.ceil(Fraction(percent) * scale) / scale


def matching_overhead_percent(facts: InstanceTypeFacts, reported_memory_bytes: int) -> float:
    """Return the overhead percent whose estimate is just not above what nodes of the type really report."""
    size_mib = facts.memory_mib - contiguous_memory_mib(facts)
    return _percent_of_overhead(facts, max(0, size_mib - reported_memory_bytes // MIB), size_mib)


def safe_overhead_percent(reported: Iterable[tuple[InstanceTypeFacts, int]]) -> float | None:
    """Return the least overhead percent that overestimates no type, None without reports.

    Args:
        reported: Types and the memory capacity, in bytes, that a node of each has reported.
    """
    return max((matching_overhead_percent(facts, memory) for facts, memory in reported), default=None)
