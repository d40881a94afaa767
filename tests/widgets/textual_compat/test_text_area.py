"""A text area that draws only changed lines: the terminal always shows the same as with Textual's text area."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from types import MethodType
from typing import Any

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.cache import LRUCache
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Button, TextArea
from textual.widgets.text_area import Selection

from karptui.views.row import Tone
from karptui.widgets.textual_compat.dimmed import LayeredScreen
from karptui.widgets.textual_compat.text_area import CURSOR_COLUMNS, ROOM_COLUMNS, SparingTextArea
from karptui.widgets.themes import variable_defaults
from karptui.widgets.yaml_editor import CompletionList, Completions, LineNote, YamlEditor
from tests.canvas import Canvas, Cell

TEXT = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  template:
    spec: {requirements: [{key: a, operator: In, values: [x, y]}], taints: [], text: "日本語の文字列"}
    expireAfter: 720h
  note: a very long line that is much wider than the editor is, so that it has to be scrolled to be read at all
  (a [b] {c})
  over: [
    1, {
  2: 3}
  ]
\tx:\ty
"""
WIDTH, HEIGHT = 44, 8


class Ground(LayeredScreen):
    """An editor with a button below it."""

    def compose(self) -> ComposeResult:
        yield YamlEditor(lambda text, row, column: Completions(column, ()), lambda: None)
        yield Button("other")
        yield CompletionList()


@dataclass
class Drawn:
    lines: list[int] = field(default_factory=list)
    layouts: int = 0


class Host(App[None]):
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    YamlEditor { width: 44; height: 8; border: none; padding: 0; scrollbar-size: 1 1; }
    YamlEditor:focus { border: none; }
    YamlEditor.small { width: 30; height: 5; }
    YamlEditor.tiny { width: 14; }
    """

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(self.current_theme)

    def get_default_screen(self) -> Ground:
        return Ground()


@asynccontextmanager
async def shown(
    monkeypatch: pytest.MonkeyPatch, text: str = TEXT, size: tuple[int, int] = (60, 14)
) -> AsyncIterator[tuple[Pilot[None], YamlEditor, Canvas]]:
    app = Host()
    async with app.run_test(size=size) as pilot:
        editor = app.screen.query_one(YamlEditor)
        editor.cursor_blink = False
        editor.load_text(text)
        editor.focus()
        await pilot.pause()
        yield pilot, editor, Canvas.behind(app, monkeypatch)


def drawn_by_textual(editor: YamlEditor) -> list[list[Cell]]:
    """Return the cells as Textual's text area draws them, without any cache."""
    lines, plain, drawn = editor._line_cache, editor._plain_lines, dict(editor._drawn)
    editor._line_cache, editor._plain_lines = LRUCache(99), LRUCache(99)
    # Use Textual's method instead of ours.
    editor._render_line = MethodType(TextArea._render_line, editor)  # type: ignore[method-assign]
    try:
        width, height = editor.scrollable_content_region.size
        strips = [editor.render_line(y).apply_style(editor.rich_style) for y in range(height)]
        return Canvas([strip.crop_extend(0, width, None) for strip in strips]).rows
    finally:
        del editor._render_line
        editor._line_cache, editor._plain_lines, editor._drawn = lines, plain, drawn


def on_terminal(editor: YamlEditor, canvas: Canvas) -> list[list[Cell]]:
    return canvas.at(editor.scrollable_content_region)


def look(cells: list[list[Cell]]) -> list[list[tuple[str, str, str, str]]]:
    """Return each cell's character and visible style, without other data of the style."""
    return [
        [
            (letter, str(style and style.color), str(style and style.bgcolor), str(style and style.without_color))
            for letter, style in row
        ]
        for row in cells
    ]


def check(editor: YamlEditor, canvas: Canvas, why: object = "") -> None:
    """Check that the terminal shows what Textual's text area would draw."""
    shown, expected = look(on_terminal(editor, canvas)), look(drawn_by_textual(editor))
    for y, (ours, theirs) in enumerate(zip(shown, expected, strict=True)):
        assert ours == theirs, (why, y, editor.selection)


LETTERS = ["a", "b", "colon", "space", "left_square_bracket", "right_square_bracket", "left_curly_bracket", "minus"]
MOVES = ["up", "down", "left", "right", "home", "end", "pageup", "pagedown", "ctrl+left", "ctrl+right"]
EDITS = ["enter", "backspace", "delete", "tab", "shift+tab", "ctrl+z", "ctrl+y", "ctrl+k", "ctrl+u", "ctrl+w", "ctrl+x"]
SELECTS = ["shift+up", "shift+down", "shift+left", "shift+right", "shift+home", "shift+end", "ctrl+a"]


