"""Fixtures for the app: a frozen clock, no timers or blinking, and prices that never change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual._styles_cache import StylesCache
from textual.pilot import Pilot
from textual.widgets import Input

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.session.throttle import ThreadThrottle
from karptui.widgets.yaml_editor import YamlEditor
from tests import builders
from tests.canvas import draw_at_rest
from tests.event_loop import step_textual
from tests.shared_analyses import look_once
from tests.story_e import StorySource, story_evidence
from tests.ui.fleet import NOW_NS, Fleet, FleetSource, a_fleet, price_evidence
from tests.ui.stage import an_app, press_at_once
from tests.ui.style_rules import read_once

MakeApp = Callable[..., KarptuiApp]


@pytest.fixture(autouse=True)
def _stepped(monkeypatch: pytest.MonkeyPatch) -> None:
    step_textual(monkeypatch)
    draw_at_rest(monkeypatch)
    monkeypatch.setattr(Pilot, "press", press_at_once)


@pytest.fixture(autouse=True)
def _cached_rules_and_analyses(monkeypatch: pytest.MonkeyPatch) -> None:
    read_once(monkeypatch)
    look_once(monkeypatch)


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop polling, blinking cursors and throttling of threads, and ignore NO_COLOR."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("karptui.app.POLL_SECONDS", 3600.0)
    monkeypatch.setattr(Input, "cursor_blink", False)
    monkeypatch.setattr(YamlEditor, "cursor_blink", False)
    monkeypatch.setattr(ThreadThrottle, "take", lambda _: None)


@pytest.fixture(autouse=True)
def _no_cached_styles() -> Iterator[None]:
    """Clear Textual's style cache after each test, because it keeps up to a thousand widgets and their lines."""
    yield
    StylesCache.get_inner_outer.cache_clear()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder for the tests' clusters; equal files in it are analysed only once."""
    return tmp_path_factory.mktemp("clusters")


@pytest.fixture
def app() -> KarptuiApp:
    """Return the app over story E."""
    return an_app(StorySource(), clock=FrozenClock(builders.NOW_NS), evidence=story_evidence())


@pytest.fixture
def make_app() -> MakeApp:
    """Return a function that creates an app over a fleet, with settings as keyword arguments."""

    def make(
        fleet: Fleet | None = None, *, source: FleetSource | None = None, usage: Any = None, **given: Any
    ) -> KarptuiApp:
        connect, context_names = given.pop("connect", None), given.pop("context_names", None)
        return an_app(source or FleetSource(fleet or a_fleet()), clock=FrozenClock(NOW_NS),
                      evidence=price_evidence(usage), config=Config(**{"node_sort": "name=asc", **given}),
                      connect=connect, contexts=context_names)  # fmt: skip

    return make
