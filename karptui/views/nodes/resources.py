"""Resource columns of nodes: requests, usage, and the difference to the NodeClaim."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from karptui.kube import resources
from karptui.kube.quantity import NANO
from karptui.kube.units import age_text, counted, cpu_text, memory_text
from karptui.session.nodes import Delta, NodeEntry, PodAccess
from karptui.state.usage import Share
from karptui.views.column import NOTHING, Column, Field, FieldKind, Heading, NumberHeading, Value, Words, cell_words
from karptui.views.row import NOT_APPLICABLE, Cell, Tone
from karptui.views.sanitize import clean
from karptui.views.usage import (
    CPU_TEXTS,
    MEMORY_TEXTS,
    Texts,
    count_cell,
    latest_cpu,
    latest_memory,
    share_cell,
    share_values,
    used_column,
)


def _amount_cell(entry: NodeEntry, share: Share, texts: Texts = MEMORY_TEXTS) -> Cell:
    return share_cell(share, texts, _access(entry, share))


def _count_cell(entry: NodeEntry, share: Share) -> Cell:
    return count_cell(share, _access(entry, share))


def _access(entry: NodeEntry, share: Share) -> PodAccess:
    """Return whether requests are known, which they are for resources that the node lacks."""
    return entry.access if share.capacity else PodAccess.KNOWN


def _delta_cell(entry: NodeEntry, _: int) -> Cell:
    delta = entry.delta
    if delta is None:
        return NOT_APPLICABLE
    text = delta_text(delta)
    return Cell(text or "0", Tone.WARNING if delta.is_smaller else Tone.NORMAL if text else Tone.MUTED)


def _delta_words(entry: NodeEntry, _: int) -> tuple[str, Tone]:
    """Return the difference from the NodeClaim as text, if there is one."""
    delta = entry.delta
    if delta is None or not (text := delta_text(delta)):
        return NOTHING
    return f"vs NodeClaim {text}", Tone.WARNING if delta.is_smaller else Tone.NORMAL


def delta_text(delta: Delta) -> str:
    """Return the difference as text: ``−16Mi``, ``+120m −4 pods``; empty without a difference."""
    parts = (
        (delta.memory_bytes, memory_text(abs(delta.memory_bytes))),
        (delta.cpu_millis, cpu_text(abs(delta.cpu_millis))),
        (delta.pods, counted(abs(delta.pods), "pod")),
    )
    return " ".join(f"{'+' if amount > 0 else '−'}{text}" for amount, text in parts if amount)


def _ephemeral_words(entry: NodeEntry, _: int) -> tuple[str, Tone]:
    """Return the ephemeral-storage requests as text, if there are any."""
    is_idle = entry.access is PodAccess.KNOWN and not entry.ephemeral.requested
    return NOTHING if is_idle else cell_words(_amount_cell(entry, entry.ephemeral), "ephemeral ")


def _used_words(entry: NodeEntry, now_ns: int) -> tuple[str, Tone]:
    if entry.used is None:
        return NOTHING
    amounts = f"cpu {cpu_text(latest_cpu(entry.used))} mem {memory_text(latest_memory(entry.used))}"
    return f"used {amounts} {age_text(entry.used.latest.at_ns, now_ns)} ago", Tone.NORMAL


RESOURCE_COLUMNS: Final[Mapping[str, str]] = {
    "cpu": "cpu",
    "memory": "mem",
    "pods": "pods",
    "ephemeral-storage": "ephemeral",
    "nvidia.com/gpu": "gpu",
    "gpu": "gpu",
}
"""Column by the resource's name."""


def has_column(resource: str) -> bool:
    """Whether a resource may have a column: one of those above, any extended resource, huge pages."""
    return resource in RESOURCE_COLUMNS or "/" in resource or resource.startswith(resources.HUGEPAGES_PREFIX)


_BAR_HELP: Final = "Requested by pods / allocatable. Wide tables add a bar: ╍ DaemonSets ━ workload ┈ free."
_CPU_ABOUT: Final = (
    "Requests of all its pods, including DaemonSets; pods being deleted count until they are gone.",
    "DaemonSets' share of the requests.",
    "Allocatable.",
)
_GPU_ABOUT: Final = ("Accelerators of any vendor.", "", "")


