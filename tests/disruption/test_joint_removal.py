from __future__ import annotations

from typing import Any

import pytest

from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.disruption.joint_removal import JointRemovals
from karptui.disruption.joint_saving import JointFigures, JointRemoval, NodeSaving, joint_saving
from karptui.disruption.methods import observed_fleet
from karptui.karpenter import labels
from karptui.provisioning.prepared import Prepared
from tests.builders import a_node, a_nodepool, a_pod, present
from tests.disruption.making import a_claim, consolidatable, prepared

NAMES = ("node-1", "node-2", "node-3", "node-4")
KEYS = frozenset(f"claim/claim-{name}" for name in NAMES[:3])


def _cluster(cpu: str, *, last_is_full: bool = False) -> Prepared:
    """Return four nodes of 8 cores for $0.40/h; the first three have one protected pod each."""
    size: dict[str, Any] = {"instance_type": "m5.2xlarge", "cpu": "7900m", "memory": "30Gi"}
    protected = {labels.DO_NOT_DISRUPT: "true"}
    pods = [a_pod(name=f"pod-{name}", node=name, cpu=cpu, annotations=protected) for name in NAMES[:3]]
    return prepared(
        nodes=[a_node(name=name, **size) for name in NAMES],
        nodeclaims=[a_claim(name, instance_type="m5.2xlarge", conditions=(consolidatable(),)) for name in NAMES],
        nodepools=[a_nodepool(budgets=())],
        pods=[*pods, a_pod(name="last", node=NAMES[3], cpu="7500m" if last_is_full else "100m")],
    )


def _removed(cluster: Prepared, keys: frozenset[str] = KEYS) -> JointRemoval:
    return present(JointRemovals(cluster, observed_fleet(cluster)).of(keys))


def test_savings_of_a_joint_removal() -> None:
    cluster = _cluster("4")  # each pod alone fits on the fourth node; all three need another node
    alone = analyse_all(AnalysisSteps(cluster, 1))
    assert sum(present(alone.findings[key].freed).savings_per_hour for key in KEYS) == pytest.approx(1.2)
    removal = _removed(cluster)
    assert removal.keys == KEYS
    assert removal.saves_per_hour == pytest.approx(0.8)
    removal = _removed(_cluster("7500m", last_is_full=True))  # a new node for each of the pods
    assert (removal.keys, removal.saves_per_hour) == (frozenset(), 0.0)
    cluster = _cluster("2")
    assert JointRemovals(cluster, observed_fleet(cluster)).of(KEYS | {"claim/gone"}) is None


def test_joint_removal_counts_until_simulated_again() -> None:
    steps = AnalysisSteps(_cluster("4"), 1)
    first = present(steps.analysis.joint)
    assert (first.of(KEYS), first.is_asked, first.lacks_figures) == (None, True, True)
    pauses: list[None] = []
    assert (steps.simulate_joint(lambda: pauses.append(None)), steps.simulate_joint()) == (True, False)
    assert len(pauses) == 3  # without all three, without one, and with all
    assert present(first.of(KEYS)).saves_per_hour == pytest.approx(0.8)
    after = JointFigures(first)
    assert (after.of(KEYS), after.is_asked, after.lacks_figures) == (first.of(KEYS), True, False)
    assert JointFigures(JointFigures(first)).of(KEYS) is None  # no screen needs it now


@pytest.mark.parametrize(("seconds", "per_hour", "nodes"), [(None, 1.7, 3), (600, 0.7, 2)])
def test_nodes_outside_the_best_part_only_raise_the_bound(seconds: int | None, per_hour: float, nodes: int) -> None:
    part = JointRemoval(frozenset(("a", "b")), price_per_hour=2.0, saves_per_hour=0.7, seconds=seconds)
    figures = JointFigures()
    figures.simulate_at_once(lambda _: part)
    saving = joint_saving([NodeSaving(name, 1.0, 1.0) for name in "abc"], figures)
    assert saving.per_hour == pytest.approx(per_hour)
    assert (saving.nodes, saving.is_upper_bound) == (nodes, seconds is None)
