"""Usage of CPU and memory: live, from metrics-server, and recorded, of containers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

import msgspec

from karptui.kube.pod import Pod
from karptui.kube.quantity import of_millis, of_units
from karptui.kube.resources import CPU, MEMORY
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.vpa import HISTORY, Recommendation, Recommendations

ENOUGH_HOURS: Final = 23
"""A day, but for the steps in which the oldest measurement is known."""
GROWTH: Final = 1.05
"""Ratio of the bounds of a bucket: the error of a percentile."""
MOST_CONTAINERS: Final = 20_000
"""Containers of workloads in one period; others are left out."""
MOST_BUCKET: Final = 500
MOST_BYTES: Final = 1 << 60
LONGEST_GAP_NS: Final = 600 * NS_PER_SECOND
"""A longer time between two readings does not count as measured."""


class Measured(NamedTuple):
    """A measurement of one container."""

    workload: str
    """``Kind/namespace/name``."""
    container: str
    cpu_millis: int
    memory_bytes: int


class ContainerUsage(msgspec.Struct, array_like=True):
    """Measurements of a container of all pods of a workload."""

    memory_bytes: Annotated[int, msgspec.Meta(ge=0, le=MOST_BYTES)] = 0
    """The highest."""
    seconds: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Time in which it was measured."""
    cpu: dict[Annotated[int, msgspec.Meta(ge=0, le=MOST_BUCKET)], Annotated[int, msgspec.Meta(ge=1)]] = {}
    """Number of measurements by bucket."""


class UsagePeriod(msgspec.Struct):
    """Measurements of a time, by workload and container."""

    from_ns: int
    to_ns: int
    workloads: dict[str, dict[str, ContainerUsage]] = {}


def bucket_of(cpu_millis: int) -> int:
    """Return the bucket of an amount of cpu."""
    return min(math.ceil(math.log(cpu_millis, GROWTH)), MOST_BUCKET) if cpu_millis > 1 else 0


def bound_of(bucket: int) -> int:
    """Return the highest amount of cpu in a bucket, in millicores."""
    return math.floor(GROWTH**bucket)


def add_reading(period: UsagePeriod, at_ns: int, measured: Iterable[Measured]) -> None:
    """Add one reading of all pods to a period."""
    passed_ns = at_ns - period.to_ns
    seconds = passed_ns // NS_PER_SECOND if 0 <= passed_ns <= LONGEST_GAP_NS else 0
    period.to_ns = max(period.to_ns, at_ns)
    left = MOST_CONTAINERS - sum(map(len, period.workloads.values()))
    seen: set[int] = set()
    for reading in measured:
        usage = period.workloads.get(reading.workload, {}).get(reading.container)
        if usage is None:
            if not left:
                continue
            left -= 1
            usage = period.workloads.setdefault(reading.workload, {})[reading.container] = ContainerUsage()
        if id(usage) not in seen:
            seen.add(id(usage))
            usage.seconds += seconds
        usage.memory_bytes = max(usage.memory_bytes, min(reading.memory_bytes, MOST_BYTES))
        bucket = bucket_of(reading.cpu_millis)
        usage.cpu[bucket] = usage.cpu.get(bucket, 0) + 1


def percentile_of(counts: Mapping[int, int], percentile: float) -> int:
    """Return the cpu, in millicores, that a percentage of measurements does not exceed."""
    rank = sum(counts.values()) * percentile / 100 - 1e-9
    buckets = sorted(counts)
    passed = accumulate(counts[bucket] for bucket in buckets)
    return bound_of(next(bucket for bucket, count in zip(buckets, passed, strict=True) if count >= rank))


def sized_containers(workloads: Mapping[str, Sequence[Pod]]) -> Iterator[tuple[str, str, list[Pod]]]:
    """Yield workload and name of the containers that run all the time, with the pods, without static pods."""
    for workload, pods in workloads.items():
        shown = [pod for pod in pods if not pod.template.is_node_owned]
        containers = [
            container
            for pod in shown
            for container in pod.template.containers
            if container.is_sidecar or not container.is_init
        ]
        yield from ((workload, name, shown) for name in dict.fromkeys(container.name for container in containers))