async def point(pilot: Pilot[None], chance: random.Random, *, is_dragged: bool) -> None:
    """Click at a random place, or drag from there to another one."""
    await pilot.mouse_down(YamlEditor, offset=(chance.randrange(14), chance.randrange(4)))
    if is_dragged:
        await pilot.hover(YamlEditor, offset=(chance.randrange(14), chance.randrange(4)))
    await pilot.mouse_up(YamlEditor, offset=(chance.randrange(14), chance.randrange(4)))


async def surround(pilot: Pilot[None], editor: YamlEditor, chance: random.Random, kind: str) -> None:
    """Change the text area's surroundings: size, theme, scroll position or focus."""
    if kind == "size":
        editor.set_classes(chance.choice(("", "", "small", "tiny")))
    elif kind == "theme":
        pilot.app.theme = chance.choice(("textual-dark", "textual-light", "nord"))
    elif kind == "wheel":
        x, y = chance.choice((-9, 0, 9)), chance.choice((-3, 3))
        editor.scroll_relative(x=x, y=y, animate=False, immediate=True)
    else:
        pilot.app.screen.query_one(Button).focus()
        await pilot.pause()
        if kind == "focus":
            editor.focus()


def rewrite(editor: YamlEditor, chance: random.Random, kind: str) -> None:
    """Change the text, the cursor's place or the notes from code."""
    lines = editor.text.split("\n")
    at = chance.randrange(len(lines))
    if kind == "put":
        lines[at] = chance.choice(("", "name: other", "z" * 70))
        editor.put_text("\n".join(lines))
    elif kind == "place":
        editor.show_place(at)
    else:
        tone = chance.choice((Tone.FAULT, Tone.WARNING, Tone.MUTED))
        editor.notes = {at: LineNote("not so", tone, 1, 4), 0: LineNote("nor so")}


KEYS = {"letters": LETTERS, "moves": MOVES, "edits": EDITS, "selects": SELECTS}
KINDS = (
    *KEYS, *KEYS, *KEYS, "paste", "click", "drag", "size", "theme", "wheel", "blur", "focus", "put", "place", "notes",
)  # fmt: skip


async def do(pilot: Pilot[None], editor: YamlEditor, chance: random.Random) -> str:
    """Do a random action of a user or of code, and return its description."""
    kind = chance.choice(KINDS)
    if kind in KEYS:
        keys = chance.choices(KEYS[kind], k=3)
        await pilot.press(*keys)
        return f"{kind} {keys}"
    if kind in ("click", "drag"):
        await point(pilot, chance, is_dragged=kind == "drag")
    elif kind in ("size", "theme", "wheel", "blur", "focus"):
        await surround(pilot, editor, chance, kind)
    elif kind == "paste":
        editor.post_message(events.Paste(chance.choice(("x", "日本", "one\n  two: [3]\n", "y" * 60))))
    else:
        rewrite(editor, chance, kind)
    return kind


@pytest.mark.parametrize("seed", range(2))
async def test_the_text_area_looks_like_that_of_textual_after_random_actions(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    async with shown(monkeypatch) as (pilot, editor, canvas):
        check(editor, canvas, "begin")
        done = []
        for _ in range(40):
            done.append(await do(pilot, editor, chance))
            await pilot.pause()
            check(editor, canvas, done[-4:])
            assert canvas.rows == Canvas(pilot.app.screen._compositor.render_strips()).rows, done[-4:]


# Redrawing


@asynccontextmanager
async def counted(monkeypatch: pytest.MonkeyPatch, text: str) -> AsyncIterator[tuple[Pilot[None], YamlEditor, Drawn]]:
    """Show a text, and count drawn lines and layouts from then on."""
    async with shown(monkeypatch, text) as (pilot, editor, _):
        await pilot.press("end", "home")
        drawn = Drawn()
        render, lay_out = editor.render_line, editor.screen._refresh_layout

        def rendered(y: int) -> Strip:
            drawn.lines.append(y)
            return render(y)

        def laid_out(*given: Any, **options: Any) -> None:
            drawn.layouts += 1
            lay_out(*given, **options)

        monkeypatch.setattr(editor, "render_line", rendered)
        monkeypatch.setattr(editor.screen, "_refresh_layout", laid_out)
        yield pilot, editor, drawn


async def test_a_key_draws_only_changed_lines_without_a_new_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    async with counted(monkeypatch, f"a: 1\n{'x' * 90}\n") as (pilot, editor, drawn):
        await pilot.press("x", "y")
        assert drawn == Drawn([0, 0])
        drawn.lines.clear()
        await pilot.press("down")
        assert (sorted(drawn.lines), drawn.layouts) == ([0, 1], 0)
        await pilot.press("end")
        drawn.layouts = 0
        await pilot.press(*"abcdefghijklmnopqrstuvwxyz")
        assert editor.document.get_line(1).endswith("xyz")
        assert drawn.layouts == 0


# Scrolling


async def test_horizontal_scrolling_moves_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, "") as (pilot, editor, canvas):
        places = []
        for letter in "abcdefghijklmnopqrstuvwxyz" * 3:
            await pilot.press(letter)
            left, x = editor.scroll_offset.x, editor.cursor_location[1]
            assert left <= x < left + WIDTH - editor.gutter_width, "the cursor is visible"
            places.append(left)
        steps = [after - before for before, after in pairwise(places) if after != before]
        assert places[-1] > 0
        assert min(steps) >= ROOM_COLUMNS - CURSOR_COLUMNS
        check(editor, canvas)
        for _ in range(26 * 3):
            await pilot.press("left")
            left, x = editor.scroll_offset.x, editor.cursor_location[1]
            assert left <= x
            places.append(left)
        assert places[-1] == 0
        assert len(set(places)) <= 2 * len(steps) + 2
        check(editor, canvas)


