"""The table of what can be done about blockers, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karptui.kube.units import count_text
from karptui.views.blockers.effect import nodes_cell, saves_cell, when_cell
from karptui.views.column import Column, Heading
from karptui.views.fields import Field, FieldKind
from karptui.views.row import NOT_APPLICABLE, Cell, Tone
from karptui.views.table import Sort, TableSpec
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, BlockerRemedyKind

_ORDER: Final = {kind: place for place, kind in enumerate(BlockerRemedyKind)}


def _edits(remedy: BlockerRemedy) -> Cell:
    return Cell(count_text(len(remedy.edits))) if remedy.edits else NOT_APPLICABLE


COLUMNS: Final[tuple[Column[BlockerRemedy], ...]] = (
    Column(
        Heading("remedy", "REMEDY", "What can be done.", min_width=30, max_width=44),
        lambda remedy, _: Cell(remedy.title, Tone.STRONG),
        lambda remedy: _ORDER[remedy.kind],
    ),
    Column(
        Heading(
            "nodes",
            "NODES GO",
            "How many of the nodes go (simulated); +: more may; try it: the what-if tells.",
            min_width=8,
        ),
        lambda remedy, _: nodes_cell(remedy.effect),
        lambda remedy: remedy.effect.goes if remedy.effect is not None else None,
    ),
    Column(
        Heading("when", "WHEN", "At once, or once the protected pods have ended by themselves.", 5, 24),
        lambda remedy, _: when_cell(remedy.effect),
        lambda remedy: when_cell(remedy.effect).text,
    ),
    Column(
        Heading(
            "saves",
            "SAVES",
            "Per hour, by the prices of the NodePools (simulated).",
            min_width=7,
            is_right_aligned=True,
            is_descending_first=True,
        ),
        lambda remedy, _: saves_cell(remedy.effect),
        lambda remedy: remedy.effect.saves_per_hour if remedy.effect is not None else None,
    ),
    Column(
        Heading("edits", "EDITS", "Changes that a what-if makes of it; - where it cannot.", is_right_aligned=True),
        lambda remedy, _: _edits(remedy),
        lambda remedy: float(len(remedy.edits)),
    ),
)
"""Every column in order."""

FIELDS: Final[Mapping[str, Field[BlockerRemedy]]] = {
    "remedy": Field(FieldKind.TEXT, lambda remedy, _: remedy.title, help="what can be done"),
    "saves": Field(
        FieldKind.MONEY,
        lambda remedy, _: remedy.effect.saves_per_hour if remedy.effect is not None else None,
        help="dollars per hour",
    ),
}

TABLE: Final[TableSpec[BlockerRemedy]] = TableSpec(
    noun="remedies",
    columns=COLUMNS,
    text=lambda remedy: f"{remedy.title} {remedy.sentence}".lower(),
    more_filters=FIELDS,
    key=lambda remedy: str(remedy.kind.name),
    default_sort=Sort("remedy"),
    is_notable=lambda remedy, _: remedy.effect is not None and remedy.effect.goes > 0,
)
