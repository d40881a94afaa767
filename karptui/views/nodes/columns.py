"""The columns of the Nodes screen; a later column is one more entry."""

from __future__ import annotations

import re
from typing import Final

from karptui.kube.timestamps import ABSENT_NS
from karptui.views.column import Column, Heading, SortKey
from karptui.views.nodes.entry import Delta, NodeEntry, PodAccess
from karptui.views.nodes.status import node_status
from karptui.views.prices import price_cell, sort_price
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone, text_cell
from karptui.views.sanitize import clean
from karptui.views.shares import count_cell, hidden_cell, share_cell
from karptui.views.table import natural_key
from karptui.views.units import (
    age_text,
    count_text,
    cpu_pair_text,
    cpu_text,
    duration_text,
    memory_pair_text,
    memory_text,
)
from karptui.views.why.codes import why_cell, why_sort

NS_PER_SECOND: Final = 1_000_000_000
CAPACITY_WORDS: Final = {"on-demand": "od", "reserved": "rsv"}
_ZONE: Final = re.compile(r"^(?P<region>.*?(?P<digit>\d))-?(?P<letter>[a-z0-9]+)$")


def short_zone(zone: str) -> str:
    """Return the part of a zone that differs within a region.

    ``us-east-1a`` is ``1a``, ``europe-west1-b`` is ``1b``.
    """
    match = _ZONE.match(zone)
    return f"{match['digit']}{match['letter']}" if match else zone


def short_name(name: str) -> str:
    """Return a node name without the domain that a cloud puts behind every one."""
    return name.partition(".")[0] if name.endswith(".internal") else name


def expires_ns(entry: NodeEntry) -> int | None:
    """Return when Karpenter will delete the node for its age, None where it never will or does not manage it."""
    claim = entry.claim
    if claim is None or claim.expire_after_ns is None:
        return None
    return claim.created_ns + claim.expire_after_ns


def _name(entry: NodeEntry, _: int) -> Cell:
    name = clean(entry.name)
    if entry.node is None:
        return Cell(f"({name})", Tone.MUTED)
    return Cell(name, Tone.STRONG, short_name(name))


def _pool(entry: NodeEntry, _: int) -> Cell:
    return text_cell(entry.pool)


def _capacity_type(entry: NodeEntry, _: int) -> Cell:
    kind = entry.capacity_type
    tone = {"spot": Tone.SPOT, "reserved": Tone.RESERVED}.get(kind, Tone.NORMAL)
    return text_cell(CAPACITY_WORDS.get(kind, kind), tone)


def _zone(entry: NodeEntry, _: int) -> Cell:
    return text_cell(entry.zone, short=short_zone(entry.zone))


def _status(entry: NodeEntry, now_ns: int) -> Cell:
    status = node_status(entry)
    return Cell(status.text(now_ns), status.tone)


def _cpu(entry: NodeEntry, _: int) -> Cell:
    if entry.access is not PodAccess.KNOWN and entry.cpu.capacity:
        return hidden_cell(cpu_text(entry.cpu.capacity), is_forbidden=entry.access is PodAccess.FORBIDDEN)
    return share_cell(entry.cpu, cpu_pair_text)


def _memory(entry: NodeEntry, _: int) -> Cell:
    if entry.access is not PodAccess.KNOWN and entry.memory.capacity:
        return hidden_cell(memory_text(entry.memory.capacity), is_forbidden=entry.access is PodAccess.FORBIDDEN)
    return share_cell(entry.memory, memory_pair_text)


def _ephemeral(entry: NodeEntry, _: int) -> Cell:
    if entry.access is not PodAccess.KNOWN and entry.ephemeral.capacity:
        return hidden_cell(memory_text(entry.ephemeral.capacity), is_forbidden=entry.access is PodAccess.FORBIDDEN)
    return share_cell(entry.ephemeral, memory_pair_text)


