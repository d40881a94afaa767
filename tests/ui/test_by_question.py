"""docs/by-question.md: every question is answered in view by the keys it names, three at the most."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.sources.source import Mailbox, Phase
from tests.builders import NOW_NS
from tests.ui.fleet import FleetSource, a_fleet, price_evidence, screen_text, status
from tests.ui.stage import an_app, demo_app, press, running

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
    result = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        number = re.fullmatch(r"(\d+)(\*?)", cells[0])
        if number is not None:
            keys, words = (tuple(re.findall(r"`([^`]+)`", cells[index])) for index in (keys_at, words_at))
            assert keys or cells[keys_at] == "none", line
            result.append(Question(int(number[1]), bool(number[2]), tuple(KEYS.get(key, key) for key in keys), words))
    return tuple(result)


class SyncingSource(FleetSource):
    """A large cluster of which part has come."""

    def start(self, mailbox: Mailbox) -> None:
        """Put nodes and some pods into the mailbox."""
        super().start(mailbox)
        mailbox.report(status(Kind.POD, Phase.SYNCING, count=6500, total_estimate=15000))


def test_every_question_is_there_and_takes_three_keys_at_most() -> None:
    for rows in (questions(), narrow_questions()):
        assert [row.number for row in rows] == list(range(1, 26))
        assert all(len(row.keys) <= MOST_KEYS and row.words for row in rows)


def in_rounds(rows: Iterable[Question]) -> list[list[Question]]:
    """Return the questions in rounds, in each of which every question finds its screen as nobody has touched it."""
    rounds: list[list[Question]] = []
    touched: list[set[tuple[str, ...]]] = []
    for row in sorted(rows, key=lambda row: len(row.keys) > 1):
        screen = row.keys[:1] if row.keys and row.keys[0].isdigit() else ()
        place = next((place for place, screens in enumerate(touched) if screen not in screens), len(rounds))
        if place == len(rounds):
            rounds.append([])
            touched.append(set())
        rounds[place].append(row)
        if row.keys != screen:
            touched[place].add(screen)
    return rounds


@pytest.mark.parametrize("size", [(80, 24)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_keys_lead_to_the_answer(size: tuple[int, int]) -> None:
    clock, rows = FrozenClock(NOW_NS), questions() if size == (120, 40) else narrow_questions()
    missing: dict[int, str] = {}
    for played in in_rounds(row for row in rows if not row.needs_trouble):
        missing |= await _missing(demo_app(clock), played, size)
    troubled = an_app(SyncingSource(a_fleet()), clock=clock, evidence=price_evidence())
    missing |= await _missing(troubled, [row for row in rows if row.needs_trouble], size)
    assert not missing, "\n\n".join(missing.values())


async def _missing(app: KarptuiApp, rows: Sequence[Question], size: tuple[int, int]) -> dict[int, str]:
    """Play questions one after the other, each from the first screen; return what was read where words were not."""
    missing = {}
    async with running(app, size) as (_, pilot):
        for row in rows:
            for key in row.keys:
                await press(pilot, key)
            text = screen_text(app)
            if left := [words for words in row.words if words not in text]:
                missing[row.number] = f"{row.number}: {left} not in\n{text}"
            if row is not rows[-1]:
                await press(pilot, "escape", "escape", "escape", "1", "escape")
    return missing
