"""Reads snapshot documents and goldens for the engines' tests; what one test has read is not kept for the next."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from karptui.decode.kinds import kind_of
from karptui.decode.reader import KindReader
from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.repair_policies import parse_policies
from karptui.karpenter.settings import Settings, parse_settings
from karptui.kube.quantity import Quantity, parse_quantity
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.timestamps import parse_timestamp
from karptui.provisioning.prepared import Prepared, prepare
from karptui.state.cluster import FIELDS

GOLDENS: Final = Path(__file__).resolve().parent / "goldens"


def load_inventory(objects: Sequence[Mapping[str, Any]]) -> Inventory:
    result: dict[str, list[Any]] = defaultdict(list)
    for raw in objects:
        kind = kind_of(raw["apiVersion"], raw["kind"])
        if kind is not None:
            reader = KindReader(kind, api_version=raw["apiVersion"], api_kind=raw["kind"])
            result[FIELDS.get(kind, "workloads")].append(reader.convert(raw))
    fields: dict[str, Any] = {name: tuple(values) for name, values in result.items()}
    return Inventory(**fields)


def _requirements(raw: Sequence[Mapping[str, Any]]) -> tuple[NodeSelectorRequirement, ...]:
    return tuple(
        NodeSelectorRequirement(r["key"], r["operator"], tuple(r.get("values") or ()), r.get("minValues")) for r in raw
    )


def _amounts(raw: Mapping[str, Any] | None) -> dict[str, Quantity]:
    return {name: parse_quantity(str(amount)) for name, amount in (raw or {}).items()}


def _overhead(raw: Mapping[str, Any]) -> Overhead:
    return Overhead(
        _amounts(raw.get("kubeReserved")), _amounts(raw.get("systemReserved")), _amounts(raw.get("evictionThreshold"))
    )


def load_instance_type(raw: Mapping[str, Any]) -> InstanceType:
    return InstanceType(
        name=raw["name"],
        requirements=_requirements(raw["requirements"]),
        capacity=_amounts(raw["capacity"]),
        overhead=_overhead(raw.get("overhead") or {}),
        volume_limits=raw.get("volumeAttachmentLimits") or {},
        offerings=tuple(
            Offering(
                requirements=_requirements(offering["requirements"]),
                price_per_hour=offering["price"],
                is_available=offering.get("available", True),
                reservation_capacity=offering.get("reservationCapacity", 0),
                capacity_override=_amounts(offering["capacityOverride"]) if "capacityOverride" in offering else None,
                overhead_override=_overhead(offering["overheadOverride"]) if "overheadOverride" in offering else None,
            )
            for offering in raw["offerings"]
        ),
    )


def scenarios(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as lines:
        yield from map(json.loads, lines)


@lru_cache(maxsize=8)
def catalog(path: Path) -> tuple[InstanceType, ...]:
    """Return a list of instance types that snapshots share."""
    data = path.read_bytes()
    return tuple(map(load_instance_type, json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)))


def types_of(snapshot: Mapping[str, Any], folder: Path) -> tuple[InstanceType, ...]:
    """Return the instance types of a snapshot: its own, or those of the catalog in a folder that it names."""
    if "catalog" in snapshot:
        packed = folder / f"{snapshot['catalog']}.gz"
        return catalog(packed if packed.exists() else folder / snapshot["catalog"])
    return tuple(map(load_instance_type, snapshot.get("instanceTypes") or ()))


def load_settings(snapshot: Mapping[str, Any]) -> Settings:
    """Return the settings of a snapshot; a recording without a version is one of 1.14.1."""
    settings = parse_settings(snapshot.get("settings") or {}, snapshot.get("karpenterVersion", "1.14.1"))
    policies = snapshot.get("repairPolicies")
    return replace(
        settings,
        repair_policies=None if policies is None else parse_policies(policies),
        reboot_history={
            name: tuple(map(parse_timestamp, times)) for name, times in snapshot.get("rebootHistory", {}).items()
        },
    )


def load(snapshot: Mapping[str, Any], folder: Path = GOLDENS) -> Prepared:
    """Return a snapshot as engines take it; a catalog that it names is looked for in a folder."""
    return prepare(
        load_inventory(snapshot["objects"]),
        types_of(snapshot, folder),
        load_settings(snapshot),
        parse_timestamp(snapshot["capturedAt"]),
    )
