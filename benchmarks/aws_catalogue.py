"""Size and load time of the built-in AWS catalogue, and time to resolve the instance types of a NodeClass.

    python benchmarks/aws_catalogue.py

Loading is measured in new processes after the import (minimum and median of 15), resolving in one process (minimum).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import resources

from reference import note, print_reference

LOAD = """
import time
from karptui.aws import catalogue
start = time.perf_counter()
catalogue.instance_type_facts(); catalogue.region_zones("us-east-1"); catalogue.price_list("us-east-1")
print(time.perf_counter() - start)
"""
RUNS = 15


def main() -> None:
    folder = resources.files("karptui.aws").joinpath("data")
    sizes = {
        f"{name}.json.gz": len(folder.joinpath(f"{name}.json.gz").read_bytes()) for name in ("types", "zones", "prices")
    }
    print(f"size: {sum(sizes.values()):,} bytes ({', '.join(f'{name} {size:,}' for name, size in sizes.items())})")
    loads = [
        float(subprocess.run([sys.executable, "-c", LOAD], check=True, capture_output=True).stdout) for _ in range(RUNS)
    ]
    print(f"load types, zones and prices: {min(loads) * 1e3:.1f} ms, median {statistics.median(loads) * 1e3:.1f} ms")

    from karptui.aws.catalogue import instance_type_facts
    from karptui.aws.instance_types import instance_types
    from karptui.aws.ledger import build_ledger
    from karptui.aws.nodeclass import SubnetZone, parse_spec_and_status
    from karptui.aws.prices import built_in_market
    from karptui.karpenter.settings import Settings

    zones = [SubnetZone(f"us-east-1{letter}", f"use1-az{number}") for number, letter in enumerate("abcdef", 1)]
    subnets = [{"zone": zone.name, "zoneID": zone.zone_id} for zone in zones]
    nodeclass = parse_spec_and_status(
        "default", {"amiSelectorTerms": [{"alias": "al2023@latest"}]}, {"subnets": subnets}
    )
    market = built_in_market("us-east-1", zones)
    settings = Settings()
    note("load types, zones and prices", min(loads))
    start = time.perf_counter()
    resolved = instance_types(nodeclass, settings, market)
    print(f"resolve {len(resolved):,} types in 6 zones, first time: {(time.perf_counter() - start) * 1e3:.1f} ms")
    print(f"again: {least(lambda: instance_types(nodeclass, settings, market)):.1f} ms")
    facts = instance_type_facts()
    ledgers = least(lambda: [build_ledger(facts[one.name], one, settings) for one in resolved])
    print(f"{len(resolved):,} ledgers: {ledgers:.1f} ms")
    note("ledgers", ledgers / 1e3)
    print_reference()


def least(work: Callable[[], object]) -> float:
    """Return the shortest duration in ms."""
    durations = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        durations.append(time.perf_counter() - start)
    return min(durations) * 1e3


if __name__ == "__main__":
    main()
