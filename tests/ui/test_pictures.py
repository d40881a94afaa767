"""Pictures of every screen and dialog, for docs/screens.md and to show unintended changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, Protocol

import pytest
from textual.pilot import Pilot

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.decode.kinds import Kind
from karptui.sources.evidence import EvidenceSource
from karptui.sources.source import Phase
from tests.builders import NOW_NS
from tests.story_e import StorySource, story_evidence
from tests.ui.conftest import MakeApp
from tests.ui.fleet import SECOND, FleetSource, a_fleet, status
from tests.ui.pictures import (
    COLOUR_BLIND,
    DARK,
    EVERY_SCREEN,
    MAIN_SCREENS,
    PRESSED_AT,
    SMALL_SCREENS,
    compare_pictures,
)
from tests.ui.stage import an_app, demo_app, press, running
from tests.ui.test_solve import small_app
from tests.ui.whatif.bench import prepare

_KEYS: Final = {" ": "space"}
_DUPLICATE: Final = "s", "down", "down", "enter"
"""Keys that duplicate the shown scenario in the what-if."""
MAIN: Final = frozenset(["nodes", "pools", "pending", "forward", "whatif"])
"""Screens pictured in three sizes and two themes: one of each kind (lists, a chart, panes)."""
SMALL: Final = frozenset(["node", "pool", "pending-pod", "blockers", "next", "advice", "verdict"])
"""Screens pictured in a small terminal too."""


def demo() -> KarptuiApp:
    return demo_app(FrozenClock(NOW_NS), config=Config())


def story_e() -> KarptuiApp:
    """Return the app over a small cluster, for studies that are slow on the demo."""
    return an_app(StorySource(), clock=FrozenClock(NOW_NS), evidence=story_evidence())


def unsolved() -> KarptuiApp:
    """Return the app over pods that match no NodePool."""
    with TemporaryDirectory() as folder:
        return small_app(Path(folder))


def run(command: str) -> tuple[str, ...]:
    """Return the keys that open the first screen and run a command there."""
    return "1", "colon", *(_KEYS.get(letter, letter) for letter in command), "enter"


class Walk(NamedTuple):
    """Screens in the order of the walk, each with the keys that open it from the previous screen."""

    start: Callable[[], KarptuiApp]
    screens: Mapping[str, tuple[str, ...]]


WALKS: Final[Mapping[str, Walk]] = {
    "tabs": Walk(demo,
                 {"nodes": (), "pools": ("2", "down", "down"), "claims": ("3",), "pods": ("4",), "pending": ("5",),
                  "blockers": ("6",), "budgets": ("7",), "types": ("8",), "events": ("9",), "advice": ("0",),
                  "help": ("1", "question_mark"), "filter": ("escape", "slash", *"why"),
                  "command-line": ("escape", "colon", *"theme")}),
    "details": Walk(demo,
                    {"node": ("enter",), "pool": ("2", "down", "down", "enter"), "types-of-pool": ("8", "enter"),
                     "type-memory": ("enter",), "advice-finding": ("0", "enter"), "budget": ("7", "enter"),
                     "pending-pod": ("5", "enter"), "nodes-without-room": ("x",), "yaml": ("2", "y"),
                     "description": ("1", "d")}),
    "side screens": Walk(demo,
                         {"verdict": ("v",), "capacity": ("1", "z"), "packing": ("1", "p"), "churn": ("3", "u"),
                          "replacements": ("R",), "blockers-pods": ("6", "f"), "remedies": ("f", "r"),
                          "next": ("6", "n"), "sources": run("sources"), "themes": run("theme"),
                          "palette": ("escape", "ctrl+p")}),
    "studies": Walk(story_e,
                    {"forward": ("F", "down"), "forward-moment": ("enter",),
                     "headroom": ("escape", "escape", *run("headroom")), "drill": run("drill"),
                     "policies": run("policies"), "forward-with-edit": ("6", "r", "F")}),
    "goals": Walk(unsolved, {"solve": run("solve pending")}),
    "whatif": Walk(demo,
                   {"whatif": ("2", "down", "down", "ctrl+t", "left"), "whatif-mode": ("m",),
                    "whatif-from-scratch": ("down", "enter"), "whatif-add": ("a",), "whatif-scenarios": ("escape", "s"),
                    "whatif-values-choice": ("escape", "w"), "whatif-values": ("enter", "enter"),
                    "whatif-goals": ("escape", "S"), "whatif-name": ("escape", "N"), "whatif-export": ("escape", "x"),
                    "whatif-families": ("escape", *["down"] * 10, "enter"), "whatif-compare": ("escape", "home", "c"),
                    "whatif-packing": ("escape", "p"), "whatif-leave": ("escape", "q"),
                    "whatif-compare-several": ("escape", *_DUPLICATE, "home", "right", *_DUPLICATE, "home", "down",
                                               "down", "right", "c")}),
}  # fmt: skip


class ChangedPictures(Protocol):
    """Compares or updates the front screen's pictures and returns the paths of those that differ."""

    async def __call__(self, pilot: Pilot[Any], name: str, *looks: tuple[tuple[int, int], str]) -> list[str]:
        """Compare or update the pictures of the screen with this name, in these sizes and themes."""


