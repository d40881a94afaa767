"""The terminal is restored after every way in which the program ends or stops."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.terminal.program import Program, View, impatient, karptui

RUNNING = (signal.SIGTERM, signal.SIGQUIT)
STARTING = (signal.SIGHUP, signal.SIGINT)
"""All four are handled alike, so that each is sent once."""


def has_rows(view: View) -> bool:
    return view.cursor == 0


def is_help(view: View) -> bool:
    return "esc closes" in view.text


@pytest.fixture
def program(small: str, environment: dict[str, str]) -> Iterator[Program]:
    with karptui("--snapshot", small, environment=environment) as program:
        yield program


@pytest.fixture
def demo(environment: dict[str, str]) -> Iterator[Program]:
    """Return a program whose list fills the buffer of a terminal that is not read."""
    with karptui("--demo", environment=environment) as program:
        yield program


def test_a_user_quits(program: Program) -> None:
    program.wait("rows", has_rows)
    assert program.leftovers(), "the terminal is taken"
    program.press("?")
    program.wait("the help", is_help)
    program.press("ctrl+c")
    assert program.report("exited") == "exited 0"
    assert program.leftovers() == []
    assert program.view.text.strip() == "", "nothing is left on the screen"


@pytest.mark.parametrize("number", RUNNING)
def test_a_signal_ends_it(program: Program, number: signal.Signals) -> None:
    program.wait("rows", has_rows)
    program.send(number)
    assert program.report("killed") == f"killed {number}", "the status names the signal"
    assert program.leftovers() == []


@pytest.mark.parametrize("number", STARTING)
def test_a_signal_ends_it_while_it_starts(program: Program, number: signal.Signals) -> None:
    program.wait("the first frame", lambda view: "reading…" in view.text)
    program.send(number)
    assert program.report("killed") == f"killed {number}"
    assert program.leftovers() == []


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
def test_it_can_be_stopped_and_resumed(program: Program, number: signal.Signals) -> None:
    """SIGTSTP restores the terminal at once; after SIGSTOP, the terminal works when the program resumes."""
    program.wait("rows", has_rows)
    program.send(number)
    program.report("stopped")
    if number == signal.SIGTSTP:
        assert program.leftovers() == []
    program.go_on()
    program.wait("rows again", has_rows)
    # The old rows are still shown: the terminal drops keys that are pressed before the program has it again.
    program.reach("the end of the list", lambda view: view.cursor > 0, "G")
    program.press("4")
    program.wait("the pods", lambda view: view.title == "Pods" and view.cursor == 0)
    program.press("down", "down", "down", "?")
    program.wait("the help", is_help)
    program.press("escape")
    program.wait("the list, with each key counted once", lambda view: view.cursor == 3)
    program.press("q")
    assert program.report("exited") == "exited 0"
    assert program.leftovers() == []
    assert program.view.text.strip() == "", "nothing is left on the screen"


def test_it_can_be_stopped_and_resumed_while_it_starts(program: Program) -> None:
    program.wait("the first frame", lambda view: "reading…" in view.text)
    program.send(signal.SIGTSTP)
    program.report("stopped")
    assert program.leftovers() == []
    program.go_on()
    program.wait("rows", has_rows)
    program.press("q")
    assert program.report("exited") == "exited 0"
    assert program.leftovers() == []


@pytest.mark.parametrize(
    ("arguments", "part"), [("snapshot", 0), ("demo", 1), ("demo", 5), ("live", 2)], indirect=["arguments"]
)
def test_its_window_is_closed_while_it_starts(part: int, arguments: list[str], environment: dict[str, str]) -> None:
    """At each of four moments no process is left, and there is no crash report."""
    with karptui(*arguments, environment=environment) as program:
        if part:
            program.wait("the first frame", lambda view: view.cursor == 0 or "reading…" in view.text)
            program.look_on(part * 0.1)
        program.hang_up()
        assert program.has_ended()


def test_its_window_is_closed(program: Program) -> None:
    program.wait("rows", has_rows)
    program.hang_up()
    assert program.has_ended()


def leave_unread(program: Program) -> None:
    """Let a program wait for a terminal that reads nothing, as on a lost connection."""
    program.wait("rows", has_rows)
    program.press_unread("G", "g", times=30)


def test_its_terminal_closes_while_the_program_waits_for_it(demo: Program) -> None:
    leave_unread(demo)
    demo.hang_up()
    assert demo.has_ended()


def test_a_signal_ends_a_program_that_waits_for_an_unread_terminal(environment: dict[str, str]) -> None:
    with impatient("--demo", environment=environment) as program:
        leave_unread(program)
        program.send(signal.SIGTERM)
        assert program.has_ended()
        assert not [name for name in program.leftovers() if name.endswith("flags")], "the terminal is usable by a shell"


def test_a_second_signal_ends_a_program_that_waits_for_its_terminal(demo: Program) -> None:
    leave_unread(demo)
    demo.send(signal.SIGTERM)
    for _ in range(300):
        if demo.has_ended(seconds=0.1):
            break
        demo.send(signal.SIGTERM)
    else:
        pytest.fail("it goes on waiting for its terminal")
