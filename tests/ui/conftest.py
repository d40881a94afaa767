"""The app of the tests: a frozen clock, nothing that moves by itself, prices that never change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.disruption.study import NOTHING_KNOWN, Study
from karptui.session.analyst import Analyst
from karptui.session.cluster_view import ClusterView
from karptui.session.pending_questions import PendingQuestions
from karptui.session.prepare import prepare_view
from karptui.widgets.prompt import PromptInput
from tests.event_loop import step_textual
from tests.ui.fleet import NOW_NS, Fleet, FleetSource, a_fleet, price_evidence
from tests.ui.style_rules import remembering
from tests.views.pending.asking import answer_all

MakeApp = Callable[..., KarptuiApp]


class PromptAnalyst(Analyst):
    """Works everything out at once, in the thread of the test."""

    def submit(self, view: ClusterView, now_ns: int) -> None:
        """Study a view, unless it is the one before."""
        submitted = (view.state, view.evidence, self._focus)
        asks = self._focus.wants_overlap or self._focus.wants_pending
        has_work = view.state.nodes or (asks and view.state.nodepools)
        if not has_work or submitted == self._studied:
            return
        self._studied = submitted
        prepared, notes = prepare_view(view, now_ns)
        study = Study(prepared, view.state.generation, self._latest or NOTHING_KNOWN, notes)
        for _ in study.survey():
            pass
        if self._focus.detail:
            study.look_closely(self._focus.detail)
        for key in study.unsimulated():
            study.simulate(key)
        if self._focus.wants_next:
            study.ask_next()
        if self._focus.wants_overlap:
            for _ in study.compare_pools():
                pass
        if self._focus.wants_pending:
            self._desk = self._desk or PendingQuestions()
            self._desk.begin(prepared, view, notes)
            answer_all(self._desk, self._focus.pod)
        self._latest = study.analysis

    _studied: object = None


@pytest.fixture(autouse=True)
def _stepped(monkeypatch: pytest.MonkeyPatch) -> None:
    step_textual(monkeypatch)


@pytest.fixture(autouse=True)
def _rules_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stylesheet, "_parse_rules", remembering(Stylesheet._parse_rules))


@pytest.fixture
def make_app(monkeypatch: pytest.MonkeyPatch) -> MakeApp:
    """Return what makes an app over a fleet; settings are given by name."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("karptui.app.POLL_SECONDS", 3600.0)
    monkeypatch.setattr(PromptInput, "cursor_blink", False)
    monkeypatch.setattr("karptui.session.session.Analyst", PromptAnalyst)

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
