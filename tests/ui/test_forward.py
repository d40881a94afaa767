"""The Forward screen: charts above commands, and scenarios side by side, on story E."""

from __future__ import annotations

import pytest

from karptui.app import KarptuiApp
from karptui.kube.units import clock_text
from karptui.screens.forward import ForwardScreen, fault_of
from karptui.screens.node_detail import NodeDetailScreen
from karptui.session.answers import PlayMoment
from tests.builders import NOW_NS, present
from tests.ui.fleet import screen_text
from tests.ui.stage import pressing


def marked(app: KarptuiApp) -> str:
    """Return the line about the cluster at the marked instant."""
    return next(line for line in screen_text(app).splitlines() if "cursor" in line)


async def test_the_cursor_moves_the_marked_instant_of_the_charts(app: KarptuiApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("colon", *"forward", "enter")(pilot)
        assert isinstance(app.screen, ForwardScreen)
        rows = present(app.screen.listing.rows)
        assert len(rows) > 1
        assert rows[0].cells[0].text in marked(app)
        await pressing("end")(pilot)
        assert rows[-1].cells[0].text in marked(app)
        await pressing("home", "o")(pilot)
        assert isinstance(app.screen, NodeDetailScreen)


async def test_a_remedy_is_compared_with_the_unedited_cluster(app: KarptuiApp) -> None:
    async with app.run_test(size=(160, 40)) as pilot:
        await pressing("6", "r", "F")(pilot)
        assert isinstance(app.screen, ForwardScreen)
        text = screen_text(app)
        assert "! " in text or "no risks found" in text
        assert "own pool for these pods: +$0.10/h at the end, 7 nodes instead of 6" in text
        assert "BEFORE" in text
        assert "only before" in text
        assert "only after" in text
        await pressing("ctrl+z")(pilot)
        assert "[2/3]" in screen_text(app)
        await pressing("x")(pilot)
        assert "## Karpenter on own pool for these pods" in screen_text(app)


async def test_keys_select_time_span_and_seeds(app: KarptuiApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("F", "z")(pilot)
        assert "Forward ─ 24h" in screen_text(app)
        assert "then nothing more" in screen_text(app)
        await pressing("escape")(pilot)
        await pressing("F", "s")(pilot)
        assert "chance  5 seeds: " in screen_text(app)
        await pressing("s")(pilot)
        assert "chance  20 seeds: " in screen_text(app)
        await pressing("s")(pilot)
        assert "seeds: " not in screen_text(app)
        await pressing("escape")(pilot)
        await pressing("F", "v", *"3h", "enter", "v", *"90m", "space", "2", "enter")(pilot)
        assert "Forward ─ 90m ─" in screen_text(app)
        assert "chance  2 seeds: " in screen_text(app)
        await pressing("s")(pilot)
        assert "seeds: " not in screen_text(app)


async def test_a_row_opens_the_cluster_at_that_moment_on_every_screen(app: KarptuiApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("2", "F", "end", "enter")(pilot)
        assert app.moments.shown is not None
        last_ns = app.moments.shown.at_ns
        assert app.now_ns() == last_ns > NOW_NS
        assert f"simulated to {clock_text(last_ns)}" in screen_text(app).splitlines()[0]
        assert len(app.follower.view.state.nodes) < 10
        await pressing("6", "left_square_bracket")(pilot)
        assert app.now_ns() < last_ns
        assert app.screen is app.front
        assert "Blockers" in screen_text(app)
        await pressing("right_square_bracket", "right_square_bracket")(pilot)
        assert app.now_ns() == last_ns
        assert "the forecast ends here" in screen_text(app)
        await pressing("escape")(pilot)
        assert isinstance(app.screen, ForwardScreen)
        assert app.moments.shown is None
        assert app.now_ns() == NOW_NS
        await pressing("escape")(pilot)
        assert app.current_mode == "pools"


async def test_a_forecast_can_start_at_a_forecast_moment_whose_objects_cannot_be_fetched(app: KarptuiApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("F", "enter", "y")(pilot)
        assert "exists only in the forecast: no API server has it" in screen_text(app)
        await pressing("escape", "escape")(pilot)
        await pressing("F", "enter", "left_square_bracket", "F", "enter")(pilot)
        inner = app.moments.shown
        assert isinstance(inner, PlayMoment)
        await pressing("q")(pilot)
        assert isinstance(app.screen, ForwardScreen)
        assert isinstance(app.moments.shown, PlayMoment)
        assert app.moments.shown.play != inner.play
        await pressing("escape", "escape")(pilot)
        assert isinstance(app.screen, ForwardScreen)
        assert app.moments.shown is None
        assert app.is_running


@pytest.mark.parametrize("text", ["", "soon", "1h 0", "1h 101", "1h 2 3", "32d 1", "0s", "1h many"])
def test_an_invalid_time_span_is_refused(text: str) -> None:
    assert fault_of(text)
    assert not fault_of("36h 10")
