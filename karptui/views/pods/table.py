"""The table of the Pods screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from karptui.disruption.do_not_disrupt import ProtectionKind
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, cpu_text, memory_text
from karptui.session.pods import PodEntry
from karptui.views.column import Column, Heading
from karptui.views.fields import Field, FieldKind
from karptui.views.live_usage import latest_cpu, latest_memory, used_cell
from karptui.views.names import short_name
from karptui.views.pods.status import pod_status, pod_status_text
from karptui.views.pods.told import TOLD
from karptui.views.query import Subject
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone, text_cell
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec, natural_key

_DEAD: Final = {
    ProtectionKind.INVALID: "protects nothing",
    ProtectionKind.ELAPSED: "is over and protects nothing any more",
}
_RANKS: Final = {Tone.FAULT: 0, Tone.WARNING: 1, Tone.LEAVING: 2, Tone.ACTIVE: 3}


def _status(entry: PodEntry, now_ns: int) -> Cell:
    return text_cell(pod_status_text(entry, now_ns), pod_status(entry)[1])


def _protection(entry: PodEntry, now_ns: int) -> Cell:
    text = entry.protection_text(now_ns)
    if entry.protection(now_ns).is_active:
        return text_cell(text, Tone.WARNING, short="DND")
    return text_cell(text, Tone.MUTED, short=text)


def _is_notable(entry: PodEntry, now_ns: int) -> bool:
    return pod_status(entry)[1] in (Tone.FAULT, Tone.WARNING) or entry.protection(now_ns).is_active


def _age(entry: PodEntry, now_ns: int) -> Cell:
    return Cell(age_text(entry.pod.created_ns, now_ns)) if entry.pod.created_ns else NOT_AVAILABLE


def _amount(text: str) -> Cell:
    return Cell(text, Tone.MUTED) if text == "0" else Cell(text)


COLUMNS: Final[tuple[Column[PodEntry], ...]] = (
    Column(
        Heading("name", "NAME", "The pod.", min_width=18, max_width=63, is_name=True),
        lambda entry, _: text_cell(entry.pod.name, Tone.STRONG),
        lambda entry: natural_key(entry.pod.name),
    ),
    Column(
        Heading("namespace", "NAMESPACE", "Its namespace.", min_width=10, max_width=32),
        lambda entry, _: text_cell(entry.pod.namespace),
        lambda entry: entry.pod.namespace,
    ),
    Column(
        Heading(
            "status", "STATUS", "The state that matters most; worst first when sorted.", min_width=10, max_width=24
        ),
        _status,
        lambda entry: float(_RANKS.get(pod_status(entry)[1], 9)),
    ),
    Column(
        Heading("cpu", "CPU", "Cpu requested.", min_width=5, is_right_aligned=True, is_descending_first=True),
        lambda entry, _: _amount(cpu_text(entry.cpu_millis)),
        lambda entry: float(entry.cpu_millis),
    ),
    Column(
        Heading("mem", "MEM", "Memory requested.", min_width=6, is_right_aligned=True, is_descending_first=True),
        lambda entry, _: _amount(memory_text(entry.memory_bytes)),
        lambda entry: float(entry.memory_bytes),
    ),
    Column(
        Heading(
            "used_cpu",
            "CPU USED",
            "Cpu really used, and how much that is of the request (metrics-server, latest measurement).",
            min_width=8,
            is_right_aligned=True,
            is_wide_only=True,
            is_descending_first=True,
        ),
        lambda entry, _: used_cell(entry.used, latest_cpu, cpu_text, entry.cpu_millis),
        lambda entry: float(latest_cpu(entry.used)) if entry.used is not None else None,
    ),
    Column(
        Heading(
            "used_mem",
            "MEM USED",
            "Memory really used, and how much that is of the request (metrics-server, latest measurement).",
            min_width=8,
            is_right_aligned=True,
            is_wide_only=True,
            is_descending_first=True,
        ),
        lambda entry, _: used_cell(entry.used, latest_memory, memory_text, entry.memory_bytes),
        lambda entry: float(latest_memory(entry.used)) if entry.used is not None else None,
    ),
    Column(
        Heading(
            "gpu",
            "GPU",
            "Accelerators requested.",
            min_width=3,
            is_right_aligned=True,
            is_wide_only=True,
            is_descending_first=True,
        ),
        lambda entry, _: Cell(str(entry.accelerators)) if entry.accelerators else NOT_APPLICABLE,
        lambda entry: float(entry.accelerators) or None,
    ),
    Column(
        Heading("node", "NODE", "The node it is bound to.", min_width=14, max_width=48, drop_order=3, is_name=True),
        lambda entry, _: text_cell(entry.pod.node_name, short=short_name(entry.pod.node_name)),
        lambda entry: natural_key(entry.pod.node_name) if entry.pod.node_name else None,
    ),
    Column(
        Heading("pool", "POOL", "The NodePool of its node.", min_width=7, max_width=24, drop_order=4),
        lambda entry, _: text_cell(entry.pool),
        lambda entry: entry.pool or None,
    ),
    Column(
        Heading(
            "owner",
            "OWNER",
            "The workload that made it: a Deployment rather than its ReplicaSet.",
            min_width=14,
            max_width=40,
            drop_order=5,
        ),
        lambda entry, _: text_cell(entry.owner),
        lambda entry: entry.owner or None,
    ),
    Column(
        Heading(
            "protection",
            "PROTECTION",
            "do-not-disrupt (DND) keeps Karpenter from emptying the node; DaemonSet and static pods leave with it.",
            min_width=3,
            max_width=22,
            drop_order=2,
        ),
        _protection,
        lambda _: None,
        lambda entry, now_ns: entry.protection_text(now_ns) or None,
    ),
    Column(
        Heading("priority", "PRIORITY", "Its priority.", is_right_aligned=True, is_wide_only=True),
        lambda entry, _: _amount(str(entry.pod.template.priority)),
        lambda entry: float(entry.pod.template.priority),
    ),
    Column(
        Heading("age", "AGE", "Since it was created.", min_width=4, is_right_aligned=True, drop_order=1),
        _age,
        lambda entry: -float(entry.pod.created_ns) if entry.pod.created_ns else None,
    ),
)
"""Every column in order."""

FIELDS: Final[Mapping[str, Field[PodEntry]]] = {
    "name": Field(FieldKind.TEXT, lambda entry, _: entry.pod.name, help="pod"),
    "ns": Field(FieldKind.TEXT, lambda entry, _: entry.pod.namespace, help="namespace"),
    "node": Field(FieldKind.TEXT, lambda entry, _: (entry.pod.node_name, short_name(entry.pod.node_name)), help="node"),
    "pool": Field(FieldKind.TEXT, lambda entry, _: entry.pool, help="NodePool"),
    "owner": Field(FieldKind.TEXT, lambda entry, _: entry.owner, help="workload: deploy/front*"),
    "status": Field(FieldKind.TEXT, lambda entry, _: pod_status(entry)[0], help="Running, Unschedulable…"),
    "protection": Field(
        FieldKind.TEXT,
        lambda entry, now_ns: entry.protection_text(now_ns),
        help="do-not-disrupt*, DaemonSet, static",
    ),
    "cpu": Field(FieldKind.CPU, lambda entry, _: entry.cpu_millis, help="cpu requested"),
    "mem": Field(FieldKind.BYTES, lambda entry, _: entry.memory_bytes, help="memory requested"),
    "used_cpu": Field(
        FieldKind.CPU, lambda entry, _: latest_cpu(entry.used) if entry.used is not None else None, help="cpu in use"
    ),
    "used_mem": Field(
        FieldKind.BYTES,
        lambda entry, _: latest_memory(entry.used) if entry.used is not None else None,
        help="memory in use",
    ),
    "gpu": Field(FieldKind.COUNT, lambda entry, _: entry.accelerators, help="accelerators requested"),
    "priority": Field(FieldKind.COUNT, lambda entry, _: entry.pod.template.priority, help="priority"),
    "age": Field(
        FieldKind.DURATION,
        lambda entry, now_ns: (now_ns - entry.pod.created_ns) / NS_PER_SECOND if entry.pod.created_ns else None,
        help="since it was created",
    ),
}


def _text(entry: PodEntry) -> str:
    pod = entry.pod
    return f"{pod.namespace}/{pod.name} {pod.node_name} {entry.pool} {entry.owner} {pod_status(entry)[0]}".lower()


TABLE: Final[TableSpec[PodEntry]] = TableSpec(
    noun="pods",
    columns=COLUMNS,
    subject=Subject(text=_text, fields=FIELDS, labels=lambda entry: entry.pod.labels),
    key=lambda entry: entry.pod.key,
    default_sort=Sort("name"),
    is_notable=_is_notable,
    told=TOLD,
)
"""The table of the Pods screen."""


def pods_of_node_table() -> TableSpec[PodEntry]:
    """Return the table without the columns that say the same in every row of one node."""
    columns = tuple(column for column in COLUMNS if column.heading.id not in ("node", "pool"))
    return msgspec.structs.replace(TABLE, columns=columns)


def explain_pod(entry: PodEntry, now_ns: int) -> tuple[tuple[str, Tone], ...]:
    """Return a sentence about a pod: its state, where it runs, and what its node's removal would meet."""
    pod = entry.pod
    pieces: list[tuple[str, Tone]] = [(clean(pod_status_text(entry, now_ns)), pod_status(entry)[1])]
    between = (" · ", Tone.MUTED)
    if not pod.node_name and pod.scheduled_message:
        pieces += [(f": {clean(pod.scheduled_message)}", Tone.NORMAL)]
    if pod.node_name:
        pool = f" of {clean(entry.pool)}" if entry.pool else ""
        pieces += [between, (f"on {short_name(clean(pod.node_name))}{pool}", Tone.NORMAL)]
    asks = f"asks cpu {cpu_text(entry.cpu_millis)} mem {memory_text(entry.memory_bytes)}"
    pieces += [between, (asks if pod.requests else "asks for nothing", Tone.NORMAL)]
    if entry.used is not None:
        used = f"uses cpu {cpu_text(latest_cpu(entry.used))} mem {memory_text(latest_memory(entry.used))}"
        pieces += [between, (f"{used} {age_text(entry.used.latest.at_ns, now_ns)} ago", Tone.MUTED)]
    if entry.made_by is not None and entry.made_by.is_by_name:
        pieces += [between, (f"{clean(entry.owner)} by the name of its ReplicaSet, which is not known", Tone.MUTED)]
    protection = entry.protection(now_ns)
    if protection.is_active:
        pieces += [between, (f"{DO_NOT_DISRUPT} keeps its node from being consolidated", Tone.WARNING)]
        return tuple(pieces)
    if entry.protection_text(now_ns):
        pieces += [between, ("leaves with its node", Tone.MUTED)]
    if protection.kind in _DEAD:
        pieces += [between, (f'{DO_NOT_DISRUPT} "{clean(protection.value)}" {_DEAD[protection.kind]}', Tone.NORMAL)]
    return tuple(pieces)
