"""The table of NodePools: its columns, and everything that follows from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from karptui.decode.kinds import Kind
from karptui.disruption.budgets import UNLIMITED
from karptui.kube import resources
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, MEMORY
from karptui.provisioning.overlap import PoolOverlap
from karptui.provisioning.pool_types import Filter, TypeVerdict
from karptui.session.nodes import PodAccess
from karptui.session.pools import PoolLimit, PoolRow
from karptui.state.usage import Share
from karptui.views.column import (
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Value,
    lifted,
    plain,
    row_schema,
    text_column,
)
from karptui.views.last_hour import last_hour_column
from karptui.views.pools import cells
from karptui.views.pools.sentences import budget_left, is_ready, policy_text, pool_sentences, short_reason
from karptui.views.row import NOT_APPLICABLE, Cell, Tone
from karptui.views.table import Sort, TableSpec
from karptui.views.types.pools import carries
from karptui.views.usage import CPU_TEXTS, MEMORY_TEXTS, Texts, share_values

_LIMIT: Final[tuple[Value[PoolLimit], ...]] = (
    Value("used", lambda use, _: cells.in_units(use.used), float),
    Value("limit", lambda use, _: cells.in_units(use.limit), float),
    Value("left", lambda use, _: cells.in_units(use.left), float),
    Value(
        "smallest_allowed_type_needs",
        lambda use, _: cells.in_units(use.smallest) if use.smallest is not None else None,
        float | None,
    ),
    Value("smallest_allowed_type", lambda use, _: use.smallest_type or None, str | None),
)


def _of_nodes(read: Callable[[PoolRow], Any]) -> Callable[[PoolRow, int], Any]:
    return lambda row, _: None if row.hides(Kind.NODE, Kind.NODECLAIM) else read(row)


_NEW_NODE: Final[tuple[Value[TypeVerdict], ...]] = (
    Value(
        "new_node_daemonset_pods",
        lambda carried, _: carried.daemon_pods,
        int | None,
        "Maximum on a new node; null if no type is left.",
    ),
    Value("new_node_daemonset_cpu_millis", lambda carried, _: resources.cpu_millis(carried.daemons), int | None),
    Value("new_node_daemonset_mem_bytes", lambda carried, _: resources.memory_bytes(carried.daemons), int | None),
)
_SHARED: Final[tuple[Value[PoolOverlap], ...]] = (
    Value("pods_matching", lambda overlap, _: overlap.matching, int | None, after="not_ready_because"),
    Value("pods_shared", lambda overlap, _: overlap.shared, int | None),
    Value("pods_new_nodes_here", lambda overlap, _: overlap.goes_here, int | None),
)


def _counted_pods(row: PoolRow) -> int | None:
    """Return the pods on its nodes by Karpenter's counters; None if these lack them."""
    return row.counted.pods if row.counted is not None else None


def _cost(row: PoolRow) -> float | None:
    return row.total.per_hour if row.total.priced else None


def _shared(row: PoolRow) -> int | None:
    return row.overlap.shared if row.overlap is not None else None


def _requested_column(
    name: str, unit: str, share: Callable[[PoolRow], Share], texts: Texts, drop_order: int
) -> Column[PoolRow]:
    def visible_share(row: PoolRow) -> Share | None:
        return share(row) if row.access is PodAccess.KNOWN and not row.hides(Kind.NODE, Kind.NODECLAIM) else None

    return Column(
        Heading(
            f"{name}_requested",
            f"{name.upper()} REQ",
            "Requested by pods / allocatable on its nodes: ╍ DaemonSets ━ workload ┈ free.",
            min_width=7,
            fill_width=26,
            bar_min=3,
            drop_order=drop_order,
            is_descending_first=True,
        ),
        lambda row, _: cells.requested_cell(row, share(row), texts),
        lambda row: shown.percent if (shown := visible_share(row)) is not None else None,
        values=share_values(
            name,
            unit,
            visible_share,
            lambda row: None if row.hides(Kind.NODE, Kind.NODECLAIM) else share(row).capacity,
            about=("Requests of pods on its nodes.", "Of that, DaemonSets' pods.", "Allocatable of its nodes."),
            after="nodes_last_hour" if name == "cpu" else "",
        ),
    )


