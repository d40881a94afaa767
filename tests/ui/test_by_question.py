"""docs/by-question.md: every question is answered in view by the keys it names, three at the most."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.sources.base import Phase
from karptui.sources.mailbox import Mailbox
from tests.builders import NOW_NS
from tests.ui.fleet import FleetSource, a_fleet, price_evidence, screen_text, status
from tests.ui.stage import an_app, demo_app, settled

PAGE: Final = Path(__file__).parents[2] / "docs" / "by-question.md"
NARROW: Final = "## At 80 by 24"
"""Above the rows that are answered otherwise where there is little room."""
KEYS: Final = {"←": "left", "→": "right", "↓": "down", "↑": "up"}
"""Keys that are written otherwise than they are pressed."""
MOST_KEYS: Final = 3


class Question(NamedTuple):
    """A row of the page."""

    number: int
    needs_trouble: bool
    keys: tuple[str, ...]
    words: tuple[str, ...]


def questions() -> tuple[Question, ...]:
    """Return the questions."""
    return _rows(PAGE.read_text().partition(NARROW)[0], keys_at=2, words_at=4)


def narrow_questions() -> tuple[Question, ...]:
    """Return the questions as they are answered at 80 by 24."""
    otherwise = {row.number: row for row in _rows(PAGE.read_text().partition(NARROW)[2], keys_at=1, words_at=2)}
    return tuple(otherwise.get(row.number, row) for row in questions())


def _rows(text: str, *, keys_at: int, words_at: int) -> tuple[Question, ...]:
    """Return the rows with a number, from the columns that hold keys and words."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        number = re.fullmatch(r"(\d+)(\*?)", cells[0])
        if number is not None:
            keys, words = (tuple(re.findall(r"`([^`]+)`", cells[index])) for index in (keys_at, words_at))
            assert keys or cells[keys_at] == "none", line
            found.append(Question(int(number[1]), bool(number[2]), tuple(KEYS.get(key, key) for key in keys), words))
    return tuple(found)


class SyncingSource(FleetSource):
    """A large cluster of which part has come."""

    def start(self, mailbox: Mailbox) -> None:
        """Put nodes and some pods into the mailbox."""
        super().start(mailbox)
        mailbox.report(status(Kind.POD, Phase.SYNCING, count=6500, total_estimate=15000))


@pytest.fixture
def make_app() -> Callable[[Question], KarptuiApp]:
    """Return what makes the app on the demo, or on a cluster with the trouble that a question is about."""

    def make(question: Question) -> KarptuiApp:
        clock = FrozenClock(NOW_NS)
        if not question.needs_trouble:
            return demo_app(clock)
        return an_app(SyncingSource(a_fleet()), clock=clock, evidence=price_evidence())

    return make


def test_every_question_is_there_and_takes_three_keys_at_most() -> None:
    for rows in (questions(), narrow_questions()):
        assert [row.number for row in rows] == list(range(1, 26))
        assert all(len(row.keys) <= MOST_KEYS and row.words for row in rows)


@pytest.mark.parametrize("question", questions(), ids=lambda row: str(row.number))
async def test_the_keys_lead_to_the_answer(make_app: Callable[[Question], KarptuiApp], question: Question) -> None:
    await _answered(make_app(question), question, (120, 40))


@pytest.mark.parametrize("question", narrow_questions(), ids=lambda row: str(row.number))
async def test_there_is_room_at_80_by_24(make_app: Callable[[Question], KarptuiApp], question: Question) -> None:
    await _answered(make_app(question), question, (80, 24))


async def _answered(app: KarptuiApp, question: Question, size: tuple[int, int]) -> None:
    """Press the keys, and look for the words."""
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        for key in question.keys:
            await pilot.press(key)
            await settled(pilot)
        text = screen_text(app)
    missing = [words for words in question.words if words not in text]
    assert not missing, f"{missing} not in\n{text}"
