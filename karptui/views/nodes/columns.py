"""The columns of the Nodes screen; a later column is one more entry."""

from __future__ import annotations

from typing import Final

from karptui.kube.timestamps import ABSENT_NS
from karptui.session.nodes import NodeEntry
from karptui.views.column import Column, Heading
from karptui.views.nodes.cells import (
    accelerators_cell,
    age_cell,
    capacity_type_cell,
    cpu_cell,
    delta_cell,
    ephemeral_cell,
    expires_cell,
    image_cell,
    memory_cell,
    name_cell,
    pods_cell,
    status_cell,
    used_cpu_cell,
    used_memory_cell,
    zone_cell,
)
from karptui.views.nodes.status import node_status
from karptui.views.prices import price_cell, sort_price
from karptui.views.row import text_cell
from karptui.views.sanitize import clean
from karptui.views.table import natural_key
from karptui.views.why.codes import why_cell, why_sort

COLUMNS: Final[tuple[Column[NodeEntry], ...]] = (
    Column(
        Heading(
            "name",
            "NAME",
            "The node, or in brackets a NodeClaim that has no node yet.",
            min_width=14,
            max_width=63,
            is_name=True,
        ),
        name_cell,
        lambda entry: natural_key(entry.name),
    ),
    Column(
        Heading("pool", "POOL", "The NodePool; - is a node that Karpenter does not manage.", min_width=7, max_width=24),
        lambda entry, _: text_cell(entry.pool),
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
        capacity_type_cell,
        lambda entry: entry.capacity_type or None,
    ),
    Column(
        Heading(
            "zone", "ZONE", "The zone; where room is short without the region.", min_width=4, max_width=20, drop_order=6
        ),
        zone_cell,
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
        status_cell,
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
        cpu_cell,
        lambda entry: entry.cpu.percent,
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
        memory_cell,
        lambda entry: entry.memory.percent,
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
        pods_cell,
        lambda entry: float(entry.pods.requested),
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
        age_cell,
        lambda entry: -float(entry.created_ns) if entry.created_ns != ABSENT_NS else None,
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
        delta_cell,
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
        accelerators_cell,
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
        ephemeral_cell,
        lambda entry: entry.ephemeral.percent,
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
        expires_cell,
        lambda entry: entry.claim.expires_ns if entry.claim is not None else None,
    ),
    Column(
        Heading(
            "image",
            "IMAGE",
            "The machine image of the NodeClaim, or the system the node reports.",
            max_width=32,
            is_wide_only=True,
        ),
        image_cell,
        lambda entry: entry.claim.image_id if entry.claim is not None else None,
    ),
    Column(
        Heading(
            "used_cpu",
            "CPU USED",
            "Cpu really used of what is allocatable (metrics-server, latest measurement); requests decide.",
            min_width=8,
            is_right_aligned=True,
            is_wide_only=True,
            is_descending_first=True,
        ),
        used_cpu_cell,
        lambda entry: float(entry.used.latest.cpu_millis) if entry.used is not None else None,
    ),
    Column(
        Heading(
            "used_mem",
            "MEM USED",
            "Memory really used of what is allocatable (metrics-server, latest measurement); requests decide.",
            min_width=8,
            is_right_aligned=True,
            is_wide_only=True,
            is_descending_first=True,
        ),
        used_memory_cell,
        lambda entry: float(entry.used.latest.memory_bytes) if entry.used is not None else None,
    ),
)
"""Every column in order; wide-only ones show with ctrl+w, and stand where they push none of the others out."""


def label_column(key: str) -> Column[NodeEntry]:
    """Return a column for a node label (``--extra-labels``)."""
    title = key.rpartition("/")[2].upper()
    return Column(
        Heading(f"label:{key}", clean(title), f"The node label {clean(key)}.", max_width=24, drop_order=5),
        lambda entry, _: text_cell(entry.label(key)),
        lambda entry: entry.label(key) or None,
    )
