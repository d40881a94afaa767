"""Instance types as snapshots carry them, each list parsed once and shared."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgspec

from karptui.decode.errors import FieldError, field_error
from karptui.decode.reader import loose
from karptui.decode.wire import Wire, WireQuantities, WireRequirement, quantities
from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.sources.snapshot.documents import read_bytes, unpack
from karptui.sources.snapshot.text import MemoryLimit, SnapshotError, sentence, without_lone_surrogates

_MAX_LISTS: Final = 32


class WireOverhead(Wire):
    """``overhead``."""

    kube_reserved: WireQuantities | None = None
    system_reserved: WireQuantities | None = None
    eviction_threshold: WireQuantities | None = None


class WireOffering(Wire):
    """An offering."""

    price: float
    requirements: list[WireRequirement] | None = None
    available: bool = True
    reservation_capacity: int | None = None
    capacity_override: WireQuantities | None = None
    overhead_override: WireOverhead | None = None


class WireInstanceType(Wire):
    """An instance type."""

    name: str
    requirements: list[WireRequirement] | None = None
    capacity: WireQuantities | None = None
    overhead: WireOverhead | None = None
    offerings: list[WireOffering] | None = None
    volume_attachment_limits: dict[str, int] | None = None


class _WrappedList(Wire):
    instance_types: list[WireInstanceType]


_DECODER: Final = msgspec.json.Decoder(list[WireInstanceType])
_WRAPPED_DECODER: Final = msgspec.json.Decoder(_WrappedList)


class Catalogs:
    """Lists of instance types by origin; the least recently used are dropped."""

    def __init__(self) -> None:
        self._lists: OrderedDict[Hashable, tuple[InstanceType, ...]] = OrderedDict()

    def of_file(self, name: str, folder: Path) -> tuple[InstanceType, ...]:
        """Return the instance types in a file.

        Args:
            name: Path, relative to the folder; ``.gz`` may be added.
        """
        file = folder / name
        if not file.name or "\0" in name:
            raise SnapshotError(sentence("catalog", f"{name!r} names no file"))
        # Whoever hands on a recording does not choose what else is read here.
        if not Path(os.path.normpath(file)).is_relative_to(os.path.normpath(folder)):
            raise SnapshotError(sentence("catalog", f"{name!r} is not in the snapshot's folder"))
        if not file.is_file():
            with_suffix = file.with_name(f"{file.name}.gz")
            file = with_suffix if with_suffix.is_file() else file
        if not file.resolve().is_relative_to(folder.resolve()):
            why = "is a link to a file outside the snapshot's folder: such links are not followed"
            raise SnapshotError(sentence("catalog", f"{name!r} {why}"))
        where = f"catalog {file}"
        try:
            status = file.stat()
        except OSError as error:
            raise SnapshotError(sentence(where, f"cannot be read: {error.strerror or error}")) from None
        key = (str(file.resolve()), status.st_mtime_ns, status.st_size)
        types = self._recall(key)
        if types is None:
            packed = read_bytes(file, is_regular=True)
            limit = MemoryLimit(packed, where)
            data = without_lone_surrogates(unpack(packed, where, limit))
            limit.check_decoding(memoryview(data))
            types = self._keep(key, _parse(data, where))
        return types

    def of_value(self, value: Any, where: str) -> tuple[InstanceType, ...]:
        """Return the instance types of a list inside a snapshot."""
        data = msgspec.json.encode(value)
        key = blake2b(data, digest_size=16).digest()
        types = self._recall(key)
        return types if types is not None else self._keep(key, _parse(data, f"{where}: instanceTypes"))

    def _recall(self, key: Hashable) -> tuple[InstanceType, ...] | None:
        types = self._lists.get(key)
        if types is not None:
            self._lists.move_to_end(key)
        return types

    def _keep(self, key: Hashable, types: tuple[InstanceType, ...]) -> tuple[InstanceType, ...]:
        self._lists[key] = types
        if len(self._lists) > _MAX_LISTS:
            self._lists.popitem(last=False)
        return types


def _parse(data: bytes, where: str) -> tuple[InstanceType, ...]:
    try:
        is_wrapped = data.lstrip()[:1] == b"{"
        wires = _WRAPPED_DECODER.decode(data).instance_types if is_wrapped else _DECODER.decode(data)
    except msgspec.ValidationError as error:
        raise SnapshotError(sentence(where, field_error(error, loose(data)))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotError(sentence(where, f"is not JSON: {error}")) from None
    builder = _Builder()
    types = []
    for wire in wires:
        try:
            types.append(builder.build(wire))
        except FieldError as error:
            raise SnapshotError(sentence(where, f"{wire.name}: {error}")) from None
    return tuple(types)


def _overhead(wire: WireOverhead, field: str) -> Overhead:
    return Overhead(
        kube_reserved=quantities(wire.kube_reserved, f"{field}.kubeReserved"),
        system_reserved=quantities(wire.system_reserved, f"{field}.systemReserved"),
        eviction_threshold=quantities(wire.eviction_threshold, f"{field}.evictionThreshold"),
    )


class _Builder:
    def __init__(self) -> None:
        self._requirements: dict[tuple[Any, ...], NodeSelectorRequirement] = {}

    def build(self, wire: WireInstanceType) -> InstanceType:
        overhead = wire.overhead or WireOverhead()
        return InstanceType(
            name=wire.name,
            requirements=self._shared(wire.requirements),
            capacity=quantities(wire.capacity, "capacity"),
            overhead=_overhead(overhead, "overhead"),
            volume_limits=wire.volume_attachment_limits or {},
            offerings=tuple(
                Offering(
                    requirements=self._shared(offering.requirements),
                    price_per_hour=offering.price,
                    is_available=offering.available,
                    reservation_capacity=offering.reservation_capacity or 0,
                    capacity_override=None
                    if offering.capacity_override is None
                    else quantities(offering.capacity_override, "capacityOverride"),
                    overhead_override=None
                    if offering.overhead_override is None
                    else _overhead(offering.overhead_override, "overheadOverride"),
                )
                for offering in wire.offerings or ()
            ),
        )

    def _shared(self, wires: list[WireRequirement] | None) -> tuple[NodeSelectorRequirement, ...]:
        return tuple(self._requirement(wire) for wire in wires or ())

    def _requirement(self, wire: WireRequirement) -> NodeSelectorRequirement:
        values = tuple(wire.values or ())
        key = (wire.key, wire.operator, values, wire.min_values)
        requirement = self._requirements.get(key)
        if requirement is None:
            requirement = self._requirements[key] = NodeSelectorRequirement(
                wire.key, wire.operator, values, wire.min_values
            )
        return requirement