async def test_the_scrollable_width_grows_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, "") as (pilot, editor, _):
        widths = {editor.virtual_size.width}
        for _ in range(WIDTH + 2 * ROOM_COLUMNS):
            await pilot.press("x")
            widths.add(editor.virtual_size.width)
            assert editor.virtual_size.width >= len(editor.text) + editor.gutter_width + 1
        assert widths == {WIDTH, WIDTH + ROOM_COLUMNS, WIDTH + 2 * ROOM_COLUMNS, WIDTH + 3 * ROOM_COLUMNS}


@pytest.mark.parametrize("keys", [["enter"] * 12 + ["x"] * 48, ["x"] * 48 + ["ctrl+u", "ctrl+z"]])
async def test_the_cursor_is_visible_after_every_key(monkeypatch: pytest.MonkeyPatch, keys: list[str]) -> None:
    async with shown(monkeypatch, "") as (pilot, editor, _):
        for key in keys:
            await pilot.press(key)
            width, height = editor.scrollable_content_region.size
            x, y = Offset(editor.cursor_location[1], editor.cursor_location[0]) - editor.scroll_offset
            assert 0 <= x < width - editor.gutter_width, key
            assert 0 <= y < height, key


async def test_a_long_text_gets_only_a_vertical_scroll_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, "a: 1") as (pilot, editor, canvas):
        await pilot.press("end", *["enter"] * HEIGHT)
        assert editor.show_vertical_scrollbar
        assert not editor.show_horizontal_scrollbar
        assert editor.scrollable_content_region.height == HEIGHT
        check(editor, canvas)
        await pilot.press(*["backspace"] * 3)
        assert not editor.show_vertical_scrollbar
        assert not editor.show_horizontal_scrollbar
        check(editor, canvas)


@pytest.mark.parametrize("at", [Selection.cursor((30, 3)), Selection((30, 1), (31, 2))])
async def test_replacing_the_text_moves_neither_cursor_nor_view(monkeypatch: pytest.MonkeyPatch, at: Selection) -> None:
    lines = [f"line {row} {'x' * 100}" for row in range(60)]
    async with shown(monkeypatch, "\n".join(lines)) as (pilot, editor, canvas):
        editor.selection = at
        await pilot.pause()
        editor.scroll_to(x=20, y=5, animate=False, immediate=True)
        await pilot.pause()
        editor.put_text("\n".join([*lines[:7], "other", *lines[8:]]))
        await pilot.pause()
        assert editor.scroll_offset == Offset(20, 5)
        assert editor.cursor_location == at.end
        assert editor.document.get_line(7) == "other"
        check(editor, canvas)
        await pilot.press("ctrl+z")
        assert editor.text == "\n".join(lines), "one undo step restores the text"


async def test_a_shorter_text_resets_the_scroll_position(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, "\n".join(map(str, range(100)))) as (pilot, editor, canvas):
        editor.show_place(99)
        await pilot.pause()
        editor.put_text("one\ntwo")
        await pilot.pause()
        assert editor.scroll_offset == Offset()
        assert editor.cursor_location == (1, 0)
        check(editor, canvas)
        editor.put_text("one\ntwo")
        await pilot.press("ctrl+z")
        assert editor.document.line_count == 100, "putting an equal text adds no undo step"


# Cursor


async def test_the_cursor_blinks(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, "a: 1") as (pilot, editor, canvas):
        editor.cursor_blink = True
        editor._pause_blink()
        editor._line_cache.clear()  # Textual's cache does not distinguish a blinking cursor
        await pilot.pause()
        seen = look(on_terminal(editor, canvas))[0]
        editor._toggle_cursor_blink_visible()
        await pilot.pause()
        assert look(on_terminal(editor, canvas))[0] != seen
        check(editor, canvas)
        editor._toggle_cursor_blink_visible()
        await pilot.pause()
        assert look(on_terminal(editor, canvas))[0] == seen


async def test_a_text_can_be_loaded_before_there_is_a_screen() -> None:
    editor = YamlEditor(lambda text, row, column: Completions(column, ()), lambda: None)
    assert isinstance(editor, SparingTextArea)
    editor.load_text("a: 1\nb: 2")
    assert editor.scroll_cursor_visible() == Offset()
    assert editor.virtual_size.height == 2
