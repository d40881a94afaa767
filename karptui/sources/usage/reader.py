"""One reading of the resource metrics API, which metrics-server answers.

Format: https://github.com/kubernetes/metrics (metrics.k8s.io/v1beta1, NodeMetrics and PodMetrics).
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

import msgspec

from karptui.kube.durations import parse_duration
from karptui.kube.live_usage import Sample
from karptui.kube.quantity import parse_quantity
from karptui.kube.timestamps import parse_timestamp
from karptui.sources.base import SourceError
from karptui.sources.cluster.errors import ApiError
from karptui.sources.metrics.controller import ProxyClient

ROOT: Final = "/apis/metrics.k8s.io/v1beta1"
PAGE: Final = "500"
READ_SECONDS: Final = 30.0


class UsageError(SourceError):
    """Live usage cannot be had; the sentence says why and what would help."""


class Reading(msgspec.Struct, frozen=True):
    """What one list said."""

    samples: dict[str, Sample]
    """By name, of pods ``namespace/name``."""
    window_ns: int
    """Over how long measurements go; 0 where there are none."""


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _ListMetadata(msgspec.Struct, rename={"next": "continue"}):
    next: str = ""


class _Amounts(msgspec.Struct):
    cpu: str = "0"
    memory: str = "0"


class _Container(msgspec.Struct):
    usage: _Amounts = msgspec.field(default_factory=_Amounts)


class _NodeMetrics(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    timestamp: str = ""
    window: str = "0s"
    usage: _Amounts = msgspec.field(default_factory=_Amounts)


class _PodMetrics(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    timestamp: str = ""
    window: str = "0s"
    containers: list[_Container] = []


_ItemT = TypeVar("_ItemT", _NodeMetrics, _PodMetrics)


class _Page(msgspec.Struct, Generic[_ItemT]):
    metadata: _ListMetadata = msgspec.field(default_factory=_ListMetadata)
    items: list[_ItemT] = []


def read_nodes(client: ProxyClient) -> Reading:
    """Return what nodes use.

    Raises:
        UsageError: when metrics-server is not there, or may not be asked.
        SourceError: when the API server does not answer.
    """
    items = _items(client, "nodes", _Page[_NodeMetrics])
    return _reading({one.metadata.name: (one, (one.usage,)) for one in items})


def read_pods(client: ProxyClient) -> Reading:
    """Return what pods use, their containers together.

    Raises:
        UsageError: when metrics-server is not there, or may not be asked.
        SourceError: when the API server does not answer.
    """
    items = _items(client, "pods", _Page[_PodMetrics])
    return _reading(
        {
            f"{one.metadata.namespace}/{one.metadata.name}": (one, tuple(part.usage for part in one.containers))
            for one in items
        }
    )


def _items(client: ProxyClient, resource: str, shape: type[_Page[_ItemT]]) -> list[_ItemT]:
    """Return every item, page by page; metrics-server may answer with all of them at once."""
    found: list[_ItemT] = []
    query = {"limit": PAGE}
    while True:
        try:
            body = client.get(f"{ROOT}/{resource}", query, read_seconds=READ_SECONDS)
        except ApiError as error:
            raise _refusal(error, resource) from error
        try:
            page = msgspec.json.decode(body, type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise SourceError(f"metrics-server's answer cannot be read: {error}") from error
        found += page.items
        if not page.metadata.next:
            return found
        query = {"limit": PAGE, "continue": page.metadata.next}


def _refusal(error: ApiError, resource: str) -> SourceError:
    if error.status == 404:
        return UsageError("live usage is not known: metrics-server is not installed (no metrics.k8s.io/v1beta1)")
    if error.status in (401, 403):
        return UsageError(f"live usage needs permission to list {resource} of metrics.k8s.io")
    if error.status in (500, 502, 503, 504):
        return SourceError(f"metrics-server does not answer: {error.message}")
    return error


def _reading(measured: dict[str, tuple[_NodeMetrics | _PodMetrics, tuple[_Amounts, ...]]]) -> Reading:
    samples: dict[str, Sample] = {}
    window_ns = 0
    for name, (one, parts) in measured.items():
        try:
            sample = Sample(
                parse_timestamp(one.timestamp),
                -(-sum(parse_quantity(part.cpu).nano for part in parts) // 1_000_000),
                sum(parse_quantity(part.memory).nano for part in parts) // 1_000_000_000,
            )
            window_ns = max(window_ns, parse_duration(one.window))
        except ValueError:
            # One that cannot be read is not known; the others are.
            continue
        samples[name] = sample
    return Reading(samples, window_ns)
