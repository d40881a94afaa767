"""From the first key on the cursor stays in view, on every screen, wherever the objects come from."""

from __future__ import annotations

import pytest

from tests.terminal.program import Program, View, karptui

SCREENS = "1234567890"


def is_at_start(view: View) -> bool:
    return view.cursor == 0


def is_at_end(view: View) -> bool:
    return view.cursor == len(view.rows) - 1 > 0


def there_and_back(program: Program) -> View:
    """Go to the end of the list and back, and return what is seen at its start."""
    start = program.wait("a row under the cursor", is_at_start)
    if len(start.rows) > 1:
        for down, up in (("G", "g"), ("end", "home"), ("pagedown", "pageup")):
            program.reach(f"the cursor further down after {down}", lambda view: view.cursor > 0, down)
            program.reach("the cursor on the last row", is_at_end, "G")
            start = program.reach("the cursor on the first row", is_at_start, up, "g")
    return start


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (120, 30), (200, 60)])
def test_the_cursor_stays_in_view(columns: int, lines: int) -> None:
    with karptui("--demo", columns=columns, lines=lines) as program:
        view = there_and_back(program)
        assert view.count > 0
        for key in SCREENS[1:]:
            before = view.title
            program.press(key)
            program.wait("another screen", lambda view, before=before: view.title not in ("", before))  # type: ignore[misc]
            view = there_and_back(program)
