"""Offerings that are out, as after an insufficient capacity error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.labels import CAPACITY_TYPE, ZONE
from karptui.provisioning import InstanceTypes
from karptui.whatif.edits import TakeOut


def without_offerings(types: InstanceTypes, outages: Sequence[TakeOut]) -> tuple[InstanceTypes, list[int]]:
    """Return instance types with offerings marked unavailable, and for each outage how many it took.

    NodePools that shared a list of types share one afterwards; types without such offerings stay the same objects.
    """
    counts = [0] * len(outages)
    if not isinstance(types, Mapping):
        return _marked(types, outages, counts), counts
    made: dict[int, Sequence[InstanceType]] = {}
    result: dict[str, Sequence[InstanceType]] = {}
    for name, own in types.items():
        if id(own) not in made:
            made[id(own)] = _marked(own, outages, counts)
        result[name] = made[id(own)]
    return result, counts


def outage_text(outage: TakeOut) -> str:
    """Return what is out, in words."""
    parts = (outage.capacity_type, outage.instance_type or "every type", f"in {outage.zone}" if outage.zone else "")
    return " ".join(filter(None, parts))


def _marked(types: Sequence[InstanceType], outages: Sequence[TakeOut], counts: list[int]) -> tuple[InstanceType, ...]:
    return tuple(_marked_type(one, outages, counts) for one in types)


def _marked_type(instance_type: InstanceType, outages: Sequence[TakeOut], counts: list[int]) -> InstanceType:
    hits = [
        (i, one)
        for i, one in enumerate(outages)
        if not one.instance_type or fnmatchcase(instance_type.name, one.instance_type)
    ]
    if not hits:
        return instance_type
    offerings = list(instance_type.offerings)
    is_changed = False
    for position, offering in enumerate(instance_type.offerings):
        for i, outage in hits:
            if _covers(outage, offering):
                counts[i] += 1
                if offering.is_available:
                    is_changed = True
                    offerings[position] = replace(offering, is_available=False)
    return replace(instance_type, offerings=tuple(offerings)) if is_changed else instance_type


def _covers(outage: TakeOut, offering: Offering) -> bool:
    return _has(offering, ZONE, outage.zone) and _has(offering, CAPACITY_TYPE, outage.capacity_type)


def _has(offering: Offering, key: str, value: str) -> bool:
    return not value or any(one.key == key and value in one.values for one in offering.requirements)
