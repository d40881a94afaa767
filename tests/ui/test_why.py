"""Why nodes are not removed: the WHY column, node detail, Blockers and Next, on story E."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.widgets import TextArea

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.screens.blockers import BlockersScreen, NextScreen
from karptui.screens.node_detail import NodeDetailScreen
from karptui.screens.remedies import RemediesScreen
from karptui.whatif.scenario import Opening, Replay
from tests.builders import NOW_NS
from tests.story_e import StorySource, story_evidence
from tests.ui.fleet import screen_text
from tests.ui.stage import an_app, column, press, running

MakeStory = Callable[..., KarptuiApp]


@pytest.fixture
def make_story() -> MakeStory:
    """Return a function that creates the app over story E."""

    def make(**given: Any) -> KarptuiApp:
        return an_app(StorySource(), config=Config(**{"node_sort": "name=asc", **given}), clock=FrozenClock(NOW_NS),
                      evidence=story_evidence())  # fmt: skip

    return make


async def test_every_node_shows_why_and_can_be_filtered_by_it(make_story: MakeStory) -> None:
    async with running(make_story(), (120, 40)) as (app, pilot):
        text = screen_text(app)
        for code in (
            "do-not-disrupt ×2",
            "do-not-disrupt ×1",
            "PDB ×1",
            "pods don't fit",
            "draining 12m",
            "removable",
            "budget 0/0",
        ):
            assert code in text
        assert "held up to $4.56/h" in text
        await pilot.press("slash", *"why=DND", "enter")
        assert column(app) == ["ip-10-0-17-9", "ip-10-0-33-7", "ip-10-0-71-204", "ip-10-0-90-13"]
        await pilot.press("escape", "ctrl+z")
        assert "ip-10-0-8-41" not in column(app)
        assert "ip-10-0-12-88" in column(app)
        await pilot.press("escape")
        app.run_command("sort why")
        await pilot.pause()
        assert column(app)[:2] == ["ip-10-0-33-7", "ip-10-0-71-204"]
        assert column(app)[-1] == "ip-10-0-8-41"


async def test_blockers_are_grouped_and_sorted_by_cost(make_story: MakeStory) -> None:
    async with running(make_story(), (160, 40)) as (app, pilot):
        await press(pilot, "6")
        assert isinstance(app.screen, BlockersScreen)
        assert column(app)[0] == "▾ gitlab/runner"
        assert column(app)[1:7] == ["do-not-disrupt"] * 6
        text = screen_text(app)
        assert "Blockers [8] ─ up to $4.56/h held (up to $3,327/mo) ─ by owner" in text
        assert "Blockers·8" in text
        assert "gitlab/runner: 6 pods (do-not-disrupt) on 4 nodes block up to $3.02/h" in text
        assert "terminationGracePeriod 24h forces an end for drift and expiry, never for consolidation" in text
        assert "own pool for these pods · cordon" in text
        await pilot.press("enter")
        assert column(app)[:2] == ["▸ gitlab/runner", "▾ NodePool/batch"]
        await pilot.press("f")
        assert [text[0] for text in column(app)] == ["▸"] * 3
        await pilot.press("f", "b")
        assert "▾ gitlab" in column(app)
        await pilot.press("b")
        assert "▾ runners" in column(app)
        await pilot.press("b")
        assert "▾ do-not-disrupt" in column(app)
        await pilot.press("b")
        assert len(column(app)) == 8
        assert "not grouped" in screen_text(app)
        await pilot.press("slash", *"kind=PDB", "enter")
        assert column(app) == ["PDB"]
        assert "[1/8]" in screen_text(app)


async def test_a_remedy_opens_in_the_what_if(make_story: MakeStory, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(make_story(), (120, 40)) as (app, pilot):
        opened: list[Opening] = []
        monkeypatch.setattr(app, "open_whatif", opened.append)
        await press(pilot, "6")
        await press(pilot, "ctrl+t")
        assert isinstance(app.screen, RemediesScreen)
        await pilot.press("enter", "down", "ctrl+t")
        opening, cordon = opened
        assert (opening.name, opening.replay, len(opening.edits)) == ("own pool for these pods", Replay.SCRATCH, 13)
        assert (cordon.name, cordon.replay, len(cordon.edits)) == ("cordon", Replay.NEXT, 3)
        await pilot.press("slash", *"nothing like it", "enter", "ctrl+t")
        assert opened[2] == Opening()


async def test_texts_name_the_keys_of_the_keymap(make_story: MakeStory) -> None:
    keymap = {"screen.whatif": "f6", "list.notable": "f5"}
    async with running(make_story(keymap=keymap), (120, 40)) as (app, pilot):
        await press(pilot, "6")
        await press(pilot, "f6")
        assert isinstance(app.screen, RemediesScreen)
        assert "f6 What-if" in screen_text(app)
        await press(pilot, "escape", "2", "f5")
        assert "f5 shows all" in screen_text(app)


async def test_remedies_explanations_and_the_next_command_from_blockers(make_story: MakeStory) -> None:
    async with running(make_story(), (120, 40)) as (app, pilot):
        await press(pilot, "6")
        await pilot.press("e")
        assert "put the cursor on a node's blocker first" in screen_text(app)
        await press(pilot, "r")
        assert isinstance(app.screen, RemediesScreen)
        assert "nodeSelector: {karpenter.sh/nodepool: runners-protected}" in app.screen.query_one(TextArea).text
        text = screen_text(app)
        assert "What to do about gitlab/runner" in text
        assert "4 of 4" in text
        best = "Best: frees 4 nodes once the protected pods have ended (the oldest has run for 5h57m)"
        assert best in " ".join(text.split())
        assert "No node is freed at once: F simulates it." in " ".join(text.split())
        first = app.screen
        await press(pilot, "enter")
        told = " ".join(screen_text(app).split())
        assert "Above is the result now. Once the protected pods have ended, " in told
        await press(pilot, "escape")
        assert app.screen is first
        await pilot.press("down")
        assert "kubectl cordon ip-10-0-71-204 ip-10-0-90-13 ip-10-0-17-9" in app.screen.query_one(TextArea).text
        assert "saves up to $3.02/h, moves 4 pods, cuts no protected pod" in " ".join(screen_text(app).split())
        await pilot.press("down")
        assert 'annotations: {karpenter.sh/do-not-disrupt: "8h"}' in app.screen.query_one(TextArea).text
        await pilot.press("y", "tab", "tab", "q", "down", "enter")
        assert isinstance(app.screen, NodeDetailScreen)
        await press(pilot, "q", "n")
        assert isinstance(app.screen, NextScreen)
        text = screen_text(app)
        assert "Next: SingleNodeConsolidation (Underutilized), saves $0.7680/h" in text
        assert "delete ip-10-0-8-41" in text
        assert column(app)[0] == "ip-10-0-71-204"
