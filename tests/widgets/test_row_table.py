from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from karptui.views.column import Column, Fields, Heading
from karptui.views.row import Bar, Cell, Span, Tone, text_cell
from karptui.views.table import Rows, Sort, TableSpec, build_rows
from karptui.widgets.row_table.canvas import Cursor
from karptui.widgets.row_table.table import MarksChanged, RowHighlighted, RowSelected, RowTable, SortRequested
from tests.widgets.harness import WidgetApp


@dataclass(frozen=True)
class Thing:
    name: str
    size: int = 0


NO_FIELDS: Fields[Thing] = {}
SPEC: TableSpec[Thing] = TableSpec(
    noun="things",
    columns=(
        Column(Heading("name", "NAME", max_width=30), lambda t, _: text_cell(t.name, Tone.STRONG), lambda t: t.name),
        Column(Heading("size", "SIZE", is_right_aligned=True), lambda t, _: Cell(str(t.size)), lambda t: t.size),
        Column(
            Heading("bar", "BAR", min_width=9, fill_width=14),
            lambda t, _: Cell(f"{t.size}%", bar=Bar(10, t.size, 100)),
            lambda t: t.size,
        ),
        Column(
            Heading("note", "NOTE", max_width=24, is_wide_only=True),
            lambda t, _: Cell("red and plain", spans=(Span(0, 3, Tone.FAULT),)),
            lambda t: None,
        ),
        Column(Heading("far", "FAR", min_width=24, is_wide_only=True), lambda t, _: Cell("x" * 24), lambda t: None),
    ),
    text=lambda t: t.name,
    more_filters=NO_FIELDS,
    key=lambda t: t.name,
    default_sort=Sort("name"),
)


def rows_of(*names: str, size: int = 40, now_ns: int = 0) -> Rows[Thing]:
    return build_rows(SPEC, [Thing(name, size) for name in names], now_ns=now_ns)


def many(count: int) -> Rows[Thing]:
    return rows_of(*(f"row-{index:06d}" for index in range(count)))


async def shown(pilot: Pilot[None], table: RowTable, rows: Rows[Thing] | None = None) -> list[str]:
    if rows is not None:
        table.set_rows(rows, Sort("name"))
    await pilot.pause()
    app = pilot.app
    assert isinstance(app, WidgetApp)
    return [line.rstrip() for line in app.texts(table)]


@pytest.fixture
def table() -> RowTable:
    return RowTable(SPEC.headings())


async def test_rows_under_a_header(table: RowTable) -> None:
    async with WidgetApp(table).run_test(size=(40, 6)) as pilot:
        lines = await shown(pilot, table, rows_of("b", "a"))
        assert lines[1].split() == ["NAME↑", "SIZE", "BAR"]
        assert lines[2].startswith("▌ a")
        assert lines[2].endswith("40 ╍━━━━┈┈┈┈┈ 40%")
        assert lines[3].startswith("  b")


@pytest.mark.parametrize(("is_name", "expected"), [(True, "checkout…-x2x4q"), (False, "checkout-api-7…")])
async def test_names_are_cut_in_the_middle_and_texts_at_their_end(is_name: bool, expected: str) -> None:
    table = RowTable((Heading("name", "NAME", max_width=15, is_name=is_name), *SPEC.headings()[1:]))
    async with WidgetApp(table).run_test(size=(40, 6)) as pilot:
        lines = await shown(pilot, table, rows_of("checkout-api-7c9d8f6b5-x2x4q"))
        assert lines[2].split()[1] == expected


async def test_a_cut_cell_under_the_cursor_counts_as_unseen_like_a_dropped_column() -> None:
    table = RowTable((Heading("name", "NAME", max_width=8), *SPEC.headings()[1:]))
    async with WidgetApp(table).run_test(size=(40, 6)) as pilot:
        await shown(pilot, table)
        assert table.unseen == {"note", "far"}
        await shown(pilot, table, rows_of("a", "checkout", "checkout2"))
        seen = []
        for _ in range(3):
            seen.append("name" not in table.unseen)
            await pilot.press("down")
        assert seen == [True, True, False]


async def test_keys_move_the_cursor_and_the_view(table: RowTable) -> None:
    async with WidgetApp(table).run_test(size=(40, 12)) as pilot:
        table.focus()
        await shown(pilot, table, many(100))
        for keys, index in (
            (("down", "j"), 2),
            (("up",), 1),
            (("k", "k"), 0),
            (("pagedown",), 10),
            (("G",), 99),
            (("pageup",), 89),
            (("g",), 0),
            (("end",), 99),
            (("home",), 0),
        ):
            await pilot.press(*keys)
            assert table.cursor_index == index
        await pilot.press("G")
        lines = await shown(pilot, table)
        assert lines[-1].startswith("▌ row-000099")
        assert lines[1].split()[0] == "NAME↑"


