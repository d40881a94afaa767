"""All NodePools as rows, and the header of a NodePool's types: filters with counts, sources, findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karptui.aws.evidence import Evidence
from karptui.aws.lint import LintSeverity
from karptui.aws.money import node_price_text
from karptui.aws.prices import NodePrices
from karptui.aws.region import FactPhase, shared_sentence
from karptui.karpenter.controller import SETTING_NAMES
from karptui.kube import resources
from karptui.kube.units import count_text, counted, first_of
from karptui.provisioning.pool_types import Filter, FilterCount
from karptui.session.types import PoolEntry, TypeEntry
from karptui.views.column import Column, Field, FieldKind, Heading, NumberHeading, Value, lifted, text_column
from karptui.views.prices import book_sentence, per_hour_of
from karptui.views.row import NOT_APPLICABLE, Cell, Pieces, Tone, text_cell
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec
from karptui.views.types.columns import carries_text, safe_percent

_NONE_LEFT: Final = "none left: "
_TITLES: Final = {
    Filter.REQUIREMENTS: ("REQUIRED", "Types that the NodePool's requirements allow."),
    Filter.OFFERINGS: ("OFFERED", "Of these, types with an available zone and capacity type."),
    Filter.DAEMONSETS: ("DAEMONSETS", "Of these, types that the DaemonSets' pods fit on."),
    Filter.POD: ("FIT A POD", "Of these, types with room for a matching pending pod, or for any pod if none matches."),
    Filter.LIMITS: ("LIMITS", "Of these, types within the NodePool's limits: the types of a new node."),
}


def _count_column(step: Filter) -> Column[PoolEntry]:
    title, help_ = _TITLES[step]
    drop = {Filter.OFFERINGS: 4, Filter.POD: 5, Filter.LIMITS: 0}.get(step, 3)
    return Column(
        NumberHeading(step.value, title, help_, drop_order=drop),
        lambda entry, _: _count_cell(entry, step),
        lambda entry: entry.left_after[step],
    )


def _left_value(step: Filter) -> Value[PoolEntry]:
    after = "types" if step is Filter.REQUIREMENTS else ""
    return Value(f"left_after_{step.value}", lambda entry, _: entry.left_after[step], int, after=after)


def _count_cell(entry: PoolEntry, step: Filter) -> Cell:
    if entry.problem:
        return NOT_APPLICABLE
    left = entry.left_after[step]
    return Cell(count_text(left), Tone.FAULT if not left else Tone.NORMAL if entry.removed_by[step] else Tone.MUTED)


def carries(entry: PoolEntry) -> str:
    """Return the DaemonSet requests of a new node, or their range over the remaining types."""
    texts = sorted({(c.daemon_pods, resources.memory_bytes(c.daemons), carries_text(c)) for c in entry.carries})
    if not texts:
        return ""
    return texts[0][2] if len(texts) == 1 else f"{texts[0][2]} … {texts[-1][2]}"


def _cheapest(entry: PoolEntry, _: int) -> Cell:
    if entry.first is None:
        return NOT_APPLICABLE
    price = entry.first.on_demand or entry.first.spot
    name = clean(entry.first.name)
    return Cell(f"{name} {node_price_text(price.per_hour, price.currency) if price else ''}".strip(), short=name)


def note_of(entry: PoolEntry) -> tuple[str, Tone]:
    """Return the most important note: why it has no types or is excluded, or its findings."""
    if entry.problem:
        return entry.problem, Tone.FAULT
    if entry.why_not:
        return entry.why_not, Tone.WARNING
    if entry.is_guessed:
        beside = f", {count_text(entry.named)} more named by Karpenter's metrics" if entry.named else ""
        seen = counted(entry.types - entry.named, "type")
        return f"only types that nodes show: {seen} seen{beside}", Tone.WARNING
    if not entry.left:
        worst = max(entry.counts, key=lambda count: count.removed if count.filter is not Filter.REQUIREMENTS else 0)
        return f"{_NONE_LEFT}{worst.filter}", Tone.FAULT
    errors = sum(finding.severity is LintSeverity.ERROR for finding in entry.findings)
    if entry.findings:
        words = counted(len(entry.findings), "finding")
        return words, Tone.FAULT if errors else Tone.WARNING
    return "", Tone.MUTED


def _note_cell(entry: PoolEntry) -> Cell:
    text, tone = note_of(entry)
    return text_cell(text, tone, short=text.replace(_NONE_LEFT, "✘ ") if text.startswith(_NONE_LEFT) else "")


_CHEAPEST: Final[tuple[Value[TypeEntry], ...]] = (
    Value("cheapest", lambda cheapest, _: cheapest.name, str | None, after="left"),
    Value("cheapest_price_per_hour", lambda cheapest, _: per_hour_of(cheapest.on_demand), float | None),
)
COLUMNS: Final[tuple[Column[PoolEntry], ...]] = (
    text_column(
        Heading("name", "POOL", "The NodePool.", 8, 30),
        lambda entry: entry.name,
        tone=lambda _: Tone.STRONG,
        json="name",
    ),
    Column(
        Heading("rank", "#", "Order in which Karpenter tries pools.", 2, is_right_aligned=True),
        lambda entry, _: Cell(str(entry.rank)) if entry.rank is not None else NOT_APPLICABLE,
        lambda entry: entry.rank,
        values=Value("rank", lambda entry, _: entry.rank, int | None),
    ),
    Column(
        NumberHeading("all", "TYPES", "Types of the NodeClass.", drop_order=2),
        lambda entry, _: Cell(count_text(entry.types), Tone.MUTED),
        lambda entry: entry.types,
        values=Value("types", lambda entry, _: entry.types, int),
    ),
    *(_count_column(step) for step in _TITLES),
    text_column(
        Heading(
            "carries", "NEW NODE CARRIES", "DaemonSet pods of a new node, and their requests.", 16, 40, drop_order=7
        ),
        carries,
        tone=lambda _: Tone.DAEMON,
        filters={},
    ),
    Column(
        Heading("cheapest", "CHEAPEST", "Cheapest remaining type by Karpenter's prices.", 10, 30, drop_order=6),
        _cheapest,
        lambda entry: entry.first.price_per_hour if entry.first is not None else None,
        values=(
            *lifted(_CHEAPEST, lambda entry: entry.first),
            Value(
                "safe_overhead_percent",
                lambda entry, _: safe_percent(entry),
                float | None,
                "The least VM_MEMORY_OVERHEAD_PERCENT that overestimates no type with nodes.",
            ),
        ),
    ),
    Column(
        Heading("note", "NOTE", "Why there are no types, why the pool is excluded, or findings.", 8, 80, drop_order=1),
        lambda entry, _: _note_cell(entry),
        lambda entry: note_of(entry)[0] or None,
        values=(
            Value("note", lambda entry, _: note_of(entry)[0] or None, str | None),
            Value(
                "findings",
                lambda entry, _: [f"{finding.object}: {finding.fact} {finding.remedy}" for finding in entry.findings],
                list[str],
            ),
        ),
        filters=Field(FieldKind.TEXT, lambda entry, _: note_of(entry)[0], "the problem"),
    ),
)

TABLE: Final[TableSpec[PoolEntry]] = TableSpec(
    noun="NodePools",
    columns=COLUMNS,
    more_filters={
        "left": Field(FieldKind.COUNT, lambda entry, _: len(entry.left), "types that a new node may have"),
        "type": Field(FieldKind.TEXT, lambda entry, _: entry.left, "a remaining type"),
    },
    more_values=(*(_left_value(step) for step in Filter), Value("left", lambda entry, _: len(entry.left), int)),
    text=lambda entry: f"{entry.name} {note_of(entry)[0]}".lower(),
    key=lambda entry: entry.name,
    default_sort=Sort("rank"),
    is_notable=lambda entry, _: bool(note_of(entry)[0]),
)


_WORDS: Final[Mapping[Filter, str]] = {
    Filter.REQUIREMENTS: "requirements",
    Filter.OFFERINGS: "not available",
    Filter.RESERVED: "reserved more than the node",
    Filter.DAEMONSETS: "DaemonSets do not fit",
    Filter.POD: "no pod fits after them",
    Filter.LIMITS: "limits",
}
_REASONS_SHOWN: Final = 3
_SHOWN_SETTINGS: Final = frozenset(SETTING_NAMES) - {"VM_MEMORY_OVERHEAD_PERCENT", "CLUSTER_NAME"}


def _filter_words(entry: PoolEntry, count: FilterCount) -> str:
    """Return the name of a filter; without DaemonSets on a new node, pods are compared with nothing."""
    return (
        "no pod fits"
        if count.filter is Filter.POD and not any(carried.daemon_pods for carried in entry.carries)
        else _WORDS[count.filter]
    )


def filter_lines(entry: PoolEntry) -> tuple[Pieces, ...]:
    """Return the filters from all types to the remaining ones, and the DaemonSet requests of a new node."""
    if entry.problem:
        return ((("✘ ", Tone.FAULT), (clean(entry.problem), Tone.FAULT)),)
    counts = entry.counts
    pieces: list[tuple[str, Tone]] = [(counted(entry.types, "type"), Tone.NORMAL)]
    pieces += [
        (
            f" −{count_text(count.removed)} {_filter_words(entry, count)}",
            Tone.MUTED if count.filter is Filter.REQUIREMENTS else Tone.WARNING,
        )
        for count in counts
        if count.removed or count.filter is Filter.REQUIREMENTS
    ]
    pieces.append((f" = {count_text(len(entry.left))} left", Tone.STRONG if entry.left else Tone.FAULT))
    lines: list[Pieces] = [tuple(pieces)]
    if text := carries(entry):
        lines.append((("a new node carries ", Tone.MUTED), (text, Tone.DAEMON)))
    if entry.why_not:
        lines.append((("▲ ", Tone.WARNING), (clean(entry.why_not), Tone.WARNING)))
    return tuple(lines)


def reason_lines(entry: PoolEntry) -> tuple[Pieces, ...]:
    """Return the reasons of each filter, most frequent first."""
    return tuple(
        ((f"{_filter_words(entry, count)}: ", Tone.MUTED), (_reasons(entry, count), Tone.MUTED))
        for count in entry.counts
        if count.removed and not entry.problem
    )


def _reasons(entry: PoolEntry, count: FilterCount) -> str:
    reasons = count.reasons
    if count.filter is Filter.DAEMONSETS and (crowded := entry.without_pod_slots):
        return first_of([f"{name} has {slots} pod slots" for slots, name in crowded], _REASONS_SHOWN)
    return first_of([f"{clean(reason)} −{count_text(number)}" for reason, number in reasons], _REASONS_SHOWN, " · ")


def finding_lines(entry: PoolEntry) -> tuple[Pieces, ...]:
    """Return the findings that concern the pool, each with what to do."""
    lines: list[Pieces] = []
    for finding in sorted(entry.findings, key=lambda lint_finding: lint_finding.severity is not LintSeverity.ERROR):
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
    """Return the sources of types, settings and prices; one short sentence if AWS cannot be queried."""
    percent = evidence.settings.vm_memory_overhead_percent
    parts = [book_sentence(book)]
    if entry is not None:
        parts.append(f"types: {clean(entry.origin)}")
    parts.append(f"VM overhead {percent:g} ({clean(evidence.origin_of('VM_MEMORY_OVERHEAD_PERCENT'))})")
    parts += settings_words(evidence)
    if quiet := aws_sentence(evidence):
        parts.append(quiet)
    return (((" · ".join(parts), Tone.MUTED),),)


def settings_words(evidence: Evidence) -> list[str]:
    """Return the user's other settings with their origin, and the effect of an unmodelled version."""
    by_origin: dict[str, list[str]] = {}
    for name, origin in evidence.setting_origins.items():
        if name in _SHOWN_SETTINGS:
            value = evidence.settings.environment.get(name, "?")
            by_origin.setdefault(origin, []).append(f"{name}={clean(value)}")
    words = [f"{' '.join(settings)} ({clean(origin)})" for origin, settings in by_origin.items()]
    if evidence.controller is not None and evidence.controller.version_sentence:
        words.append(clean(evidence.controller.version_sentence))
    return words


def aws_sentence(evidence: Evidence) -> str:
    """Return the state of AWS and Karpenter's metrics if they do not answer."""
    words: list[str] = [
        clean(status.sentence)
        for status in (evidence.metrics_status, evidence.controller_status)
        if status is not None and status.phase is FactPhase.UNAVAILABLE
    ]
    if evidence.fact_statuses:
        if shared := shared_sentence(evidence.fact_statuses.values()):
            words.append(clean(shared))
        else:
            missing = [kind for kind, status in evidence.fact_statuses.items() if status.phase is FactPhase.UNAVAILABLE]
            if missing:
                words.append(f"AWS does not return {', '.join(missing)} (see :sources)")
    return " · ".join(words)
