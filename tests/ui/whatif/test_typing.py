"""While letters come, what was said of the text before stands."""

from __future__ import annotations

import pytest

from karptui.screens.whatif import screen as whatif_screen
from karptui.screens.whatif.screen import WhatIfScreen
from karptui.sources.demo.source import DemoSource
from tests.builders import SECOND_NS, text_of
from tests.ui.whatif.bench import forward, open_whatif, press, settled


def result_text(screen: WhatIfScreen) -> str:
    return text_of(screen.explain())


async def test_quick_edits_follow_the_cursor_and_wait_while_letters_come(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_whatif() as (_, pilot, screen):
        titles = [control.title for control in screen.edit_pane.controls.controls]
        screen.edit_pane.editor.show_place(screen.edit_pane.editor.text.split("\n").index("---") + 2)
        await settled(pilot)
        assert [control.title for control in screen.edit_pane.controls.controls] != titles
        await press(pilot, "e")
        screen.edit_pane.editor.show_place(screen.edit_pane.editor.text.split("\n").index("  weight: 50"), 12)
        await settled(pilot)
        before, controls = result_text(screen), screen.edit_pane.controls.controls
        monkeypatch.setattr(whatif_screen, "REPLAY_AFTER_SECONDS", 3600.0)
        await pilot.press("0")
        assert screen.whatif.documents.text == screen.edit_pane.editor.text
        assert "  weight: 500\n" in screen.whatif.documents.text
        assert not screen.whatif.documents.is_taken_apart
        assert result_text(screen) == before
        assert screen.edit_pane.controls.controls == controls
        await pilot.press("left")
        assert not screen.whatif.documents.is_taken_apart, "nor when the cursor moves meanwhile"
        screen.ask()
        assert screen.whatif.documents.is_taken_apart
        assert "spec.weight" in result_text(screen)


async def test_a_changed_cluster_waits_for_the_edit_that_is_about_to_be_replayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_whatif() as (app, pilot, screen):
        monkeypatch.setattr(whatif_screen, "REPLAY_AFTER_SECONDS", 3600.0)
        await pilot.press("right")
        asked, taken = app.whatif.replaying().number, app.whatif.book.answers[0]
        forward(app, 30 * SECOND_NS)
        assert isinstance(app.follower.source, DemoSource)
        app.follower.source.step()
        await settled(pilot)
        assert (app.whatif.replaying().number, app.whatif.book.answers[0]) == (asked, taken)
        screen.ask()
        await settled(pilot)
        assert app.whatif.book.answers[0] is not taken
        assert not app.whatif.replaying().is_outdated, "the edit is replayed on the cluster of now"