async def test_the_cursor_and_marks_follow_their_rows_and_the_view_stays(table: RowTable) -> None:
    async with WidgetApp(table).run_test(size=(40, 12)) as pilot:
        table.focus()
        await shown(pilot, table, rows_of("d", "f"))
        await shown(pilot, table, rows_of("b", "d", "f"))
        assert table._cursor.key == "b", "the cursor stays on the first row until a key moves it"
        await pilot.press("down", "space")
        assert (table._cursor.key, table.marked) == ("f", {"d"})
        lines = await shown(pilot, table, rows_of("a", "b", "c", "d", "e", "f"))
        assert table._cursor.key == "f"
        assert [line[:3] for line in lines if "✓" in line] == [" ✓d"]
        await shown(pilot, table, rows_of("a", "b"))
        assert (table._cursor.key, table.marked) == ("b", frozenset())
        table.clear_marks()


async def test_new_rows_above_do_not_move_the_visible_rows(table: RowTable) -> None:
    async with WidgetApp(table).run_test(size=(40, 8)) as pilot:
        table.focus()
        await shown(pilot, table, rows_of(*(f"m{index:02d}" for index in range(30))))
        await pilot.press("pagedown", "pagedown")
        before = await shown(pilot, table)
        names = [f"m{index:02d}" for index in range(30)] + [f"a{index}" for index in range(5)]
        after = await shown(pilot, table, rows_of(*names))
        assert [line[:6] for line in before[2:]] == [line[:6] for line in after[2:]]


async def test_only_lines_that_changed_are_drawn_again(table: RowTable, monkeypatch: pytest.MonkeyPatch) -> None:
    async with WidgetApp(table).run_test(size=(40, 12)) as pilot:
        await shown(pilot, table, rows_of("a", "b", "c"))
        drawn: list[object] = []
        refresh = RowTable.refresh

        def counted(self: RowTable, *regions: object, **given: object) -> RowTable:
            drawn.extend(regions or ["everything"])
            return refresh(self, *regions, **given)  # type: ignore[arg-type]  # handed on as they came

        monkeypatch.setattr(RowTable, "refresh", counted)
        table.set_rows(build_rows(SPEC, [Thing("a", 40), Thing("b", 41), Thing("c", 40)], now_ns=1), Sort("name"))
        assert len(drawn) == 1
        drawn.clear()
        table.set_rows(rows_of("a", "b"), Sort("name"))
        await pilot.pause()
        assert (await shown(pilot, table))[4] == ""


async def test_the_table_posts_cursor_selection_and_mark_messages(table: RowTable) -> None:
    app = WidgetApp(table)
    async with app.run_test(size=(40, 12)) as pilot:
        table.focus()
        await shown(pilot, table, rows_of("a", "b"))
        await pilot.press("down", "enter", "space")
        heard = [(type(message), getattr(message, "key", None)) for message in app.heard]
        assert heard == [(RowHighlighted, "a"), (RowHighlighted, "b"), (RowSelected, "b"), (MarksChanged, None)]
        message = app.heard[0]
        assert isinstance(message, RowHighlighted)
        assert message.control is table


async def test_keys_pressed_before_the_first_rows_are_applied_to_them(table: RowTable) -> None:
    app = WidgetApp(table)
    async with app.run_test(size=(40, 12)) as pilot:
        table.focus()
        table.awaits_rows = True
        await shown(pilot, table, rows_of())
        await pilot.press("down", "down", "enter", "space", "up")
        assert table.cursor_index == 0
        app.heard.clear()
        await shown(pilot, table, many(5))
        assert table.cursor_index == 2
        assert [getattr(item, "key", "") for item in app.heard if isinstance(item, RowSelected)] == ["row-000002"]
        assert table.marked == {"row-000002"}
        table.awaits_rows = False
        await shown(pilot, table, rows_of())
        await pilot.press("down", "enter")
        app.heard.clear()
        await shown(pilot, table, many(5))
        assert not any(isinstance(message, RowSelected) for message in app.heard)


async def test_keys_are_dropped_if_the_awaited_rows_do_not_arrive(table: RowTable) -> None:
    app = WidgetApp(table)
    async with app.run_test(size=(40, 12)) as pilot:
        table.focus()
        table.awaits_rows = True
        await pilot.press("enter")
        table.awaits_rows = False
        await shown(pilot, table, rows_of())
        await shown(pilot, table, many(5))
        assert not any(isinstance(message, RowSelected) for message in app.heard)


async def test_an_empty_table_shows_its_placeholder(table: RowTable) -> None:
    app = WidgetApp(table)
    async with app.run_test(size=(40, 9)) as pilot:
        table.focus()
        table.set_placeholder(("no nodes match  [cpu]", Tone.NORMAL), ("esc clears", Tone.MUTED))
        lines = await shown(pilot, table)
        assert [line.strip() for line in lines if line.strip()][-2:] == ["no nodes match  [cpu]", "esc clears"]
        await pilot.press("down", "G", "enter", "space", "O", "shift+left")
        assert app.heard == []
        await shown(pilot, table, rows_of("a"))
        lines = await shown(pilot, table, rows_of())
        assert "esc clears" in "\n".join(lines)


