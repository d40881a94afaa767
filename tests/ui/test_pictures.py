"""Every screen and dialog in three sizes and, at one of them, three themes: walks, each with one start of the app."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import pytest
from syrupy.assertion import SnapshotAssertion

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.config import Config
from tests.builders import NOW_NS
from tests.story_e import StorySource, story_evidence
from tests.ui.pictures import PRESSED_AT, pictured
from tests.ui.stage import an_app, demo_app, settled
from tests.ui.whatif.bench import prepare

_KEYS: Final = {" ": "space"}


_DUPLICATED: Final = "s", "down", "down", "enter"
"""Keys in the what-if that make one more of the scenario that is shown."""


def the_demo() -> KarptuiApp:
    """Return the app over the demo as it starts for everybody."""
    return demo_app(FrozenClock(NOW_NS), config=Config())


def story_e() -> KarptuiApp:
    """Return the app over a few nodes, for what takes long on many."""
    return an_app(StorySource(), clock=FrozenClock(NOW_NS), evidence=story_evidence())


def said(command: str) -> tuple[str, ...]:
    """Return the keys of a command, from the first screen, and enter."""
    return "1", "colon", *(_KEYS.get(letter, letter) for letter in command), "enter"


class Walk(NamedTuple):
    """Screens that are seen one after the other; each name stands before the keys that lead there."""

    start: Callable[[], KarptuiApp]
    screens: Mapping[str, tuple[str, ...]]


WALKS: Final[Mapping[str, Walk]] = {
    "tabs": Walk(
        the_demo,
        {
            "nodes": (),
            "pools": ("2", "down", "down"),
            "claims": ("3",),
            "pods": ("4",),
            "pending": ("5",),
            "blockers": ("6",),
            "budgets": ("7",),
            "types": ("8",),
            "events": ("9",),
            "advice": ("0",),
            "help": ("1", "question_mark"),
            "filter": ("escape", "slash", *"why"),
            "command-line": ("escape", "colon", *"theme"),
        },
    ),
    "one": Walk(
        the_demo,
        {
            "node": ("enter",),
            "pool": ("2", "down", "down", "enter"),
            "types-of-pool": ("8", "enter"),
            "ledger": ("enter",),
            "finding": ("0", "enter"),
            "budget": ("7", "enter"),
            "pod-that-waits": ("5", "enter"),
            "nodes-that-refuse": ("n",),
            "yaml": ("2", "y"),
            "description": ("1", "d"),
        },
    ),
    "beside": Walk(
        the_demo,
        {
            "verdict": ("v",),
            "capacity": ("1", "z"),
            "packing": ("1", "p"),
            "churn": ("3", "u"),
            "replacements": ("r",),
            "blockers-unfolded": ("6", "f"),
            "remedies": ("f", "r"),
            "next": ("6", "n"),
            "sources": said("sources"),
            "themes": said("theme"),
            "palette": ("escape", "ctrl+p"),
        },
    ),
    "studies": Walk(
        story_e,
        {
            "forward": ("F", "down"),
            "moment": ("enter",),
            "headroom": ("escape", "escape", *said("headroom")),
            "drill": said("drill"),
            "policies": said("policies"),
            "unreached": said("unreached"),
            "rehearsal": said("rehearse"),
            "solve": said("solve pending"),
            "plan": ("2", "ctrl+t", "right", "P"),
        },
    ),
    "whatif": Walk(
        the_demo,
        {
            "whatif": ("2", "down", "down", "ctrl+t", "left"),
            "whatif-mode": ("m",),
            "whatif-from-scratch": ("down", "enter"),
            "whatif-add": ("a",),
            "whatif-scenarios": ("escape", "s"),
            "whatif-sweep-of": ("escape", "w"),
            "whatif-sweep": ("enter", "enter"),
            "whatif-goals": ("escape", "S"),
            "whatif-name": ("escape", "n"),
            "whatif-export": ("escape", "x"),
            "whatif-families": ("escape", "f", "enter"),
            "whatif-compare": ("escape", "c"),
            "whatif-packing": ("escape", "p"),
            "whatif-leave": ("escape", "q"),
            "whatif-compare-several": (
                "escape",
                *_DUPLICATED,
                "home",
                "right",
                *_DUPLICATED,
                "home",
                "down",
                "down",
                "right",
                "c",
            ),
        },
    ),
}


@pytest.mark.parametrize("walk", WALKS)
async def test_it_looks_as_it_did(snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch, walk: str) -> None:
    prepare(monkeypatch)
    monkeypatch.setattr("karptui.serving.whatif.MOST_JOBS", 1)  # values of a sweep are tried here, in their order
    changed = []
    app = WALKS[walk].start()
    async with app.run_test(size=PRESSED_AT) as pilot:
        await settled(pilot)
        for name, keys in WALKS[walk].screens.items():
            for key in keys:
                await pilot.press(key)
                await settled(pilot)
            changed += await pictured(pilot, app, snapshot, name)
    assert changed == []
