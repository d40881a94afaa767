"""Instance types, prices and settings, kept up to date from Karpenter and the AWS APIs."""

from __future__ import annotations

from typing import Any

import msgspec

from karptui.aws.evidence import NO_EVIDENCE, Evidence, with_controller, with_rules
from karptui.aws.region import FactPhase
from karptui.kube.usage import NO_LIVE_USAGE, LiveUsage
from karptui.sources.aws.source import AwsNews, AwsSource
from karptui.sources.controller import ControllerNews, ControllerSource
from karptui.sources.metrics.source import MetricsNews
from karptui.sources.periodic import PeriodicSource
from karptui.sources.usage import UsageSource


class EvidenceSource:
    """One immutable answer made of what several sources say; without sources it never changes."""

    def __init__(
        self,
        base: Evidence = NO_EVIDENCE,
        *,
        metrics: PeriodicSource[MetricsNews] | None = None,
        aws: AwsSource | None = None,
        controller: ControllerSource | None = None,
        usage: UsageSource | None = None,
        recorded_usage: LiveUsage = NO_LIVE_USAGE,
    ) -> None:
        """Set up without sending requests.

        Args:
            aws: Asks the AWS APIs; starts once the cluster's region is known.
        """
        self._metrics = metrics
        self._aws = aws
        self._controller = controller
        self._usage = usage
        self._periodic: list[PeriodicSource[Any]] = [s for s in (metrics, controller, usage) if s is not None]
        self._recorded_usage = recorded_usage
        self._base = base
        self._region = ""
        self._is_started = False
        self._news: tuple[MetricsNews | None, AwsNews | None, ControllerNews | None] = (None, None, None)
        self._latest = base

    def start(self) -> None:
        """Begin to ask, in daemon threads, and return at once; AWS once the cluster has named its region."""
        self._is_started = True
        for source in self._periodic:
            source.start()
        if self._aws is not None and self._region:
            self._aws.start(self._region)

    def stop(self) -> None:
        """Ask no more."""
        for source in self._periodic:
            source.stop()
        if self._aws is not None:
            self._aws.stop()

    def refresh(self) -> None:
        """Read everything again, soon."""
        for source in self._periodic:
            source.refresh()
        if self._aws is not None and self._region:
            self._aws.refresh()

    def use_region(self, region: str) -> None:
        """Turn to the region that the cluster has named; none, or the same again, changes nothing."""
        if self._aws is None or not region or region == self._region:
            return
        if self._region:
            self._aws.use_region(region)
        elif self._is_started:
            self._aws.start(region)
        self._region = region

    def want_usage(self) -> None:
        """Report that live usage is shown; cheap, from any thread."""
        if self._usage is not None:
            self._usage.want()

    def record_usage(self, *, is_recorded: bool) -> None:
        """Set whether usage is read for a history, at a longer interval, also while it is not shown."""
        if self._usage is not None:
            self._usage.is_recorded = is_recorded

    def live_usage(self) -> LiveUsage:
        """Return live usage; separate from the rest, because it changes all the time and decides nothing."""
        return self._usage.latest() if self._usage is not None else self._recorded_usage

    @property
    def is_settled(self) -> bool:
        """Whether every source has answered or refused at least once."""
        metrics, aws, controller = self._heard()
        statuses = [news.status for news in (metrics, controller) if news is not None]
        if aws is not None and self._region:
            statuses += aws.statuses.values()
        return all(status.phase is not FactPhase.WAITING for status in statuses)

    def latest(self) -> Evidence:
        """Return the current evidence; the same object as long as nothing changes."""
        news = self._heard()
        if any(new is not news for new, news in zip(news, self._news, strict=True)):
            self._news = news
            self._latest = _joined(self._base, *news)
        return self._latest

    def _heard(self) -> tuple[MetricsNews | None, AwsNews | None, ControllerNews | None]:
        return (
            self._metrics.latest() if self._metrics is not None else None,
            self._aws.latest() if self._aws is not None else None,
            self._controller.latest() if self._controller is not None else None,
        )


def _joined(
    base: Evidence, metrics: MetricsNews | None, aws: AwsNews | None, controller: ControllerNews | None
) -> Evidence:
    evidence = base
    if metrics is not None:
        evidence = msgspec.structs.replace(
            evidence, metrics=metrics.metrics, metrics_before=metrics.first, metrics_status=metrics.status
        )
    if controller is not None:
        evidence = with_controller(evidence, controller.info, controller.status, controller.others)
    if aws is not None:
        evidence = msgspec.structs.replace(evidence, facts=aws.facts, fact_statuses=aws.statuses)
    return with_rules(evidence)
