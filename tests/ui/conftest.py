"""The app of the tests: a frozen clock, nothing that moves by itself, prices that never change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.widgets.prompt import PromptInput
from tests.ui.fleet import NOW_NS, Fleet, FleetSource, a_fleet, price_evidence

MakeApp = Callable[..., KarptuiApp]


@pytest.fixture
def make_app(monkeypatch: pytest.MonkeyPatch) -> MakeApp:
    """Return what makes an app over a fleet; settings are given by name."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("karptui.app.POLL_SECONDS", 3600.0)
    monkeypatch.setattr(PromptInput, "cursor_blink", False)

    def make(fleet: Fleet | None = None, *, source: FleetSource | None = None, **given: Any) -> KarptuiApp:
        connect, context_names = given.pop("connect", None), given.pop("context_names", None)
        app = KarptuiApp(
            source or FleetSource(fleet or a_fleet()),
            config=Config(**given),
            clock=FrozenClock(NOW_NS),
            evidence_of=price_evidence,
            connect=connect,
            contexts=context_names,
        )
        app.animation_level = "none"
        return app

    return make
