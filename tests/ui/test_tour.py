"""Tours of the demo: captions for the keys of docs/stories.md, which `test_pages` presses."""

from __future__ import annotations

from string import ascii_lowercase

from karptui.cli.parser import DEMOS, build_parser
from karptui.cli.source import open_source
from karptui.clock import FrozenClock
from karptui.sources.demo.source import DemoSource
from karptui.sources.source import Mailbox, Phase
from karptui.views.tour import STORIES, Tour
from tests.builders import NOW_NS
from tests.ui.fleet import screen_text
from tests.ui.stage import demo_app, press, running


async def test_a_tour_shows_how_to_return_to_its_screen_and_continues_there() -> None:
    app = demo_app(FrozenClock(NOW_NS))
    app.tour = tour = Tour(STORIES["a"])

    async def caption(*keys: str) -> str:
        await press(pilot, *keys)
        return screen_text(app).split("\n")[0]

    async with running(app, (120, 40)) as (_, pilot):
        assert "people expect halves: ↓" in await caption("2", "down")
        assert "1/4 continues on Pools: 2 goes back there." in await caption("5")
        assert "1/4 continues on Pools" in await caption("down"), "a key of the tour does not count on another screen"
        assert "people expect halves: ↓" in await caption("2")
        assert "2/4 general gets every pod" in await caption("down")
        assert "continues on the screen behind this one: esc goes back." in await caption("enter")
        assert "2/4 general gets every pod" in await caption("escape")
        assert "3/4 Now the name" in await caption("ctrl+t", "left")
        assert "cannot continue, because its screen is closed" in await caption("5")
        assert not tour.is_over


def test_still_freezes_the_demo() -> None:
    args = build_parser(None).parse_args(["--demo", "--still"])
    source, clock = open_source(args, is_still=args.still)
    assert clock.now_ns() == clock.now_ns()
    assert isinstance(source, DemoSource)
    assert source.is_stepped
    source.start(mailbox := Mailbox())
    assert {status.phase for status in mailbox.drain().statuses.values()} == {Phase.OFFLINE}


def test_every_story_is_a_value_of_the_tour_flag() -> None:
    parser = build_parser(None)

    def is_taken(letter: str) -> bool:
        try:
            parser.parse_args([f"--tour={letter}"])
        except SystemExit:
            return False
        return True

    assert list(filter(is_taken, ascii_lowercase)) == list(STORIES)
    assert list(DEMOS) == [*STORIES, "still", "large"]