def _share_values(
    name: str,
    unit: str,
    read: Callable[[NodeEntry], Share],
    about: tuple[str, str, str] = ("", "", ""),
    after: str = "",
) -> tuple[Value[NodeEntry], ...]:
    return share_values(
        name,
        unit,
        lambda entry: read(entry) if entry.node is not None and entry.access is PodAccess.KNOWN else None,
        lambda entry: read(entry).capacity if entry.node is not None else None,
        about=about,
        after=after,
    )


def _share_column(
    name: str,
    word: str,
    kind: FieldKind,
    read: Callable[[NodeEntry], Share],
    *,
    about: tuple[str, str, str] = ("", "", ""),
) -> Column[NodeEntry]:
    """Return the column with the bar of a resource that every node has."""
    is_cpu = kind is FieldKind.CPU
    return Column(
        NumberHeading(name, name.upper(), _BAR_HELP, min_width=4, fill_width=34, bar_min=0),
        lambda entry, _: _amount_cell(entry, read(entry), CPU_TEXTS if is_cpu else MEMORY_TEXTS),
        lambda entry: read(entry).percent,
        values=_share_values(name, "_millis" if is_cpu else "_bytes", read, about),
        filters={
            name: Field(
                kind, lambda entry, _: read(entry).requested, f"{word} requested", lambda entry: read(entry).percent
            ),
            f"free.{name}": Field(kind, lambda entry, _: read(entry).free, f"{word} that is left"),
        },
    )


CPU: Final = _share_column("cpu", "cpu", FieldKind.CPU, lambda entry: entry.cpu, about=_CPU_ABOUT)
MEMORY: Final = _share_column("mem", "memory", FieldKind.BYTES, lambda entry: entry.memory)

PODS: Final[Column[NodeEntry]] = Column(
    NumberHeading("pods", "PODS", "Pods on the node and its pod capacity.", 5, fill_width=18, bar_min=0, drop_order=2),
    lambda entry, _: _count_cell(entry, entry.pods),
    lambda entry: float(entry.pods.requested),
    values=_share_values("pods", "", lambda entry: entry.pods),
    filters=Field(FieldKind.COUNT, lambda entry, _: entry.pods.requested, "pods", lambda entry: entry.pods.percent),
    words=Words(2, lambda entry, _: cell_words(_count_cell(entry, entry.pods), after=" pods")),
)

ACCELERATORS: Final[Column[NodeEntry]] = Column(
    NumberHeading(
        "gpu", "GPU", "GPUs and other accelerators: requested of allocatable.", 3, bar_min=0, is_wide_only=True
    ),
    lambda entry, _: _count_cell(entry, entry.accelerators),
    lambda entry: float(entry.accelerators.capacity) or None,
    values=_share_values("gpu", "", lambda entry: entry.accelerators, _GPU_ABOUT, after="pods_allocatable"),
    filters=Field(FieldKind.COUNT, lambda entry, _: entry.accelerators.capacity, "GPUs and other accelerators"),
    words=Words(9, lambda entry, _: cell_words(_count_cell(entry, entry.accelerators), "gpu ")),
)

EPHEMERAL: Final[Column[NodeEntry]] = Column(
    Heading(
        "ephemeral",
        "EPHEMERAL",
        "Ephemeral storage: requested of allocatable.",
        9,
        fill_width=26,
        is_wide_only=True,
        is_descending_first=True,
    ),
    lambda entry, _: _amount_cell(entry, entry.ephemeral),
    lambda entry: entry.ephemeral.percent,
    values=_share_values("ephemeral", "_bytes", lambda entry: entry.ephemeral),
    words=Words(11, _ephemeral_words),
)

USED_CPU: Final[Column[NodeEntry]] = used_column(
    resources.CPU,
    "Cpu usage in percent of allocatable (metrics-server, latest measurement); Karpenter uses requests instead.",
    lambda entry: entry.used,
    lambda entry: entry.cpu.capacity if entry.node is not None else None,
    after="arch",
    words=Words(12, _used_words),
)

USED_MEMORY: Final[Column[NodeEntry]] = used_column(
    resources.MEMORY,
    "Memory usage in percent of allocatable (metrics-server, latest measurement); Karpenter uses requests instead.",
    lambda entry: entry.used,
    lambda entry: entry.memory.capacity if entry.node is not None else None,
)