def _pods(entry: NodeEntry, _: int) -> Cell:
    if entry.access is not PodAccess.KNOWN and entry.pods.capacity:
        return hidden_cell(str(entry.pods.capacity), is_forbidden=entry.access is PodAccess.FORBIDDEN)
    return count_cell(entry.pods)


def _accelerators(entry: NodeEntry, _: int) -> Cell:
    if entry.access is not PodAccess.KNOWN and entry.accelerators.capacity:
        return hidden_cell(str(entry.accelerators.capacity), is_forbidden=entry.access is PodAccess.FORBIDDEN)
    return count_cell(entry.accelerators)


def _age(entry: NodeEntry, now_ns: int) -> Cell:
    return Cell(age_text(entry.created_ns, now_ns)) if entry.created_ns else NOT_AVAILABLE


def _delta(entry: NodeEntry, _: int) -> Cell:
    delta = entry.delta
    if delta is None:
        return NOT_APPLICABLE
    text = delta_text(delta)
    is_smaller = min(delta.cpu_millis, delta.memory_bytes, delta.pods) < 0
    return Cell(text or "0", Tone.WARNING if is_smaller else Tone.NORMAL if text else Tone.MUTED)


def delta_text(delta: Delta) -> str:
    """Return what differs between claim and node: ``−16Mi``, ``+120m −4 pods``; nothing where nothing does."""
    parts = (
        (delta.memory_bytes, memory_text(abs(delta.memory_bytes))),
        (delta.cpu_millis, cpu_text(abs(delta.cpu_millis))),
        (delta.pods, f"{count_text(abs(delta.pods))} pods"),
    )
    return " ".join(f"{'+' if amount > 0 else '−'}{text}" for amount, text in parts if amount)


def _expires(entry: NodeEntry, now_ns: int) -> Cell:
    at = expires_ns(entry)
    if at is None:
        return Cell("never", Tone.MUTED) if entry.claim is not None else NOT_APPLICABLE
    left = (at - now_ns) // NS_PER_SECOND
    return Cell(duration_text(left)) if left > 0 else Cell("due", Tone.WARNING)


def _image(entry: NodeEntry, _: int) -> Cell:
    image = entry.claim.image_id if entry.claim is not None else ""
    return text_cell(image or (entry.node.os_image if entry.node is not None else ""))


def _percent(value: float | None) -> SortKey:
    return value


