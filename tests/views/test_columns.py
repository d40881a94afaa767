"""Every column has heading, help, cell, value and schema, and these agree for each item."""

from __future__ import annotations

import importlib.util
import json
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from karptui.cli.main import main
from karptui.cli.parser import LISTS
from karptui.views.advice import OBJECTS_TABLE as ADVICE_OBJECTS
from karptui.views.blockers.columns import TABLE as BLOCKERS
from karptui.views.blockers.trials import TABLE as BLOCKER_REMEDIES
from karptui.views.column import (
    Column,
    Heading,
    Value,
    in_published_order,
    natural_key,
    natural_keys,
    row_schema,
    text_column,
)
from karptui.views.drill import TABLE as DRILL
from karptui.views.forward.columns import TABLE as FORWARD
from karptui.views.headroom import POOLS_TABLE as HEADROOM_POOLS
from karptui.views.headroom import TABLE as HEADROOM
from karptui.views.rehearsal import TABLE as REHEARSAL
from karptui.views.row import Cell
from karptui.views.solve import TABLE as SOLVE
from karptui.views.table import Rows, Sort, TableSpec, build_rows
from karptui.views.timeouts import TABLE as TIMEOUTS
from karptui.views.values import TABLE as POLICIES
from tests.builders import present

ROOT: Final = Path(__file__).parents[2]
SAID_BY_ANOTHER: Final = {
    "events": {"time"},
    "churn-replacements": {"time"},
    "advice": {"kind"},
    "rehearsal": {"most"},
    "types": {"requirements", "offerings", "daemonsets", "pod", "limits", "carries"},
}
"""By table, columns whose content is published as a value of another column or of the table."""
NOTHING_THERE: Final = frozenset(
    {"", "-", "n/a", "unread", "…", "never", "none", "0", "silent", "no message", "no slot"}
)
"""Cell texts that are allowed if the column's only value is null."""
COMMANDS: Final = ("nodes", "pods", "claims", "pools", "types", "budgets", "events", "pending", "advice", "remedies")


def _tool() -> ModuleType:
    spec = present(importlib.util.spec_from_file_location("make_json_schemas", ROOT / "tools" / "make_json_schemas.py"))
    tool = importlib.util.module_from_spec(spec)
    present(spec.loader).exec_module(tool)
    return tool