DELTA: Final[Column[NodeEntry]] = Column(
    Heading(
        "delta",
        "Δ CLAIM",
        "Node less NodeClaim: a minus means that pods planned for the node may not fit.",
        7,
        is_right_aligned=True,
        is_wide_only=True,
    ),
    _delta_cell,
    lambda entry: float(entry.delta.memory_bytes) if entry.delta is not None else None,
    values=(
        Value(
            "delta_cpu_millis",
            lambda entry, _: entry.delta.cpu_millis if entry.delta is not None else None,
            int | None,
            "Allocatable of the node less that of its NodeClaim.",
            after="used_mem_bytes",
        ),
        Value(
            "delta_mem_bytes",
            lambda entry, _: entry.delta.memory_bytes if entry.delta is not None else None,
            int | None,
        ),
        Value("delta_pods", lambda entry, _: entry.delta.pods if entry.delta is not None else None, int | None),
    ),
    filters=Field(
        FieldKind.TEXT,
        lambda entry, _: delta_text(entry.delta) if entry.delta is not None else "",
        "claim and node differ: delta=−*",
    ),
    words=Words(0, _delta_words),
)


def known_resources() -> str:
    """Return the accepted names, for an error message."""
    return f"there are {', '.join(RESOURCE_COLUMNS)}, and extended resources such as vpc.amazonaws.com/pod-eni"


def _free_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the free amounts, negative if overcommitted."""
    if not _is_known(entry):
        return NOT_APPLICABLE
    is_over = min(entry.cpu.free, entry.memory.free) < 0
    return Cell(" ".join(_free_amounts(entry)), Tone.WARNING if is_over else Tone.NORMAL)


def _free_words(entry: NodeEntry, now_ns: int) -> tuple[str, Tone]:
    cpu, memory = _free_amounts(entry)
    return (f"free cpu {cpu} mem {memory}", _free_cell(entry, now_ns).tone) if _is_known(entry) else NOTHING


def _free_amounts(entry: NodeEntry) -> tuple[str, str]:
    return _signed(entry.cpu.free, cpu_text), _signed(entry.memory.free, memory_text)


def _is_known(entry: NodeEntry) -> bool:
    return entry.cpu.capacity > 0 and entry.access is PodAccess.KNOWN


def _signed(amount: int, text: Callable[[int], str]) -> str:
    return f"−{text(-amount)}" if amount < 0 else text(amount)


FREE: Final[Column[NodeEntry]] = Column(
    NumberHeading(
        "free",
        "FREE",
        "Cpu and memory that no pod has requested: the most that a new pod could request.",
        9,
        is_wide_only=True,
    ),
    _free_cell,
    lambda entry: float(entry.cpu.free) if entry.cpu.capacity else None,
    values=(
        Value(
            "free_cpu_millis",
            lambda entry, _: entry.cpu.free if _is_known(entry) else None,
            int | None,
            "Allocatable less requested; negative if requests exceed allocatable.",
            after="age_seconds",
        ),
        Value("free_mem_bytes", lambda entry, _: entry.memory.free if _is_known(entry) else None, int | None),
    ),
    words=Words(7, _free_words),
)


def resource_column(name: str, before: str) -> Column[NodeEntry]:
    """Return a column for an extended resource or huge pages (``--resources``)."""
    is_amount = name.startswith(resources.HUGEPAGES_PREFIX)

    def cell(entry: NodeEntry, _: int) -> Cell:
        share = entry.share(name, NANO)
        return _amount_cell(entry, share) if is_amount else _count_cell(entry, share)

    return Column(
        NumberHeading(
            f"resource:{name}",
            clean(name.rpartition("/")[2].upper()),
            f"{clean(name)}: requested of allocatable.",
            min_width=3,
            max_width=24,
            bar_min=0,
            drop_order=5,
        ),
        cell,
        lambda entry: float(entry.share(name, NANO).requested) if entry.share(name, NANO).capacity else None,
        values=_share_values(f"resource:{name}", "", lambda entry: entry.share(name, NANO), after=before),
        words=Words(7, lambda entry, now_ns: cell_words(cell(entry, now_ns), f"{clean(name)} ")),
    )
