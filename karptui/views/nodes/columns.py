"""The table of nodes: its columns, and everything that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

import msgspec

from karptui.config import Config
from karptui.session.nodes import NodeEntry
from karptui.views.column import (
    NOTHING,
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Value,
    Words,
    text_column,
)
from karptui.views.instants import age_column, seconds_since, seconds_until
from karptui.views.nodes.cells import (
    HELD,
    WHY,
    capacity_tone,
    expires_cell,
    expires_words,
    label_words,
    name_cell,
    price_words,
    short_capacity_type_cell,
    status_cell,
)
from karptui.views.nodes.resources import (
    ACCELERATORS,
    CPU,
    DELTA,
    EPHEMERAL,
    FREE,
    MEMORY,
    PODS,
    RESOURCE_COLUMNS,
    USED_CPU,
    USED_MEMORY,
    resource_column,
)
from karptui.views.nodes.status import is_faulty, node_status
from karptui.views.prices import price_cell, sort_price
from karptui.views.row import Tone
from karptui.views.sanitize import clean, short_zone
from karptui.views.table import Sort, TableSpec
from karptui.views.why.labels import is_held

COLUMNS: Final[tuple[Column[NodeEntry], ...]] = (
    Column(
        Heading("name", "NAME", "The node, or in brackets a NodeClaim that has no node yet.", 14, 63, is_name=True),
        name_cell,
        attrgetter("name"),
        values=(
            Value("name", lambda entry, _: entry.name, str, "Of the node; of a NodeClaim without a node, the claim's."),
            Value(
                "node_claim",
                lambda entry, _: entry.claim.name if entry.claim is not None else None,
                str | None,
                "null if Karpenter does not manage the node.",
            ),
        ),
        filters=Field(FieldKind.TEXT, lambda entry, _: entry.name, "node or claim"),
    ),
    text_column(
        Heading("pool", "POOL", "The NodePool; - is a node that Karpenter does not manage.", 7, 24),
        lambda entry: entry.pool,
        values=Value("pool", lambda entry, _: entry.pool or None, str | None, "NodePool."),
        filters=Field(FieldKind.TEXT, lambda entry, _: entry.pool, "NodePool"),
    ),
    text_column(
        Heading("type", "TYPE", "The instance type.", 11, 20, drop_order=3),
        lambda entry: entry.instance_type,
        or_null="type",
        words=Words(3, lambda entry, _: (clean(entry.instance_type), Tone.NORMAL)),
    ),
    Column(
        Heading("cap", "CAP", "The capacity type: spot, od (on-demand) or rsv (reserved).", 4, 9, drop_order=4),
        short_capacity_type_cell,
        lambda entry: entry.capacity_type or None,
        values=Value(
            "cap",
            lambda entry, _: entry.capacity_type or None,
            str | None,
            "Capacity type: spot, on-demand or reserved.",
        ),
        filters=Field(
            FieldKind.TEXT,
            lambda entry, _: (entry.capacity_type, "od") if entry.capacity_type == "on-demand" else entry.capacity_type,
            "spot, on-demand, reserved",
        ),
        words=Words(4, lambda entry, _: (clean(entry.capacity_type), capacity_tone(entry.capacity_type)), joins=True),
    ),
    text_column(
        Heading("zone", "ZONE", "The zone; without the region if the column is narrow.", 4, 20, drop_order=6),
        lambda entry: entry.zone,
        short=lambda entry: short_zone(entry.zone),
        values=Value("zone", lambda entry, _: entry.zone or None, str | None),
        filters=Field(FieldKind.TEXT, lambda entry, _: entry.zone, "zone"),
        words=Words(5, lambda entry, _: (clean(entry.zone), Tone.NORMAL), joins=True),
    ),
    Column(
        Heading("status", "STATUS", "The state that matters most, and for how long; worst first when sorted.", 13, 19),
        status_cell,
        lambda entry: node_status(entry).rank,
        values=(
            Value(
                "status",
                lambda entry, _: node_status(entry).word,
                str,
                "Ready, NotReady, Cordoned, Deleting, Draining, Drifted, Rebooting, Launching, Initializing, …",
            ),
            Value(
                "status_seconds",
                lambda entry, now_ns: seconds_since(node_status(entry).since_ns, now_ns),
                int | None,
                "How long it has been in this state, if known.",
            ),
        ),
        filters={
            "status": Field(FieldKind.TEXT, lambda entry, _: node_status(entry).word, "Ready, NotReady, Launching…"),
            "taint": Field(
                FieldKind.TEXT,
                lambda entry, _: tuple(taint.key for taint in entry.node.taints) if entry.node is not None else (),
                "key of a taint",
            ),
        },
    ),
    CPU,
    MEMORY,
    PODS,
    Column(
        NumberHeading(
            "price",
            "$/H",
            "Cost of the node per hour; n/a if unknown. The line below shows the source and its age.",
            6,
            10,
        ),
        lambda entry, _: price_cell(entry),
        sort_price,
        values=(
            Value("price_per_hour", lambda entry, _: sort_price(entry), float | None, after="image"),
            Value(
                "price_currency", lambda entry, _: entry.price.currency if entry.price is not None else None, str | None
            ),
            Value(
                "price_source",
                lambda entry, _: entry.price.origin.label if entry.price is not None else None,
                str | None,
                "Source and date of the price.",
            ),
        ),
        filters={"$": Field(FieldKind.MONEY, lambda entry, _: sort_price(entry), "price per hour")},
        words=Words(1, price_words),
    ),
    HELD,
    WHY,
    age_column(
        Heading(
            "age",
            "AGE",
            "Since the node was created, or the NodeClaim if there is no node.",
            is_right_aligned=True,
            drop_order=1,
        ),
        lambda entry: entry.created_ns,
        after="pods_in_last_hour",
        words_place=10,
    ),
    DELTA,
    FREE,
    ACCELERATORS,
    EPHEMERAL,
    text_column(
        Heading("arch", "ARCH", "The processor architecture.", is_wide_only=True),
        lambda entry: entry.architecture,
        or_null="arch",
        words=Words(13, lambda entry, _: (clean(entry.architecture), Tone.NORMAL)),
    ),
    Column(
        Heading(
            "expires",
            "EXPIRES",
            "When Karpenter replaces the node for its age (expireAfter).",
            7,
            is_right_aligned=True,
            is_wide_only=True,
        ),
        lambda entry, now_ns: expires_cell(entry.claim, now_ns),
        lambda entry: entry.expires_ns,
        values=Value(
            "expires_seconds",
            lambda entry, now_ns: seconds_until(entry.expires_ns, now_ns),
            int | None,
            "Until expireAfter ends its NodeClaim; negative once it is over.",
            after="delta_pods",
        ),
        words=Words(8, expires_words),
    ),
    text_column(
        Heading(
            "image",
            "IMAGE",
            "The machine image of the NodeClaim, or the operating system that the node reports.",
            max_width=32,
            is_wide_only=True,
        ),
        lambda entry: entry.image,
        sort=lambda entry: entry.claim.image_id if entry.claim is not None else None,
        or_null="image",
        filters=Field(
            FieldKind.TEXT,
            lambda entry, _: entry.claim.image_id if entry.claim is not None else "",
            "machine image",
        ),
        words=Words(14, lambda entry, _: (f"image {clean(entry.image)}", Tone.NORMAL) if entry.image else NOTHING),
    ),
    USED_CPU,
    USED_MEMORY,
)
"""Every column in the published order of JSON and CSV; ctrl+w shows wide-only columns."""
_AFTER_NAME: Final = ("why", "status")
"""Columns that screens and tables show directly after the name."""


def _for_screens(columns: Sequence[Column[NodeEntry]]) -> tuple[Column[NodeEntry], ...]:
    moved = [column for name in _AFTER_NAME for column in columns if column.heading.id == name]
    return (columns[0], *moved, *(column for column in columns[1:] if column not in moved))


def _label_column(key: str, before: str = "age_seconds") -> Column[NodeEntry]:
    """Return a column for a node label (``--extra-labels``)."""
    title = clean(key.rpartition("/")[2].upper())
    return text_column(
        Heading(f"label:{key}", title, f"The node label {clean(key)}.", max_width=24, drop_order=5),
        lambda entry: entry.label(key),
        values=Value(f"label:{key}", lambda entry, _: entry.label(key) or None, str | None, after=before),
        filters={},
        words=Words(7, lambda entry, _: label_words(entry, key)),
    )


def _text(entry: NodeEntry) -> str:
    words = (
        entry.name,
        entry.pool,
        entry.instance_type,
        entry.capacity_type,
        entry.zone,
        node_status(entry).word,
        entry.claim.name if entry.claim is not None else "",
    )
    return " ".join(words).lower()


def _is_notable(entry: NodeEntry, _: int) -> bool:
    over = any(share.free < 0 and share.capacity for share in (entry.cpu, entry.memory, entry.pods))
    return over or is_faulty(node_status(entry)) or is_held(entry)


def _always(column: Column[NodeEntry]) -> Column[NodeEntry]:
    return msgspec.structs.replace(column, heading=msgspec.structs.replace(column.heading, is_wide_only=False))


def nodes_table(
    extra_labels: tuple[str, ...] = (), *, has_prices: bool = True, resources: tuple[str, ...] = ()
) -> TableSpec[NodeEntry]:
    """Return the table of the Nodes screen.

    Args:
        extra_labels: node labels that get a column before the age.
        resources: names of resources that have a column, also where room is short: of ``RESOURCE_COLUMNS``, extended
            resources and huge pages; empty for the usual ones.
    """
    age = next(place for place, column in enumerate(COLUMNS) if column.heading.id == "age")
    before = ("age_seconds", *(f"label:{key}" for key in extra_labels))
    labels = (_label_column(key, value) for key, value in zip(extra_labels, before, strict=False))
    named = tuple(dict.fromkeys(name for name in resources if name not in RESOURCE_COLUMNS))
    behind = (before[-1], *(f"resource:{name}_allocatable" for name in named))
    extended = tuple(resource_column(name, value) for name, value in zip(named, behind, strict=False))
    pods = next(place for place, column in enumerate(COLUMNS) if column is PODS) + 1
    every = (*COLUMNS[:pods], *extended, *COLUMNS[pods:age], *labels, *COLUMNS[age:])
    columns = every if has_prices else tuple(column for column in every if column.heading.id not in ("price", "held"))
    if resources:
        chosen = {RESOURCE_COLUMNS[name] for name in resources if name in RESOURCE_COLUMNS}
        columns = tuple(
            _always(column) if column.heading.id in chosen else column
            for column in columns
            if column.heading.id in chosen or column.heading.id not in RESOURCE_COLUMNS.values()
        )
    return TableSpec(
        noun="nodes",
        columns=_for_screens(columns),
        declared=every,
        text=_text,
        labels=lambda entry: entry.labels,
        key=lambda entry: entry.key,
        default_sort=Sort("name"),
        tone=lambda entry: Tone.MUTED if entry.node is None else Tone.NORMAL,
        is_notable=_is_notable,
    )


def nodes_spec(config: Config) -> TableSpec[NodeEntry]:
    """Return the table of nodes with the columns that the settings ask for."""
    return nodes_table(config.extra_labels, has_prices=not config.disable_pricing, resources=config.resources)
