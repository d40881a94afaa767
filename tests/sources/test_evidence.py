from __future__ import annotations

from typing import Any, cast

from karptui.aws.evidence import Evidence
from karptui.aws.region import NO_FACTS, FactKind, FactPhase, FactStatus
from karptui.karpenter.controller import ControllerInfo
from karptui.karpenter.metrics import ControllerMetrics
from karptui.sources.aws.source import AwsNews, AwsSource
from karptui.sources.controller import ControllerNews, ControllerSource
from karptui.sources.evidence import EvidenceSource
from karptui.sources.metrics.source import MetricsNews, MetricsSource

WAITING, LIVE = FactStatus(phase=FactPhase.WAITING), FactStatus(phase=FactPhase.LIVE)


class FakeSource:
    """A source whose news the test sets, and which records the calls of its methods."""

    def __init__(self, news: Any) -> None:
        self.news = news
        self.asked: list[tuple[str, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.asked.append((name, *arguments))

    def latest(self) -> Any:
        return self.news


def sources() -> tuple[FakeSource, FakeSource, EvidenceSource]:
    metrics = FakeSource(MetricsNews(WAITING))
    aws = FakeSource(AwsNews(NO_FACTS, dict.fromkeys(FactKind, WAITING)))
    base = Evidence(settings_origin="the snapshot")
    joined = EvidenceSource(base, metrics=cast("MetricsSource", metrics), aws=cast("AwsSource", aws))
    return metrics, aws, joined


def test_evidence_is_the_same_object_until_something_changes() -> None:
    metrics, _, joined = sources()
    first = joined.latest()
    assert joined.latest() is first
    read = ControllerMetrics(read_at_ns=1, endpoint="pod a/b")
    metrics.news = MetricsNews(LIVE, read)
    second = joined.latest()
    assert second is not first
    assert (second.metrics, second.metrics_status, second.settings_origin) == (read, LIVE, "the snapshot")


def test_the_aws_source_starts_once_the_region_is_known() -> None:
    metrics, aws, joined = sources()
    joined.start()
    joined.refresh()
    joined.use_region("")
    assert (metrics.asked, aws.asked) == ([("start",), ("refresh",)], [])
    for region in ("us-east-1", "us-east-1", "eu-west-1"):
        joined.use_region(region)
    joined.refresh()
    joined.stop()
    assert aws.asked == [("start", "us-east-1"), ("use_region", "eu-west-1"), ("refresh",), ("stop",)]
    assert metrics.asked[-1] == ("stop",)
    _, aws, joined = sources()
    joined.use_region("us-east-1")
    assert aws.asked == [], "the AWS source was started before start()"
    joined.start()
    assert aws.asked == [("start", "us-east-1")]


def test_evidence_is_settled_once_every_started_source_has_answered() -> None:
    metrics, aws, joined = sources()
    assert not joined.is_settled
    metrics.news = MetricsNews(LIVE)
    assert joined.is_settled, "evidence waits for AWS although no region is known"
    joined.use_region("us-east-1")
    assert not joined.is_settled
    aws.news = AwsNews(NO_FACTS, dict.fromkeys(FactKind, LIVE), "123456789012")
    assert joined.is_settled


def test_evidence_without_sources_is_settled() -> None:
    kept = Evidence(
        metrics_status=WAITING, controller_status=WAITING, fact_statuses=dict.fromkeys(FactKind, WAITING)
    )  # as kept before any source had answered
    alone = EvidenceSource(kept)
    alone.use_region("us-east-1")
    assert alone.is_settled


def test_settings_come_from_the_controller_source() -> None:
    controller = FakeSource(ControllerNews(WAITING))
    joined = EvidenceSource(controller=cast("ControllerSource", controller))
    assert not joined.is_settled
    joined.start()
    controller.news = ControllerNews(LIVE, ControllerInfo(title="Deployment a/b", settings={"RESERVED_ENIS": "1"}))
    evidence = joined.latest()
    assert (evidence.settings.reserved_enis, evidence.origin_of("RESERVED_ENIS")) == (1, "Deployment a/b")
    assert joined.is_settled
    assert joined.latest() is evidence
    joined.stop()
    assert controller.asked == [("start",), ("stop",)]
