"""Colours of 16, and a cursor that stays in view from the first key on."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.terminal.conftest import is_nodes
from tests.terminal.program import Program, View, karptui


def is_at_start(view: View) -> bool:
    return view.cursor == 0


def is_at_end(view: View) -> bool:
    return view.cursor == len(view.rows) - 1 > 0


KEYS = (("G", "g"), ("pagedown", "pageup"), ("end", "home"))


def there_and_back(program: Program, keys: Sequence[tuple[str, str]] = KEYS) -> None:
    """Go to the end of the list and back."""
    start = program.wait("a row under the cursor", is_at_start)
    if len(start.rows) == 1:
        return
    for down, up in keys:
        program.reach(f"the cursor further down after {down}", lambda view: view.cursor > 0, down)
        program.reach("the cursor on the last row", is_at_end, "G")
        program.reach(f"the cursor on the first row after {up}", is_at_start, up, "g")


@pytest.mark.parametrize(
    ("arguments", "columns", "lines", "screens"),
    [("demo", 80, 24, "234567890"), ("live", 120, 40, "46")],
    indirect=["arguments"],
)
def test_on_screens(arguments: list[str], columns: int, lines: int, screens: str, environment: dict[str, str]) -> None:
    """In a small terminal with rows that move, and in a larger one with rows that come in."""
    with karptui(*arguments, columns=columns, lines=lines, environment=environment) as program:
        there_and_back(program)
        for key in screens:
            before = program.view.title
            program.press(key)
            # mypy has no type for a lambda with a value bound as its default.
            program.wait("another screen", lambda view, before=before: view.title not in ("", before))  # type: ignore[misc]
            there_and_back(program, KEYS if key == "4" else KEYS[:1])


PLAIN = {0, 1, 2, 3, 4, 7, 9}
"""SGR: as it was, bold, dim, italic, underlined, reversed, struck out."""


def test_no_colour_is_sent_if_no_color_is_set_even_to_nothing(small: str, environment: dict[str, str]) -> None:
    with karptui("--snapshot", small, environment={**environment, "NO_COLOR": ""}) as program:
        program.wait("the nodes", is_nodes)
        program.press("down", "?")
        program.wait("the help", lambda view: "esc closes" in view.text)
        program.press("escape")
        view = program.wait("the second row", lambda view: view.cursor == 1 and not view.has_dialog)
        looks = program.emulator.looks
        line = next(y for y, text in enumerate(view.lines) if text.startswith(view.rows[1]))
        reversed_at = [program.emulator.buffer[y][5].reverse for y in (line - 1, line, line + 1)]
    assert looks <= PLAIN
    assert 1 in looks
    assert reversed_at == [False, True, False]
