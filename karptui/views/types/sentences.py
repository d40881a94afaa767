"""What stands above a NodePool's types: the filters with their counts, prices and their source, findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karptui.aws.evidence import Evidence
from karptui.aws.lint import LintSeverity
from karptui.aws.prices import NodePrices
from karptui.aws.region import FactPhase, shared_sentence
from karptui.karpenter.controller import SETTING_NAMES
from karptui.kube.units import count_text, counted
from karptui.provisioning.pool_types import Filter, FilterCount
from karptui.session.types import PoolEntry
from karptui.views.prices import book_sentence
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.types.pools import carries

_WORDS: Final[Mapping[Filter, str]] = {
    Filter.REQUIREMENTS: "requirements",
    Filter.OFFERINGS: "not offered",
    Filter.RESERVED: "reserved more than the node",
    Filter.DAEMONSETS: "DaemonSets do not fit",
    Filter.POD: "no pod fits beside them",
    Filter.LIMITS: "limits",
}
_REASONS_SHOWN: Final = 3
_SHOWN_SETTINGS: Final = frozenset(SETTING_NAMES) - {"VM_MEMORY_OVERHEAD_PERCENT", "CLUSTER_NAME"}


def filter_lines(entry: PoolEntry) -> tuple[Pieces, ...]:
    """Return the way from all types to those that are left, and what a new node carries."""
    if entry.problem:
        return ((("✘ ", Tone.FAULT), (clean(entry.problem), Tone.FAULT)),)
    counts = entry.counts
    pieces: list[tuple[str, Tone]] = [(counted(entry.types, "type"), Tone.NORMAL)]
    pieces += [
        (f" −{count_text(count.removed)} {_WORDS[count.filter]}", _tone(count))
        for count in counts
        if count.removed or count.filter is Filter.REQUIREMENTS
    ]
    pieces.append((f" = {count_text(len(entry.left))} left", Tone.STRONG if entry.left else Tone.FAULT))
    lines: list[Pieces] = [tuple(pieces)]
    text = carries(entry)
    if text:
        lines.append((("a new node carries ", Tone.MUTED), (text, Tone.DAEMON)))
    if entry.why_not:
        lines.append((("▲ ", Tone.WARNING), (clean(entry.why_not), Tone.WARNING)))
    return tuple(lines)


def reason_lines(entry: PoolEntry) -> tuple[Pieces, ...]:
    """Return what each filter took types for, most frequent first."""
    return tuple(
        ((f"{_WORDS[count.filter]}: ", Tone.MUTED), (_reasons(entry, count), Tone.MUTED))
        for count in entry.counts
        if count.removed and not entry.problem
    )


def _tone(count: FilterCount) -> Tone:
    return Tone.MUTED if count.filter is Filter.REQUIREMENTS else Tone.WARNING


def _reasons(entry: PoolEntry, count: FilterCount) -> str:
    reasons = count.reasons
    if count.filter is Filter.DAEMONSETS:
        crowded = entry.without_pod_slots
        if crowded:
            names = ", ".join(f"{name} has {slots} pod slots" for slots, name in crowded[:_REASONS_SHOWN])
            return f"{names}{_more(len(crowded) - _REASONS_SHOWN)}"
    shown = " · ".join(f"{clean(reason)} −{count_text(number)}" for reason, number in reasons[:_REASONS_SHOWN])
    return f"{shown}{_more(len(reasons) - _REASONS_SHOWN)}"


def _more(count: int) -> str:
    return f" and {count_text(count)} more" if count > 0 else ""


def finding_lines(entry: PoolEntry) -> tuple[Pieces, ...]:
    """Return the findings that concern the pool, each with what to do."""
    lines: list[Pieces] = []
    for finding in sorted(entry.findings, key=lambda one: one.severity is not LintSeverity.ERROR):
        mark, tone = ("✘", Tone.FAULT) if finding.severity is LintSeverity.ERROR else ("▲", Tone.WARNING)
        lines.append(
            (
                (f"{mark} {clean(finding.object)}: ", tone),
                (clean(finding.fact), Tone.NORMAL),
                (f" → {clean(finding.remedy)}", Tone.GOOD),
            )
        )
    return tuple(lines)


def source_lines(entry: PoolEntry | None, evidence: Evidence, book: NodePrices) -> tuple[Pieces, ...]:
    """Return where types, settings and prices come from; one quiet sentence where AWS cannot be asked."""
    percent = evidence.settings.vm_memory_overhead_percent
    parts = [book_sentence(book)]
    if entry is not None:
        parts.append(f"types: {clean(entry.origin)}")
    parts.append(f"VM overhead {percent:g} ({clean(evidence.origin_of('VM_MEMORY_OVERHEAD_PERCENT'))})")
    parts += settings_words(evidence)
    quiet = aws_sentence(evidence)
    if quiet:
        parts.append(quiet)
    return (((" · ".join(parts), Tone.MUTED),),)


def settings_words(evidence: Evidence) -> list[str]:
    """Return the other settings that somebody has given, with who has, and what another version than modelled means."""
    by_origin: dict[str, list[str]] = {}
    for name, origin in evidence.setting_origins.items():
        if name in _SHOWN_SETTINGS:
            value = evidence.settings.environment.get(name, "?")
            by_origin.setdefault(origin, []).append(f"{name}={clean(value)}")
    words = [f"{' '.join(given)} ({clean(origin)})" for origin, given in by_origin.items()]
    if evidence.controller is not None and evidence.controller.version_sentence:
        words.append(clean(evidence.controller.version_sentence))
    return words


def aws_sentence(evidence: Evidence) -> str:
    """Return how things stand with AWS and Karpenter's metrics where they do not answer, in one sentence."""
    words = [
        clean(status.sentence)
        for status in (evidence.metrics_status, evidence.controller_status)
        if status is not None and status.phase is FactPhase.UNAVAILABLE
    ]
    if evidence.fact_statuses:
        shared = shared_sentence(evidence.fact_statuses.values())
        if shared:
            words.append(clean(shared))
        else:
            missing = [kind for kind, one in evidence.fact_statuses.items() if one.phase is FactPhase.UNAVAILABLE]
            if missing:
                words.append(f"AWS does not tell {', '.join(missing)} (:sources says why)")
    return " · ".join(words)
