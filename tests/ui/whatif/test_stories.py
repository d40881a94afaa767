"""How a result looks in the pane."""

from __future__ import annotations

from karptui.app import KarptuiApp
from karptui.screens.whatif.panes import ResultPane
from tests.canvas import whole_of
from tests.ui.whatif.bench import begin, make_app, press, settled

SMALL, LARGE = (80, 24), (120, 40)


def looks(app: KarptuiApp) -> list[str]:
    """Return the Result as letters, without how far the edits have come, which every app counts on."""
    region = app.screen.query_one(ResultPane).region
    return [line.crop(region.x, region.right).text for line in whole_of(app)[region.y : region.bottom]]


async def test_a_result_in_a_terminal_that_is_resized_looks_as_in_one_of_that_size() -> None:
    """One more DaemonSet pushes small types out: story C."""
    shown: dict[tuple[int, int], list[list[str]]] = {size: [] for size in (SMALL, LARGE)}
    for before, after in ((SMALL, LARGE), (LARGE, SMALL)):
        app = make_app()
        async with app.run_test(size=before) as pilot:
            await begin(pilot, "whatif NodePool edge")
            await press(pilot, "a", *"scale", "enter", *"Deployment edge/gateway", "enter", *"60", "enter")
            await press(pilot, "a", *"cost of one more", "enter", "ctrl+u", *"agent", "enter")
            shown[before].append(looks(app))
            await pilot.resize_terminal(*after)
            await settled(pilot)
            shown[after].append(looks(app))
    for texts, other in shown.values():
        assert texts == other
