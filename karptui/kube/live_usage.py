"""What pods and nodes really use, as metrics-server measures it: shown beside requests, which alone decide."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec


class Sample(msgspec.Struct, frozen=True, gc=False):
    """One measurement."""

    at_ns: int
    """The end of the time it was measured over: nanoseconds since the epoch."""
    cpu_millis: int
    memory_bytes: int
    """The working set."""


class Used(msgspec.Struct, frozen=True, gc=False):
    """What one node or pod uses: the latest measurement, and the most of all that were seen."""

    latest: Sample
    peak_cpu_millis: int
    peak_memory_bytes: int
    samples: int
    """How many measurements were seen."""
    first_ns: int
    """When the first of them ended: nanoseconds since the epoch."""

    def then(self, sample: Sample) -> Used:
        """Return what is known after another measurement; the same object when it is the one before."""
        if sample.at_ns == self.latest.at_ns:
            return self
        return Used(
            sample,
            max(self.peak_cpu_millis, sample.cpu_millis),
            max(self.peak_memory_bytes, sample.memory_bytes),
            self.samples + 1,
            self.first_ns,
        )


class LiveUsage(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What is known of live usage; compared by identity to see whether there is anything new."""

    nodes: Mapping[str, Used] = MappingProxyType({})
    """By node name."""
    pods: Mapping[str, Used] = MappingProxyType({})
    """By ``namespace/name``; the sum of a pod's containers."""
    read_at_ns: int = 0
    """When metrics-server last answered: nanoseconds since the epoch, 0 for never."""
    window_ns: int = 0
    """Over how long a measurement goes."""
    is_asked: bool = False
    """Whether there is anybody to ask: a live cluster."""
    sentence: str = ""
    """Why nothing is known, or nothing new; empty while metrics-server answers."""
    retry_at_ns: int = 0
    """When it is asked again after a refusal: nanoseconds since the epoch, 0 otherwise."""


NO_LIVE_USAGE: Final = LiveUsage()


def first_seen(sample: Sample) -> Used:
    """Return what is known after one measurement."""
    return Used(sample, sample.cpu_millis, sample.memory_bytes, 1, sample.at_ns)


def merged(before: Mapping[str, Used], samples: Mapping[str, Sample]) -> Mapping[str, Used]:
    """Return what is known of everything that was measured now; what no longer is, is forgotten."""
    return {
        name: known.then(sample) if (known := before.get(name)) is not None else first_seen(sample)
        for name, sample in samples.items()
    }
