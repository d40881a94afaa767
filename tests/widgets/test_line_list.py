"""Lines with a cursor that follows them."""

from __future__ import annotations

from textual.app import App, ComposeResult

from karptui.views.row import Tone
from karptui.widgets.pick_list import Line, LineList
from karptui.widgets.themes import variable_defaults


def a_line(key: str, *, is_heading: bool = False) -> Line:
    return Line(key, ((f"line {key}", Tone.NORMAL),), is_heading)


class Host(App[None]):
    """A list that notes what is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(self.current_theme)

    def compose(self) -> ComposeResult:
        yield LineList()

    def on_mount(self) -> None:
        self.query_one(LineList).focus()

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        self.opened.append(event.key)


async def test_headings_are_passed_over_and_enter_opens() -> None:
    app = Host()
    async with app.run_test() as pilot:
        lines = app.query_one(LineList)
        assert lines.current_key == ""
        lines.show_lines((a_line("head", is_heading=True), a_line("a"), a_line("tail", is_heading=True), a_line("b")))
        assert lines.current_key == "a"
        await pilot.press("j", "enter")
        assert app.opened == ["b"]
        await pilot.press("g", "enter", "G", "enter")
        assert app.opened == ["b", "a", "b"]


async def test_the_cursor_follows_its_line() -> None:
    app = Host()
    async with app.run_test() as pilot:
        lines = app.query_one(LineList)
        lines.show_lines((a_line("a"), a_line("b")))
        await pilot.press("j")
        lines.show_lines((a_line("new"), a_line("a"), a_line("b")))
        assert lines.current_key == "b"
        lines.show_lines((a_line("new"), a_line("a"), a_line("b")))
        lines.show_lines((a_line("x"), a_line("x")))
        assert lines.current_key == "x"
        assert len(lines.picks) == 1
        lines.show_lines(())
        assert lines.current_key == ""
