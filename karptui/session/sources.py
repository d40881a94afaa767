"""Status of the sources: of every kind of object, of instance types, prices and live usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from karptui.aws.evidence import Evidence
from karptui.aws.region import FactKind, FactPhase, FactStatus, RegionFacts
from karptui.decode.kinds import KindStatus
from karptui.kube.usage import LiveUsage
from karptui.session.cluster_view import ClusterView

_WORDS: Final[Mapping[FactPhase, str]] = {
    FactPhase.OFF: "off",
    FactPhase.WAITING: "connecting",
    FactPhase.LIVE: "live",
    FactPhase.CACHED: "stale",
    FactPhase.UNAVAILABLE: "not available",
    FactPhase.RECORDED: "offline",
}
_FIELDS: Final[Mapping[FactKind, str]] = {
    FactKind.INSTANCE_TYPES: "instance_types",
    FactKind.OFFERINGS: "zone_ids_by_type",
    FactKind.ON_DEMAND_PRICES: "on_demand",
    FactKind.SPOT_PRICES: "spot",
    FactKind.ZONES: "zones",
    FactKind.SUBNETS: "subnets",
    FactKind.RESERVATIONS: "reservations",
}

_LEFT_OUT: Final = "none in the file, which counts as not read"


def source_rows(view: ClusterView, now_ns: int) -> tuple[KindStatus, ...]:
    """Return the status of every kind, then the sources of instance types, prices and live usage."""
    usage = usage_row(view.live_usage, now_ns)
    kinds = (
        replace(status, last_error=_LEFT_OUT) if status.is_unread and not status.last_error else status
        for status in view.statuses.values()
    )
    return (*kinds, *evidence_rows(view.evidence, now_ns), *((usage,) if usage is not None else ()))


def usage_row(live: LiveUsage, now_ns: int) -> KindStatus | None:
    """Return a row for metrics-server; None without one."""
    if not live.is_asked:
        return None
    waits = "queried once a minute for the history, or while usage is shown: Pods, Advice, a node, wide Nodes"
    phase = "live" if live.read_at_ns and not live.sentence else "stale" if live.read_at_ns else "not available"
    return KindStatus(
        kind="Live usage",
        phase=phase if live.read_at_ns or live.sentence else "off",
        since_ns=live.read_at_ns or now_ns,
        last_error=live.sentence or ("" if live.read_at_ns else waits),
        count=len(live.pods) + len(live.nodes),
        last_contact_ns=live.read_at_ns,
        retry_at_ns=live.retry_at_ns,
    )


def evidence_rows(evidence: Evidence, now_ns: int) -> tuple[KindStatus, ...]:
    """Return a row for Karpenter's metrics and for each kind of AWS fact; none without these sources."""
    rows = []
    if evidence.metrics_status is not None:
        offerings = len(evidence.metrics.offerings) if evidence.metrics is not None else 0
        rows.append(_row("Karpenter's metrics", evidence.metrics_status, offerings, now_ns))
    if evidence.controller_status is not None:
        settings = len(evidence.controller.settings) if evidence.controller is not None else 0
        rows.append(_row("Karpenter's settings", evidence.controller_status, settings, now_ns))
    rows += [
        _row(f"AWS {kind}", status, _fact_count(evidence.facts, kind), now_ns)
        for kind, status in evidence.fact_statuses.items()
    ]
    return tuple(rows)


def _fact_count(facts: RegionFacts, kind: FactKind) -> int:
    fact = getattr(facts, _FIELDS[kind])
    return len(fact.value) if fact is not None else 0


def _row(kind: str, status: FactStatus, count: int, now_ns: int) -> KindStatus:
    return KindStatus(
        kind=kind,
        phase=_WORDS[status.phase],
        since_ns=status.as_of_ns or now_ns,
        last_error=status.sentence,
        count=count,
        last_contact_ns=status.as_of_ns,
        retry_at_ns=status.retry_at_ns,
    )
