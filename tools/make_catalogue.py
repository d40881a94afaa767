"""Make the built-in catalogue of EC2 instance types, zones and list prices from published data.

    python tools/make_catalogue.py FACTS [--zones MOTO.whl ...] [--out karptui/aws/data]
    python tools/make_catalogue.py FACTS --newer FOLDER [--out karptui/aws/data]

FACTS is a folder with instance-types.json.gz (entries of DescribeInstanceTypes), vpc-limits.json, bandwidth.json,
prices-REGION.json and offerings-REGION.json, each with its source, version and date. Offerings of further regions are
read from moto's wheels (`pip download --no-deps moto==5.2.5`): from the first wheel, and from later ones only for types
that the earlier ones do not have.

With --newer only changes.json.gz and devices.json.gz are made. FOLDER has the tables of a newer provider release:
changes.json.gz gets the values of vpc-limits.json, bandwidth.json and prices-REGION.json that differ from FACTS, and
devices.json.gz the devices for Dynamic Resource Allocation (dra-gpus.json, dra-efa.json).

The output is deterministic: the same input gives the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from karptui.aws.catalogue import ZONE_BITS_BASE
from karptui.aws.facts import InstanceTypeFacts, facts_from_ec2, is_usable

NUMBERED_FIELDS = {
    "architectures",
    "hypervisor",
    "cpu_manufacturer",
    "encryption_in_transit",
    "card_enis",
    "ena",
    "gpus",
    "neuron_devices",
    "inference_accelerators",
    "store_nvme",
    "usage_classes",
    "placement_strategies",
    "nested_virtualization",
    "nitro_enclaves",
}
WHEEL_OFFERINGS = re.compile(r"moto/ec2/resources/instance_type_offerings/availability-zone-id/([a-z0-9-]+)\.json\.gz")
NAMED_SIZES = ("nano", "micro", "small", "medium", "large", "xlarge")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("facts", type=Path, help="folder with the published data")
    parser.add_argument("--zones", type=Path, nargs="*", default=[], metavar="WHEEL", help="moto wheels, newest first")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "karptui" / "aws" / "data")
    parser.add_argument("--newer", type=Path, metavar="FOLDER", help="tables of a newer release of the provider")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    facts = read_types(arguments.facts)
    order = [one.name for one in facts]
    if arguments.newer is not None:
        write(arguments.out, "changes", changes_file(arguments.facts, arguments.newer, facts))
        write(arguments.out, "devices", devices_file(arguments.newer))
        return
    write(arguments.out, "types", types_file(arguments.facts, facts))
    write(arguments.out, "zones", zones_file(arguments.facts, arguments.zones, order))
    write(arguments.out, "prices", prices_file(arguments.facts, order))


def write(folder: Path, name: str, content: Mapping[str, Any]) -> None:
    target = folder / f"{name}.json.gz"
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{target.name}: {target.stat().st_size:,} bytes, {len(text):,} unpacked")


def changes_file(folder: Path, newer: Path, facts: list[InstanceTypeFacts]) -> dict[str, Any]:
    """Return the differences: network baseline, branch interfaces and Windows addresses by type, prices by region."""
    limits, bandwidth = (read_json(newer / name) for name in ("vpc-limits.json", "bandwidth.json"))
    column = {name: position for position, name in enumerate(limits["columns"])}
    types: dict[str, list[int | None]] = {}
    for one in facts:
        limit = limits["types"].get(one.name)
        branch, windows = (limit[column["podENI"]], limit[column["ipv4PerInterface"]] - 1) if limit else (0, 0)
        row = (bandwidth["types"].get(one.name), branch, windows)
        if row != (one.network_mbps, one.branch_enis, one.windows_ipv4):
            types[one.name] = list(row)
    prices = {}
    for path in sorted(newer.glob("prices-*.json")):
        content, old = read_json(path), read_json(folder / path.name)["types"]
        prices[content["region"]] = {
            "date": content["date"],
            "source": f"{content['source']} {content['version']}",
            "prices": {name: price for name, price in content["types"].items() if old.get(name) != price},
            "gone": sorted(old.keys() - content["types"].keys()),
        }
    return {
        "sources": [
            source("branch interfaces and Windows addresses", limits),
            source("network bandwidth", bandwidth),
        ],
        "version": limits["version"].removeprefix("v"),
        "types": types,
        "prices": prices,
    }


def devices_file(folder: Path) -> dict[str, Any]:
    """Return the devices by type, as pairs of count and device for runs of equal ones."""
    gpus, interfaces = (read_json(folder / name) for name in ("dra-gpus.json", "dra-efa.json"))
    return {
        "sources": [source("GPUs as devices", gpus), source("EFA interfaces as devices", interfaces)],
        "gpus": _device_runs(gpus),
        "efas": _device_runs(interfaces),
    }


def _device_runs(content: Mapping[str, Any]) -> dict[str, list[list[Any]]]:
    return {
        name: [
            [run["count"], {field: value for field, value in run.items() if field != "count"}]
            for run in entry["devices"]
        ]
        for name, entry in content["types"].items()
    }


def read_json(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())


def source(what: str, content: Mapping[str, Any], version: str | None = None) -> dict[str, str]:
    return {"what": what, "name": content["source"], "version": version or content["version"], "date": content["date"]}


def read_types(folder: Path) -> list[InstanceTypeFacts]:
    """Return the facts of all types, sorted by family, then by size."""
    limits = read_json(folder / "vpc-limits.json")
    column = {name: position for position, name in enumerate(limits["columns"])}
    bandwidth = read_json(folder / "bandwidth.json")["types"]
    facts = []
    for info in read_json(folder / "instance-types.json.gz")["items"]:
        if not is_usable(info):
            continue
        name = info["InstanceType"]
        limit = limits["types"].get(name)
        facts.append(
            facts_from_ec2(
                info,
                network_mbps=bandwidth.get(name),
                branch_enis=limit[column["podENI"]] if limit else 0,
                windows_ipv4=limit[column["ipv4PerInterface"]] - 1 if limit else 0,
            )
        )
    return sorted(facts, key=lambda one: (one.family, size_order(one.size)))


def size_order(size: str) -> tuple[int, int, str]:
    if size in NAMED_SIZES:
        return 0, NAMED_SIZES.index(size), ""
    number = re.search(r"(\d+)xl", size)
    return (2 if size.startswith("metal") else 1), int(number[1]) if number else 0, size


def types_file(folder: Path, facts: list[InstanceTypeFacts]) -> dict[str, Any]:
    items, limits, bandwidth = (
        read_json(folder / name) for name in ("instance-types.json.gz", "vpc-limits.json", "bandwidth.json")
    )
    families: dict[str, list[str]] = {}
    for one in facts:
        families.setdefault(one.family, []).append(one.size)
    return {
        "sources": [
            source("instance types", items, ", ".join(items["versions"]["moto"])),
            source("branch interfaces and Windows addresses", limits),
            source("network bandwidth", bandwidth),
        ],
        "names": {family: " ".join(sizes) for family, sizes in families.items()},
        "columns": {
            field: encode_column(field, [getattr(one, field) for one in facts])
            for field in InstanceTypeFacts.__struct_fields__[1:]
        },
    }


def encode_column(field: str, values: list[Any]) -> Any:
    if field not in NUMBERED_FIELDS:
        return values[0] if len(set(values)) == 1 else values
    kinds: dict[Any, int] = {}
    rows = [kinds.setdefault(value, len(kinds)) for value in values]
    return {"kinds": [plain(kind) for kind in kinds], "rows": rows}


def plain(value: Any) -> Any:
    """Return structs as lists of their fields, tuples as lists."""
    if isinstance(value, msgspec.Struct):
        return [plain(getattr(value, field)) for field in value.__struct_fields__]
    return [plain(entry) for entry in value] if isinstance(value, tuple) else value


def zones_file(folder: Path, wheels: list[Path], order: list[str]) -> dict[str, Any]:
    regions: dict[str, dict[str, set[str]]] = {}
    sources = []
    for path in sorted(folder.glob("offerings-*.json")):
        content = read_json(path)
        region = path.stem.removeprefix("offerings-")
        regions[region] = {name: set(zones) for name, zones in content["types"].items()}
        sources.append(source(f"zones of {region}", content))
    listed: set[str] = set()
    for wheel in wheels:
        offered, version, date = read_wheel(wheel)
        for region, types in offered.items():
            for name in types.keys() - listed:
                regions.setdefault(region, {}).setdefault(name, types[name])
        name = "moto (PyPI) instance_type_offerings/availability-zone-id"
        what = "zones of types that the newer list no longer has" if listed else f"zones of {len(offered)} regions"
        sources.append({"what": what, "name": name, "version": version, "date": date})
        listed |= {name for types in offered.values() for name in types}
    return {"sources": sources, "regions": {region: encode_zones(regions[region], order) for region in sorted(regions)}}


def read_wheel(path: Path) -> tuple[dict[str, dict[str, set[str]]], str, str]:
    """Return zone ids by region and type, the version of the wheel and the date of its files."""
    offered: dict[str, dict[str, set[str]]] = {}
    date = ""
    with zipfile.ZipFile(path) as wheel:
        for entry in wheel.infolist():
            match = WHEEL_OFFERINGS.fullmatch(entry.filename)
            if match:
                types = offered.setdefault(match[1], {})
                for row in json.loads(gzip.decompress(wheel.read(entry))):
                    types.setdefault(row["InstanceType"], set()).add(row["Location"])
                date = max(date, "{:04}-{:02}-{:02}".format(*entry.date_time[:3]))
    return offered, path.name.split("-")[1], date


def encode_zones(offered: Mapping[str, Iterable[str]], order: list[str]) -> dict[str, Any]:
    zones = sorted({zone for name in order for zone in offered.get(name, ())})
    bits = (sum(1 << zones.index(zone) for zone in offered.get(name, ())) for name in order)
    return {"zones": zones, "bits": "".join(chr(ZONE_BITS_BASE + value) for value in bits)}


def prices_file(folder: Path, order: list[str]) -> dict[str, Any]:
    known, regions, sources = set(order), {}, []
    for path in sorted(folder.glob("prices-*.json")):
        content = read_json(path)
        prices = content["types"]
        regions[content["region"]] = {
            "date": content["date"],
            "currency": content["unit"].split(" ")[0],
            "source": f"{content['source']} {content['version']}",
            "prices": [prices.get(name) for name in order],
            "others": {name: price for name, price in prices.items() if name not in known},
        }
        sources.append(source(f"on-demand prices of {content['region']}: {content['what']}", content))
    return {"sources": sources, "regions": regions}


if __name__ == "__main__":
    main()
