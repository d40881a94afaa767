"""Pages of docs with keys and expected texts: the test presses the keys on the demo and looks for the texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from textual.pilot import Pilot

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.decode.kinds import Kind
from karptui.sources.source import Mailbox, Phase
from karptui.views.tour import STORIES as TOURS
from karptui.views.tour import Tour
from tests.builders import NOW_NS
from tests.ui.fleet import FleetSource, a_fleet, lines_of, price_evidence, status
from tests.ui.stage import an_app, demo_app, press, running
from tests.ui.whatif.bench import make_app

DOCS: Final = Path(__file__).parents[2] / "docs"
WIDE: Final = (120, 40)
SMALL: Final = (80, 24)
ABOVE_SMALL: Final = "## At 80 by 24"
"""Heading of the rows that differ in a small terminal."""
KEYS: Final = {"←": "left", "→": "right", "↓": "down", "↑": "up", "/": "slash"}
"""Textual's names of keys that the pages write as symbols."""


def cells_of(text: str) -> Iterator[list[str]]:
    """Yield the cells of each row of the tables in a text."""
    return ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines())


def keys_of(cell: str) -> tuple[str, ...]:
    """Return the keys in a cell; a filter such as `/gpu` is typed letter by letter."""
    written = re.findall(r"`([^`]+)`", cell)
    return tuple(KEYS.get(key, key) for item in written for key in (item if item[0] == "/" else [item]))


def read(lines: list[str]) -> str:
    """Return the text of the screen and of each half, with wrapped lines joined."""
    halves = [line.partition("│") for line in lines]
    texts = (lines, [left for left, _, _ in halves], [right for _, _, right in halves])
    return "\n".join(" ".join(" ".join(text).split()) for text in texts)


class Row(NamedTuple):
    """A row of a page: keys to press on the first screen, and the expected texts."""

    number: int
    is_large: bool
    """Whether it needs a large cluster."""
    keys: tuple[str, ...]
    texts: tuple[str, ...]


class Page:
    """A page of numbered rows, some of which differ in a small terminal."""

    def __init__(self, name: str, texts: str, *, texts_at: int) -> None:
        self._texts = re.compile(texts)
        wide, _, small = (DOCS / name).read_text().partition(ABOVE_SMALL)
        rows = {row.number: row for row in self._rows(wide, keys_at=2, texts_at=texts_at)}
        self.at: Final = {
            WIDE: rows,
            SMALL: rows | {row.number: row for row in self._rows(small, keys_at=1, texts_at=2)},
        }

    def _rows(self, text: str, *, keys_at: int, texts_at: int) -> Iterator[Row]:
        for cells in cells_of(text):
            if number := re.fullmatch(r"(\d+)(\*?)", cells[0]):
                texts = tuple(self._texts.findall(cells[texts_at]))
                yield Row(int(number[1]), bool(number[2]), keys_of(cells[keys_at]), texts)


PAINS: Final = Page("pains.md", r"\*([^*]+)\*", texts_at=3)
QUESTIONS: Final = Page("by-question.md", "`([^`]+)`", texts_at=4)


@pytest.mark.parametrize(("page", "most_keys"), [(PAINS, 20), (QUESTIONS, 3)], ids=["pains", "questions"])
def test_a_page_has_25_rows_with_texts_and_few_keys(page: Page, most_keys: int) -> None:
    for rows in page.at.values():
        assert list(rows) == list(range(1, 26))
        assert all(row.texts and len(row.keys) <= most_keys for row in rows.values())


class SyncingSource(FleetSource):
    """A large cluster whose pods are partly loaded."""

    def start(self, mailbox: Mailbox) -> None:
        super().start(mailbox)
        mailbox.report(status(Kind.POD, Phase.SYNCING, count=6500, total_estimate=15000))


def in_rounds(rows: Iterable[Row]) -> list[list[Row]]:
    """Return rows in rounds; a round changes the cursor or sort order of each screen at most once."""
    rounds: list[tuple[list[Row], set[tuple[str, ...]]]] = []
    for row in sorted(rows, key=lambda row: len(row.keys) > 1):
        screen = row.keys[:1] if row.keys and row.keys[0].isdigit() else ()
        place = next((place for place in rounds if screen not in place[1]), None)
        if place is None:
            rounds.append(place := ([], set()))
        place[0].append(row)
        if row.keys != screen:
            place[1].add(screen)
    return [played for played, _ in rounds]