COLUMNS: Final[tuple[Column[PoolRow], ...]] = (
    Column(
        Heading("rank", "#", "Order in which Karpenter tries pools for new nodes; - if excluded.", 2, 3),
        lambda row, _: Cell(str(row.rank)) if row.rank is not None else NOT_APPLICABLE,
        lambda row: row.rank,
        values=Value(
            "rank", lambda row, _: row.rank, int | None, "Order in which NodePools are tried; null if excluded."
        ),
    ),
    text_column(
        Heading("name", "NAME", "The NodePool.", 8, 30),
        lambda row: row.name,
        tone=lambda _: Tone.STRONG,
        json="name",
        filters={
            "pool": Field(FieldKind.TEXT, lambda row, _: row.name, "NodePool"),
            "class": Field(FieldKind.TEXT, lambda row, _: row.pool.node_class_ref.name, "its NodeClass"),
        },
    ),
    Column(
        NumberHeading(
            "weight",
            "WEIGHT",
            "An order, not a share: the highest is tried first. = equal to another pool's: the name that sorts last "
            "is tried first. ≈ within 10 of another pool's.",
            6,
            12,
        ),
        cells.weight_cell,
        lambda row: row.pool.weight,
        values=(
            Value("weight", lambda row, _: row.pool.weight, int),
            Value("same_weight_as", lambda row, _: [tie.name for tie in row.ties], list[str]),
            Value("weight_within_10_of", lambda row, _: [neighbour.name for neighbour in row.near], list[str]),
        ),
        filters=Field(FieldKind.COUNT, lambda row, _: row.pool.weight, "its weight"),
    ),
    Column(
        NumberHeading(
            "nodes", "NODES", "Nodes + launching NodeClaims / the limit on nodes; share of all pools' nodes.", 7, 12
        ),
        cells.nodes_cell,
        lambda row: row.nodes,
        values=(
            Value("nodes", _of_nodes(lambda row: row.nodes), int),
            Value(
                "nodes_share_percent",
                _of_nodes(lambda row: round(row.share_percent, 1) if row.share_percent is not None else None),
                float | None,
                "Of all nodes that Karpenter manages.",
            ),
        ),
        filters=Field(FieldKind.COUNT, lambda row, _: row.nodes, "its nodes"),
    ),
    Column(
        NumberHeading(
            "cpu", "CPU / LIMIT", "CPU of its nodes as limits count it (excluding nodes being deleted).", 9, 28, 18
        ),
        lambda row, _: cells.limit_cell(row, CPU),
        lambda row: cells.limit_place(row, CPU),
        values=(
            Value("cpu_used_millis", _of_nodes(lambda row: row.used.get(CPU, 0) // NANO_PER_MILLI), int),
            Value(
                "cpu_limit_millis",
                lambda row, _: cells.limit_of(row.limit(CPU), NANO_PER_MILLI),
                int | None,
                "null without a limit.",
            ),
        ),
    ),
    Column(
        NumberHeading("memory", "MEM / LIMIT", "Memory of its nodes as limits count it.", 9, 28, 18, drop_order=6),
        lambda row, _: cells.limit_cell(row, MEMORY),
        lambda row: cells.limit_place(row, MEMORY),
        values=(
            Value("mem_used_bytes", _of_nodes(lambda row: row.used.get(MEMORY, 0) // NANO), int),
            Value("mem_limit_bytes", lambda row, _: cells.limit_of(row.limit(MEMORY), NANO), int | None),
            Value(
                "limits",
                _of_nodes(lambda row: {use.resource: plain(_LIMIT, use) for use in row.limits}),
                {"type": "object", "additionalProperties": row_schema(_LIMIT)},
                "By resource.",
            ),
        ),
    ),
    _requested_column("cpu", "_millis", lambda row: row.cpu, CPU_TEXTS, 9),
    _requested_column("mem", "_bytes", lambda row: row.memory, MEMORY_TEXTS, 10),
    Column(
        NumberHeading("cost", "$/H", "Cost of its nodes per hour; + if some prices are unknown.", 5, 12),
        cells.cost_cell,
        _cost,
        values=(
            Value(
                "cost_per_hour",
                _of_nodes(lambda row: round(row.total.per_hour, 6) if row.total.priced or not row.nodes else None),
                float | None,
                "Dollars of its nodes.",
                after="limits",
            ),
            Value("nodes_without_price", _of_nodes(lambda row: row.total.unpriced), int),
        ),
        filters={"$": Field(FieldKind.MONEY, lambda row, _: _cost(row), "cost per hour")},
    ),
    Column(
        Heading(
            "carries",
            "NEW NODE CARRIES",
            "DaemonSet pods of a new node and their requests (each takes a pod slot too); ✘ types that they exclude.",
            6,
            44,
            drop_order=3,
        ),
        cells.carries_cell,
        lambda row: carries(row.types) or None,
        values=lifted(
            _NEW_NODE, lambda row: row.types.heaviest if row.types.left and not row.hides(Kind.DAEMONSET) else None
        ),
    ),
    Column(
        NumberHeading(
            "types",
            "TYPES",
            "Types that the requirements allow / of these, available; ✘ none left, ▲ none for pending pods.",
            7,
            12,
            drop_order=2,
        ),
        cells.types_cell,
        lambda row: len(row.types.left),
        values=(
            Value("types_allowed", lambda row, _: row.types.left_after[Filter.REQUIREMENTS], int),
            Value("types_offered", lambda row, _: row.types.left_after[Filter.OFFERINGS], int),
            Value(
                "types_excluded_by_daemonsets", lambda row, _: None if row.hides(Kind.DAEMONSET) else row.excluded, int
            ),
            Value("types_usable", lambda row, _: row.usable, int),
            Value("types_left_for_pending_pods", lambda row, _: len(row.types.left), int),
        ),
        filters=Field(FieldKind.COUNT, lambda row, _: len(row.types.left), "types that a new node may have"),
    ),
    Column(
        Heading("budget", "BUDGET", "Nodes that may still be disrupted now, over all reasons.", 6, 12, drop_order=4),
        cells.budget_cell,
        lambda row: float(min(budget_left(row).values(), default=0)),
        values=Value(
            "budget_left",
            lambda row, _: {
                str(reason): None if left >= UNLIMITED else left for reason, left in budget_left(row).items()
            },
            {"type": "object", "additionalProperties": int | None},
            "By reason; null without a limit.",
            flat=cells.budget_words,
        ),
    ),
    Column(
        Heading(
            "policy",
            "POLICY",
            "Consolidation policy, and Karpenter's delay after the node's last change.",
            12,
            22,
            drop_order=8,
        ),
        cells.policy_cell,
        policy_text,
        values=(
            Value("policy", lambda row, _: row.pool.consolidation_policy, str),
            Value(
                "consolidate_after_seconds",
                lambda row, _: cells.in_seconds(row.pool.consolidate_after_ns),
                float | None,
                "null is Never.",
            ),
        ),
        filters=Field(FieldKind.TEXT, lambda row, _: policy_text(row), "consolidation policy"),
    ),
    Column(
        NumberHeading("drifted", "DRIFTED", "Drifted nodes / all nodes of the pool.", 7, 12, drop_order=7),
        cells.drifted_cell,
        lambda row: row.drifted,
        values=Value("drifted", _of_nodes(lambda row: row.drifted), int),
        filters=Field(FieldKind.COUNT, lambda row, _: row.drifted, "nodes that drifted"),
    ),
    Column(
        NumberHeading(
            "shared", "SHARED", "Matching pods that also match other pools / all matching pods.", 6, 12, drop_order=11
        ),
        cells.shared_cell,
        _shared,
        values=(
            *lifted(_SHARED, lambda row: row.overlap),
            Value(
                "shared_with",
                lambda row, _: dict(row.overlap.shared_with) if row.overlap is not None else {},
                dict[str, int],
            ),
        ),
        filters=Field(FieldKind.COUNT, lambda row, _: _shared(row), "pods that match other pools too"),
    ),
    Column(
        NumberHeading(
            "created",
            "NEW",
            "NodeClaims created: by Karpenter's own counters, or else in the last day (shown below the table).",
            4,
            12,
            drop_order=12,
        ),
        cells.created_cell,
        lambda row: row.counted.created if row.counted is not None else row.nodes,
        values=(
            Value("nodeclaims_created", lambda row, now_ns: row.created(now_ns), int | None),
            Value(
                "nodeclaims_created_by",
                lambda row, _: "karpenter metrics" if row.counted is not None else "nodeclaims of the last 24 h",
                str,
            ),
            Value(
                "nodeclaims_provisioned",
                lambda row, _: row.counted.provisioned if row.counted is not None else None,
                int | None,
            ),
            Value(
                "pods", _of_nodes(lambda row: row.pods if (pods := _counted_pods(row)) is None else pods), int | None
            ),
            Value("pods_by", lambda row, _: "pods" if _counted_pods(row) is None else "karpenter metrics", str),
        ),
    ),
    last_hour_column(lambda row: row.alive, drop_order=5, after="explanation"),
    Column(
        Heading("ready", "READY", "✔, or the condition of the pool or its NodeClass that fails.", 5, 32),
        cells.ready_cell,
        short_reason,
        values=(
            Value("ready", lambda row, _: is_ready(row), bool, after="drifted"),
            Value("not_ready_because", lambda row, _: short_reason(row) or None, str | None),
        ),
        filters=Field(FieldKind.TEXT, lambda row, _: short_reason(row) or "yes", "yes, or what fails"),
    ),
)


def is_notable(row: PoolRow) -> bool:
    """Whether something is wrong: not ready, no type left, limits used up, findings."""
    return not is_ready(row) or not row.usable or bool(row.types.findings) or any(use.is_closed for use in row.limits)


def pools_table(*, has_prices: bool = True) -> TableSpec[PoolRow]:
    """Return the table."""
    table = TableSpec(
        noun="NodePools",
        columns=COLUMNS,
        text=lambda row: f"{row.name} {short_reason(row)}".lower(),
        more_values=(
            Value(
                "explanation",
                lambda row, _: ["".join(text for text, _ in line) for line in pool_sentences(row)],
                list[str],
                after="pods_by",
            ),
        ),
        labels=lambda row: {**row.pool.labels, **row.pool.template_labels},
        key=lambda row: row.name,
        default_sort=Sort("rank"),
        tone=lambda row: Tone.NORMAL if row.rank is not None else Tone.MUTED,
        is_notable=lambda row, _: is_notable(row),
    )
    return table if has_prices else table.without("cost")
