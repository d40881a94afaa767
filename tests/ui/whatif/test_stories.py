"""How the five stories look in the pane."""

from __future__ import annotations

import pytest

from karptui.app import KarptuiApp
from karptui.screens.whatif.panes import ResultPane
from tests.canvas import whole_of
from tests.ui.whatif.bench import SIZES, make_app, prepare, settled
from tests.ui.whatif.stories import STORIES


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch)


def looks(app: KarptuiApp) -> list[str]:
    """Return the Result as letters, without how far the edits have come, which every app counts on."""
    region = app.screen.query_one(ResultPane).region
    return [line.crop(region.x, region.right).text for line in whole_of(app)[region.y : region.bottom]]


@pytest.mark.parametrize(("before", "after"), [(SIZES[1], SIZES[0]), (SIZES[0], SIZES[1])])
async def test_a_result_in_a_terminal_that_is_resized_looks_as_in_one_of_that_size(
    before: tuple[int, int], after: tuple[int, int]
) -> None:
    shown = []
    for size in (before, after):
        app = make_app()
        async with app.run_test(size=size) as pilot:
            await STORIES["c"](pilot)
            await pilot.resize_terminal(*after)
            await settled(pilot)
            shown.append(looks(app))
    assert shown[0] == shown[1]
