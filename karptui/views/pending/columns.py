"""The table of pending pods: its columns, and everything that follows from them."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Final

from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.pending.causes import FAULTY, SILENT, Cause
from karptui.pending.messages import PodMessage
from karptui.provisioning.explain import PoolExplanation
from karptui.provisioning.nearest import furthest
from karptui.session.pending_report import PendingEntry
from karptui.views.column import Column, Field, FieldKind, Heading, NumberHeading, Value, count_column
from karptui.views.instants import age_column
from karptui.views.pending.disagreements import disagreement_short, disagreement_text
from karptui.views.pending.rejections import miss_text, refusal_counts
from karptui.views.pending.sentences import now_text, requests_words, short_verdict, verdict_with_age
from karptui.views.row import FORBIDDEN, NOT_APPLICABLE, Cell, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec

_FINE: Final = frozenset({Cause.NODE, Cause.CLAIM})


def _karpenter(entry: PendingEntry, now_ns: int) -> Cell:
    group = entry.group
    message = group.messages.karpenter
    if message is None:
        if not entry.may_list_events:
            return FORBIDDEN
        tone = Tone.WARNING if group.cause in SILENT or group.disagreements else Tone.MUTED
        return Cell("no message", tone, "silent")
    tone = Tone.FAULT if message.reason.startswith("Failed") else Tone.NORMAL
    return Cell(verdict_with_age(message, now_ns), tone, short_verdict(message, now_ns))


def _scheduler(entry: PendingEntry, now_ns: int) -> Cell:
    message = entry.group.messages.scheduler
    if message is None:
        return Cell("no message", Tone.MUTED, "silent")
    return Cell(verdict_with_age(message, now_ns), Tone.NORMAL, short_verdict(message, now_ns))


def _now(entry: PendingEntry, _: int) -> Cell:
    cause = entry.group.cause
    tone = Tone.FAULT if cause in FAULTY else Tone.GOOD if cause in _FINE else Tone.MUTED
    return Cell(now_text(entry.group), tone, now_text(entry.group, is_short=True))


def _differ(entry: PendingEntry, _: int) -> Cell:
    disagreements = entry.group.disagreements
    return Cell(f"≠ {disagreement_short(disagreements[0])}", Tone.WARNING, "≠") if disagreements else NOT_APPLICABLE


def _rank(entry: PendingEntry) -> tuple[float, ...]:
    """Sort pods that need action first, then by number of pods."""
    group = entry.group
    return float(group.cause not in FAULTY), float(not group.is_disputed), -float(len(group.pods))


def _requests_values(pod: Pod) -> dict[str, int]:
    """Return requests as integers: ``cpu_millis``, ``mem_bytes``, ``ephemeral_bytes``, others by their own name."""
    values: dict[str, int] = {"cpu_millis": 0, "mem_bytes": 0}
    names = {CPU: "cpu_millis", MEMORY: "mem_bytes", EPHEMERAL_STORAGE: "ephemeral_bytes"}
    for name, amount in pod.requests.items():
        values[names.get(name, name)] = amount.nano // (NANO_PER_MILLI if name == CPU else NANO)
    return values


def _message_values(message: PodMessage | None, now_ns: int) -> dict[str, Any] | None:
    if message is None:
        return None
    return {
        "reason": message.reason,
        "message": message.message,
        "age_seconds": (now_ns - message.at_ns) // NS_PER_SECOND if message.at_ns else None,
        "count": message.count,
        "source": "condition" if message.is_condition else "event",
    }


def _nearest(entry: PendingEntry) -> PoolExplanation | None:
    explanation = entry.group.explanation
    return furthest(explanation) if explanation is not None else None


COLUMNS: Final[tuple[Column[PendingEntry], ...]] = (
    Column(
        Heading("pods", "PODS", "Pods pending for the same reason, under one name.", 20, 56, is_name=True),
        lambda entry, _: Cell(clean(entry.group.name), Tone.STRONG),
        attrgetter("group.name"),
        values=(
            Value(
                "name",
                lambda entry, _: entry.group.name,
                str,
                "All pods under one name: trino/worker-{0,1,2}, web/front-* (12).",
            ),
            Value("namespace", lambda entry, _: entry.group.first.namespace, str),
            Value("owner", lambda entry, _: entry.group.origin, str, "Owner of the pods: Kind/namespace/name."),
            Value(
                "pods",
                lambda entry, _: [pod.name for pod in entry.group.pods],
                list[str],
                "Their names, the oldest first.",
            ),
        ),
        filters={
            "name": Field(FieldKind.TEXT, lambda entry, _: tuple(pod.name for pod in entry.group.pods), "pod"),
            "ns": Field(FieldKind.TEXT, lambda entry, _: entry.group.first.namespace, "namespace"),
            "owner": Field(FieldKind.TEXT, lambda entry, _: entry.group.origin, "workload: Deployment/web/front"),
        },
    ),
    count_column(
        NumberHeading("count", "N", "Number of pods.", 3, 8, is_wide_only=True),
        lambda entry: len(entry.group.pods),
        json="count",
    ),
    Column(
        Heading("requests", "REQUESTS", "Requests of each pod.", 10, 28, drop_order=4, is_descending_first=True),
        lambda entry, _: Cell(requests_words(entry.group.first)),
        lambda entry: float(resources.memory_bytes(entry.group.first.requests)),
        values=Value(
            "requests",
            lambda entry, _: _requests_values(entry.group.first),
            dict[str, int],
            "Of one pod: cpu_millis, mem_bytes, ephemeral_bytes, others by their own name.",
        ),
        filters={
            "cpu": Field(
                FieldKind.CPU, lambda entry, _: resources.cpu_millis(entry.group.first.requests), "cpu of one pod"
            ),
            "mem": Field(
                FieldKind.BYTES,
                lambda entry, _: resources.memory_bytes(entry.group.first.requests),
                "memory of one pod",
            ),
        },
    ),
    age_column(
        Heading("age", "AGE", "How long the oldest has been pending.", 4, 8, is_right_aligned=True, drop_order=1),
        lambda entry: entry.group.since_ns,
        filter_help="how long the oldest is pending",
        about="Of the oldest.",
    ),
    Column(
        Heading("karpenter", "KARPENTER", "Karpenter's newest event, and its age.", 8, 32, drop_order=3),
        _karpenter,
        lambda entry: entry.group.messages.karpenter.reason if entry.group.messages.karpenter is not None else None,
        values=Value(
            "karpenter",
            lambda entry, now_ns: _message_values(entry.group.messages.karpenter, now_ns),
            {"anyOf": [{"$ref": "#/$defs/voice"}, {"type": "null"}]},
            "Karpenter's newest event; null for silence.",
            after="turn",
        ),
    ),
    Column(
        Heading(
            "scheduler",
            "SCHEDULER",
            "The newest of the scheduler's events or the PodScheduled condition, and its age.",
            8,
            24,
            drop_order=6,
        ),
        _scheduler,
        lambda entry: entry.group.messages.scheduler.reason if entry.group.messages.scheduler is not None else None,
        values=Value(
            "scheduler",
            lambda entry, now_ns: _message_values(entry.group.messages.scheduler, now_ns),
            {"anyOf": [{"$ref": "#/$defs/voice"}, {"type": "null"}]},
            "The scheduler's newest event, or the PodScheduled condition.",
        ),
    ),
    Column(
        Heading("now", "COMPUTED NOW", "Karpenter's rules applied to the current cluster.", 34, 90, fill_width=70),
        _now,
        _rank,
        values=(
            Value(
                "turn",
                lambda entry, _: str(entry.group.cause),
                str,
                "Cause: no place, new node, existing node, gated, refused, ignored in silence, …",
                after="age_seconds",
            ),
            Value(
                "places",
                lambda entry, _: [
                    {
                        "node": destination.node or None,
                        "pool": destination.nodepool or None,
                        "type": destination.instance_type or None,
                        "other_types": destination.other_types,
                        "price_per_hour": destination.price_per_hour,
                    }
                    for destination in entry.group.destinations
                ],
                {"type": "array", "items": {"$ref": "#/$defs/place"}},
                "Where they would be scheduled.",
                after="scheduler",
            ),
            Value(
                "nearest_pool",
                lambda entry, _: nearest.nodepool if (nearest := _nearest(entry)) is not None else None,
                str | None,
                "The NodePool closest to accepting them.",
            ),
            Value(
                "nearest_miss",
                lambda entry, _: miss_text(nearest) if (nearest := _nearest(entry)) is not None else None,
                str | None,
                "The obstacle there.",
            ),
            Value(
                "nodes_tried",
                lambda entry, _: len(entry.group.explanation.nodes) if entry.group.explanation is not None else None,
                int | None,
            ),
            Value(
                "nodes_refused",
                lambda entry, _: (
                    dict(refusal_counts(entry.group.explanation)) if entry.group.explanation is not None else {}
                ),
                dict[str, int],
                "Number of nodes by the reason they reject the pods.",
            ),
            Value(
                "error",
                lambda entry, _: str(entry.group.diagnosis.error) if entry.group.diagnosis.error is not None else None,
                str | None,
                "Karpenter's message, computed.",
            ),
            Value(
                "problems",
                lambda entry, _: list(entry.group.diagnosis.problems),
                list[str],
                "Faults of the pods, according to Karpenter.",
            ),
        ),
        filters={"turn": Field(FieldKind.TEXT, lambda entry, _: str(entry.group.cause), "no place, new node, gated…")},
    ),
    Column(
        Heading(
            "differ", "≠", "Disagreement between Karpenter, the scheduler and the computed answer.", 1, 26, drop_order=2
        ),
        _differ,
        lambda entry: disagreement_short(entry.group.disagreements[0]) if entry.group.disagreements else None,
        values=Value(
            "disagreements",
            lambda entry, _: [disagreement_text(disagreement) for disagreement in entry.group.disagreements],
            list[str],
            "Where Karpenter, the scheduler and the engine do not agree.",
        ),
    ),
)


def _text(entry: PendingEntry) -> str:
    group = entry.group
    return f"{group.name} {group.origin} {now_text(group)} {' '.join(pod.name for pod in group.pods)}".lower()


TABLE: Final[TableSpec[PendingEntry]] = TableSpec(
    noun="pending pods",
    columns=COLUMNS,
    text=_text,
    labels=lambda entry: entry.group.first.labels,
    key=lambda entry: entry.key,
    default_sort=Sort("now"),
    is_notable=lambda entry, _: entry.group.is_faulty,
)
