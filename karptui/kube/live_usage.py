"""CPU and memory used by pods and nodes, measured by metrics-server. Shown only: requests alone decide."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec


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
