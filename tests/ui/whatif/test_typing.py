"""While letters come, what was said of the text before stands, and the base of the replay stays what it is."""

from __future__ import annotations

from copy import copy

import pytest

from karptui.app import KarptuiApp
from karptui.decode.kinds import Kind
from karptui.screens.whatif import controller
from karptui.screens.whatif import screen as whatif_screen
from karptui.screens.whatif.controller import FOLLOW_AFTER_NS, FOLLOW_TYPED_NS
from karptui.screens.whatif.screen import WhatIfScreen
from karptui.session.cluster_view import ClusterView
from karptui.state.deltas import Batch, KindDelta
from karptui.state.reducer import reduce
from tests.builders import a_pod
from tests.ui.whatif.bench import HandClock, begin, make_app, prepare, press, settled


class Keys:
    """Stands for the keyboard."""

    is_typing = False

    def is_busy(self, now: float) -> bool:
        return self.is_typing and now > 0


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> Keys:
    prepare(monkeypatch)
    made = Keys()
    monkeypatch.setattr(controller, "KEYBOARD", made)
    return made


def said(screen: WhatIfScreen) -> str:
    return "".join(text for text, _ in screen.explain())


def forward(app: KarptuiApp, ns: int) -> None:
    clock = app._clock
    assert isinstance(clock, HandClock)
    clock._now_ns += ns


async def test_while_letters_come_nothing_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begin(pilot)
        await press(pilot, "e")
        screen.edit_pane.editor.show_place(screen.edit_pane.editor.text.split("\n").index("  weight: 50"), 12)
        await settled(pilot)
        before, controls = said(screen), screen.edit_pane.controls.controls
        monkeypatch.setattr(whatif_screen, "REPLAY_AFTER_SECONDS", 3600.0)
        await pilot.press("0")
        await pilot.pause()
        assert screen.whatif.documents.text == screen.edit_pane.editor.text
        assert "  weight: 500\n" in screen.whatif.documents.text
        assert not screen.whatif.documents.is_taken_apart
        assert said(screen) == before
        assert screen.edit_pane.controls.controls == controls
        await pilot.press("left")
        await pilot.pause()
        assert not screen.whatif.documents.is_taken_apart, "nor when the cursor moves meanwhile"
        screen.ask()
        assert screen.whatif.documents.is_taken_apart
        assert "spec.weight" in said(screen)


async def test_quick_edits_follow_the_cursor_into_another_document() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begin(pilot)
        titles = [one.title for one in screen.edit_pane.controls.controls]
        screen.edit_pane.editor.show_place(screen.edit_pane.editor.text.split("\n").index("---") + 2)
        await settled(pilot)
        assert [one.title for one in screen.edit_pane.controls.controls] != titles


async def test_the_cluster_that_was_made_ready_is_asked_until_it_is_too_old(
    keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begin(pilot)
        first = screen.whatif._asked
        assert first is app.view
        pod = a_pod(name="new")
        state = reduce(first.state, Batch({Kind.POD: KindDelta({pod.key: pod})}))
        newer = ClusterView(state, first.statuses, first, evidence=first.evidence)
        monkeypatch.setattr(KarptuiApp, "view", newer)
        assert screen.whatif.view_to_ask() is first
        keys.is_typing = True
        forward(app, FOLLOW_AFTER_NS)
        assert screen.whatif.view_to_ask() is first, "somebody types"
        keys.is_typing = False
        assert screen.whatif.view_to_ask() is newer
        keys.is_typing = True
        forward(app, FOLLOW_TYPED_NS - FOLLOW_AFTER_NS)
        assert screen.whatif.view_to_ask() is newer


async def test_other_prices_are_asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begin(pilot)
        view = app.view
        priced = ClusterView(view.state, view.statuses, view, evidence=copy(view.evidence))
        monkeypatch.setattr(KarptuiApp, "view", priced)
        assert screen.whatif.view_to_ask() is priced
        same = ClusterView(view.state, view.statuses, view, evidence=view.evidence)
        monkeypatch.setattr(KarptuiApp, "view", same)
        assert screen.whatif.view_to_ask() is same, "it is the cluster that was asked"
        screen.whatif._asked = None
        assert screen.whatif.view_to_ask() is same
