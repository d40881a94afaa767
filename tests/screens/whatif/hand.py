"""Fakes for the what-if controller: cluster, replays, listener and keyboard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import deepcopy
from typing import Any, cast

from karptui.serving.session import ClusterSession
from karptui.session.answers import ReplayState
from karptui.session.cluster_view import ClusterView
from karptui.sources.source import SourceError
from karptui.views.row import Tone
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Scenario
from tests.builders import NOW_NS, a_cluster, a_manifest

POOL = a_manifest(
    "NodePool",
    "general",
    api_version="karpenter.sh/v1",
    spec={
        "weight": 50,
        "limits": {"cpu": "100"},
        "template": {
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]}
                ],
            }
        },
    },
)


class FakeReplays:
    """Fake replays: records each scenario, and answers with ``next_state``."""

    def __init__(self) -> None:
        self.asked: list[Scenario] = []
        self.are_first: list[bool] = []
        self.were_typing: list[bool] = []
        self.next_state = ReplayState()

    def replay(self, scenario: Scenario, _now_ns: int, *, is_typing: bool, is_first: bool) -> ReplayState:
        self.asked.append(scenario)
        self.are_first.append(is_first)
        self.next_state = self.next_state._replace(number=len(self.asked))
        return self.next_state

    def state(self, _now_ns: int, *, is_typing: bool) -> ReplayState:
        self.were_typing.append(is_typing)
        return self.next_state

    def subscribe(self, listener: Callable[[int, Answer], None], /) -> None:
        self.hear = listener


class Cluster:
    """Fake cluster: objects in a dict, time from the field ``now``."""

    def __init__(self) -> None:
        self.view = ClusterView(a_cluster(nodes=1), {})
        self.now = NOW_NS
        self.replays = FakeReplays()
        self.session = ClusterSession(lambda: self.view, {})
        self.session.whatif = cast("Any", self.replays)
        self.objects: dict[tuple[str, str], dict[str, Any]] = {("NodePool", "general"): POOL}

    def now_ns(self) -> int:
        return self.now

    async def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        if (kind, key) not in self.objects:
            raise SourceError(f"there is no {kind} {key}")
        return deepcopy(self.objects[kind, key])

    async def crds(self) -> tuple[dict[str, Any], ...]:
        return ()


class SlowCluster(Cluster):
    """Fake cluster that returns objects only after the test sets ``answers``."""

    def __init__(self) -> None:
        super().__init__()
        self.asked_for, self.answers = asyncio.Event(), asyncio.Event()

    async def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        self.asked_for.set()
        await self.answers.wait()
        return await super().fetch_object(kind, key)


class Listener:
    """Records the calls of the controller."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.notices: list[str] = []

    def typed(self) -> None:
        self.told.append("typed")

    def text_changed(self) -> None:
        self.told.append("text")

    def sheet_changed(self) -> None:
        self.told.append("sheet")

    def answered(self, number: int, answer: Answer) -> None:
        self.told.append("answer")

    def say(self, text: str, tone: Tone = Tone.NORMAL) -> None:
        self.notices.append(text)


class FakeKeyboard:
    """Fake keyboard."""

    is_typing = False

    def is_at_rest(self, _now: float, _seconds: float) -> bool:
        return not self.is_typing


def asked(cluster: Cluster) -> list[Scenario]:
    return list(cluster.replays.asked)
