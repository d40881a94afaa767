"""The built-in catalogue: every EC2 instance type, where it is sold and what it costs on demand.

The files under data/ are made by tools/make_catalogue.py and carry their sources and dates: three with the tables of
the AWS provider 1.14.1, one with what those of 1.15.1 say otherwise, and one with the devices that it knows. The first
three are columns, not rows: one list per field over all types in one order, values that repeat as numbers of their
kinds, zones as one character of bits per type. Types of a family stand together, so that neighbours resemble each other
and the whole compresses well.

Reading them is the only thing in this package that touches a file; it happens once per process, when first asked for.
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
"""Whose list prices Karpenter starts from in a region that it has no list for (pkg/providers/pricing/pricing.go)."""

ZONE_BITS_BASE: Final = 0x30
"""The character of a type that no zone of the region offers."""

_GZIP: Final = 31


class FactSource(msgspec.Struct, frozen=True):
    """Where facts come from."""

    what: str
    name: str
    version: str
    date: str
    """Of the data: ISO 8601, or words where the data carries no date."""


class PriceList(msgspec.Struct, frozen=True):
    """On-demand list prices: Linux, shared tenancy, no pre-installed software. Spot prices are never among them."""

    region: str
    """Whose list it is: not always the region asked about."""
    date: str
    currency: str
    """``USD``, or ``CNY`` in China."""
    source: str
    price_per_hour: Mapping[str, float]
    """By instance type; a type that is missing has no price there."""

    @property
    def label(self) -> str:
        """What must stand beside every price of the list."""
        return f"{self.region} list price of {self.date}"


class RegionZones(msgspec.Struct, frozen=True):
    """Which availability zones of a region offer which instance types."""

    region: str
    zone_ids: tuple[str, ...]
    """All zones, such as ``use1-az4``: names differ between accounts, ids do not."""
    by_type: Mapping[str, frozenset[str]]
    """Zone ids by instance type; a type that is missing is not sold in the region."""


def instance_type_facts() -> Mapping[str, InstanceTypeFacts]:
    """Return the facts of every instance type Karpenter can know of, by name, in the order of names."""
    return _types()[1]


@lru_cache(maxsize=1)
def sources() -> tuple[FactSource, ...]:
    """Return where everything in the catalogue comes from, and its dates."""
    return tuple(
        msgspec.convert(source, FactSource)
        for name in ("types.json.gz", "zones.json.gz", "prices.json.gz", "changes.json.gz", "devices.json.gz")
        for source in _read(name)["sources"]
    )


@lru_cache(maxsize=8)
def price_list(region: str, tables: str = "") -> PriceList:
    """Return the list prices that Karpenter starts from in a region: its own list, else us-east-1's.

    Args:
        region: AWS region.
        tables: The release of the AWS provider whose list it is; the oldest known where it is not known.
    """
    lists = _prices()
    own = region if region in lists else FALLBACK_REGION
    entry, order = lists[own], _types()[0]
    prices = {name: price for name, price in zip(order, entry["prices"], strict=True) if price is not None}
    prices.update(entry["others"])
    changes = _changes()
    newer = changes["prices"].get(own) if tables == changes["version"] else None
    if newer is None:
        return PriceList(own, entry["date"], entry["currency"], entry["source"], MappingProxyType(prices))
    prices.update(newer["prices"])
    kept = {name: price for name, price in prices.items() if name not in newer["gone"]}
    return PriceList(own, newer["date"], entry["currency"], newer["source"], MappingProxyType(kept))


def as_tables_say(facts: Iterable[InstanceTypeFacts], tables: str) -> tuple[InstanceTypeFacts, ...]:
    """Return the facts with the network limits of one release of the AWS provider."""
    changes = _changes()
    if tables != changes["version"]:
        return tuple(facts)
    changed = changes["types"]
    return tuple(_changed(one, *changed[one.name]) if one.name in changed else one for one in facts)


@lru_cache(maxsize=256)
def _changed(
    facts: InstanceTypeFacts, network_mbps: int | None, branch_enis: int, windows_ipv4: int
) -> InstanceTypeFacts:
    """Return the same object for the same facts."""
    return msgspec.structs.replace(facts, network_mbps=network_mbps, branch_enis=branch_enis, windows_ipv4=windows_ipv4)


@lru_cache(maxsize=1)
def _changes() -> Mapping[str, Any]:
    changes: Mapping[str, Any] = _read("changes.json.gz")
    return changes


@lru_cache(maxsize=2)
def known_devices(table: str) -> Mapping[str, tuple[Mapping[str, Any], ...]]:
    """Return the devices of Dynamic Resource Allocation by instance type: ``gpus`` or ``efas``."""
    rows = _read("devices.json.gz")[table]
    return {name: tuple(device for count, device in runs for _ in range(count)) for name, runs in sorted(rows.items())}


@lru_cache(maxsize=4)
def region_zones(region: str) -> RegionZones | None:
    """Return what the zones of a region offer, or None where the catalogue does not know the region."""
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
    return RegionZones(region, zone_ids, MappingProxyType(by_type))


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
    """Return the names in the order of the files' columns, and the facts by name."""
    content = _read("types.json.gz")
    names = tuple(f"{family}.{size}" for family, sizes in content["names"].items() for size in sizes.split(" "))
    columns = [
        _column(field, content["columns"][field], len(names)) for field in InstanceTypeFacts.__struct_fields__[1:]
    ]
    facts = dict(zip(names, map(InstanceTypeFacts, names, *columns), strict=True))
    return names, MappingProxyType({name: facts[name] for name in sorted(facts)})


def _column(field: str, column: Any, length: int) -> Any:
    """Return the values of a field, type by type; the file has one for all, all, or kinds and their numbers."""
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
