from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.prices import NodePrices, PriceSettings
from karptui.disruption.codes import Code
from karptui.disruption.study import DisruptionStudy, study_all
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.studies.rollout import RemedyForecasts
from karptui.whatif.remedies.blockers.offered import blocker_remedies
from karptui.whatif.remedies.blockers.remedy import ChangedObjects
from karptui.whatif.remedies.blockers.trial import try_remedies
from karptui.whatif.situation import TypesResult, WhatIfBase
from tests.builders import NOW_NS, a_manifest, a_node, a_pod, an_owner, decoded
from tests.disruption.making import TYPES, a_claim, consolidatable, drifted

NAMES = ("node-1", "node-2", "node-3")


@pytest.mark.parametrize("multiplier", [1.0, 0.5])
def test_a_budget_remedy_takes_its_time_and_saves_what_forward_saves(multiplier: float) -> None:
    size: dict[str, Any] = {"instance_type": "m5.2xlarge", "cpu": "7900m", "memory": "30Gi"}
    conditions = (consolidatable(), drifted())
    pool: NodePool = decoded(
        a_manifest(
            "NodePool",
            "general",
            api_version="karpenter.sh/v1",
            spec={"disruption": {"consolidationPolicy": "WhenEmpty", "budgets": [{"nodes": "0"}]}},
            status={"conditions": [{"type": "Ready", "status": "True"}]},
        )
    )
    owner = an_owner(kind="ReplicaSet", name="web")
    inventory = Inventory(
        nodes=tuple(a_node(name=name, **size) for name in NAMES),
        nodeclaims=tuple(a_claim(name, instance_type="m5.2xlarge", conditions=conditions) for name in NAMES),
        nodepools=(pool,),
        pods=tuple(a_pod(name=f"pod-{name}", node=name, cpu="3500m", owner=owner) for name in NAMES),
    )
    base = WhatIfBase(
        inventory,
        lambda *_: TypesResult(TYPES, is_fixed=True),
        Settings(),
        NOW_NS,
        prices=NodePrices(settings=PriceSettings(multiplier=multiplier)),
    )
    findings = study_all(DisruptionStudy(base.prepared, 1)).findings
    blockers = [item for finding in findings.values() for item in finding.blockers if item.code is Code.BUDGET_ZERO]
    objects = ChangedObjects(
        {pod.key: pod for pod in inventory.pods},
        {pool.name: pool},
        {},
        nodes=inventory.nodes,
        nodeclaims=inventory.nodeclaims,
    )
    remedies = blocker_remedies(blockers, objects, findings, NOW_NS)
    (tried,) = try_remedies(base, remedies, blockers)
    (forecast,) = RemedyForecasts(base).of(remedies, (tried,))
    # Each node alone would be removed at once; the budget lets one go at a time, and two nodes are needed.
    assert (tried.freed, tried.wait_seconds) == (NAMES, 0)
    assert (forecast.is_forecast, forecast.freed) == (True, NAMES)
    assert forecast.saves_per_hour == pytest.approx(0.4 * multiplier)
    assert forecast.wait_seconds > 60
    assert "at once" not in forecast.why
