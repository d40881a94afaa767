"""Solve: a goal is entered in a dialog, and the answer opens as a scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from karptui.app import KarptuiApp
from karptui.aws.evidence import Evidence
from karptui.clock import FrozenClock
from karptui.screens.study import StudyScreen
from karptui.screens.whatif.screen import WhatIfScreen
from karptui.sources.evidence import EvidenceSource
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.source import SnapshotSource
from tests.builders import present
from tests.builders.manifests import one_of
from tests.story_d import a_waiting_pod
from tests.ui.fleet import screen_text
from tests.ui.stage import an_app, pressing

FAMILY = "karpenter.k8s.aws/instance-family"


def a_type(name: str, cpu: str, price: float) -> dict[str, Any]:
    sold = [one_of("karpenter.sh/capacity-type", "on-demand"), one_of("topology.kubernetes.io/zone", "us-east-1a")]
    named = [one_of("node.kubernetes.io/instance-type", name), one_of(FAMILY, name.partition(".")[0])]
    system = [one_of("kubernetes.io/arch", "amd64"), one_of("kubernetes.io/os", "linux")]
    return {
        "name": name,
        "requirements": [*named, *system, *sold],
        "capacity": {"cpu": cpu, "memory": "64Gi", "pods": "29"},
        "overhead": {},
        "offerings": [{"requirements": sold, "price": price, "available": True}],
    }


def a_pool(name: str, family: str, **template: Any) -> dict[str, Any]:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-11-20T06:00:00Z"},
        "spec": {
            "template": {
                "spec": {"nodeClassRef": reference, "requirements": [one_of(FAMILY, family)], "expireAfter": "720h"}
                | template
            },
            "disruption": {"consolidateAfter": "0s", "consolidationPolicy": "WhenEmptyOrUnderutilized"},
        },
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def small_app(folder: Path) -> KarptuiApp:
    """Return the app over two NodePools without nodes, and pods that match neither."""
    document = {
        "karptui": 1,
        "name": "small",
        "capturedAt": "2026-11-20T12:00:00Z",
        "objects": [a_pool("general", "m5"),
                    a_pool("reserved", "r5", taints=[{"key": "team", "value": "data", "effect": "NoSchedule"}]),
                    a_waiting_pod("web/large", requests={"cpu": "8", "memory": "2Gi"}),
                    a_waiting_pod("web/gold", nodeSelector={"tier": "gold"}), a_waiting_pod("web/plain")],
        "instanceTypes": [a_type("m5.large", "2", 0.1), a_type("c5.4xlarge", "16", 0.7), a_type("r5.4xlarge", "16", 1)],
    }  # fmt: skip
    path = folder / "small.json"
    path.write_text(json.dumps(document))
    snapshot = SnapshotReader().read([str(path)], keeps_manifests=True)
    at = snapshot.captured_at_ns
    evidence = Evidence(
        settings=snapshot.evidence.settings, instance_types=snapshot.evidence.instance_types, taken_at_ns=at
    )
    return an_app(SnapshotSource(snapshot), clock=FrozenClock(at), evidence=EvidenceSource(evidence))


@pytest.fixture
def app(folder: Path) -> KarptuiApp:
    return small_app(folder)


def typed(text: str) -> tuple[str, ...]:
    keys = {" ": "space", "/": "slash", "-": "minus", "=": "equals_sign", "*": "asterisk"}
    return tuple(keys.get(character, character) for character in text)


async def test_a_goal_and_its_numbers_are_entered_and_the_answer_opens(app: KarptuiApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pressing("ctrl+t", "S", *typed("pending"), "enter")(pilot)
        await pressing("enter", "ctrl+u", *typed("0"), "enter")(pilot)
        assert "'0' is not a number from 1 to" in screen_text(app)
        await pressing("ctrl+u", *typed("50"), "enter")(pilot)
        assert isinstance(app.screen, StudyScreen)
        session = Mock()
        app.screen.study.ask(session, 0)
        asked = session.studies.answer.call_args.args[0].keywords
        assert (asked["goal"], asked["parameters"]["tries"]) == ("pending", "50")


async def test_rows_show_changes_in_full(app: KarptuiApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await pressing("colon", *typed("solve pending"), "enter")(pilot)
        assert isinstance(app.screen, StudyScreen)
        listing = present(app.screen.listing.rows)
        first = [row for row in listing.items if row.place == "answer"]
        assert len(first) > 1
        assert all(row.text.strip() in screen_text(app) for row in first[:2])
        assert "".join(row.text for row in first).replace(" ", "") == first[0].words.replace("; ", "").replace(" ", "")
        assert f"Changes tried [{len({row.place for row in listing.items})}]" in screen_text(app)


async def test_an_invalid_goal_gives_a_message_and_an_answer_opens_as_a_scenario(app: KarptuiApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        for text, says in (
            ("solve sleep", "unknown goal sleep; goals here: pending, overhead"),
            ("solve families", "families is a goal only of the command karptui solve"),
            ("solve pending general", "is not name=value"),
            ("solve pending most=1", "there is no most; it takes change, tries"),
        ):
            await pressing("colon", *typed(text), "enter")(pilot)
            assert says in screen_text(app)
        await pressing("colon", *typed("solve pending"), "enter", "enter")(pilot)
        assert isinstance(app.screen, WhatIfScreen)
        assert app.screen.whatif.scenario().edits