async def test_wide_columns_scroll_past_the_first(table: RowTable) -> None:
    async with WidgetApp(table).run_test(size=(50, 6)) as pilot:
        table.focus()
        narrow = await shown(pilot, table, rows_of("a", "b"))
        assert "NOTE" not in narrow[1]
        assert [heading.id for heading in table.layout_columns] == ["name", "size", "bar"]
        await pilot.press("right")
        assert await shown(pilot, table) == narrow
        table.set_wide(is_wide=True)
        assert table.is_wide
        assert "NOTE" in (await shown(pilot, table))[1]
        await pilot.press("right", "l")
        lines = await shown(pilot, table)
        assert lines[2].startswith("▌ a")
        assert "FAR" in lines[1]
        await pilot.press("left", "h", "h")
        assert (await shown(pilot, table))[1].split()[:2] == ["NAME↑", "SIZE"]
        table.set_wide(is_wide=False)
        assert await shown(pilot, table) == narrow


async def test_clicks_on_headers_request_a_sort_order(table: RowTable) -> None:
    app = WidgetApp(table)
    async with app.run_test(size=(50, 6)) as pilot:
        table.focus()
        await shown(pilot, table, rows_of("a"))
        await pilot.press("O", "shift+right", "O", "shift+left", "shift+left", "O")
        await pilot.click(table, offset=(3, 1))
        await pilot.click(table, offset=(0, 1))
        asked = [message.column_id for message in app.heard if isinstance(message, SortRequested)]
        assert asked == ["name", "size", "bar", "name"]


async def test_the_mouse_selects_rows(table: RowTable) -> None:
    app = WidgetApp(table)
    async with app.run_test(size=(50, 12)) as pilot:
        table.focus()
        await shown(pilot, table, rows_of("a", "b", "c"))
        await pilot.click(table, offset=(5, 3))
        assert table._cursor.key == "b"
        await pilot.click(table, offset=(5, 4), times=2)
        assert [message.key for message in app.heard if isinstance(message, RowSelected)] == ["c"]
        await pilot.click(table, offset=(5, 9))
        assert table._cursor.key == "c"
        await pilot.hover(table, offset=(5, 2))
        await pilot.hover(table, offset=(5, 3))


async def test_a_smaller_window_keeps_the_cursor_in_view(table: RowTable) -> None:
    async with WidgetApp(table).run_test(size=(60, 20)) as pilot:
        table.focus()
        await shown(pilot, table, many(50))
        await pilot.press(*["down"] * 15)
        await pilot.resize_terminal(40, 8)
        lines = await shown(pilot, table)
        assert any(line.startswith("▌ row-000015") for line in lines)


async def test_columns_can_be_replaced(table: RowTable) -> None:
    async with WidgetApp(table).run_test(size=(60, 8)) as pilot:
        await shown(pilot, table, rows_of("a"))
        table.set_headings(SPEC.headings()[:1])
        spec = SPEC.without("size", "bar", "note", "far")
        lines = await shown(pilot, table, build_rows(spec, [Thing("a")], now_ns=0))
        assert lines[1].split() == ["NAME↑"]
        assert table.headings == SPEC.headings()[:1]
        assert len(table.rows) == 1


async def test_cell_text_is_neither_markup_nor_control_sequences(table: RowTable) -> None:
    async with WidgetApp(table).run_test(size=(80, 12)) as pilot:
        hostile = (
            "[bold red]x[/]", "[/]", "\x1b[2J\x1b]0;t\x07", "a\nb", "\u202egnp.exe", "節點", "[@click=app.quit]q[/]",
        )  # fmt: skip
        lines = await shown(pilot, table, rows_of(*hostile))
        text = "\n".join(lines)
        for name in ("[bold red]x[/]", "[/]", "␛[2J", "a⏎b", "�gnp.exe", "節點", "[@click=app.quit]q[/]"):
            assert name in text
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_marks_are_removed_with_their_rows() -> None:
    cursor = Cursor()
    cursor.toggle_mark()
    cursor.replace(("a", "b"))
    cursor.toggle_mark()
    assert cursor.move_to_key("b")
    assert not cursor.move_to_key("z")
    cursor.toggle_mark()
    assert cursor.marked == {"a", "b"}
    cursor.replace(("b",))
    assert cursor.marked == {"b"}
    cursor.toggle_mark()
    assert cursor.marked == frozenset()


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True)), st.integers(-2, 9))
def test_the_cursor_is_always_inside_the_list(lists: list[list[str]], target: int) -> None:
    cursor = Cursor()
    for keys in lists:
        before = cursor.key
        cursor.replace(tuple(keys))
        assert 0 <= cursor.index < max(len(keys), 1)
        if cursor.has_moved and before in keys:
            assert cursor.key == before
        cursor.move_to(target)
        assert 0 <= cursor.index < max(len(keys), 1)
