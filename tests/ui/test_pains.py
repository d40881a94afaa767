"""docs/pains.md: the keys that play each of the 25 pains, and the sentences that are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from karptui.clock import FrozenClock
from tests.builders import NOW_NS
from tests.ui.fleet import a_fleet, lines_of, price_evidence
from tests.ui.stage import an_app, demo_app, settled
from tests.ui.test_by_question import SyncingSource
from tests.ui.whatif.test_stories_page import NAMES, read

PAGE: Final = Path(__file__).parents[2] / "docs" / "pains.md"
SIZE: Final = (120, 40)


class Pain(NamedTuple):
    """A row of the page."""

    number: int
    needs_trouble: bool
    keys: tuple[str, ...]
    sentences: tuple[str, ...]
    why: str


def _pains() -> tuple[Pain, ...]:
    found = []
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        number = re.fullmatch(r"(\d+)(\*?)", cells[0])
        if number is not None:
            keys = tuple(NAMES.get(key, key) for key in re.findall(r"`([^`]+)`", cells[2]))
            sentences = tuple(re.findall(r"\*([^*]+)\*", cells[3]))
            found.append(Pain(int(number[1]), bool(number[2]), keys, sentences, cells[4]))
    return tuple(found)


PAINS: Final = _pains()
SYNCING: Final = 25


def _plays() -> tuple[tuple[Pain, ...], ...]:
    """Return pains that one app can play one after the other: each screen is entered for the first time.

    What opens the what-if comes last, which takes digits as what is typed.
    """
    plays: dict[tuple[bool, int], list[Pain]] = {}
    entered: list[tuple[bool, str]] = []
    for pain in PAINS:
        if pain.number != SYNCING:
            screen = pain.needs_trouble, pain.keys[0] if pain.keys[0].isdecimal() else "1"
            plays.setdefault((pain.needs_trouble, entered.count(screen)), []).append(pain)
            entered.append(screen)
    return tuple(tuple(sorted(one, key=lambda pain: "ctrl+t" in pain.keys)) for one in plays.values())


PLAYS: Final = _plays()


def test_every_pain_has_its_sentences_and_says_why_they_are_the_answer() -> None:
    assert [one.number for one in PAINS] == list(range(1, 26))
    assert all(one.sentences and one.why for one in PAINS)


@pytest.mark.parametrize("pains", PLAYS, ids=lambda pains: "-".join(str(one.number) for one in pains))
async def test_the_keys_lead_to_the_sentences(pains: tuple[Pain, ...]) -> None:
    app = demo_app(FrozenClock(NOW_NS))
    missing = {}
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        for pain in pains:
            for key in pain.keys:
                await pilot.press(key)
                await settled(pilot)
            text = read(lines_of(app))
            left = [one for one in pain.sentences if one not in text]
            if left:
                missing[pain.number] = "\n".join((*map(repr, left), "not in", *lines_of(app)))
    assert not missing, "\n\n".join(missing.values())


async def test_what_is_still_to_come_is_said() -> None:
    app = an_app(SyncingSource(a_fleet()), clock=FrozenClock(NOW_NS), evidence=price_evidence())
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        text = read(lines_of(app))
    assert all(sentence in text for sentence in PAINS[SYNCING - 1].sentences), text
