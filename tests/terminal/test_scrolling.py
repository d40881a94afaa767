"""From the first key on the cursor stays in view, on every screen, wherever the objects come from."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.terminal.program import Program, View, karptui

SCREENS = "1234567890"


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


def test_on_every_screen(arguments: list[str], environment: dict[str, str]) -> None:
    with karptui(*arguments, environment=environment) as program:
        there_and_back(program)
        for key in SCREENS[1:]:
            before = program.view.title
            program.press(key)
            # mypy has no type for a lambda with a value bound as its default.
            program.wait("another screen", lambda view, before=before: view.title not in ("", before))  # type: ignore[misc]
            there_and_back(program, KEYS[:2])


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (200, 60)])
def test_at_every_size(columns: int, lines: int, environment: dict[str, str]) -> None:
    with karptui("--demo=still", columns=columns, lines=lines, environment=environment) as program:
        there_and_back(program)
        program.press("4")
        program.wait("the pods", lambda view: view.title == "Pods")
        there_and_back(program)
