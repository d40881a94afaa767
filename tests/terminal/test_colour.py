"""With ``NO_COLOR`` no colour is sent, and what is chosen can still be told from the rest."""

from __future__ import annotations

import pytest

from tests.terminal.conftest import is_nodes
from tests.terminal.program import karptui

PLAIN = {0, 1, 2, 3, 4, 7, 9}
"""SGR: as it was, bold, dim, italic, underlined, reversed, struck out."""


@pytest.mark.parametrize("wish", ["", "1"])
def test_no_colour_is_sent(small: str, environment: dict[str, str], wish: str) -> None:
    with karptui("--snapshot", small, environment={**environment, "NO_COLOR": wish}) as program:
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
