"""`:do` in the app: off by default; otherwise previewed, confirmed in two steps, carried out, and watched."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from karptui.actions.action import ActionError, Operation
from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.config import Config, ContextSettings
from karptui.screens.actions import ActionScreen, edits_as_actions, operations_here
from karptui.screens.dialogs import LineScreen, PickScreen
from karptui.session.actions import Actions, open_actions
from karptui.whatif.edits import CordonNode, ObjectRef, PutObject, RemoveNode, ScaleWorkload, SetField
from karptui.whatif.scenario import Scenario
from tests.builders import NOW_NS, present
from tests.ui.fleet import screen_text
from tests.ui.stage import demo_app, running, settled
from tests.ui.whatif.bench import begin

ALLOWED = Config(contexts={"demo": ContextSettings(allow_actions=True)})


@pytest.fixture(autouse=True)
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("karptui.session.actions.audit_file", lambda: tmp_path / "audit.jsonl")
    monkeypatch.setattr("karptui.screens.actions.HORIZON_NS", 60 * 10**9)
    return tmp_path / "audit.jsonl"


def an_acting_app(config: Config = ALLOWED) -> KarptuiApp:
    return demo_app(
        FrozenClock(NOW_NS),
        actions_of=lambda source, is_past: open_actions(source, config, is_asked=False, is_past=is_past),
    )


async def until(pilot: Pilot[Any], is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_true():
            await asyncio.sleep(0)
            await pilot.pause()


def text_of(app: KarptuiApp) -> str:
    return app.screen.area.text if isinstance(app.screen, ActionScreen) else ""


def told(app: KarptuiApp) -> str:
    return "".join(text for text, _ in app.screen.explain()) if isinstance(app.screen, ActionScreen) else ""


@pytest.mark.parametrize(("app", "why"), [
    (lambda: demo_app(FrozenClock(NOW_NS)), "actions are off: start with --allow-actions"),
    (lambda: an_acting_app(Config()), "actions are off: start with --allow-actions"),
    (lambda: an_acting_app(Config(contexts={"*": ContextSettings(allow_actions=True, read_only=True)})),
     "marks the context demo as read_only"),
])  # fmt: skip
async def test_actions_that_are_not_allowed_open_no_screen(
    app: Callable[[], KarptuiApp], why: str, monkeypatch: pytest.MonkeyPatch, audit: Path
) -> None:
    opened, texts = app(), list[str]()
    async with opened.run_test(size=(120, 40)) as pilot:
        await settled(pilot, is_analysed=False)
        monkeypatch.setattr(opened, "tell", lambda text, tone=None: texts.append(text))
        opened.run_command("do")
        opened.run_command("do cordon x")
        await pilot.pause()
        assert len(opened.screen_stack) == 1
    assert len(texts) == 2
    assert all(why in text for text in texts)
    assert not audit.exists()


async def test_actions_open_no_screen_at_a_past_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    app, texts = an_acting_app(), list[str]()
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot, is_analysed=False)
        monkeypatch.setattr(app, "tell", lambda text, tone=None: texts.append(text))
        monkeypatch.setattr(type(app.moments), "shown", object())
        app.run_command("do cordon x")
        monkeypatch.undo()
    assert texts == ["actions are refused at a past moment; :at . returns to now"]


async def test_an_action_is_picked_previewed_confirmed_and_watched(audit: Path) -> None:
    app = an_acting_app()
    async with running(app, (120, 40), is_analysed=False) as (_, pilot):
        assert app.front is not None
        while (app.front.current_object() or ("", ""))[0] != "Node":
            await pilot.press("down")
        _, name = app.front.current_object() or ("", "")
        app.run_command("do")
        await until(pilot, lambda: isinstance(app.screen, PickScreen))
        await pilot.press("enter")
        await until(pilot, lambda: "enter asks for a reason" in told(app))
        assert f"cordon Node {name}" in text_of(app)
        assert "spec.unschedulable: (none) → true" in text_of(app)
        assert "expected, by karptui's simulation" in text_of(app)
        assert not audit.exists()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LineScreen))
        await pilot.press("enter")
        assert isinstance(app.screen, LineScreen), "a reason is needed"
        await pilot.press(*"bug", "enter")
        await until(pilot, lambda: "enter previews the undo" in told(app))
        assert f"✔ done: cordon Node {name}" in text_of(app)
        assert "the watch shows 1 of 1 change" in text_of(app)
        assert "expected by then: " in text_of(app)
        await pilot.press("enter")
        await until(pilot, lambda: "enter asks for a reason" in told(app))
        assert f"uncordon Node {name}" in text_of(app)
    before, after = map(json.loads, audit.read_text().splitlines())
    assert (before["reason"], after["outcome"]) == ("bug", "done")


async def test_several_removals_are_confirmed_by_a_name_and_their_number(audit: Path) -> None:
    app = an_acting_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot, is_analysed=False)
        await pilot.press(*["space", "down"] * 3)
        front = present(app.front)
        claims = [key for _, key in operations_here(front)[Operation.DELETE]]
        assert len(claims) == 3
        word = f"{claims[0]} and 2 more"
        app.run_command("do delete")
        await until(pilot, lambda: isinstance(app.screen, ActionScreen))
        await until(pilot, lambda: "enter asks for a reason" in told(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LineScreen))
        await settled(pilot, is_analysed=False)
        text = screen_text(app)
        assert f"Type {word} to confirm" in " ".join(text.split())
        assert all(f"delete NodeClaim {name}" in " ".join(text.split()) for name in claims)
        await pilot.press(*claims[0], "enter")
        await settled(pilot, is_analysed=False)
        assert isinstance(app.screen, LineScreen)
        assert f"type {word}: this will delete NodeClaim" in " ".join(screen_text(app).split())
        app.screen.query_one(Input).value = word
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LineScreen) and not app.screen.query_one(Input).value)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ActionScreen))
    assert not audit.exists(), "cancelled while the reason is requested"


async def test_an_invalid_action_command_gives_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    app, texts = an_acting_app(), list[str]()
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot, is_analysed=False)
        monkeypatch.setattr(app, "tell", lambda text, tone=None: texts.append(text))
        for line in ("do fly x", "do scale", "do scale deployment/a/b", "do apply x", "do evict a"):
            app.run_command(line)
        assert len(app.screen_stack) == 1
    assert [text.partition(";")[0] for text in texts] == [
        "there is no action fly",
        "scale needs an object, such as deployment/NAME",
        "Deployment a/b: the number of replicas must be from 0 to 100,000",
        "apply takes the edits of the what-if: open it, edit, and type :do",
        "a: name its kind as well, such as pod/a",
    ]


async def test_the_edits_of_a_what_if_are_applied(audit: Path) -> None:
    app = an_acting_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begin(pilot)
        screen.edit_pane.editor.focus()
        line = screen.edit_pane.editor.text.split("\n").index("  weight: 50")
        screen.edit_pane.editor.show_place(line, 12)
        await pilot.press("backspace")
        screen.ask()
        await settled(pilot, is_analysed=False)
        app.run_command("do")
        await until(pilot, lambda: "enter asks for a reason" in told(app))
        assert "spec.weight: 50 → 5" in text_of(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LineScreen))
        await pilot.press(*"try", "enter")
        await until(pilot, lambda: "enter previews the undo" in told(app))
    pool = app.follower.view.state.nodepools["general"]
    assert pool.weight == 5
    assert json.loads(audit.read_text().splitlines()[0])["diff"] == [{"field": "spec.weight", "before": 50, "after": 5}]


def test_edits_of_a_what_if_become_manifests() -> None:
    pool = ObjectRef("NodePool", "general")
    text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: spot, uid: x}\nspec: {weight: 3}\n"
    scenario = Scenario(name="a", edits=(SetField(pool, ("spec", "limits", "cpu"), "50"), PutObject(text)))
    head = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}
    assert [action.manifest for action in edits_as_actions(scenario)] == [
        {**head, "spec": {"limits": {"cpu": "50"}}, "metadata": {"name": "general"}},
        {**head, "metadata": {"name": "spot"}, "spec": {"weight": 3}},
    ]
    pod = ObjectRef("Pod", "a", "web")
    protection = ("metadata", "annotations", "karpenter.sh/do-not-disrupt")
    others = (CordonNode("n"), ScaleWorkload(ObjectRef("Deployment", "d", "web"), 2), SetField(pod, protection))
    assert [(action.operation, action.target.key) for action in edits_as_actions(Scenario(name="a", edits=others))] == [
        ("cordon", "n"),
        ("scale", "web/d"),
        ("remove-do-not-disrupt", "web/a"),
    ]
    for edit in (RemoveNode("a"), SetField(ObjectRef("PodDisruptionBudget", "b", "web"), ("spec", "x"), 1)):
        with pytest.raises(ActionError):
            list(edits_as_actions(Scenario(name="a", edits=(edit,))))


async def test_actions_are_closed_if_none_is_picked(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr(Actions, "close", lambda _: closed.append("closed"))
    app = an_acting_app()
    async with running(app, (120, 40), is_analysed=False) as (_, pilot):
        app.run_command("do")
        await until(pilot, lambda: isinstance(app.screen, PickScreen))
        await pilot.press("escape")
        await until(pilot, lambda: bool(closed))
        app.run_command("do frobnicate x")
        await settled(pilot, is_analysed=False)
        assert closed == ["closed", "closed"]
