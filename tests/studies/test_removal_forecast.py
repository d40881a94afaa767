from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.prices import NodePrices, PriceSettings
from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.disruption.codes import Code
from karptui.disruption.joint_removal import JointRemovals
from karptui.disruption.joint_saving import (
    FORECAST_STANDS_NS,
    JointFigures,
    JointRemoval,
    JointSaving,
    NodeSaving,
    joint_saving,
)
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.kube.objects import OwnerReference
from karptui.studies.forecasts import RemedyForecasts, RemovalForecasts
from karptui.whatif.remedies.blockers.offered import blocker_remedies
from karptui.whatif.remedies.blockers.remedy import ChangedObjects
from karptui.whatif.remedies.blockers.trial import try_remedies
from karptui.whatif.situation import TypesResult, WhatIfBase
from tests.builders import NOW_NS, a_manifest, a_node, a_pod, an_owner, decoded
from tests.disruption.making import TYPES, a_claim, consolidatable, drifted

NAMES = ("node-1", "node-2", "node-3")
SERVICE = an_owner(kind="ReplicaSet", name="web")
SIZE: dict[str, Any] = {"instance_type": "m5.2xlarge", "cpu": "7900m", "memory": "30Gi"}


def forecast_saving(owner: OwnerReference, *budgets: dict[str, Any]) -> tuple[JointRemoval, JointSaving]:
    """Return the joint removal of three protected nodes whose pods fit on two, and its forecast savings."""
    pool: NodePool = decoded(
        a_manifest(
            "NodePool",
            "general",
            api_version="karpenter.sh/v1",
            spec={"disruption": {"consolidationPolicy": "WhenEmpty", "budgets": list(budgets)}},
            status={"conditions": [{"type": "Ready", "status": "True"}]},
        )
    )
    protected = {"karpenter.sh/do-not-disrupt": "true"}
    conditions = (consolidatable(), drifted())
    inventory = Inventory(
        nodes=tuple(a_node(name=name, **SIZE) for name in NAMES),
        nodeclaims=tuple(a_claim(name, instance_type="m5.2xlarge", conditions=conditions) for name in NAMES),
        nodepools=(pool,),
        pods=tuple(
            a_pod(name=f"pod-{name}", node=name, cpu="3500m", owner=owner, annotations=protected) for name in NAMES
        ),
    )
    base = WhatIfBase(inventory, lambda *_: TypesResult(TYPES, is_fixed=True), Settings(), NOW_NS)
    steps = AnalysisSteps(base.prepared, 1)
    findings = analyse_all(steps).findings
    joint = JointFigures()
    forecasts = RemovalForecasts(base, findings)
    simulated = JointRemovals(base.prepared, steps.fleet)
    removal = simulated.of(frozenset(findings))
    assert removal is not None
    joint.simulate_at_once(lambda keys: forecasts.of(keys, removal))
    alone = [NodeSaving(key, 0.384, result.price_per_hour) for key, result in findings.items()]
    return removal, joint_saving(alone, joint)


def test_a_removal_takes_as_long_as_its_budget_requires() -> None:
    _, at_a_time = forecast_saving(SERVICE, {"nodes": "1"})
    _, together = forecast_saving(SERVICE, {"nodes": "3"})
    for saving in (at_a_time, together):
        assert (saving.is_upper_bound, saving.nodes) == (False, 3)
        assert saving.per_hour == pytest.approx(0.4, abs=0.05)
    assert at_a_time.seconds is not None
    assert together.seconds is not None
    assert at_a_time.seconds > together.seconds > 0


@pytest.mark.parametrize(
    ("owner", "budget"),
    [(SERVICE, {"nodes": "0"}), (an_owner(kind="Job", name="report"), {"nodes": "3"})],
    ids=["budget of 0", "pods of a Job"],
)
def test_an_uncertain_removal_keeps_its_upper_bound(owner: OwnerReference, budget: dict[str, Any]) -> None:
    removal, saving = forecast_saving(owner, budget)
    assert (saving.is_upper_bound, saving.seconds, saving.nodes) == (True, None, len(removal.keys))


def test_a_forecast_is_kept_until_its_removal_changes() -> None:
    keys = frozenset({"claim/a", "claim/b"})
    removal = JointRemoval(keys, price_per_hour=2.0, saves_per_hour=1.5)
    longer = JointRemoval(keys, price_per_hour=2.0, saves_per_hour=1.0, seconds=600)
    before = JointFigures()
    before.of(keys)
    before.simulate(lambda _: removal)
    assert before.is_forecast_due(NOW_NS)
    before.forecast(lambda *_: longer, NOW_NS)
    assert (before.of(keys), before.is_forecast_due(NOW_NS)) == (longer, False)
    after = JointFigures(before)
    assert after.of(keys) == longer  # kept until this set is simulated again
    after.simulate(lambda _: removal)
    assert (after.of(keys), after.is_forecast_due(NOW_NS)) == (longer, False)
    assert after.is_forecast_due(NOW_NS + FORECAST_STANDS_NS)
    changed = JointRemoval(keys, price_per_hour=2.0, saves_per_hour=0.5)
    last = JointFigures(after)
    last.of(keys)
    last.simulate(lambda _: changed)
    assert (last.of(keys), last.is_forecast_due(NOW_NS)) == (changed, True)


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
    base = WhatIfBase(inventory, lambda *_: TypesResult(TYPES, is_fixed=True), Settings(), NOW_NS,
                      prices=NodePrices(settings=PriceSettings(multiplier=multiplier)))  # fmt: skip
    findings = analyse_all(AnalysisSteps(base.prepared, 1)).findings
    blockers = [item for finding in findings.values() for item in finding.blockers if item.code is Code.BUDGET_ZERO]
    objects = ChangedObjects({pod.key: pod for pod in inventory.pods}, {pool.name: pool}, {}, nodes=inventory.nodes,
                             nodeclaims=inventory.nodeclaims)  # fmt: skip
    remedies = blocker_remedies(blockers, objects, findings, NOW_NS)
    (tried,) = try_remedies(base, remedies, blockers)
    (forecast,) = RemedyForecasts(base).of(remedies, (tried,))
    # Each node alone would be removed immediately; the budget allows one at a time, and two are needed.
    assert (tried.freed, tried.wait_seconds) == (NAMES, 0)
    assert (forecast.is_forecast, forecast.freed) == (True, NAMES)
    assert forecast.saves_per_hour == pytest.approx(0.4 * multiplier)
    assert forecast.wait_seconds > 60
    assert "at once" not in forecast.why
