"""Tours of the demo: the keys of docs/stories.md, captioned; tests/ui/whatif types all of them."""

from __future__ import annotations

import re
from pathlib import Path
from string import ascii_lowercase

from karptui.cli.main import DEMOS, build_parser
from karptui.cli.source import open_source
from karptui.clock import FrozenClock
from karptui.sources.demo.source import DemoSource
from karptui.sources.source import Mailbox, Phase
from karptui.views.tour import STORIES, Tour
from tests.builders import NOW_NS
from tests.ui.fleet import screen_text
from tests.ui.stage import demo_app, press, running

PAGE = Path(__file__).parents[2] / "docs" / "stories.md"
NAMES = {"↓": "down", "↑": "up", "←": "left", "→": "right"}


def told() -> dict[str, tuple[str, ...]]:
    """Return the keys of each story as the page tells them."""
    texts: dict[str, tuple[str, ...]] = {}
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        rows = re.findall(r"^\|((?: `[^`]+`)+) \|", section, flags=re.MULTILINE)
        keys = [key for row in rows for key in re.findall(r"`([^`]+)`", row)]
        texts[section[0].lower()] = tuple(NAMES.get(key, key) for key in keys)
    return texts


def test_tours_take_the_keys_that_the_page_tells() -> None:
    assert {letter: story.keys for letter, story in STORIES.items()} == told()


def test_a_key_that_is_not_the_next_leaves_the_tour_where_it_is() -> None:
    tour = Tour(STORIES["a"])
    first = tour.line()
    assert not tour.press("x")
    assert tour.line() == first
    assert tour.press("2")
    assert tour.line() != first
    for key in ("down", "down", "ctrl+t", "left", "m", "down", "enter"):
        assert not tour.is_over
        assert tour.press(key)
    assert tour.is_over
    assert not tour.press("2")


async def test_a_tour_says_how_to_come_back_to_its_screen_and_goes_on_there() -> None:
    app = demo_app(FrozenClock(NOW_NS))
    app.tour = tour = Tour(STORIES["a"])

    async def caption(*keys: str) -> str:
        await press(pilot, *keys)
        return screen_text(app).split("\n")[0]

    async with running(app, (120, 40)) as (_, pilot):
        assert "people expect halves: ↓" in await caption("2", "down")
        assert "1/4 continues on Pools: 2 goes back there." in await caption("5")
        assert "1/4 continues on Pools" in await caption("down"), "a key of the tour is none on another screen"
        assert "people expect halves: ↓" in await caption("2")
        assert "2/4 general gets every pod" in await caption("down")
        assert "continues on the screen behind this one: esc goes back." in await caption("enter")
        assert "2/4 general gets every pod" in await caption("escape")
        assert "3/4 Now the name" in await caption("ctrl+t", "left")
        assert "cannot continue, because its screen is closed" in await caption("5")
        assert not tour.is_over


def test_the_demo_stands_still_where_that_is_asked_for() -> None:
    args = build_parser(None).parse_args(["--demo", "--still"])
    source, clock = open_source(args, is_still=args.still)
    assert clock.now_ns() == clock.now_ns()
    assert isinstance(source, DemoSource)
    assert source.is_stepped
    source.start(mailbox := Mailbox())
    assert {status.phase for status in mailbox.drain().statuses.values()} == {Phase.OFFLINE}


def test_every_story_can_be_asked_for() -> None:
    parser = build_parser(None)

    def is_taken(letter: str) -> bool:
        try:
            parser.parse_args([f"--tour={letter}"])
        except SystemExit:
            return False
        return True

    assert list(filter(is_taken, ascii_lowercase)) == list(STORIES)
    assert list(DEMOS) == [*STORIES, "still", "large"]
