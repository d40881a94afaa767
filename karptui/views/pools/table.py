"""The table of the Pools screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karptui.kube.resources import CPU, MEMORY
from karptui.session.pools import PoolRow
from karptui.views.column import Column, Heading
from karptui.views.fields import Field, FieldKind
from karptui.views.pools import cells
from karptui.views.pools.readiness import is_ready, short_reason
from karptui.views.pools.words import budget_left, policy_text
from karptui.views.row import Tone, text_cell
from karptui.views.table import Sort, TableSpec, natural_key
from karptui.views.types.pools import carries


def _number(id_: str, help_: str, *, title: str = "", width: int = 0, drop_order: int = 0) -> Heading:
    named = title or id_.upper()
    return Heading(
        id_,
        named,
        help_,
        width or len(named),
        max(width, 12),
        is_right_aligned=True,
        is_descending_first=True,
        drop_order=drop_order,
    )


def _limited(id_: str, title: str, help_: str, drop_order: int = 0) -> Heading:
    return Heading(id_, title, help_, 9, 28, 18, is_right_aligned=True, is_descending_first=True, drop_order=drop_order)


COLUMNS: Final[tuple[Column[PoolRow], ...]] = (
    Column(
        Heading("rank", "#", "Place in the order in which Karpenter tries pools for new nodes; - takes no part.", 2, 3),
        cells.rank_cell,
        lambda row: float(row.rank) if row.rank is not None else None,
    ),
    Column(
        Heading("name", "NAME", "The NodePool.", 8, 30),
        lambda row, _: text_cell(row.name, Tone.STRONG),
        lambda row: natural_key(row.name),
    ),
    Column(
        _number(
            "weight",
            "An order, not a share: higher goes first. = another has the same: the name that sorts last goes first. "
            "≈ another's is within 10.",
        ),
        cells.weight_cell,
        lambda row: float(row.pool.weight),
    ),
    Column(
        _number("nodes", "Nodes, of the limit on nodes if there is one, and their part of all pools' nodes.", width=7),
        cells.nodes_cell,
        lambda row: float(len(row.nodes)),
    ),
    Column(
        _limited("cpu", "CPU / LIMIT", "Cores of its nodes as limits count them (not of those on their way out)."),
        cells.cpu_cell,
        lambda row: cells.limit_place(row, CPU),
    ),
    Column(
        _limited("memory", "MEM / LIMIT", "Memory of its nodes as limits count it.", 6),
        cells.memory_cell,
        lambda row: cells.limit_place(row, MEMORY),
    ),
    Column(
        _number("cost", "What its nodes cost per hour; + where the price of some is not known.", title="$/H", width=5),
        cells.cost_cell,
        lambda row: row.total.per_hour if row.total.priced else None,
    ),
    Column(
        Heading(
            "carries",
            "NEW NODE CARRIES",
            "DaemonSet pods of a new node and what they ask (each takes a pod slot too); ✘ types that they rule out.",
            6,
            44,
            drop_order=3,
        ),
        cells.carries_cell,
        lambda row: carries(row.types) or None,
    ),
    Column(
        _number(
            "types",
            "Types that the requirements allow / of these, with an offering; ✘ none left, ▲ none for pods that wait.",
            width=7,
            drop_order=2,
        ),
        cells.types_cell,
        lambda row: float(len(row.types.left)),
    ),
    Column(
        Heading("budget", "BUDGET", "Nodes that may still be disrupted now, over all reasons.", 6, 12, drop_order=4),
        cells.budget_cell,
        lambda row: float(min(budget_left(row).values(), default=0)),
    ),
    Column(
        Heading(
            "policy",
            "POLICY",
            "When nodes are consolidated, and how long Karpenter waits after the last change.",
            12,
            22,
            drop_order=8,
        ),
        cells.policy_cell,
        lambda row: policy_text(row),  # noqa: PLW0108 - it has a second parameter
    ),
    Column(
        _number("drifted", "Nodes that no longer match the pool or its NodeClass, of all.", drop_order=7),
        cells.drifted_cell,
        lambda row: float(len(row.drifted)),
    ),
    Column(
        _number("shared", "Pods that other pools match too, of those that the pool matches.", drop_order=9),
        cells.shared_cell,
        lambda row: float(row.overlap.shared) if row.overlap is not None else None,
    ),
    Column(
        _number(
            "created",
            "NodeClaims created: by Karpenter's own counters, else those of the last day; the check below says which.",
            title="NEW",
            width=4,
            drop_order=10,
        ),
        cells.created_cell,
        lambda row: float(row.counted.created) if row.counted is not None else float(len(row.nodes)),
    ),
    Column(
        Heading("ready", "READY", "✔, or the condition of the pool or its NodeClass that fails.", 5, 32),
        cells.ready_cell,
        short_reason,
    ),
)
"""Every column in order."""

FIELDS: Final[Mapping[str, Field[PoolRow]]] = {
    "pool": Field(FieldKind.TEXT, lambda row, _: row.name, help="NodePool"),
    "weight": Field(FieldKind.COUNT, lambda row, _: row.pool.weight, help="its weight"),
    "nodes": Field(FieldKind.COUNT, lambda row, _: len(row.nodes), help="its nodes"),
    "drifted": Field(FieldKind.COUNT, lambda row, _: len(row.drifted), help="nodes that drifted"),
    "types": Field(FieldKind.COUNT, lambda row, _: len(row.types.left), help="types that a new node may have"),
    "shared": Field(
        FieldKind.COUNT,
        lambda row, _: row.overlap.shared if row.overlap is not None else None,
        help="pods that other pools match too",
    ),
    "policy": Field(FieldKind.TEXT, lambda row, _: policy_text(row), help="consolidation policy"),
    "class": Field(FieldKind.TEXT, lambda row, _: row.pool.node_class_ref.name, help="its NodeClass"),
    "ready": Field(FieldKind.TEXT, lambda row, _: short_reason(row) or "yes", help="yes, or what fails"),
    "$": Field(FieldKind.MONEY, lambda row, _: row.total.per_hour if row.total.priced else None, help="cost per hour"),
}


def is_notable(row: PoolRow) -> bool:
    """Whether something is wrong: not ready, no type left, limits used up, findings."""
    return not is_ready(row) or not row.usable or bool(row.types.findings) or any(use.is_closed for use in row.limits)


def pools_table(*, has_prices: bool = True) -> TableSpec[PoolRow]:
    """Return the table."""
    return TableSpec(
        noun="NodePools",
        columns=COLUMNS if has_prices else tuple(one for one in COLUMNS if one.heading.id != "cost"),
        text=lambda row: f"{row.name} {short_reason(row)}".lower(),
        more_filters=FIELDS,
        labels=_labels,
        key=lambda row: row.name,
        default_sort=Sort("rank"),
        tone=lambda row: Tone.NORMAL if row.rank is not None else Tone.MUTED,
        is_notable=lambda row, _: is_notable(row),
    )


def _labels(row: PoolRow) -> Mapping[str, str]:
    return {**row.pool.labels, **row.pool.template_labels}
