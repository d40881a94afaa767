"""Live usage of nodes and pods from metrics-server, kept up to date while it is shown."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Generic, TypeVar

import msgspec

from karptui.clock import Clock
from karptui.kube.durations import parse_duration
from karptui.kube.quantity import NANO, NANO_PER_MILLI, parse_quantity
from karptui.kube.timestamps import NS_PER_SECOND, parse_timestamp
from karptui.kube.usage import ContainerSample, LiveUsage, Sample, merged
from karptui.sources.cluster.body import ListMetadata, answers_counted, decoded
from karptui.sources.cluster.errors import ApiError
from karptui.sources.karpenter_identity import ProxyClient
from karptui.sources.periodic import REFRESH_SECONDS, PeriodicSource, Wait
from karptui.sources.source import SourceError

ROOT: Final = "/apis/metrics.k8s.io/v1beta1"
PAGE: Final = "500"
READ_SECONDS: Final = 30.0


class LiveUsageError(SourceError):
    """Live usage is unavailable; the message has the cause and the remedy."""


class UsageReading(msgspec.Struct, frozen=True):
    """Result of one list."""

    samples: dict[str, Sample]
    """By name, of pods ``namespace/name``."""
    window_ns: int
    """Measurement window; 0 if there are no measurements."""
    containers: dict[str, tuple[ContainerSample, ...]]
    """Of pods."""


class _MeasuredName(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Amounts(msgspec.Struct):
    cpu: str = "0"
    memory: str = "0"


class _ContainerUsage(msgspec.Struct):
    name: str = ""
    usage: _Amounts = msgspec.field(default_factory=_Amounts)


class _NodeMetrics(msgspec.Struct):
    metadata: _MeasuredName = msgspec.field(default_factory=_MeasuredName)
    timestamp: str = ""
    window: str = "0s"
    usage: _Amounts = msgspec.field(default_factory=_Amounts)


class _PodMetrics(msgspec.Struct):
    metadata: _MeasuredName = msgspec.field(default_factory=_MeasuredName)
    timestamp: str = ""
    window: str = "0s"
    containers: list[_ContainerUsage] = []


_ItemT = TypeVar("_ItemT", _NodeMetrics, _PodMetrics)


class _MetricsPage(msgspec.Struct, Generic[_ItemT]):
    metadata: ListMetadata = msgspec.field(default_factory=ListMetadata)
    items: list[_ItemT] = []


def read_nodes(client: ProxyClient) -> UsageReading:
    """Return the usage of nodes."""
    items = _items(client, "nodes", _MetricsPage[_NodeMetrics])
    return _reading({item.metadata.name: (item, (_ContainerUsage(usage=item.usage),)) for item in items})


def read_pods(client: ProxyClient) -> UsageReading:
    """Return the usage of pods, summed over containers, and that of each container."""
    items = _items(client, "pods", _MetricsPage[_PodMetrics])
    return _reading({f"{item.metadata.namespace}/{item.metadata.name}": (item, item.containers) for item in items})


def _items(client: ProxyClient, resource: str, shape: type[_MetricsPage[_ItemT]]) -> list[_ItemT]:
    """Return every item, page by page; metrics-server may answer with all of them at once."""
    items: list[_ItemT] = []
    query = {"limit": PAGE}
    while True:
        with answers_counted():
            try:
                body = client.get(f"{ROOT}/{resource}", query, read_seconds=READ_SECONDS)
            except ApiError as error:
                raise _refusal(error, resource) from error
            page = decoded(body, shape, "metrics-server's answer cannot be read")
            del body
        items += page.items
        if not page.metadata.next:
            return items
        if not page.items:
            raise SourceError("metrics-server's list never ends")
        query = {"limit": PAGE, "continue": page.metadata.next}


def _refusal(error: ApiError, resource: str) -> SourceError:
    if error.status == 404:
        return LiveUsageError("live usage is unavailable: metrics-server is not installed (no metrics.k8s.io/v1beta1)")
    if error.status in (401, 403):
        return LiveUsageError(f"live usage needs permission to list {resource} of metrics.k8s.io")
    if error.status in (500, 502, 503, 504):
        return SourceError(f"metrics-server does not answer: {error.message}")
    return error


def _reading(measured: Mapping[str, tuple[_NodeMetrics | _PodMetrics, Sequence[_ContainerUsage]]]) -> UsageReading:
    samples: dict[str, Sample] = {}
    containers: dict[str, tuple[ContainerSample, ...]] = {}
    window_ns = 0
    for name, (metrics, parts) in measured.items():
        try:
            amounts = [(parse_quantity(part.usage.cpu).nano, parse_quantity(part.usage.memory).nano) for part in parts]
            cpu, memory = (sum(side) for side in zip(*amounts, strict=True)) if amounts else (0, 0)
            sample = Sample(parse_timestamp(metrics.timestamp), _millis(cpu), memory // NANO)
            window_ns = max(window_ns, parse_duration(metrics.window))
        except ValueError:
            # An unreadable measurement stays unknown; the others count.
            continue
        samples[name] = sample
        containers[name] = tuple(
            ContainerSample(sys.intern(part.name), _millis(cpu), memory // NANO)
            for part, (cpu, memory) in zip(parts, amounts, strict=True)
        )
    return UsageReading(samples, window_ns, containers)


def _millis(nano: int) -> int:
    return -(-nano // NANO_PER_MILLI)


LEAST_SECONDS: Final = 15.0
"""metrics-server's usual resolution: asking more often gives the same measurements again."""
WANTED_SECONDS: Final = 60.0
"""Time after a look at usage during which it is still read."""
IDLE_SECONDS: Final = 1.0
"""Maximum delay before a new look at usage is noticed."""
RECORDED_SECONDS: Final = 60.0
RECORDED_MOST_SECONDS: Final = 480.0
"""Shortest and longest interval of readings for a history."""
RECORDED_PODS: Final = 300
"""Pods for which the interval is a second longer, if that is more."""


