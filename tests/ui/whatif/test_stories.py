"""How the five stories look in the pane."""

from __future__ import annotations

import pytest
import pytest_textual_snapshot
from syrupy.assertion import SnapshotAssertion

from tests.ui.whatif.bench import SIZES, make_app, prepare, settled
from tests.ui.whatif.stories import STORIES


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch)


@pytest.mark.parametrize("story", STORIES)
async def test_story_looks(snapshot: SnapshotAssertion, story: str) -> None:
    drawn = snapshot.use_extension(pytest_textual_snapshot.SVGImageExtension)
    small, wide = SIZES[:2]
    app, changed = make_app(), []
    async with app.run_test(size=wide) as pilot:
        await STORIES[story](pilot)
        await settled(pilot)
        for part in app.screen.query("TopBar, TabLine"):
            part.display = False  # the frame has pictures of its own
        for width, height in (wide, small):
            await pilot.resize_terminal(width, height)
            await settled(pilot)
            picture = f"{width}x{height}"
            if drawn(name=picture) != app.export_screenshot(simplify=True):
                changed.append(picture)
    assert changed == []
