"""docs/stories.md: the keys of the five stories, counted, and the sentences that are read on the demo."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from karptui.views.tour import STORIES as TOURS
from karptui.views.tour import Tour
from tests.ui.fleet import lines_of
from tests.ui.stage import press, running
from tests.ui.whatif.bench import make_app

PAGE: Final = Path(__file__).parents[3] / "docs" / "stories.md"
NAMES: Final = {"←": "left", "→": "right", "↓": "down", "↑": "up", "/": "slash"}
MOST_KEYS: Final = 25


class Step(NamedTuple):
    """A row of a story."""

    keys: tuple[str, ...]
    in_all: int
    sentences: tuple[str, ...]


def steps_of(text: str) -> tuple[Step, ...]:
    """Return the rows of a story."""
    result = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and cells[1].isdecimal():
            sentences = re.findall(r"(?<!\\)\*((?:[^*\\]|\\.)+)\*", cells[2])
            told = tuple(sentence.replace("\\", "") for sentence in sentences)
            result.append(Step(tuple(re.findall(r"`([^`]+)`", cells[0])), int(cells[1]), told))
    return tuple(result)


STORIES: Final = {part[0]: steps_of(part) for part in PAGE.read_text().split("\n## ")[1:]}


def read(lines: list[str]) -> str:
    """Return what stands on the screen, whole and by halves, with sentences that go on in the next line in one."""
    halves = [line.partition("│") for line in lines]
    texts = (lines, [left for left, _, _ in halves], [right for _, _, right in halves])
    return "\n".join(" ".join(" ".join(text).split()) for text in texts)


def test_the_five_stories_are_there_and_their_keys_are_counted() -> None:
    assert list(STORIES) == ["A", "B", "C", "D", "E"]
    for steps in STORIES.values():
        assert [step.in_all for step in steps] == [
            sum(len(step.keys) for step in steps[: at + 1]) for at in range(len(steps))
        ]
        assert all(step.sentences for step in steps)
        assert steps[-1].in_all <= MOST_KEYS


@pytest.mark.parametrize("story", STORIES)
async def test_the_keys_lead_to_the_sentences(story: str) -> None:
    app = make_app()
    app.tour = tour = Tour(TOURS[story.lower()])
    async with running(app, (120, 40)) as (_, pilot):
        for step in STORIES[story]:
            for key in step.keys:
                await press(pilot, NAMES.get(key, key))
            text = read(lines_of(app))
            wanted = step.sentences
            missing = [sentence for sentence in wanted if sentence not in text]
            assert not missing, f"{missing} not in\n{text}"
    assert tour.is_over
    assert " ".join(tour.story.steps[-1].text.split()[:4]) in text
