"""Every node that was tried for a pod, and why it does not take it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karptui.provisioning import NodeRefusal
from karptui.views.column import Column, Heading
from karptui.views.fields import Field, FieldKind
from karptui.views.names import short_name
from karptui.views.pending.refusals import refusal_word
from karptui.views.row import Cell, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec, natural_key

COLUMNS: Final[tuple[Column[NodeRefusal], ...]] = (
    Column(
        Heading("name", "NODE", "The node.", 14, 52, is_name=True),
        lambda one, _: Cell(clean(one.node), Tone.STRONG, short_name(clean(one.node))),
        lambda one: natural_key(one.node),
    ),
    Column(
        Heading("by", "BY", "What rules it out, the first of Karpenter's checks that fails.", 7, 24),
        lambda one, _: Cell(refusal_word(one), Tone.FAULT),
        refusal_word,
    ),
    Column(
        Heading("reason", "REASON", "The same with its numbers.", 24, 140, fill_width=140),
        lambda one, _: Cell(clean(one.reason)),
        lambda one: one.reason,
    ),
)
FIELDS: Final[Mapping[str, Field[NodeRefusal]]] = {
    "name": Field(FieldKind.TEXT, lambda one, _: one.node, help="node"),
    "by": Field(FieldKind.TEXT, lambda one, _: refusal_word(one), help="memory, taint, label…"),
}
TABLE: Final[TableSpec[NodeRefusal]] = TableSpec(
    noun="nodes tried",
    columns=COLUMNS,
    text=lambda one: f"{one.node} {refusal_word(one)} {one.reason}".lower(),
    more_filters=FIELDS,
    key=lambda one: one.node,
    default_sort=Sort("by"),
)
"""The nodes tried."""
