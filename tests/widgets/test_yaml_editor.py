"""The YAML editor: notes after lines, completion, indentation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Input

from karptui.views.row import Tone
from karptui.widgets.themes import variable_defaults
from karptui.widgets.yaml_editor import (
    ChangedLines,
    CompletionItem,
    CompletionList,
    Completions,
    LineNote,
    YamlEditor,
    changed_lines,
)

FIELDS = ("requirements", "resources", "replicas")


def complete(text: str, line: int, column: int) -> Completions:
    """Complete the word at the cursor to field names."""
    before = text.split("\n")[line][:column]
    word = before.split(" ")[-1]
    items = tuple(CompletionItem(name, f"{name}:", "field") for name in FIELDS if name.startswith(word))
    return Completions(column - len(word), items)


class Host(App[None]):
    """An app with an editor and an input line."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._text = text

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(self.current_theme)

    def compose(self) -> ComposeResult:
        yield YamlEditor(complete, self.focus_line)
        yield Input()
        yield CompletionList()

    def focus_line(self) -> None:
        self.query_one(Input).focus()

    def on_mount(self) -> None:
        editor = self.query_one(YamlEditor)
        editor.cursor_blink = False
        editor.load_text(self._text)
        editor.focus()

    @property
    def editor(self) -> YamlEditor:
        return self.query_one(YamlEditor)

    @property
    def offered(self) -> CompletionList:
        return self.query_one(CompletionList)


def shown(app: Host, line: int) -> str:
    return "".join(segment.text for segment in app.editor.render_line(line)).rstrip()


async def test_a_note_is_shown_after_its_line_but_is_not_in_the_text() -> None:
    app = Host("spec:\n  requirments: 1")
    async with app.run_test(size=(80, 12)) as pilot:
        app.editor.notes = {1: LineNote("unknown field\x1b[31m", Tone.FAULT, 2, 13)}
        await pilot.pause()
        assert shown(app, 1).endswith("requirments: 1    ✘ unknown field␛[31m")
        assert app.editor.text == "spec:\n  requirments: 1"
        app.editor.notes = {1: LineNote("x" * 200, Tone.WARNING)}
        await pilot.pause()
        assert shown(app, 1).endswith("x…")
        assert len(shown(app, 1)) <= 80
        app.editor.notes = {}
        await pilot.pause()
        assert shown(app, 1).endswith("requirments: 1")


async def test_ctrl_n_goes_to_the_next_note_with_a_problem() -> None:
    app = Host("a: 1\nb: 2\nc: 3\nd: 4")
    async with app.run_test() as pilot:
        app.editor.notes = {1: LineNote("was 3", Tone.MUTED), 2: LineNote("x", start=3, end=4), 3: LineNote("y")}
        places = []
        for _ in range(3):
            await pilot.press("ctrl+n")
            places.append(app.editor.cursor_location)
        assert places == [(2, 3), (3, 0), (2, 3)]
        app.editor.notes = {}
        await pilot.press("ctrl+n")
        assert app.editor.cursor_location == (2, 3)


async def test_completion_opens_while_typing_and_tab_accepts_or_escape_closes_it() -> None:
    app = Host("spec:\n  ")
    async with app.run_test() as pilot:
        app.editor.move_cursor((1, 2))
        await pilot.press("r")
        await pilot.pause()
        await pilot.press("up")
        assert app.offered.chosen == CompletionItem("replicas", "replicas:", "field")
        await pilot.press("escape")
        assert not app.offered.is_open
        assert app.focused is app.editor
        await pilot.press("e")
        await pilot.pause()
        assert app.offered.option_count == 3
        await pilot.press("down", "tab")
        assert app.editor.text == "spec:\n  resources:"
        assert app.editor.cursor_location == (1, 12)
        assert not app.offered.is_open
        await pilot.press("escape")
        assert app.focused is app.query_one(Input)


async def test_a_key_opens_completion_before_a_word_begins() -> None:
    app = Host("  ")
    async with app.run_test() as pilot:
        app.editor.move_cursor((0, 2))
        await pilot.press("space")
        await pilot.pause()
        assert not app.offered.is_open
        await pilot.press("ctrl+@")
        assert app.offered.is_open
        app.query_one(Input).focus()
        await pilot.pause()
        assert not app.offered.is_open


async def test_enter_keeps_the_indentation_and_increases_it_after_a_colon() -> None:
    app = Host("  spec:\n  - key: a\n  - name:")
    async with app.run_test() as pilot:
        app.editor.move_cursor((0, 7))
        await pilot.press("enter", "x")
        assert app.editor.text.split("\n")[1] == "    x"
        app.editor.move_cursor((2, 10))
        await pilot.press("enter", "y")
        assert app.editor.text.split("\n")[3] == "  y"
        app.editor.move_cursor((4, 9))
        await pilot.press("enter", "z")
        assert app.editor.text.split("\n")[5] == "      z"
        await pilot.press("shift+tab")
        assert app.editor.text.split("\n")[5] == "    z"


async def test_text_typed_after_a_cursor_key_is_inserted_at_the_new_position() -> None:
    app = Host("a: 1\nb: 2")
    async with app.run_test() as pilot:
        for key, character in (("down", None), ("end", None), ("0", "0"), ("left", None), ("5", "5")):
            app.post_message(events.Key(key, character))
        await pilot.pause()
        assert app.editor.text == "a: 1\nb: 250"


LINES = st.lists(st.sampled_from("abc"), min_size=1, max_size=7)


@pytest.mark.parametrize(("before", "after", "expected"), [
    (["a", "b", "c"], ["a", "x", "c"], ChangedLines(1, 1, ("x",))),
    (["a", "c"], ["a", "b", "c"], ChangedLines(1, 1, ("b", "c"))),
    (["a", "b", "c"], ["a", "c"], ChangedLines(1, 2, ("c",))),
    ([""], ["a", "b"], ChangedLines(0, 0, ("a", "b"))),
    (["a", "b"], [""], ChangedLines(0, 1, ("",))),
])  # fmt: skip
def test_changed_lines_of_two_texts(before: list[str], after: list[str], expected: ChangedLines) -> None:
    assert changed_lines(before, after) == expected


@given(LINES, LINES)
def test_replacing_the_changed_lines_gives_the_other_text(before: list[str], after: list[str]) -> None:
    first, last, lines = changed_lines(before, after)
    assert lines
    assert first <= last
    assert [*before[:first], *lines, *before[last + 1 :]] == after


async def test_control_characters_are_drawn_as_replacement_characters() -> None:
    text = 'a: "\x1b]52;c;aGk=\x07\x9b31m\u202eb\u200b"  # é'
    app = Host(text)
    async with app.run_test(size=(80, 12)) as pilot:
        await pilot.pause()
        assert shown(app, 0).split('"')[1] == "\ufffd]52;c;aGk=\ufffd31m\ufffdb\ufffd"
        assert app.editor.text == text