class UsageSource(PeriodicSource[LiveUsage]):
    """Asks metrics-server at its measurement interval while usage is shown, and less often for a history."""

    thread_name: ClassVar[str] = "live-usage"
    lasting: ClassVar[type[SourceError]] = LiveUsageError

    def __init__(self, client: ProxyClient, *, clock: Clock | None = None, wait: Wait = threading.Event.wait) -> None:
        super().__init__(LiveUsage(is_asked=True), clock=clock, wait=wait)
        self._client = client
        self._wanted_until_ns = 0
        self.is_recorded = False
        """Whether a history keeps usage."""

    def want(self) -> None:
        """Report that usage is shown; cheap, from any thread."""
        self._wanted_until_ns = self._clock.now_ns() + int(WANTED_SECONDS * NS_PER_SECOND)

    def _is_due(self) -> bool:
        now_ns = self._clock.now_ns()
        seconds = min(max(RECORDED_SECONDS, len(self._news.pods) / RECORDED_PODS), RECORDED_MOST_SECONDS)
        is_record_due = now_ns - self._news.read_at_ns >= seconds * NS_PER_SECOND
        return now_ns <= self._wanted_until_ns or (self.is_recorded and is_record_due)

    def read(self) -> float:
        """Read nodes and pods once, if usage is shown or it is time for the history."""
        if not self._is_due():
            return IDLE_SECONDS
        before = self._news
        nodes, pods = read_nodes(self._client), read_pods(self._client)
        window_ns = max(nodes.window_ns, pods.window_ns)
        self._news = LiveUsage(
            nodes=merged(before.nodes, nodes.samples),
            pods=merged(before.pods, pods.samples),
            containers=pods.containers,
            read_at_ns=self._clock.now_ns(),
            window_ns=window_ns,
            is_asked=True,
        )
        return min(max(window_ns / NS_PER_SECOND, LEAST_SECONDS), REFRESH_SECONDS)

    def failed(self, error: SourceError, seconds: float) -> None:
        """Record that a reading failed; earlier results are kept."""
        retry_at_ns = self._clock.now_ns() + int(seconds * NS_PER_SECOND)
        self._news = msgspec.structs.replace(self._news, sentence=str(error), retry_at_ns=retry_at_ns)
