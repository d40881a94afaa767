from __future__ import annotations

from dataclasses import dataclass

import pytest

from karptui.views.column import Column, Field, FieldKind, Heading
from karptui.views.filters import parse_query
from karptui.views.row import FORBIDDEN, NOT_APPLICABLE, Cell, Row, Tone, text_cell
from karptui.views.table import Sort, TableSpec, build_rows


@dataclass(frozen=True)
class Thing:
    name: str
    size: int | None
    is_faulty: bool = False


SPEC: TableSpec[Thing] = TableSpec(
    noun="things",
    columns=(
        Column(Heading("name", "NAME"), lambda thing, _: text_cell(thing.name), lambda thing: thing.name),
        Column(
            Heading("size", "SIZE"),
            lambda thing, _: Cell(str(thing.size)),
            lambda thing: thing.size,
            filters={"size": Field(FieldKind.COUNT, lambda thing, _: thing.size)},
        ),
    ),
    text=lambda thing: thing.name,
    key=lambda thing: thing.name,
    default_sort=Sort("name"),
    is_notable=lambda thing, _: thing.is_faulty,
)
THINGS = (Thing("n-10", 5), Thing("n-9", None, is_faulty=True), Thing("n-1", 7), Thing("n-2", 5))


def test_rows_are_built_on_access() -> None:
    rows = build_rows(SPEC, THINGS, now_ns=0)
    assert rows.keys == ("n-1", "n-2", "n-9", "n-10")
    assert len(rows) == rows.total == 4
    assert rows[0] == Row("n-1", (Cell("n-1"), Cell("7")), Tone.NORMAL)
    assert [row.key for row in rows[1:3]] == ["n-2", "n-9"]
    assert [row.key for row in rows] == list(rows.keys)
    assert [heading.id for heading in SPEC.headings()] == ["name", "size"]
    later = rows.at(60)
    assert (later.now_ns, later.total, later.items is rows.items, later.keys is rows.keys) == (60, 4, True, True)


@pytest.mark.parametrize(("sort", "keys"), [
    (Sort("size"), ("n-10", "n-2", "n-1", "n-9")),
    (Sort("size", is_descending=True), ("n-1", "n-10", "n-2", "n-9")),
    (Sort("name", is_descending=True), ("n-10", "n-9", "n-2", "n-1")),
    (Sort("gone"), ("n-1", "n-2", "n-9", "n-10")),
])  # fmt: skip
def test_items_without_a_value_are_last_in_both_orders(sort: Sort, keys: tuple[str, ...]) -> None:
    assert build_rows(SPEC, THINGS, sort=sort, now_ns=0).keys == keys


def test_filters_do_not_change_the_total() -> None:
    rows = build_rows(SPEC, THINGS, query=parse_query("size=5", SPEC.subject), now_ns=0)
    assert (rows.keys, rows.total) == (("n-2", "n-10"), 4)
    assert build_rows(SPEC, THINGS, is_notable_only=True, now_ns=0).keys == ("n-9",)


def test_cells_with_cluster_text_are_cleaned_and_never_empty() -> None:
    assert text_cell("a\x1b[0m", Tone.FAULT) == Cell("a␛[0m", Tone.FAULT)
    assert text_cell("") is NOT_APPLICABLE
    assert FORBIDDEN.text == "unread"
