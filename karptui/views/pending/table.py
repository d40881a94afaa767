"""The table of the Pending screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karptui.kube import resources
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, count_text
from karptui.pending.causes import FAULTY, SILENT, Cause
from karptui.views.column import Column, Heading
from karptui.views.fields import Field, FieldKind
from karptui.views.pending.entry import PendingEntry
from karptui.views.pending.words import karpenter_text, now_text, requests_words, scheduler_text, short_verdict
from karptui.views.row import FORBIDDEN, NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec, natural_key

_FINE: Final = frozenset({Cause.NODE, Cause.CLAIM})


def _age(entry: PendingEntry, now_ns: int) -> Cell:
    since = entry.group.since_ns
    return Cell(age_text(since, now_ns)) if since else NOT_AVAILABLE


def _karpenter(entry: PendingEntry, now_ns: int) -> Cell:
    group = entry.group
    said = group.messages.karpenter
    if said is None:
        if not entry.hears_events:
            return FORBIDDEN
        tone = Tone.WARNING if group.cause in SILENT or group.disagreements else Tone.MUTED
        return Cell("says nothing", tone, "silent")
    tone = Tone.FAULT if said.reason.startswith("Failed") else Tone.NORMAL
    return Cell(karpenter_text(group, now_ns), tone, short_verdict(said, now_ns))


def _scheduler(entry: PendingEntry, now_ns: int) -> Cell:
    said = entry.group.messages.scheduler
    if said is None:
        return Cell("says nothing", Tone.MUTED, "silent")
    return Cell(scheduler_text(entry.group, now_ns), Tone.NORMAL, short_verdict(said, now_ns))


def _now(entry: PendingEntry, _: int) -> Cell:
    cause = entry.group.cause
    tone = Tone.FAULT if cause in FAULTY else Tone.GOOD if cause in _FINE else Tone.MUTED
    text = now_text(entry.group)
    return Cell(text, tone, text.replace(" short by ", " −").replace("no instance type", "no type"))


def _differ(entry: PendingEntry, _: int) -> Cell:
    disagreements = entry.group.disagreements
    return Cell(f"≠ {disagreements[0].short}", Tone.WARNING, "≠") if disagreements else NOT_APPLICABLE


def _rank(entry: PendingEntry) -> tuple[float, ...]:
    """Sort what somebody has to do something about first, and of that the most pods."""
    group = entry.group
    return float(group.cause not in FAULTY), float(not group.disagreements), -float(len(group.pods))


COLUMNS: Final[tuple[Column[PendingEntry], ...]] = (
    Column(
        Heading("pods", "PODS", "Pods that wait for the same reason, under one name.", 20, 56),
        lambda entry, _: Cell(clean(entry.group.name), Tone.STRONG),
        lambda entry: natural_key(entry.group.name),
    ),
    Column(
        Heading(
            "count", "N", "How many they are.", 3, 8, is_right_aligned=True, is_descending_first=True, drop_order=7
        ),
        lambda entry, _: Cell(count_text(len(entry.group.pods))),
        lambda entry: float(len(entry.group.pods)),
    ),
    Column(
        Heading("requests", "REQUESTS", "What each of them asks for.", 10, 28, drop_order=4, is_descending_first=True),
        lambda entry, _: Cell(requests_words(entry.group.first)),
        lambda entry: float(resources.memory_bytes(entry.group.first.requests)),
    ),
    Column(
        Heading("age", "AGE", "Since when the oldest of them waits.", 4, 8, is_right_aligned=True, drop_order=1),
        _age,
        lambda entry: -float(entry.group.since_ns) if entry.group.since_ns else None,
    ),
    Column(
        Heading("karpenter", "KARPENTER", "The newest of Karpenter's events, and how old it is.", 8, 24, drop_order=3),
        _karpenter,
        lambda entry: entry.group.messages.karpenter.reason if entry.group.messages.karpenter is not None else None,
    ),
    Column(
        Heading(
            "scheduler",
            "SCHEDULER",
            "The newest of the scheduler's events or the PodScheduled condition, and how old it is.",
            8,
            24,
            drop_order=6,
        ),
        _scheduler,
        lambda entry: entry.group.messages.scheduler.reason if entry.group.messages.scheduler is not None else None,
    ),
    Column(
        Heading(
            "now", "COMPUTED NOW", "What Karpenter's rules come to on the cluster as it is.", 34, 90, fill_width=70
        ),
        _now,
        _rank,
    ),
    Column(
        Heading(
            "differ", "≠", "Where Karpenter, the scheduler and what is computed do not agree.", 1, 26, drop_order=2
        ),
        _differ,
        lambda entry: entry.group.disagreements[0].short if entry.group.disagreements else None,
    ),
)
"""Every column in order."""

FIELDS: Final[Mapping[str, Field[PendingEntry]]] = {
    "name": Field(FieldKind.TEXT, lambda entry, _: tuple(pod.name for pod in entry.group.pods), help="pod"),
    "ns": Field(FieldKind.TEXT, lambda entry, _: entry.group.first.namespace, help="namespace"),
    "owner": Field(FieldKind.TEXT, lambda entry, _: entry.group.origin, help="workload: Deployment/web/front"),
    "turn": Field(FieldKind.TEXT, lambda entry, _: str(entry.group.cause), help="no place, new node, gated…"),
    "count": Field(FieldKind.COUNT, lambda entry, _: len(entry.group.pods), help="pods"),
    "cpu": Field(
        FieldKind.CPU, lambda entry, _: resources.cpu_millis(entry.group.first.requests), help="cpu of one pod"
    ),
    "mem": Field(
        FieldKind.BYTES, lambda entry, _: resources.memory_bytes(entry.group.first.requests), help="memory of one pod"
    ),
    "age": Field(
        FieldKind.DURATION,
        lambda entry, now_ns: (now_ns - entry.group.since_ns) / NS_PER_SECOND if entry.group.since_ns else None,
        help="since when the oldest waits",
    ),
}


def _text(entry: PendingEntry) -> str:
    group = entry.group
    return f"{group.name} {group.origin} {now_text(group)} {' '.join(pod.name for pod in group.pods)}".lower()


TABLE: Final[TableSpec[PendingEntry]] = TableSpec(
    noun="pending pods",
    columns=COLUMNS,
    text=_text,
    more_filters=FIELDS,
    labels=lambda entry: entry.group.first.labels,
    key=lambda entry: entry.key,
    default_sort=Sort("now"),
    is_notable=lambda entry, _: entry.group.is_faulty,
)
"""The table of the Pending screen."""
