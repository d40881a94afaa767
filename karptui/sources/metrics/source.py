"""Keeps Karpenter's metrics fresh in the background."""

from __future__ import annotations

import threading
from typing import ClassVar

import msgspec

from karptui.aws.region import FactPhase, FactStatus
from karptui.clock import Clock
from karptui.karpenter.controller import KarpenterVersion
from karptui.karpenter.metrics import ControllerMetrics
from karptui.sources.base import SourceError
from karptui.sources.metrics.controller import ProxyClient
from karptui.sources.metrics.scrape import MetricsError, MetricsReader
from karptui.sources.periodic import REFRESH_SECONDS, REFUSED_SECONDS, PeriodicSource, Wait, failed_status


class MetricsNews(msgspec.Struct, frozen=True, eq=False):
    """What is known at a moment; compared by identity to see whether there is anything new."""

    status: FactStatus
    metrics: ControllerMetrics | None = None
    """The last reading, however old: the status has its age."""
    version: KarpenterVersion | None = None
    first: ControllerMetrics | None = None
    """The first reading of the same controller, without its offerings: what its counters are compared with."""


class MetricsSource(PeriodicSource[MetricsNews]):
    """Reads Karpenter's metrics once a minute.

    Karpenter writes its offerings anew as often (pkg/controllers/metrics of its AWS provider).
    """

    thread_name: ClassVar[str] = "karpenter-metrics"

    def __init__(self, client: ProxyClient, *, clock: Clock | None = None, wait: Wait = threading.Event.wait) -> None:
        super().__init__(MetricsNews(FactStatus(phase=FactPhase.WAITING)), clock=clock, wait=wait)
        self._reader = MetricsReader(client, now_ns=self._clock.now_ns)

    def read(self) -> float:
        """Read the metrics; what was read before stays when that fails."""
        before = self._news
        try:
            metrics = self._reader.read()
        except SourceError as error:
            seconds = REFUSED_SECONDS if isinstance(error, MetricsError) else REFRESH_SECONDS
            status = failed_status(before.status, error, now_ns=self._clock.now_ns(), rest_seconds=seconds)
            self._news = MetricsNews(status, before.metrics, self._reader.version, before.first)
            return seconds
        sentence = "" if metrics.offerings else f"{metrics.endpoint} reports no prices: not Karpenter's AWS provider"
        status = FactStatus(phase=FactPhase.LIVE, sentence=sentence, as_of_ns=metrics.read_at_ns)
        self._news = MetricsNews(status, metrics, self._reader.version, _first(before.first, metrics))
        return REFRESH_SECONDS


def _first(known: ControllerMetrics | None, metrics: ControllerMetrics) -> ControllerMetrics:
    """Return the reading to compare counters with: another controller counts from zero again."""
    if known is not None and (known.endpoint, known.started_at_ns) == (metrics.endpoint, metrics.started_at_ns):
        return known
    return msgspec.structs.replace(metrics, offerings={}, cpu_cores={}, memory_bytes={})