COLUMNS: Final[tuple[Column[NodeEntry], ...]] = (
    Column(
        Heading(
            "name", "NAME", "The node, or in brackets a NodeClaim that has no node yet.", min_width=14, max_width=63
        ),
        _name,
        lambda entry: natural_key(entry.name),
    ),
    Column(
        Heading("pool", "POOL", "The NodePool; - is a node that Karpenter does not manage.", min_width=7, max_width=24),
        _pool,
        lambda entry: entry.pool or None,
    ),
    Column(
        Heading("type", "TYPE", "The instance type.", min_width=11, max_width=20, drop_order=3),
        lambda entry, _: text_cell(entry.instance_type),
        lambda entry: natural_key(entry.instance_type) if entry.instance_type else None,
    ),
    Column(
        Heading(
            "cap",
            "CAP",
            "The capacity type: spot, od (on-demand) or rsv (reserved).",
            min_width=4,
            max_width=9,
            drop_order=4,
        ),
        _capacity_type,
        lambda entry: entry.capacity_type or None,
    ),
    Column(
        Heading(
            "zone", "ZONE", "The zone; where room is short without the region.", min_width=4, max_width=20, drop_order=6
        ),
        _zone,
        lambda entry: entry.zone or None,
    ),
    Column(
        Heading(
            "status",
            "STATUS",
            "The state that matters most, and for how long; worst first when sorted.",
            min_width=17,
            max_width=19,
        ),
        _status,
        lambda entry: float(node_status(entry).rank),
    ),
    Column(
        Heading(
            "cpu",
            "CPU",
            "▓ DaemonSets █ workload ░ free; what pods request of what is allocatable.",
            min_width=9,
            fill_width=34,
            is_descending_first=True,
        ),
        _cpu,
        lambda entry: _percent(entry.cpu.percent),
    ),
    Column(
        Heading(
            "mem",
            "MEM",
            "▓ DaemonSets █ workload ░ free; what pods request of what is allocatable.",
            min_width=9,
            fill_width=34,
            is_descending_first=True,
        ),
        _memory,
        lambda entry: _percent(entry.memory.percent),
    ),
    Column(
        Heading(
            "pods",
            "PODS",
            "Pods on the node of the pods it takes.",
            min_width=5,
            fill_width=18,
            bar_min=0,
            drop_order=2,
            is_right_aligned=True,
            is_descending_first=True,
        ),
        _pods,
        lambda entry: float(entry.pods.requested),
    ),
    Column(
        Heading(
            "delta",
            "Δ CLAIM",
            "Node less NodeClaim: a minus means that pods planned for the node may not fit.",
            min_width=7,
            is_right_aligned=True,
            is_wide_only=True,
        ),
        _delta,
        lambda entry: float(entry.delta.memory_bytes) if entry.delta is not None else None,
    ),
    Column(
        Heading(
            "gpu",
            "GPU",
            "GPUs and other accelerators: requested of allocatable.",
            min_width=3,
            bar_min=0,
            is_right_aligned=True,
            is_wide_only=True,
            is_descending_first=True,
        ),
        _accelerators,
        lambda entry: float(entry.accelerators.capacity) or None,
    ),
    Column(
        Heading(
            "ephemeral",
            "EPHEMERAL",
            "Ephemeral storage: requested of allocatable.",
            min_width=9,
            fill_width=26,
            is_wide_only=True,
            is_descending_first=True,
        ),
        _ephemeral,
        lambda entry: _percent(entry.ephemeral.percent),
    ),
    Column(
        Heading("arch", "ARCH", "The processor architecture.", is_wide_only=True),
        lambda entry, _: text_cell(entry.architecture),
        lambda entry: entry.architecture or None,
    ),
    Column(
        Heading(
            "expires",
            "EXPIRES",
            "When Karpenter replaces the node for its age (expireAfter).",
            min_width=7,
            is_right_aligned=True,
            is_wide_only=True,
        ),
        _expires,
        expires_ns,
    ),
    Column(
        Heading(
            "image",
            "IMAGE",
            "The machine image of the NodeClaim, or the system the node reports.",
            max_width=32,
            is_wide_only=True,
        ),
        _image,
        lambda entry: entry.claim.image_id if entry.claim is not None else None,
    ),
    Column(
        Heading(
            "price",
            "$/H",
            "What the node costs per hour; n/a where nobody knows. The line below says who says so, and since when.",
            min_width=6,
            max_width=10,
            drop_order=2,
            is_right_aligned=True,
            is_descending_first=True,
        ),
        lambda entry, _: price_cell(entry),
        sort_price,
    ),
    Column(
        Heading(
            "why",
            "WHY",
            "Why it is still here: the worst of what keeps it, or what Karpenter would do. The codes are below.",
            min_width=9,
            max_width=20,
        ),
        why_cell,
        why_sort,
    ),
    Column(
        Heading(
            "age",
            "AGE",
            "Since the node was created, or the NodeClaim where there is no node.",
            min_width=4,
            is_right_aligned=True,
            drop_order=1,
        ),
        _age,
        lambda entry: -float(entry.created_ns) if entry.created_ns != ABSENT_NS else None,
    ),
)
"""Every column in order; wide-only ones show with ctrl+w."""


def label_column(key: str) -> Column[NodeEntry]:
    """Return a column for a node label (``--extra-labels``)."""
    title = key.rpartition("/")[2].upper()
    return Column(
        Heading(f"label:{key}", clean(title), f"The node label {clean(key)}.", max_width=24, drop_order=5),
        lambda entry, _: text_cell(entry.label(key)),
        lambda entry: entry.label(key) or None,
    )
