"""Keeps Karpenter's metrics fresh in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import msgspec

from karptui.aws.region_facts import FactPhase, FactStatus
from karptui.clock import Clock, SystemClock
from karptui.karpenter.metrics import ControllerMetrics
from karptui.karpenter.version import KarpenterVersion
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.base import SourceError
from karptui.sources.metrics.controller import ProxyClient
from karptui.sources.metrics.scrape import MetricsError, MetricsReader

REFRESH_SECONDS: Final = 60.0
"""As often as Karpenter writes its offerings anew (pkg/controllers/metrics of its AWS provider)."""
REFUSED_SECONDS: Final = 300.0
"""Until what refused is asked again: a missing permission or a security group is rarely gone in a minute."""


class MetricsNews(msgspec.Struct, frozen=True, eq=False):
    """What is known at a moment; compared by identity to see whether there is anything new."""

    status: FactStatus
    metrics: ControllerMetrics | None = None
    """The last reading, however old: the status has its age."""
    version: KarpenterVersion | None = None
    first: ControllerMetrics | None = None
    """The first reading of the same controller, without its offerings: what its counters are compared with."""


class MetricsSource:
    """Reads Karpenter's metrics once a minute in a thread of its own."""

    def __init__(
        self,
        client: ProxyClient,
        *,
        clock: Clock | None = None,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._clock = clock or SystemClock()
        self._reader = MetricsReader(client, now_ns=self._clock.now_ns)
        self._wait = wait
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._news = MetricsNews(FactStatus(phase=FactPhase.WAITING))

    def start(self) -> None:
        """Begin to read, and return at once."""
        self._thread = threading.Thread(target=self._run, name="karpenter-metrics", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Read no more; a request under way is left to its time-out in a daemon thread."""
        self._stopped.set()

    def latest(self) -> MetricsNews:
        """Return what is known now; cheap, from any thread."""
        return self._news

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._news = self._read()
            retry_at_ns = self._news.status.retry_at_ns
            seconds = (retry_at_ns - self._clock.now_ns()) / NS_PER_SECOND if retry_at_ns else REFRESH_SECONDS
            if self._wait(self._stopped, max(1.0, seconds)):
                return

    def _read(self) -> MetricsNews:
        try:
            metrics = self._reader.read()
        except SourceError as error:
            before = self._news.metrics
            seconds = REFUSED_SECONDS if isinstance(error, MetricsError) else REFRESH_SECONDS
            status = FactStatus(
                phase=FactPhase.CACHED if before is not None else FactPhase.UNAVAILABLE,
                sentence=str(error),
                as_of_ns=before.read_at_ns if before is not None else 0,
                retry_at_ns=self._clock.now_ns() + int(seconds * NS_PER_SECOND),
            )
            return MetricsNews(status, before, self._reader.version, self._news.first)
        sentence = "" if metrics.offerings else f"{metrics.endpoint} reports no prices: not Karpenter's AWS provider"
        return MetricsNews(
            FactStatus(phase=FactPhase.LIVE, sentence=sentence, as_of_ns=metrics.read_at_ns),
            metrics,
            self._reader.version,
            _first(self._news.first, metrics),
        )


def _first(known: ControllerMetrics | None, metrics: ControllerMetrics) -> ControllerMetrics:
    """Return the reading to compare counters with: another controller counts from zero again."""
    if known is not None and (known.endpoint, known.started_at_ns) == (metrics.endpoint, metrics.started_at_ns):
        return known
    return msgspec.structs.replace(metrics, offerings={}, cpu_cores={}, memory_bytes={})