@pytest.fixture
def changed_pictures(request: pytest.FixtureRequest) -> ChangedPictures:
    """Return the comparison, or the update if --update-pictures is given."""

    async def changed(pilot: Pilot[Any], name: str, *looks: tuple[tuple[int, int], str]) -> list[str]:
        return await compare_pictures(pilot, name, looks, is_update=request.config.getoption("--update-pictures"))

    return changed


@pytest.mark.parametrize("walk", WALKS)
async def test_screens_look_as_pictured(
    changed_pictures: ChangedPictures, monkeypatch: pytest.MonkeyPatch, walk: str
) -> None:
    prepare(monkeypatch)
    monkeypatch.setattr("karptui.serving.studies.MOST_JOBS", 1)  # a sweep tries its values in order
    monkeypatch.setattr(EvidenceSource, "want_usage", lambda _: None)  # it arrives from a thread at an unknown time
    changed = []
    async with running(WALKS[walk].start(), PRESSED_AT) as (_, pilot):
        for name, keys in WALKS[walk].screens.items():
            await press(pilot, *keys)
            looks = MAIN_SCREENS if name in MAIN else SMALL_SCREENS if name in SMALL else EVERY_SCREEN
            changed += await changed_pictures(pilot, name, *looks)
            if name == "nodes":
                changed += await changed_pictures(pilot, name, (PRESSED_AT, COLOUR_BLIND))
    assert changed == []


@pytest.mark.parametrize("state", ["forbidden", "disconnected", "no-colour"])
async def test_faults_look_as_pictured(
    changed_pictures: ChangedPictures, monkeypatch: pytest.MonkeyPatch, make_app: MakeApp, state: str
) -> None:
    fleet = a_fleet()
    if state == "forbidden":
        del fleet.objects[Kind.POD]
    if state == "no-colour":
        monkeypatch.setenv("NO_COLOR", "1")
    source = FleetSource(fleet)
    app = make_app(source=source)
    async with running(app, PRESSED_AT) as (_, pilot):
        assert source.mailbox is not None
        if state == "forbidden":
            error = "no permission to list pods in all namespaces: pods is forbidden: user eve cannot list pods"
            source.mailbox.report(status(Kind.POD, Phase.FORBIDDEN, last_error=error))
        elif state == "disconnected":
            gone = {"last_error": "the API server refuses connections", "last_contact_ns": NOW_NS - 42 * SECOND}
            source.mailbox.report(status(Kind.NODE, Phase.DISCONNECTED, retry_at_ns=NOW_NS + 5 * SECOND, **gone))
        app.poll_now()
        assert await changed_pictures(pilot, f"nodes-{state}", (PRESSED_AT, DARK)) == []