TOOL: Final = _tool()
PUBLISHED: Final[dict[str, TableSpec[Any]]] = {name: table for name, (table, _) in TOOL.ROWS.items()}
SHOWN: Final[dict[str, TableSpec[Any]]] = {
    **PUBLISHED, "blockers": BLOCKERS, "blocker-remedies": BLOCKER_REMEDIES, "advice-objects": ADVICE_OBJECTS,
    "forward": FORWARD, "drill": DRILL, "solve": SOLVE, "headroom": HEADROOM, "headroom-pools": HEADROOM_POOLS,
    "policies": POLICIES, "rehearsal": REHEARSAL, "timeouts": TIMEOUTS,
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_every_column_and_filter_has_a_unique_name_and_help(name: str) -> None:
    headings = SHOWN[name].headings()
    ids = [heading.id for heading in headings]
    assert len(set(ids)) == len(ids)
    assert [text for text in ids if not re.fullmatch(r"[a-z][a-z0-9_]*", text)] == []
    assert [heading.id for heading in headings if not heading.title or not heading.help] == []
    assert SHOWN[name].default_sort.column_id in ids
    table = SHOWN[name]
    names = [text for column in table.every for text in column.every_filter()] + list(table.more_filters)
    assert sorted(names) == sorted(table.subject.fields)
    assert [text for text, field in table.subject.fields.items() if not field.help] == []


@pytest.mark.parametrize("name", [*PUBLISHED, "drill", "headroom", "policies", "rehearsal", "timeouts"])
def test_every_column_has_values_for_scripts(name: str) -> None:
    silent = {column.heading.id for column in SHOWN[name].every if not column.every_value()}
    assert silent == SAID_BY_ANOTHER.get(name, set())
    published = [value.name for value in SHOWN[name].published()]
    assert len(set(published)) == len(published)


@pytest.mark.parametrize("name", sorted(path.stem for path in TOOL.SCHEMAS.glob("*.json")))
def test_the_schemas_are_up_to_date(name: str) -> None:
    text = (TOOL.SCHEMAS / f"{name}.json").read_text(encoding="utf-8")
    assert text == TOOL.text(name), "run python tools/make_json_schemas.py to update it"


@pytest.mark.parametrize("command", COMMANDS)
def test_values_and_cells_agree_for_each_item(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[Rows[Any]] = []
    module = import_module(f"karptui.cli.{'lists' if command in LISTS else command}")
    monkeypatch.setattr(module, "print_rows", lambda rows, *_args, **_given: printed.append(rows))
    main([command, "--demo"])
    (rows,) = printed
    assert rows
    check = Draft202012Validator({**TOOL.schema(command), "items": row_schema(rows.spec.published())})
    assert [error.message for error in check.iter_errors(json.loads(json.dumps(rows.values())))] == []
    single = [(at, column) for at, column in enumerate(rows.spec.columns) if len(column.every_value()) == 1]
    wrong = [
        (column.heading.id, row.key, row.cells[at].text)
        for item, row in zip(rows.items, rows, strict=True)
        for at, column in single
        if column.every_value()[0].read(item, rows.now_ns) is None and row.cells[at].text not in NOTHING_THERE
    ]
    assert wrong == []


def _column(name: str, *values: Value[str]) -> Column[str]:
    return Column(Heading(name, name.upper()), lambda item, _: Cell(item), lambda item: item, values=values)


def _value(name: str, after: str = "") -> Value[str]:
    return Value(name, lambda item, _: f"{name}:{item}", str, after=after)


TABLE: Final[TableSpec[str]] = TableSpec(
    "things",
    (
        _column("a", _value("a"), _value("aa")),
        _column("b", _value("b", after="e")),
        _column("c", _value("c", after="aa"), _value("cc")),
        _column("e", _value("e", after="cc")),
    ),
    key=str,
    default_sort=Sort("a"),
    text=str,
    more_values=(Value("size", lambda item, _: len(item), int, "Letters.", after="b", flat=lambda size: f"{size}!"),),
)


def test_the_published_order_is_independent_of_the_columns() -> None:
    assert [value.name for value in TABLE.published()] == ["a", "aa", "c", "cc", "e", "b", "size"]
    assert list(TABLE.values("x", 0)) == ["a", "aa", "c", "cc", "e", "b", "size"]
    table = TABLE.without("c", "e").without("b")
    assert [heading.id for heading in table.headings()] == ["a"]
    assert table.published() == TABLE.published()


def test_a_csv_value_may_differ_from_the_json_value() -> None:
    rows = build_rows(TABLE, ["xy"], now_ns=0)
    assert rows.values()[0]["size"] == 2
    assert next(rows.flat_values())["size"] == "2!"
    assert row_schema(TABLE.published())["properties"]["size"] == {"description": "Letters.", "type": "integer"}


@pytest.mark.parametrize("after", ["nothing", "a"])
def test_a_circular_order_of_values_is_an_error(after: str) -> None:
    with pytest.raises(ValueError, match="loop"):
        in_published_order((_value("a", after=after), _value("b")))


@pytest.mark.parametrize("is_descending", [False, True])
def test_texts_are_sorted_by_their_numbers_and_empty_ones_are_last(is_descending: bool) -> None:
    column = text_column(Heading("name", "NAME", "Its name."), lambda name: name, or_null="name")
    table: TableSpec[str] = TableSpec("things", (column,), key=str, default_sort=Sort("name"), text=str)
    rows = build_rows(table, ["node-10", "", "node-9"], sort=Sort("name", is_descending), now_ns=0)
    assert list(rows.items) == (["node-10", "node-9", ""] if is_descending else ["node-9", "node-10", ""])
    assert [row["name"] for row in rows.values()][-1] is None
    assert column.every_filter()["name"].help == "its name"


@given(st.lists(st.from_regex(r"[a-c]{0,2}(-?0{0,2}[0-9]{1,12}\.?|-[a-c]{1,2})*", fullmatch=True), max_size=8))
def test_texts_are_sorted_by_their_words_and_numbers(texts: list[str]) -> None:
    def words_and_numbers(text: str) -> tuple[int | str, ...]:
        return tuple(int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", text))

    assert sorted(texts, key=natural_key) == sorted(texts, key=words_and_numbers)
    assert natural_keys(texts) == [natural_key(text) or None for text in texts]


def test_the_random_part_of_a_pod_name_has_no_numbers() -> None:
    names = ["shard-10-6d9-2xk9z", "shard-9-6d9-x2k9p", "shard-9-6d9-x10ab", "web-10", "web-9", "", None]
    keys = natural_keys(names)
    assert [name for _, name in sorted(zip(keys[:5], names[:5], strict=True))] == [
        "shard-9-6d9-x10ab", "shard-9-6d9-x2k9p", "shard-10-6d9-2xk9z", "web-9", "web-10"
    ]  # fmt: skip
    assert keys[5:] == [None, None]
