"""The objects of a finding as a table."""

from __future__ import annotations

from typing import Final

from karptui.views.column import Column, Heading
from karptui.views.fields import Field, FieldKind
from karptui.views.row import Tone, text_cell
from karptui.views.table import Sort, TableSpec, natural_key
from karptui.whatif.edits import ObjectRef

TABLE: Final[TableSpec[tuple[int, ObjectRef]]] = TableSpec(
    noun="objects",
    columns=(
        Column(
            Heading("place", "#", "Place among the objects, the most telling first.", is_right_aligned=True),
            lambda item, _: text_cell(str(item[0] + 1), Tone.MUTED),
            lambda item: float(item[0]),
        ),
        Column(
            Heading("kind", "KIND", "Kind of the object.", min_width=8, max_width=24),
            lambda item, _: text_cell(item[1].kind),
            lambda item: item[1].kind,
        ),
        Column(
            Heading("namespace", "NAMESPACE", "Its namespace.", min_width=9, max_width=30, drop_order=1),
            lambda item, _: text_cell(item[1].namespace),
            lambda item: item[1].namespace or None,
        ),
        Column(
            Heading("name", "NAME", "Its name.", min_width=12, max_width=80, is_name=True),
            lambda item, _: text_cell(item[1].name, Tone.STRONG),
            lambda item: natural_key(item[1].name),
        ),
    ),
    text=lambda item: f"{item[1].kind} {item[1].key}".lower(),
    more_filters={
        "kind": Field(FieldKind.TEXT, lambda item, _: item[1].kind, help="kind of the object"),
        "namespace": Field(FieldKind.TEXT, lambda item, _: item[1].namespace, help="its namespace"),
        "name": Field(FieldKind.TEXT, lambda item, _: item[1].name, help="its name"),
    },
    key=lambda item: f"{item[1].kind}/{item[1].key}",
    default_sort=Sort("place"),
)
"""One row per object, with its place."""
