"""Some of docs/pains.md, as somebody with a small terminal plays them."""

from __future__ import annotations

from tests.terminal.conftest import is_nodes
from tests.terminal.program import Program, View, karptui
from tests.ui.test_pains import AT, SMALL, Pain

PLAYED = (3, 9, 6, 7, 8, 2)
"""Those that need nothing but a list, and so no patience; a filter is typed once on each."""
CALLED = {"slash": "/"}


def as_read(view: View) -> str:
    """Return what is on the screen, with sentences that go on in the next line in one."""
    return " ".join(view.text.split())


def play(program: Program, pain: Pain) -> None:
    """Press the keys of a pain, and wait until its sentences are read."""
    first, *others = (CALLED.get(key, key) for key in pain.keys)
    program.press(first)
    program.wait("another list", lambda view: view.title not in ("", "Nodes") and view.cursor >= 0)
    program.press(*others)
    for sentence in pain.sentences:
        # mypy has no type for a lambda with a value bound as its default.
        program.wait(sentence, lambda view, sentence=sentence: sentence in as_read(view))  # type: ignore[misc]


def test_pains_are_played_in_a_small_terminal(environment: dict[str, str]) -> None:
    columns, lines = SMALL
    with karptui("--demo=still", columns=columns, lines=lines, environment=environment) as program:
        program.wait("the nodes, looked into", lambda view: is_nodes(view) and "$3.68/h" in view.text)
        for number in PLAYED:
            play(program, AT[SMALL][number])
            program.press("1")
            program.wait("the nodes", is_nodes)
