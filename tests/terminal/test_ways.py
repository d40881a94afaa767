"""The program in a terminal: the first minutes, scrolling, 16 colours, and progress of large input."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from karptui.clock import FrozenClock
from karptui.sources.source import Mailbox
from tests.builders import NOW_NS
from tests.still_demo import StillDemo
from tests.terminal.conftest import is_nodes
from tests.terminal.program import SCRIPT, Program, View, karptui

HELP = "esc closes"
FOLDING = "6"
"""Screens on which enter expands and collapses a line of the list."""
COMMANDS = {"next": "Removable once unblocked", "whatif": "─ Result ─"}
"""Commands that open a screen; the test of the window size opens the dialogs."""
SIZES = ((200, 60), (80, 24), (120, 30))
POOL = "general"


def shows(text: str) -> Callable[[View], bool]:
    return lambda view: text in view.text


def to_screen(program: Program, key: str) -> View:
    """Go to the first row of a screen, and return the screen once it has rows."""
    before = program.view.title if key != "1" else ""
    program.press(key, "g")
    return program.wait(f"the screen of {key}", lambda view: view.title not in ("", before) and view.cursor == 0)


def named(view: View) -> str:
    """Return the name of the screen in the title, without the figures after it."""
    return view.title.partition(" [")[0]


@pytest.mark.parametrize("key", ["1", FOLDING])
def test_help_and_expanded_lines_close_again(program: Program, key: str) -> None:
    """Tests the first screen and a screen with expandable lines; another test opens every screen."""
    view = to_screen(program, key)

    def is_back(seen: View) -> bool:
        return named(seen) == named(view) and not seen.has_dialog

    program.press("?")
    program.wait("the help", shows(HELP))
    program.press("escape")
    program.wait("the list again", is_back)
    program.press("g")
    folded = program.wait("its first row", lambda seen: seen.cursor == 0).rows
    program.press("enter")
    program.wait(
        "what enter opens", lambda seen: not is_back(seen) or (key in FOLDING and len(seen.rows) > len(folded))
    )
    program.press("enter" if key in FOLDING else "escape")
    program.wait("the list again", lambda seen: is_back(seen) and (key not in FOLDING or len(seen.rows) == len(folded)))


@pytest.mark.parametrize(("command", "seen"), COMMANDS.items())
def test_commands_open_screens_and_escape_returns(program: Program, command: str, seen: str) -> None:
    program.press(":")
    program.type(f"{command}\r")
    program.wait(seen, shows(seen))
    program.press("escape")
    program.wait("the nodes again", is_nodes)


def test_a_list_is_filtered(program: Program) -> None:
    count, seen = program.view.count, len(program.view.rows)
    program.press("/")
    program.type("trino")
    program.wait("matching rows", lambda view: view.rows and all("trino" in row for row in view.rows))
    program.press("enter", "G")
    view = program.wait("the last of them", lambda view: view.cursor == len(view.rows) - 1)
    assert 0 < len(view.rows) < seen
    program.press("escape")
    program.wait("every row", lambda view: view.count == count and is_full(view, 30))
    program.press("g")
    program.wait("the first row", is_nodes)


def test_the_mouse_scrolls_and_opens(program: Program) -> None:
    # Held costs are still being computed and move rows, so no row is found by its text.
    program.wheel(20, 10, lines=1)
    program.wait("rows further down", lambda view: view.rows and view.cursor < 0)
    program.wheel(20, 10, lines=-3)
    before = program.wait("the row of the cursor", lambda view: view.cursor >= 0).cursor
    row = program.view.rows[before + 6]
    program.click(5, next(y for y, line in enumerate(program.view.lines) if line.startswith(row)))
    program.wait("the cursor where the mouse was", lambda view: view.cursor > before)
    program.press("g")
    program.wait("the first row", is_nodes)
    program.click(program.view.lines[1].index("Pods"), 1)
    program.wait("the pods", lambda view: view.title == "Pods")


@pytest.mark.parametrize("dialog", ["list", "theme"])
def test_the_window_changes_its_size(program: Program, dialog: str) -> None:
    """From small to large and back: a dialog stays complete, the list fills the screen and keeps its cursor."""
    program.press("G")
    last = program.wait("the last row", lambda view: view.cursor > 0).under_cursor
    if dialog != "list":
        program.press(":")
        program.type(f"{dialog}\r")
        program.wait("the dialog", lambda view: is_whole_dialog(view, 120))
    for columns, lines in SIZES:
        program.resize(columns, lines)
        if dialog == "list":
            # mypy has no type for a lambda with a value bound as its default.
            program.wait("a full list", lambda view, lines=lines: is_full(view, lines) and view.under_cursor == last)  # type: ignore[misc]
        else:
            # mypy has no type for a lambda with a value bound as its default.
            program.wait("the dialog in the middle", lambda view, columns=columns: is_whole_dialog(view, columns))  # type: ignore[misc]
    if dialog != "list":
        program.press("escape")
    program.wait("the last row", lambda view: view.under_cursor == last and is_full(view, 30))
    program.press("g")
    program.wait("the first row", is_nodes)


def is_full(view: View, lines: int) -> bool:
    """Whether rows fill the list; the text below it has at most three lines."""
    above = next((y for y, line in enumerate(view.lines) if view.title and f"─ {view.title}" in line), None)
    if above is None:
        return False
    room = lines - above
    return min(room - 7, view.count) <= len(view.rows) <= room - 5


def is_whole_dialog(view: View, columns: int) -> bool:
    """Whether a frame with all its corners is in the middle."""
    top = next((y for y, line in enumerate(view.lines) if "╭" in line), -1)
    bottom = next((y for y, line in enumerate(view.lines) if "╰" in line), -1)
    if not 0 <= top < bottom:
        return False
    left, right = view.lines[top].index("╭"), view.lines[top].find("╮")
    sides = [(line[left], line[right]) for line in view.lines[top + 1 : bottom]]
    is_centred = abs(left - (columns - 1 - right)) <= 1
    return is_centred and all(pair == ("│", "│") for pair in sides) and view.lines[bottom][right] == "╯"


def test_keys_typed_before_the_first_screen_are_kept(recording: Path, environment: dict[str, str]) -> None:
    with karptui("--snapshot", str(recording), environment=environment) as program:
        program.press("4")
        program.wait("the pods", lambda view: view.title == "Pods" and view.cursor == 0)


def test_keys_typed_at_once_have_the_same_effect_as_one_by_one(program: Program) -> None:
    program.type("4G1:churn\r")
    program.wait("the churn of the last command", lambda view: view.title == "Churn by NodePool")
    program.press("escape")
    program.wait("the screen of the last digit", is_nodes)


def test_objects_are_read_from_a_pipe_and_keys_from_the_terminal(recording: Path, environment: dict[str, str]) -> None:
    command = 'cat "$0" | "$1" --snapshot -'
    with Program("sh", "-c", command, str(recording), str(SCRIPT), environment=environment) as program:
        program.wait("the nodes", is_nodes)
        program.press("G")
        program.wait("the last node", lambda view: view.cursor == len(view.rows) - 1 > 0)
        program.press("q")
        assert program.report("exited") == "exited 0"
        assert program.leftovers() == []


def test_a_screen_that_cannot_be_opened_gives_a_message_on_the_current_one(environment: dict[str, str]) -> None:
    with karptui("--snapshot", "/no/such/file", environment=environment) as program:
        assert program.report("exited") == "exited 2"
        assert "/no/such/file" in program.view.text
        assert program.leftovers() == []


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
def test_cursor_keys_reach_both_ends_on_every_screen(
    arguments: list[str], columns: int, lines: int, screens: str, environment: dict[str, str]
) -> None:
    """In a small terminal with rows that move, and in a larger one with new rows."""
    with karptui(*arguments, columns=columns, lines=lines, environment=environment) as program:
        there_and_back(program)
        for key in screens:
            before = program.view.title
            program.press(key)
            # mypy has no type for a lambda with a value bound as its default.
            program.wait("another screen", lambda view, before=before: view.title not in ("", before))  # type: ignore[misc]
            there_and_back(program, KEYS if key == "4" else KEYS[:1])


PLAIN = {0, 1, 2, 3, 4, 7, 9}
"""SGR codes: reset, bold, dim, italic, underline, reverse, strike-through."""


def test_no_colour_is_sent_if_no_color_is_set_even_if_empty(small: str, environment: dict[str, str]) -> None:
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


def many_nodepools(folder: Path, pool: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**pool, "metadata": {**pool["metadata"], "name": f"p{number}"}} for number in range(3_000)]


def many_values(folder: Path, pool: dict[str, Any]) -> list[dict[str, Any]]:
    changed = copy.deepcopy(pool)
    values = [f"x{number}.large" for number in range(100_000)]
    requirement = {"key": "node.kubernetes.io/instance-type", "operator": "NotIn", "values": values}
    changed["spec"]["template"]["spec"]["requirements"].append(requirement)
    return [changed]


def many_edits(folder: Path, pool: dict[str, Any]) -> list[dict[str, Any]]:
    path = "spec.template.metadata.labels.l"
    edits = [{"edit": "set", "object": f"NodePool/{POOL}", "path": f"{path}{number}"} for number in range(20_000)]
    (folder / "edits.json").write_text(json.dumps({"edits": [{**edit, "value": "x"} for edit in edits]}))
    return []


@pytest.mark.parametrize(("given", "words"), [
    (many_nodepools, ["pools"]),
    (many_values, ["policies", "--horizon", "24h"]),
    (many_edits, ["simulate", "--scenario", "edits.json"]),
])  # fmt: skip
def test_large_input_shows_progress_and_can_be_cancelled(
    given: Callable[[Path, dict[str, Any]], list[dict[str, Any]]],
    words: list[str],
    tmp_path: Path,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    demo = StillDemo(FrozenClock(NOW_NS))
    demo.start(Mailbox())
    objects = {
        (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]): item for item in demo.manifests()
    }
    for document in given(tmp_path, objects["NodePool", None, POOL]):
        objects["NodePool", None, document["metadata"]["name"]] = document
    Path("large.json").write_text(json.dumps({"kind": "List", "items": list(objects.values())}))
    with karptui(*words, "--snapshot", "large.json", environment=environment) as program:
        program.wait("progress", lambda view: re.search(r"working for \d+ s; ctrl-c cancels|: \d+ %", view.text))
        program.press("ctrl+c")
        assert program.has_ended(seconds=10)
        assert program.report("exited") == "exited 130"
        assert "Traceback" not in program.view.text
