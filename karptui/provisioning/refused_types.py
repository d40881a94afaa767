"""Instance types that would fit a pod if EC2 had not recently refused to launch them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from karptui.karpenter.instance_type import NO_FREE_ADDRESSES, InstanceType, error_words
from karptui.karpenter.labels import CAPACITY_TYPE, WELL_KNOWN, ZONE
from karptui.karpenter.requirements import Requirements
from karptui.kube.resources import ResourceList
from karptui.kube.units import counted
from karptui.provisioning.catalogue import allocatable_nano
from karptui.provisioning.instance_types import InstanceTypes

_MOST_NAMES: Final = 2


def refused_text(types: Iterable[InstanceType], requirements: Requirements, requests: ResourceList) -> str:
    """Return EC2's reasons for refusing compatible types with enough room: ``insufficient capacity in EC2 (spot c7i)``.

    Args:
        requirements: Requirements of the NodePool and the pod.
        requests: Requests of the pod.

    Returns:
        Text for each error code; empty if EC2 refused none of the types.
    """
    refused: dict[str, dict[str, set[str]]] = {}
    for instance_type in types:
        offerings = [offering for offering in instance_type.offerings if offering.error_code]
        if not offerings or not requirements.compatible(
            Requirements.from_selectors(instance_type.requirements), WELL_KNOWN
        ):
            continue
        allocatable = allocatable_nano(instance_type)
        if any(amount.nano > allocatable.get(name, 0) for name, amount in requests.items()):
            continue
        for offering in offerings:
            sold_as = Requirements.from_selectors(offering.requirements)
            if requirements.compatible(sold_as, WELL_KNOWN):
                key = ZONE if offering.error_code == NO_FREE_ADDRESSES else CAPACITY_TYPE
                refused.setdefault(offering.error_code, {}).setdefault(instance_type.name, set()).update(
                    sold_as.get(key).values
                )
    return "; ".join(f"{error_words(code)} ({_names(code, by_type)})" for code, by_type in refused.items())


def _names(code: str, values_by_type: dict[str, set[str]]) -> str:
    """Return the zones, for full subnets, or the types with their capacity types."""
    values = sorted({value for values in values_by_type.values() for value in values}, reverse=True)
    if code == NO_FREE_ADDRESSES:
        return ", ".join(reversed(values))
    names = ", ".join(values_by_type) if len(values_by_type) <= _MOST_NAMES else counted(len(values_by_type), "type")
    return f"{' and '.join(values)} {names}"


def offered_again(types: InstanceTypes) -> InstanceTypes:
    """Return instance types with EC2's refusals removed; unaffected types are the same objects."""
    if not isinstance(types, Mapping):
        return tuple(map(_offered_again, types))
    by_list = {id(pool_types): tuple(map(_offered_again, pool_types)) for pool_types in types.values()}
    return {name: by_list[id(pool_types)] for name, pool_types in types.items()}


def _offered_again(instance_type: InstanceType) -> InstanceType:
    if not any(offering.error_code for offering in instance_type.offerings):
        return instance_type
    offerings = (
        replace(offering, is_available=True, error_code="") if offering.error_code else offering
        for offering in instance_type.offerings
    )
    return replace(instance_type, offerings=tuple(offerings))
