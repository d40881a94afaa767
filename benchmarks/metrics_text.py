"""Time to read Karpenter's metrics of a whole region: ``python benchmarks/metrics_text.py [MB]``."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator

from reference import print_reference

from karptui.aws.catalogue import instance_type_facts, price_list
from karptui.sources.metrics.reading import read_metrics

ZONES = [f"us-east-1{letter}" for letter in "abcdef"]
ROUNDS = 5


def lines() -> Iterator[str]:
    prices = price_list("us-east-1").price_per_hour
    for family in ("available", "price_estimate"):
        name = f"karpenter_cloudprovider_instance_type_offering_{family}"
        yield f"# TYPE {name} gauge"
        for capacity_type, share in (("on-demand", 1.0), ("reserved", 1e-7), ("spot", 0.37)):
            for instance_type in instance_type_facts():
                for number, zone in enumerate(ZONES):
                    price = prices.get(instance_type, 0.0) * share * (1 + number / 100)
                    value = 1 if family == "available" else price
                    labels = f'capacity_type="{capacity_type}",instance_type="{instance_type}",zone="{zone}"'
                    yield f"{name}{{{labels}}} {value:g}"


def padding() -> Iterator[str]:
    """Yield histograms, which are most of the metrics of a controller that has run for weeks."""
    number = 0
    while True:
        number += 1
        labels = f'controller="c{number % 97}",le="{number % 47}"'
        yield f"controller_runtime_reconcile_time_seconds_bucket{{{labels}}} {number}"


def main() -> None:
    wanted_bytes = int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 20_000_000
    text = "\n".join(lines())
    filler = []
    size = len(text)
    for line in padding():
        if size >= wanted_bytes:
            break
        filler.append(line)
        size += len(line) + 1
    data = ("\n".join([*filler, text]) + "\n").encode()
    line_count = data.count(b"\n")
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        metrics = read_metrics(data, endpoint="benchmark", read_at_ns=0)
        seconds.append(time.perf_counter() - start)
    print(f"{len(data) / 1e6:.1f} MB, {line_count:,} lines, {len(metrics.offerings):,} offerings:", end=" ")
    print(f"median {statistics.median(seconds) * 1000:.0f} ms, best {min(seconds) * 1000:.0f} ms of {ROUNDS}")
    print_reference(reading_metrics=min(seconds))


if __name__ == "__main__":
    main()