def of_periods(
    periods: Iterable[UsagePeriod], workloads: Mapping[str, Sequence[Pod]], *, percentile: float, hours: float
) -> Recommendations:
    """Return each container's percentile of cpu over all pods of its workload, and its highest memory.

    Args:
        workloads: Active pods by ``Kind/namespace/name`` of their workload.
        hours: Requested length of usage.
    """
    cpu: dict[tuple[str, str], Counter[int]] = {}
    memory: dict[tuple[str, str], int] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for period in periods:
        for workload, containers in period.workloads.items():
            for name, usage in containers.items():
                key = workload, name
                cpu.setdefault(key, Counter()).update(usage.cpu)
                memory[key] = max(memory.get(key, 0), usage.memory_bytes)
                counts[key] += usage.seconds
    names = [(workload, name) for workload, name, _ in sized_containers(workloads)]
    measured_keys = [key for key in names if cpu.get(key)]
    return Recommendations(
        source=HISTORY,
        items=tuple(
            Recommendation(
                workload=key[0],
                container=key[1],
                requests={CPU: of_millis(percentile_of(cpu[key], percentile)), MEMORY: of_units(memory[key])},
                is_unsure=counts[key] < ENOUGH_HOURS * 3600,
            )
            for key in measured_keys
        ),
        cpu_percentile=percentile,
        history_hours=hours,
        known_hours=(min(counts[key] for key in measured_keys) / 3600, max(counts[key] for key in measured_keys) / 3600)
        if measured_keys
        else None,
        without=len(names) - len(measured_keys),
    )


class Sample(msgspec.Struct, frozen=True, gc=False):
    """A measurement by metrics-server."""

    at_ns: int
    """End of the measurement window, in nanoseconds since the epoch."""
    cpu_millis: int
    memory_bytes: int
    """Working set."""


class Used(msgspec.Struct, frozen=True, gc=False):
    """Latest and highest measurements of a node or pod."""

    latest: Sample
    peak_cpu_millis: int
    peak_memory_bytes: int
    samples: int
    """Number of measurements."""
    first_ns: int
    """End of the first measurement window, in nanoseconds since the epoch."""

    def then(self, sample: Sample) -> Used:
        """Return usage including another measurement; the same object if the measurement is not new."""
        if sample.at_ns == self.latest.at_ns:
            return self
        return Used(
            sample,
            max(self.peak_cpu_millis, sample.cpu_millis),
            max(self.peak_memory_bytes, sample.memory_bytes),
            self.samples + 1,
            self.first_ns,
        )


class ContainerSample(msgspec.Struct, frozen=True, gc=False):
    """The part of one container in the measurement of its pod."""

    name: str
    cpu_millis: int
    memory_bytes: int


class LiveUsage(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Usage of all nodes and pods; a new object whenever anything changed."""

    nodes: Mapping[str, Used] = MappingProxyType({})
    """By node name."""
    pods: Mapping[str, Used] = MappingProxyType({})
    """By ``namespace/name``; the sum of a pod's containers."""
    containers: Mapping[str, tuple[ContainerSample, ...]] = MappingProxyType({})
    """Of the last answer, by ``namespace/name`` of the pod."""
    read_at_ns: int = 0
    """Time of the last answer from metrics-server, in nanoseconds since the epoch; 0 if there was none."""
    window_ns: int = 0
    """Length of a measurement window."""
    is_asked: bool = False
    """Whether metrics-server is queried at all: only on a live cluster."""
    sentence: str = ""
    """Error message of the last query; empty if it succeeded."""
    retry_at_ns: int = 0
    """Time of the next query after an error, in nanoseconds since the epoch; otherwise 0."""


NO_LIVE_USAGE: Final = LiveUsage()


def first_seen(sample: Sample) -> Used:
    """Return the usage after a first measurement."""
    return Used(sample, sample.cpu_millis, sample.memory_bytes, 1, sample.at_ns)


def merged(before: Mapping[str, Used], samples: Mapping[str, Sample]) -> Mapping[str, Used]:
    """Return usage including new measurements; objects that are no longer measured are dropped."""
    return {
        name: used.then(sample) if (used := before.get(name)) is not None else first_seen(sample)
        for name, sample in samples.items()
    }
