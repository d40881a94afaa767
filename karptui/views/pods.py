"""The table of pods: the words for one, its columns, and everything that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from karptui.karpenter.do_not_disrupt import ProtectionKind
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.kube import resources
from karptui.kube.pod import CREATING
from karptui.kube.timestamps import ABSENT_NS, NS_PER_SECOND
from karptui.kube.units import age_text, counted, cpu_text, duration_text, first_of, memory_text
from karptui.session.pods import PodEntry
from karptui.views.column import (
    NOTHING,
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Value,
    Words,
    amount_column,
    count_column,
    text_column,
)
from karptui.views.instants import age_column, seconds_since
from karptui.views.row import TONE_RANKS, ZERO, Cell, Tone, text_cell
from karptui.views.sanitize import clean, short_name
from karptui.views.table import Sort, TableSpec
from karptui.views.usage import latest_cpu, latest_memory, used_column

_DEAD: Final = {
    ProtectionKind.INVALID: "protects nothing",
    ProtectionKind.ELAPSED: "has expired and no longer protects it",
}


def pod_status(entry: PodEntry) -> tuple[str, Tone, int]:
    """Return the most important state of a pod: a word, its tone, and since when (0 if unknown)."""
    pod = entry.pod
    if pod.is_terminating:
        return "Terminating", Tone.LEAVING, pod.deletion_ns
    if pod.waiting_reason:
        return pod.waiting_reason, Tone.ACTIVE if pod.waiting_reason in CREATING else Tone.FAULT, ABSENT_NS
    if pod.phase == "Pending" and not pod.node_name:
        word = pod.scheduled_reason or "Pending"
        return word, Tone.WARNING, pod.scheduled_ns or pod.created_ns
    if pod.phase == "Running" and pod.ready is False:
        return "NotReady", Tone.WARNING, ABSENT_NS
    tone = {"Running": Tone.GOOD, "Pending": Tone.ACTIVE, "Failed": Tone.FAULT, "Succeeded": Tone.MUTED}
    return pod.phase or "Unknown", tone.get(pod.phase, Tone.NORMAL), ABSENT_NS


def pod_status_text(entry: PodEntry, now_ns: int) -> str:
    """Return the status word, with its duration if known; of a terminating pod the rest of its grace period."""
    word, _, since_ns = pod_status(entry)
    if since_ns > now_ns:
        return f"{word}, {duration_text((since_ns - now_ns) // NS_PER_SECOND)} left"
    return f"{word} {age_text(since_ns, now_ns)}" if since_ns else word


def explain_pod(entry: PodEntry, now_ns: int) -> tuple[tuple[str, Tone], ...]:
    """Return a summary of a pod: state, node, and what blocks its eviction."""
    pod = entry.pod
    pieces: list[tuple[str, Tone]] = [(clean(pod_status_text(entry, now_ns)), pod_status(entry)[1])]
    between = (" · ", Tone.MUTED)
    if not pod.node_name and pod.scheduled_message:
        pieces += [(f": {clean(pod.scheduled_message)}", Tone.NORMAL)]
    if pod.node_name:
        pool = f" of {clean(entry.pool)}" if entry.pool else ""
        pieces += [between, (f"on {short_name(clean(pod.node_name))}{pool}", Tone.NORMAL)]
    asks = f"requests cpu {cpu_text(entry.cpu_millis)} mem {memory_text(entry.memory_bytes)}"
    pieces += [between, (asks if pod.requests else "requests nothing", Tone.NORMAL)]
    if entry.used is not None:
        used = f"uses cpu {cpu_text(latest_cpu(entry.used))} mem {memory_text(latest_memory(entry.used))}"
        pieces += [between, (f"{used} {age_text(entry.used.latest.at_ns, now_ns)} ago", Tone.MUTED)]
    if entry.made_by is not None and entry.made_by.is_by_name:
        pieces += [between, (f"{clean(entry.owner)} (guessed from its ReplicaSet's name)", Tone.MUTED)]
    protection = entry.protection(now_ns)
    if protection.is_active:
        pieces += [between, (f"{DO_NOT_DISRUPT} blocks its node's removal", Tone.WARNING)]
        return tuple(pieces)
    if entry.kept_by:
        pieces += [between, (_kept_words(entry), Tone.WARNING)]
    elif entry.protection_text(now_ns):
        pieces += [between, ("ends with its node", Tone.MUTED)]
    if protection.kind in _DEAD:
        pieces += [between, (f'{DO_NOT_DISRUPT} "{clean(protection.value)}" {_DEAD[protection.kind]}', Tone.NORMAL)]
    return tuple(pieces)


def _kept_words(entry: PodEntry) -> str:
    names = clean(", ".join(entry.kept_by))
    if len(entry.kept_by) > 1:
        return f"several PodDisruptionBudgets select it ({names}), so it is never evicted: it blocks its node's removal"
    return f"PodDisruptionBudget {names} allows no eviction now: it blocks its node's removal"


def _protection(entry: PodEntry, now_ns: int) -> Cell:
    text = entry.protection_text(now_ns)
    if entry.protection(now_ns).is_active:
        return text_cell(text, Tone.WARNING, short="DND")
    if entry.kept_by:
        return text_cell(text, Tone.WARNING, short="PDB")
    return text_cell(text, Tone.MUTED, short=text)


def _accelerator_words(entry: PodEntry, _: int) -> tuple[str, Tone]:
    count = entry.accelerators
    return (f"requests {counted(count, 'GPU')}", Tone.NORMAL) if count else NOTHING


def _priority_words(entry: PodEntry, _: int) -> tuple[str, Tone]:
    priority = entry.pod.template.priority
    return (f"priority {priority}", Tone.NORMAL) if priority else NOTHING


COLUMNS: Final[tuple[Column[PodEntry], ...]] = (
    text_column(
        Heading("name", "NAME", "The pod.", 18, 63, is_name=True),
        attrgetter("pod.name"),
        tone=lambda _: Tone.STRONG,
        json="name",
    ),
    text_column(
        Heading("namespace", "NAMESPACE", "Its namespace.", 10, 32),
        lambda entry: entry.pod.namespace,
        json="namespace",
        filters={"ns": Field(FieldKind.TEXT, lambda entry, _: entry.pod.namespace, "namespace")},
    ),
    Column(
        Heading("status", "STATUS", "The state that matters most; worst first when sorted.", 10, 24),
        lambda entry, now_ns: text_cell(pod_status_text(entry, now_ns), pod_status(entry)[1]),
        lambda entry: TONE_RANKS.get(pod_status(entry)[1], 9),
        values=(
            Value("status", lambda entry, _: pod_status(entry)[0], str),
            Value("status_seconds", lambda entry, now_ns: seconds_since(pod_status(entry)[2], now_ns), int | None),
        ),
        filters=Field(FieldKind.TEXT, lambda entry, _: pod_status(entry)[0], "Running, Unschedulable…"),
    ),
    amount_column(
        NumberHeading("cpu", "CPU", "Cpu requested.", 5),
        FieldKind.CPU,
        attrgetter("cpu_millis"),
        "cpu_millis",
        "Effective requests.",
    ),
    amount_column(
        NumberHeading("mem", "MEM", "Memory requested.", 6),
        FieldKind.BYTES,
        attrgetter("memory_bytes"),
        "mem_bytes",
    ),
    used_column(
        resources.CPU,
        "Cpu usage, and its share of the request (metrics-server, latest measurement).",
        lambda entry: entry.used,
        lambda entry: entry.cpu_millis,
        filter_help="cpu in use",
    ),
    used_column(
        resources.MEMORY,
        "Memory usage, and its share of the request (metrics-server, latest measurement).",
        lambda entry: entry.used,
        lambda entry: entry.memory_bytes,
        filter_help="memory in use",
    ),
    count_column(
        NumberHeading("gpu", "GPU", "Accelerators requested.", 3, is_wide_only=True),
        lambda entry: entry.accelerators,
        json="gpu",
        words=Words(2, _accelerator_words),
    ),
    text_column(
        Heading("node", "NODE", "The node it is bound to.", 14, 48, drop_order=3, is_name=True),
        attrgetter("pod.node_name"),
        short=lambda entry: short_name(entry.pod.node_name),
        or_null="node",
        filters=Field(FieldKind.TEXT, lambda entry, _: (entry.pod.node_name, short_name(entry.pod.node_name)), "node"),
    ),
    text_column(
        Heading("pool", "POOL", "The NodePool of its node.", 7, 24, drop_order=4),
        lambda entry: entry.pool,
        or_null="pool",
    ),
    text_column(
        Heading("owner", "OWNER", "Its workload: the Deployment rather than the ReplicaSet.", 14, 40, drop_order=5),
        lambda entry: entry.owner,
        values=Value("owner", lambda entry, _: entry.owner or None, str | None, "The controller as rs/front-5c9."),
        filters=Field(FieldKind.TEXT, lambda entry, _: entry.owner, "workload: deploy/front*"),
        words=Words(1, lambda entry, _: (f"owned by {clean(entry.owner)}", Tone.NORMAL) if entry.owner else NOTHING),
    ),
    Column(
        Heading(
            "protection",
            "PROTECTION",
            "do-not-disrupt (DND), and a PodDisruptionBudget that allows no eviction (PDB), block "
            "its node's removal; DaemonSet and static pods end with the node.",
            3,
            22,
            drop_order=2,
        ),
        _protection,
        lambda _: None,
        sort_at=lambda entry, now_ns: entry.protection_text(now_ns) or None,
        values=Value(
            "protection",
            lambda entry, now_ns: entry.protection_text(now_ns) or None,
            str | None,
            "do-not-disrupt with its value, PDB with the name of what allows no eviction, DaemonSet or static.",
        ),
        filters=Field(
            FieldKind.TEXT,
            lambda entry, now_ns: entry.protection_text(now_ns),
            "do-not-disrupt*, PDB*, DaemonSet, static",
        ),
    ),
    Column(
        Heading("priority", "PRIORITY", "Its priority.", is_right_aligned=True, is_wide_only=True),
        lambda entry, _: Cell(str(entry.pod.template.priority)) if entry.pod.template.priority else ZERO,
        lambda entry: entry.pod.template.priority,
        values=Value("priority", lambda entry, _: entry.pod.template.priority, int),
        filters=Field(FieldKind.COUNT, lambda entry, _: entry.pod.template.priority, "priority"),
        words=Words(3, _priority_words),
    ),
    age_column(
        Heading("age", "AGE", "Since it was created.", is_right_aligned=True, drop_order=1),
        attrgetter("pod.created_ns"),
        words_place=4,
    ),
)


def _text(entry: PodEntry) -> str:
    pod = entry.pod
    return f"{pod.namespace}/{pod.name} {pod.node_name} {entry.pool} {entry.owner} {pod_status(entry)[0]}".lower()


TABLE: Final[TableSpec[PodEntry]] = TableSpec(
    noun="pods",
    columns=COLUMNS,
    text=_text,
    labels=lambda entry: entry.pod.labels,
    key=attrgetter("key"),
    default_sort=Sort("name"),
    is_notable=lambda entry, now_ns: pod_status(entry)[1] in (Tone.FAULT, Tone.WARNING) or entry.keeps_node(now_ns),
)


def pods_of_node_table() -> TableSpec[PodEntry]:
    """Return the table without the columns that say the same in every row of one node."""
    return TABLE.without("node", "pool")


_MOST_NAMES: Final = 3


def lost_text(keys: Sequence[str]) -> str:
    """Return ``2 pods would be lost (no owner): tools/a, tools/b``; empty without any."""
    names = first_of([clean(key) for key in keys], _MOST_NAMES)
    return f"{counted(len(keys), 'pod')} would be lost (no owner): {names}" if keys else ""
