"""Studies with a row for each case: headroom, drill, policies, pauses and rollouts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from karptui.app import KarptuiApp
from karptui.kube.usage import Measured, UsagePeriod, add_reading
from karptui.screens.forward import ForwardScreen
from karptui.screens.study import StudyScreen
from karptui.screens.whatif.screen import WhatIfScreen
from tests.histories import record_demo, write_usage
from tests.story_d import story_document
from tests.ui.fleet import screen_text
from tests.ui.stage import history_app, pressing, worked


def typed(command: str) -> tuple[str, ...]:
    keys = {" ": "space", "/": "slash", "-": "minus"}
    return "colon", *(keys.get(character, character) for character in command), "enter"


async def test_headroom_opens_for_the_object_under_the_cursor(app: KarptuiApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("4", "H")(pilot)
        assert isinstance(app.screen, StudyScreen)
        text = screen_text(app)
        assert "Headroom ─ Pod" in text
        assert "TAKES" in text
        await pressing("escape", *typed("headroom"), "enter")(pilot)
        assert "if no other launched anything" in screen_text(app)
        await pressing("2", "H")(pilot)
        assert "Headroom ─ NodePool " in screen_text(app)
        assert "limits of " in screen_text(app) or "has no limits" in screen_text(app)


async def test_a_row_opens_as_a_scenario_and_as_a_forecast(app: KarptuiApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("z", "D", "enter")(pilot)
        assert isinstance(app.screen, WhatIfScreen)
        assert "without zone=" in screen_text(app) or "without capacity-type=" in screen_text(app)
        await pressing("escape", "F")(pilot)
        assert isinstance(app.screen, ForwardScreen)


async def test_solve_starts_from_the_shown_scenario(app: KarptuiApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("2", "ctrl+t", "right", *typed("solve pending"))(pilot)
        assert " on top of " in screen_text(app)


async def test_commands_open_rollouts_policies_and_pauses(app: KarptuiApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing(*typed("rollout"))(pilot)
        assert "NodePool general: " in screen_text(app)
        await pressing("escape", *typed("rollout batch"))(pilot)
        assert "Rollout ─ batch" in screen_text(app)
        assert "NodePool general: " not in screen_text(app)
        await pressing("escape", *typed("rollout gone"))(pilot)
        assert "there is no NodeClass gone" in screen_text(app)
        await pressing("escape", "escape", "1")(pilot)
        await pressing(*typed("headroom Pod a/none"))(pilot)
        assert "there is no pod a/none" in screen_text(app)
        await pressing("escape", *typed("headroom none"))(pilot)
        assert ":headroom takes a kind and a name" in screen_text(app)
        await pressing("escape", "escape", "1")(pilot)
        await pressing(*typed("policies"), "v")(pilot)
        await pressing(*"0s", "enter", "s")(pilot)
        text = screen_text(app)
        assert "over 6h, 5 seeds" in text
        assert "WhenEmpty" in text
        assert " 5m " not in text
        await pressing("escape", "escape", "1")(pilot)
        await pressing(*typed("pause drifted until 2h"))(pilot)
        assert "pauses Drifted disruption in " in screen_text(app)
        assert "(120m)" in screen_text(app)
        await pressing("v", *"3h", "backspace", "backspace", "backspace", "backspace", *"1h", "enter")(pilot)
        assert "(60m)" in screen_text(app)
        await pressing("x")(pilot)
        assert "kubectl patch nodepools.karpenter.sh" in screen_text(app)
        await pressing("escape", "escape", *typed("pause release"))(pilot)
        assert "ends 1 pause in 1 NodePool (batch)" in screen_text(app)
        await pressing("escape", *typed("pause gone"))(pilot)
        assert "there is no NodePool gone" in screen_text(app)


async def test_rightsize_uses_history_without_vpas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = story_document()
    for manifest in document["objects"]:
        for container in manifest["spec"]["containers"] if manifest["kind"] == "Pod" else ():
            container["name"] = "app"
    (tmp_path / "story.json").write_text(json.dumps(document))
    app = history_app(tmp_path / "story.json")
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing(*typed("rightsize"))(pilot)
        await worked(pilot)
        assert "there are no recommendations: they come from" in screen_text(app)
        path = tmp_path / "story.karptui"
        record_demo(path, 2)
        begin_ns = app.now_ns() - 3600 * 10**9
        period = UsagePeriod(begin_ns, begin_ns)
        for minute in range(60):
            add_reading(period, begin_ns + minute * 60 * 10**9, [Measured("StatefulSet/trino/worker", "app", 250, 1)])
        write_usage(path, period)
        monkeypatch.setattr(type(app.moments), "history", lambda _: path)
        await pressing("escape", *typed("rightsize"))(pilot)
        await worked(pilot)
        text = " ".join(screen_text(app).split())
        assert "with requests as recommended: " in text
        assert "source: karptui's history: cpu at percentile 95" in text
        assert "less than 1h measured in the last 7d" in text
        assert "StatefulSet/trino/worker" in text
        assert "28 → 260m" in text
        await pressing("x")(pilot)
        await worked(pilot)
        assert "kind: StatefulSet" in screen_text(app)
