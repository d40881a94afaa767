"""The built-in catalogue: every EC2 instance type, the zones that offer it, and its on-demand price.

tools/make_catalogue.py creates the files in data/ with their sources and dates: three with the tables of the AWS
provider 1.14.1, one with the differences of 1.15.1, and one with devices. The first three are stored by column: a list
per field over all types in the same order, repeated values as numbers, and a type's zones as the bits of a character.
Types of a family are next to each other, because similar neighbours compress well.

Only these files are read in this package, once per process and on demand.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib import resources
from itertools import repeat
from types import MappingProxyType
from typing import Any, Final

import msgspec

from karptui.aws.facts import Gpu, InferenceAccelerator, InstanceTypeFacts, NeuronDevice

FALLBACK_REGION: Final = "us-east-1"
"""Region whose prices Karpenter starts with if it has none for a region (pkg/providers/pricing/pricing.go)."""

ZONE_BITS_BASE: Final = 0x30
"""Character of a type that no zone offers."""

_GZIP: Final = 31


class FactSource(msgspec.Struct, frozen=True):
    """A data source of the catalogue."""

    what: str
    name: str
    version: str
    date: str
    """Date of the data: ISO 8601, or a description if it has none."""


class PriceList(msgspec.Struct, frozen=True):
    """On-demand list prices: Linux, shared tenancy, no pre-installed software. No spot prices."""

    region: str
    """Region of the list, possibly not the requested one."""
    date: str
    currency: str
    """``USD``, or ``CNY`` in China."""
    price_per_hour: Mapping[str, float]
    """By instance type; types without a price are missing."""

    @property
    def label(self) -> str:
        """Label to show with every price of the list."""
        return f"{self.region} list price of {self.date}"


class RegionZones(msgspec.Struct, frozen=True):
    """The availability zones of a region that offer each instance type."""

    zone_ids: tuple[str, ...]
    """All zones by id, such as ``use1-az4``; ids, unlike names, are the same in all accounts."""
    by_type: Mapping[str, frozenset[str]]
    """Zone ids by instance type; types not offered in the region are missing."""


def instance_type_facts() -> Mapping[str, InstanceTypeFacts]:
    """Return the data of every instance type that Karpenter can use, sorted by name."""
    return _types()[1]


@lru_cache(maxsize=1)
def sources() -> tuple[FactSource, ...]:
    """Return the sources of the catalogue, with their dates."""
    return tuple(
        msgspec.convert(source, FactSource)
        for name in ("types.json.gz", "zones.json.gz", "prices.json.gz", "changes.json.gz", "devices.json.gz")
        for source in _read(name)["sources"]
    )


@lru_cache(maxsize=8)
def price_list(region: str, tables: str = "") -> PriceList:
    """Return the list prices that Karpenter starts with in a region: the region's, otherwise us-east-1's.

    Args:
        tables: Release of the AWS provider; the oldest if unknown.
    """
    lists = _prices()
    list_region = region if region in lists else FALLBACK_REGION
    entry, order = lists[list_region], _types()[0]
    prices = {name: price for name, price in zip(order, entry["prices"], strict=True) if price is not None}
    prices.update(entry["others"])
    changes = _changes()
    newer = changes["prices"].get(list_region) if tables == changes["version"] else None
    if newer is None:
        return PriceList(list_region, entry["date"], entry["currency"], MappingProxyType(prices))
    prices.update(newer["prices"])
    still_listed = {name: price for name, price in prices.items() if name not in newer["gone"]}
    return PriceList(list_region, newer["date"], entry["currency"], MappingProxyType(still_listed))


def with_provider_tables(facts: Iterable[InstanceTypeFacts], tables: str) -> tuple[InstanceTypeFacts, ...]:
    """Return the data with the network limits of a release of the AWS provider."""
    changes = _changes()
    if tables != changes["version"]:
        return tuple(facts)
    changed = changes["types"]
    return tuple(
        _changed(type_facts, *changed[type_facts.name]) if type_facts.name in changed else type_facts
        for type_facts in facts
    )


@lru_cache(maxsize=256)
def _changed(
    facts: InstanceTypeFacts, network_mbps: int | None, branch_enis: int, windows_ipv4: int
) -> InstanceTypeFacts:
    """Return changed data, the same object for the same input."""
    return msgspec.structs.replace(facts, network_mbps=network_mbps, branch_enis=branch_enis, windows_ipv4=windows_ipv4)


@lru_cache(maxsize=1)
def _changes() -> Mapping[str, Any]:
    changes: Mapping[str, Any] = _read("changes.json.gz")
    return changes


@lru_cache(maxsize=2)
def known_devices(table: str) -> Mapping[str, tuple[Mapping[str, Any], ...]]:
    """Return the Dynamic Resource Allocation devices of each instance type; the table is ``gpus`` or ``efas``."""
    rows = _read("devices.json.gz")[table]
    return {name: tuple(device for count, device in runs for _ in range(count)) for name, runs in sorted(rows.items())}


@lru_cache(maxsize=4)
def region_zones(region: str) -> RegionZones | None:
    """Return the zones of a region with the types they offer, or None if the region is not in the catalogue."""
    entry = _read("zones.json.gz")["regions"].get(region)
    if entry is None:
        return None
    zone_ids = tuple(entry["zones"])
    combinations: dict[str, frozenset[str]] = {}
    by_type: dict[str, frozenset[str]] = {}
    for name, character in zip(_types()[0], entry["bits"], strict=True):
        offered = combinations.get(character)
        if offered is None:
            bits = ord(character) - ZONE_BITS_BASE
            offered = combinations[character] = frozenset(z for n, z in enumerate(zone_ids) if bits >> n & 1)
        if offered:
            by_type[name] = offered
    return RegionZones(zone_ids, MappingProxyType(by_type))


@lru_cache(maxsize=1)
def regions() -> frozenset[str]:
    """Return the AWS regions that the catalogue knows."""
    return frozenset((*_prices(), *_read("zones.json.gz")["regions"]))


def _read(name: str) -> Any:
    packed = resources.files(__package__).joinpath("data", name).read_bytes()
    return msgspec.json.decode(zlib.decompress(packed, wbits=_GZIP))


@lru_cache(maxsize=1)
def _prices() -> Mapping[str, Any]:
    lists: Mapping[str, Any] = _read("prices.json.gz")["regions"]
    return lists


@lru_cache(maxsize=1)
def _types() -> tuple[tuple[str, ...], Mapping[str, InstanceTypeFacts]]:
    """Return the names in column order, and the data by name."""
    content = _read("types.json.gz")
    names = tuple(f"{family}.{size}" for family, sizes in content["names"].items() for size in sizes.split(" "))
    columns = [
        _column(field, content["columns"][field], len(names)) for field in InstanceTypeFacts.__struct_fields__[1:]
    ]
    facts = dict(zip(names, map(InstanceTypeFacts, names, *columns), strict=True))
    return names, MappingProxyType({name: facts[name] for name in sorted(facts)})


def _column(field: str, column: Any, length: int) -> Any:
    """Return a field's values for all types, stored as a list, as distinct values with numbers, or as a constant."""
    if isinstance(column, list):
        return column
    if isinstance(column, dict):
        build = _BUILDERS.get(field, _plain)
        kinds = [build(kind) for kind in column["kinds"]]
        return [kinds[number] for number in column["rows"]]
    return repeat(column, length)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_BUILDERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "gpus": lambda rows: tuple(Gpu(*row) for row in rows),
    "neuron_devices": lambda rows: tuple(NeuronDevice(*row) for row in rows),
    "inference_accelerators": lambda rows: tuple(InferenceAccelerator(*row) for row in rows),
}
