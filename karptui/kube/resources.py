"""Resource lists: amounts by resource."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.kube.quantity import Quantity

ResourceList = Mapping[str, Quantity]
"""Amounts by resource name; a missing name counts as zero."""
CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
NODES: Final = "nodes"
"""Karpenter's node count, which a NodePool's limits may name."""
HUGEPAGES_PREFIX: Final = "hugepages-"
EMPTY: Final[ResourceList] = MappingProxyType({})


class Shortage(msgspec.Struct, frozen=True, gc=False):
    """A resource that is insufficient."""

    resource: str
    need: Quantity
    """Amount requested; on a new node including DaemonSet pods."""
    room: Quantity
    """Amount available."""

    @property
    def lacking_nano(self) -> int:
        """Missing amount in nano-units."""
        return self.need.nano - self.room.nano


def add(*lists: ResourceList) -> dict[str, Quantity]:
    """Return the sum of the lists by name, each in the format of its first non-zero amount.

    Rule: ``Merge`` in Karpenter's pkg/utils/resources/resources.go.
    """
    total: dict[str, Quantity] = {}
    for amounts in lists:
        for name, amount in amounts.items():
            present = total.get(name)
            total[name] = amount if present is None else present + amount
    return total


def subtract(left: ResourceList, right: ResourceList) -> dict[str, Quantity]:
    """Return ``left`` minus ``right`` for the names of ``left``; may be negative."""
    return {name: amount - right[name] if name in right else amount for name, amount in left.items()}


def maximum(lists: Iterable[ResourceList]) -> dict[str, Quantity]:
    """Return the largest amount of each name; the first of equal amounts."""
    largest: dict[str, Quantity] = {}
    for amounts in lists:
        for name, amount in amounts.items():
            present = largest.get(name)
            if present is None or amount.nano > present.nano:
                largest[name] = amount
    return largest


def amounts_document(amounts: ResourceList) -> dict[str, str]:
    """Return a resource list in the API's own shape."""
    return {name: str(amount) for name, amount in amounts.items()}


def nano(amounts: ResourceList, name: str) -> int:
    """Return an amount in nano-units, 0 if the name is missing."""
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
