"""Instance types as a snapshot gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from karptui.decode.errors import FieldError
from karptui.decode.kinds import field_error
from karptui.decode.wire import Wire, WireQuantities, WireRequirement, quantities, requirements
from karptui.karpenter.instance_type import InstanceType, Offering, Overhead


class WireOverhead(Wire):
    """``overhead``."""

    kube_reserved: WireQuantities | None = None
    system_reserved: WireQuantities | None = None
    eviction_threshold: WireQuantities | None = None


class WireOffering(Wire):
    """An offering; unless said otherwise it is available."""

    requirements: list[WireRequirement] | None = None
    price: float = 0.0
    available: bool | None = None
    reservation_capacity: int | None = None


class WireInstanceType(Wire):
    """An instance type."""

    name: str
    requirements: list[WireRequirement] | None = None
    capacity: WireQuantities | None = None
    overhead: WireOverhead | None = None
    offerings: list[WireOffering] | None = None


def build_instance_types(raw: Sequence[Any]) -> tuple[InstanceType, ...]:
    """Return the instance types of a list.

    Raises:
        FieldError: naming the type and the field that cannot be read.
    """
    try:
        wires = msgspec.convert(raw, list[WireInstanceType])
    except msgspec.ValidationError as error:
        raise field_error(error) from None
    return tuple(_build(wire) for wire in wires)


def _build(wire: WireInstanceType) -> InstanceType:
    overhead = wire.overhead or WireOverhead()
    try:
        return InstanceType(
            name=wire.name,
            requirements=requirements(wire.requirements),
            capacity=quantities(wire.capacity, "capacity"),
            overhead=Overhead(
                kube_reserved=quantities(overhead.kube_reserved, "overhead.kubeReserved"),
                system_reserved=quantities(overhead.system_reserved, "overhead.systemReserved"),
                eviction_threshold=quantities(overhead.eviction_threshold, "overhead.evictionThreshold"),
            ),
            offerings=tuple(_offering(offering) for offering in wire.offerings or ()),
        )
    except FieldError as error:
        raise FieldError(f"{wire.name}: {error.path}", error.problem) from None


def _offering(wire: WireOffering) -> Offering:
    return Offering(
        requirements=requirements(wire.requirements),
        price_per_hour=wire.price,
        is_available=wire.available is not False,
        reservation_capacity=wire.reservation_capacity or 0,
    )
