"""Texts before and after an action, on clusters with a known outcome."""

from __future__ import annotations

import json
from typing import Any

import pytest

from karptui.actions.action import Action, Operation, Target, action_on, applied
from karptui.actions.audit_record import Outcome, Result
from karptui.actions.request import autoscalers_of, request_of
from karptui.cli.loading import open_snapshot
from karptui.config import Config
from karptui.session.actions import Preview
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.studies.actions import Expected, expected
from karptui.views.actions import command, expected_lines, outcome_lines, preview_lines
from karptui.whatif.situation import WhatIfBase
from tests.cli.test_everything_hostile import EVERYTHING, harmless
from tests.incidents.all import INCIDENTS

MANIFEST = """{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"a"}}"""


def base_of(name: str, tmp_path: Any) -> WhatIfBase:
    file = tmp_path / "snapshot.json"
    file.write_text(json.dumps(INCIDENTS[name].snapshot()))
    return open_snapshot(SnapshotReader(karpenter_version="").read([file]), Config())[0]


def claim_of(base: WhatIfBase, pod: str) -> Action:
    node = next(item.node_name for item in base.inventory.pods if item.key.startswith(pod) and item.node_name)
    claim = next(claim for claim in base.inventory.nodeclaims if claim.node_name == node)
    return action_on(Operation.DELETE, "NodeClaim", claim.name)


def forecast_text(base: WhatIfBase, action: Action) -> tuple[Expected, str]:
    result = expected(base, [(action, None)], horizon_ns=3600 * 10**9)
    return result, "\n".join(expected_lines(result))


def test_the_forecast_of_a_deletion_names_blocked_and_lost_pods(tmp_path: Any) -> None:
    base = base_of("pdb-and-closed-budget", tmp_path)
    result, text = forecast_text(base, claim_of(base, "search/index"))
    assert [seconds for _, seconds in result.drains] == [None]
    assert "its drain is blocked, and the node stays" in text
    assert "PodDisruptionBudgets allow no eviction now of 1: search/index-0 by index" in text
    assert "lands elsewhere" not in text
    base = base_of("bare-pod-expires", tmp_path)
    _, text = forecast_text(base, claim_of(base, "qa/loadtest-anna"))
    assert "drained and gone after " in text
    assert "nothing recreates 1: qa/loadtest-anna" in text
    _, text = forecast_text(base, action_on(Operation.EVICT, "Pod", "qa/loadtest-anna"))
    assert "nothing recreates 1: qa/loadtest-anna" in text
    base = base_of("nodes-do-not-disrupt", tmp_path)
    node = next(node.name for node in base.inventory.nodes if "karpenter.sh/do-not-disrupt" in node.annotations)
    result, _ = forecast_text(base, action_on(Operation.REMOVE_DO_NOT_DISRUPT, "Node", node))
    assert result.plan.edited.end.nodes == result.plan.now.end.nodes - 1


@pytest.mark.parametrize(("action", "line"), [
    (action_on(Operation.UNCORDON, "Node", "a"), "karptui do uncordon a"),
    (action_on(Operation.REMOVE_DO_NOT_DISRUPT, "Pod", "web/a"), "karptui do remove-do-not-disrupt pod/web/a"),
    (action_on(Operation.DO_NOT_DISRUPT, "Pod", "a/b", value="5m"), "karptui do do-not-disrupt pod/a/b --value 5m"),
    (action_on(Operation.SCALE, "Deployment", "web/a", replicas=3), "karptui do scale deployment/web/a --replicas 3"),
    (applied({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a"}}),
     f"echo '{MANIFEST}' | karptui do apply -f -"),
])  # fmt: skip
def test_an_undo_is_shown_as_a_command_line(action: Action, line: str) -> None:
    assert command(action) == line


def test_texts_of_the_server_contain_no_control_characters() -> None:
    live = {"metadata": {"uid": EVERYTHING, "resourceVersion": EVERYTHING}}
    action = Action(operation=Operation.CORDON, target=Target("Node", EVERYTHING))
    causes = ((EVERYTHING, EVERYTHING),)
    preview = Preview(
        action=action, request=request_of(action, live, is_dry_run=False), managers=(EVERYTHING,), causes=causes,
        problem=EVERYTHING, status=422, undo=action,
    )  # fmt: skip
    outcome = Outcome(result=Result.UNKNOWN, message=EVERYTHING, causes=causes, audit_problem=EVERYTHING)
    for shown in (preview, Preview(action=action, missing=EVERYTHING), Preview(action=action, undo=action)):
        for line in (*preview_lines(shown), *outcome_lines(shown, outcome)):
            assert harmless(line, is_json=False), line


WEB = Target("Deployment", "web", "shop")
HPAS = {
    "items": [
        {"metadata": {"name": name}, "spec": {"scaleTargetRef": {"kind": kind, "name": target}, **spec}}
        for name, kind, target, spec in (
            ("web", "Deployment", "web", {"minReplicas": 2, "maxReplicas": 9}),
            ("other", "Deployment", "api", {"maxReplicas": 3}),
            ("set", "StatefulSet", "web", {"maxReplicas": 3}),
        )
    ]
}


@pytest.mark.parametrize(
    ("listed", "replicas", "note"),
    [
        (HPAS, 4, "HorizontalPodAutoscaler web (2 to 9 replicas) scales it and may undo this"),
        (HPAS, 0, "HorizontalPodAutoscaler web (2 to 9 replicas) scales it, but not from 0 replicas; KEDA may"),
        ({"items": HPAS["items"][1:]}, 4, "no HorizontalPodAutoscaler scales it; other autoscalers are not read"),
        (None, 4, "HorizontalPodAutoscalers of shop cannot be listed"),
    ],
)
def test_previews_of_scaling_name_autoscalers(listed: dict[str, Any] | None, replicas: int, note: str) -> None:
    action = Action(operation=Operation.SCALE, target=WEB, replicas=replicas)
    autoscalers = autoscalers_of(WEB, listed) if listed is not None else None
    text = "\n".join(preview_lines(Preview(action=action, autoscalers=autoscalers)))
    assert note in text
    refused = "\n".join(preview_lines(Preview(action=action, problem="no")))
    assert "HorizontalPodAutoscaler" not in refused, "a rejected preview does not look for autoscalers"