def only_wide(page: Page) -> list[Row]:
    """Return the rows of a page for a large terminal that differ from those for a small one."""
    return [row for row in page.at[WIDE].values() if row not in page.at[SMALL].values()]


PLAYED: Final = {
    "pains-120x40": (WIDE, [only_wide(PAINS)]),
    "pains-80x24": (SMALL, [[*PAINS.at[SMALL].values()]]),
    "questions-120x40": (WIDE, in_rounds(only_wide(QUESTIONS))),
    "questions-80x24": (SMALL, in_rounds(QUESTIONS.at[SMALL].values())),
}
"""A row with the same keys and texts for both terminal sizes is tested only in the small terminal."""


@pytest.mark.parametrize("played", PLAYED)
async def test_the_keys_of_a_row_show_its_texts(played: str) -> None:
    clock, (size, rounds) = FrozenClock(NOW_NS), PLAYED[played]
    missing = []
    for rows in rounds:
        missing += await missing_texts(
            demo_app(clock, config=Config()), [row for row in rows if not row.is_large], size
        )
    large = an_app(SyncingSource(a_fleet()), clock=clock, evidence=price_evidence())
    missing += await missing_texts(large, [row for rows in rounds for row in rows if row.is_large], size)
    assert not missing, "\n\n".join(missing)


async def missing_texts(app: KarptuiApp, rows: Sequence[Row], size: tuple[int, int]) -> list[str]:
    """Press each row's keys, beginning on Nodes, and return the screens that lack its texts."""
    missing = []
    async with running(app, size) as (_, pilot):
        for row in rows:
            await press(pilot, *row.keys)
            text = read(lines_of(app))
            if left := [item for item in row.texts if item not in text]:
                missing.append(f"{row.number}: {left} not in\n{text}")
            await back_to_nodes(app, pilot)
    return missing


async def back_to_nodes(app: KarptuiApp, pilot: Pilot[Any]) -> None:
    """Close dialogs, clear the filter and open Nodes, as the page describes."""
    while len(app.screen_stack) > 1:
        await pilot.press("escape")
    await press(pilot, "escape", "1", "escape")


class Step(NamedTuple):
    keys: tuple[str, ...]
    in_all: int
    """Number of keys up to this step, as given by the page."""
    texts: tuple[str, ...]


def steps_of(text: str) -> tuple[Step, ...]:
    result = []
    for cells in cells_of(text):
        if len(cells) == 3 and cells[1].isdecimal():
            texts = re.findall(r"(?<!\\)\*((?:[^*\\]|\\.)+)\*", cells[2])
            result.append(Step(keys_of(cells[0]), int(cells[1]), tuple(text.replace("\\", "") for text in texts)))
    return tuple(result)


STORIES: Final = {part[0]: steps_of(part) for part in (DOCS / "stories.md").read_text().split("\n## ")[1:]}
PLAN: Final = {"plan": steps_of((DOCS / "plan.md").read_text())}


def test_the_five_stories_are_tours_with_correct_key_counts() -> None:
    assert list(STORIES) == ["A", "B", "C", "D", "E"]
    keys = {name.lower(): tuple(key for step in steps for key in step.keys) for name, steps in STORIES.items()}
    tours = {letter: tuple(KEYS.get(key, key) for key in tour.keys) for letter, tour in TOURS.items()}
    assert tours == keys
    for steps in (STORIES | PLAN).values():
        assert [step.in_all for step in steps] == [
            sum(len(step.keys) for step in steps[: at + 1]) for at in range(len(steps))
        ]
        assert all(step.texts for step in steps)


@pytest.mark.parametrize("story", STORIES | PLAN)
async def test_the_keys_of_a_story_show_its_texts(story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forecast only the hours that the plan's texts mention."""
    monkeypatch.setattr("karptui.screens.forward.HORIZONS_NS", (2700 * 10**9,))
    app = make_app()
    app.tour = tour = Tour(TOURS[story.lower()]) if story in STORIES else None
    async with running(app, WIDE) as (_, pilot):
        for step in (STORIES | PLAN)[story]:
            await press(pilot, *step.keys)
            text = read(lines_of(app))
            missing = [item for item in step.texts if item not in text]
            assert not missing, f"{missing} not in\n{text}"
    if tour is not None:
        assert tour.is_over
        assert " ".join(tour.story.steps[-1].text.split()[:4]) in text
