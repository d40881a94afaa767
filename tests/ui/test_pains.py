"""docs/pains.md: the keys that play each of the 25 pains, and the sentences that are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from textual.pilot import Pilot

from karptui.clock import FrozenClock
from karptui.config import Config
from tests.builders import NOW_NS
from tests.ui.fleet import a_fleet, lines_of, price_evidence
from tests.ui.stage import an_app, demo_app, press, running, settled
from tests.ui.test_by_question import SyncingSource
from tests.ui.whatif.test_stories_page import NAMES, read

PAGE: Final = Path(__file__).parents[2] / "docs" / "pains.md"
WIDE: Final = (120, 40)
SMALL: Final = (80, 24)
ABOVE_SMALL: Final = "## At 80 by 24"


class Pain(NamedTuple):
    """A row of the page."""

    number: int
    keys: tuple[str, ...]
    sentences: tuple[str, ...]
    why: str = ""


def keys_of(cell: str) -> tuple[str, ...]:
    """Return the keys that a cell names; a filter is typed letter by letter."""
    written = re.findall(r"`([^`]+)`", cell)
    return tuple(key for item in written for key in (item if item[0] == "/" else [NAMES.get(item, item)]))


def rows_of(text: str, *, keys_at: int) -> dict[int, Pain]:
    """Return the rows that have a number."""
    result = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if number := re.fullmatch(r"(\d+)\*?", cells[0]):
            keys, sentences = keys_of(cells[keys_at]), tuple(re.findall(r"\*([^*]+)\*", cells[keys_at + 1]))
            result[int(number[1])] = Pain(int(number[1]), keys, sentences, "".join(cells[keys_at + 2 :]))
    return result


TEXT: Final = PAGE.read_text()
PAINS: Final = rows_of(TEXT.partition(ABOVE_SMALL)[0], keys_at=2)
AT: Final = {WIDE: PAINS, SMALL: PAINS | rows_of(TEXT.partition(ABOVE_SMALL)[2], keys_at=1)}
SYNCING: Final = 25


def test_every_pain_has_its_sentences_and_says_why_they_are_the_answer() -> None:
    assert list(PAINS) == list(range(1, 26))
    assert all(pain.sentences and pain.why for pain in PAINS.values())


async def back_to_nodes(pilot: Pilot[Any]) -> None:
    """Go back to the first screen, without a filter, as the page says."""
    await press(pilot, "escape", "escape", "escape", "1", "escape")


@pytest.mark.parametrize("size", AT, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_keys_lead_to_the_sentences(size: tuple[int, int]) -> None:
    app = demo_app(FrozenClock(NOW_NS), config=Config())
    missing = {}
    async with running(app, size) as (_, pilot):
        for pain in AT[size].values():
            if pain.number == SYNCING:
                continue
            for key in pain.keys:
                await pilot.press(key)
                if not key.isalnum() or len(key) > 1 or pain.keys[0] == key:
                    await settled(pilot)
            await settled(pilot)
            text = read(lines_of(app))
            left = [sentence for sentence in pain.sentences if sentence not in text]
            if left:
                missing[pain.number] = "\n".join((*map(repr, left), "not in", *lines_of(app)))
            await back_to_nodes(pilot)
    assert not missing, "\n\n".join(missing.values())


async def test_what_is_still_to_come_is_said() -> None:
    app = an_app(SyncingSource(a_fleet()), clock=FrozenClock(NOW_NS), evidence=price_evidence())
    async with running(app, WIDE):
        text = read(lines_of(app))
    assert all(sentence in text for sentence in PAINS[SYNCING].sentences), text
