"""How the sources stand: of every kind of object, of instance types, prices and live usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from karptui.aws.evidence import Evidence
from karptui.aws.region import FactKind, FactPhase, FactStatus, RegionFacts
from karptui.kube.live_usage import LiveUsage
from karptui.kube.units import age_text, count_text
from karptui.session.status import KindStatus
from karptui.views.column import Column, Field, FieldKind, Heading
from karptui.views.row import NOT_APPLICABLE, Cell, Tone, text_cell
from karptui.views.table import Sort, TableSpec

_TONES: Final = {
    "live": Tone.GOOD,
    "offline": Tone.RESERVED,
    "not installed": Tone.MUTED,
    "off": Tone.MUTED,
    "not available": Tone.MUTED,
    "connecting": Tone.ACTIVE,
    "syncing": Tone.ACTIVE,
    "stale": Tone.WARNING,
    "forbidden": Tone.WARNING,
    "disconnected": Tone.FAULT,
}


def _count(status: KindStatus, _: int) -> Cell:
    if status.phase in ("forbidden", "not installed", "not available", "off"):
        return NOT_APPLICABLE
    of = f" of about {count_text(status.total_estimate)}" if status.total_estimate and status.phase == "syncing" else ""
    return Cell(count_text(status.count) + of)


def _heard(status: KindStatus, now_ns: int) -> Cell:
    if not status.last_contact_ns:
        return NOT_APPLICABLE
    return Cell(f"{age_text(status.last_contact_ns, now_ns)} ago")


def _why_tone(status: KindStatus) -> Tone:
    """Return how loudly it is said; that a source of prices is not available is a normal state."""
    return Tone.MUTED if status.phase in ("not available", "off") else Tone.WARNING


FIELDS: Final[Mapping[str, Field[KindStatus]]] = {
    "kind": Field(FieldKind.TEXT, lambda status, _: status.kind, help="kind"),
    "phase": Field(FieldKind.TEXT, lambda status, _: status.phase, help="live, forbidden…"),
}

TABLE: Final[TableSpec[KindStatus]] = TableSpec(
    noun="kinds",
    columns=(
        Column(
            Heading("kind", "KIND", "What is read.", min_width=12),
            lambda status, _: text_cell(str(status.kind), Tone.STRONG),
            lambda status: str(status.kind),
        ),
        Column(
            Heading("phase", "PHASE", "How far the source has come.", min_width=13),
            lambda status, _: text_cell(str(status.phase), _TONES.get(status.phase, Tone.NORMAL)),
            lambda status: str(status.phase),
        ),
        Column(
            Heading("count", "OBJECTS", "How many are held.", is_right_aligned=True, is_descending_first=True),
            _count,
            lambda status: float(status.count),
        ),
        Column(
            Heading("since", "SINCE", "How long the phase has lasted.", is_right_aligned=True),
            lambda status, now_ns: Cell(age_text(status.since_ns, now_ns)),
            lambda status: -float(status.since_ns),
        ),
        Column(
            Heading("heard", "HEARD", "When the server last said anything.", is_right_aligned=True, drop_order=1),
            _heard,
            lambda status: -float(status.last_contact_ns) or None,
        ),
        Column(
            Heading("error", "WHY", "Why it is not live.", min_width=10, max_width=200),
            lambda status, _: text_cell(status.last_error, _why_tone(status)),
            lambda status: status.last_error or None,
        ),
    ),
    text=lambda status: f"{status.kind} {status.phase}".lower(),
    more_filters=FIELDS,
    key=lambda status: str(status.kind),
    default_sort=Sort("kind"),
    is_notable=lambda status, _: _TONES.get(status.phase) in (Tone.WARNING, Tone.FAULT),
)
"""One row per kind."""


_WORDS: Final[Mapping[FactPhase, str]] = {
    FactPhase.OFF: "off",
    FactPhase.WAITING: "connecting",
    FactPhase.LIVE: "live",
    FactPhase.CACHED: "stale",
    FactPhase.UNAVAILABLE: "not available",
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


class SourceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One source of facts, in the shape of ``views.health.KindStatus``."""

    kind: str
    phase: str
    since_ns: int
    last_error: str
    count: int
    total_estimate: int | None = None
    last_contact_ns: int = 0
    retry_at_ns: int = 0


def usage_row(live: LiveUsage, now_ns: int) -> SourceRow | None:
    """Return a row for metrics-server; None where there is nobody to ask."""
    if not live.is_asked:
        return None
    waits = "asked while it is looked at: Pods, Advice, a node, and the wide layout of Nodes"
    phase = "live" if live.read_at_ns and not live.sentence else "stale" if live.read_at_ns else "not available"
    return SourceRow(
        kind="Live usage",
        phase=phase if live.read_at_ns or live.sentence else "off",
        since_ns=live.read_at_ns or now_ns,
        last_error=live.sentence or ("" if live.read_at_ns else waits),
        count=len(live.pods) + len(live.nodes),
        last_contact_ns=live.read_at_ns,
        retry_at_ns=live.retry_at_ns,
    )


def evidence_rows(evidence: Evidence, now_ns: int) -> tuple[SourceRow, ...]:
    """Return a row for Karpenter's metrics and for each kind of fact that AWS is asked for; none where nobody is."""
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


def _row(kind: str, status: FactStatus, count: int, now_ns: int) -> SourceRow:
    return SourceRow(
        kind=kind,
        phase=_WORDS[status.phase],
        since_ns=status.as_of_ns or now_ns,
        last_error=status.sentence,
        count=count,
        last_contact_ns=status.as_of_ns,
        retry_at_ns=status.retry_at_ns,
    )
