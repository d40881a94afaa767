"""How the five stories look in the pane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.ui.whatif.bench import SIZES, make_app, prepare, settled
from tests.ui.whatif.stories import STORIES

Compare = Callable[..., bool]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch)


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("story", STORIES)
def test_story_looks(snap_compare: Compare, story: str, size: tuple[int, int]) -> None:
    async def play(pilot: Pilot[Any]) -> None:
        await STORIES[story](pilot)
        await settled(pilot)
        for part in pilot.app.screen.query("TopBar, TabLine"):
            part.display = False  # the frame has pictures of its own
        await pilot.pause()

    assert snap_compare(make_app(), terminal_size=size, run_before=play)
