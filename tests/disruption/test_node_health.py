from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest
from msgspec.structs import replace

from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.disruption.command import Method
from karptui.disruption.events import Recorder
from karptui.disruption.methods import observed_fleet, simulate
from karptui.disruption.repair import HealthDeletion, health_deletions, legacy_deletions
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.settings import parse_settings
from karptui.kube.objects import Condition, Node
from tests.builders import MINUTE_NS, NOW_NS, a_node, a_nodepool, a_pod, present
from tests.disruption.making import a_claim, prepared

BEFORE: Final = parse_settings({"FEATURE_GATES": "NodeRepair=true"}, "1.14.1")


def _sick(name: str, provider_id: str | None = None, *, pool: str = "general", minutes: int = 31) -> Node:
    """Return a node that has not been ready for this duration."""
    ready = Condition("Ready", "False", "KubeletNotReady", "", NOW_NS - minutes * MINUTE_NS)
    return a_node(name=name, provider_id=provider_id, pool=pool, conditions=(ready,))


def _deletions(nodes: Iterable[Node], claims: Iterable[NodeClaim]) -> dict[str, HealthDeletion]:
    """Return what Karpenter 1.14.1 with node repair would delete."""
    return health_deletions(Inventory(nodepools=(a_nodepool(),), nodes=tuple(nodes), nodeclaims=tuple(claims)), BEFORE)


def _analysed(minutes: int, version: str, *, sick: int = 1, gate: str = "true", leaving: bool = False) -> AnalysisSteps:
    """Return the analysis of six nodes, some not ready for this duration."""
    names = [f"node-{number}" for number in range(6)]
    nodes = [*(_sick(name, minutes=minutes) for name in names[:sick]), *(a_node(name=name) for name in names[sick:])]
    claims = [a_claim(name, deletion_ns=NOW_NS if leaving and name == names[0] else 0) for name in names]
    settings = parse_settings({"FEATURE_GATES": f"NodeRepair={gate}"}, version)
    return AnalysisSteps(prepared(nodes=nodes, nodeclaims=claims, settings=settings), 1)


@pytest.mark.parametrize(("minutes", "sick", "deletion", "named"), [
    (31, 1, HealthDeletion(NOW_NS - MINUTE_NS, is_tripped=False), ("node-0",)),
    (29, 1, HealthDeletion(NOW_NS + MINUTE_NS, is_tripped=False), ()),
    (31, 3, HealthDeletion(NOW_NS - MINUTE_NS, is_tripped=True), ()),
])  # fmt: skip
def test_unhealthy_nodes_before_1_15(minutes: int, sick: int, deletion: HealthDeletion, named: tuple[str, ...]) -> None:
    steps = _analysed(minutes, "1.14.1", sick=sick)
    assert analyse_all(steps, ()).findings["claim/claim-node-0"].unhealthy == deletion
    assert steps.analysis.findings["claim/claim-node-5"].unhealthy is None
    steps.simulate_next_pass()
    assert present(steps.analysis.next).unhealthy == named


def test_the_repair_method_handles_unhealthy_nodes_since_1_15() -> None:
    for steps in (_analysed(31, "1.15.0"), _analysed(31, "1.14.1", gate="false")):
        assert analyse_all(steps, ()).findings["claim/claim-node-0"].unhealthy is None
        steps.simulate_next_pass()
        assert present(steps.analysis.next).unhealthy == ()


@pytest.mark.parametrize("provider_ids", [("",), ("aws:///us-east-1a/node-0", "aws:///us-east-1a/node-0")])
def test_node_without_a_unique_nodeclaim_is_skipped(provider_ids: tuple[str, ...]) -> None:
    claims = [replace(a_claim("node-0"), name=f"claim-{at}", provider_id=text) for at, text in enumerate(provider_ids)]
    assert _deletions([_sick("node-0", provider_ids[0])], claims) == {}


def test_share_of_all_nodes_for_a_nodeclaim_without_nodepool() -> None:
    alone = replace(a_claim("node-0"), labels={})
    nodes = [_sick("node-0"), _sick("node-1", pool="other"), *(a_node(name=f"well-{at}") for at in range(3))]
    for count, is_tripped in ((len(nodes), True), (len(nodes) + 1, False)):
        deletions = _deletions([*nodes, a_node(name="one-more")][:count], [alone])
        assert deletions == {"node-0": HealthDeletion(NOW_NS - MINUTE_NS, is_tripped)}


def test_a_deleting_unhealthy_node_is_only_drained_by_force() -> None:
    steps = _analysed(31, "1.14.1", leaving=True)
    deletion = analyse_all(steps, ()).findings["claim/claim-node-0"].unhealthy
    assert deletion == HealthDeletion(NOW_NS - MINUTE_NS, is_tripped=False, is_going=True)
    steps.simulate_next_pass()
    assert present(steps.analysis.next).unhealthy == ()
    kept = parse_settings({"FEATURE_GATES": "NodeRepair=true", "LEGACY_NODE_REPAIR": "true"}, "1.15.0")
    for claim, names in ((a_claim("node-0"), ("node-0",)), (a_claim("node-0", deletion_ns=NOW_NS), ())):
        fleet = observed_fleet(prepared(nodes=[_sick("node-0")], nodeclaims=[claim], settings=kept))
        assert legacy_deletions(fleet, Recorder()) == names


def test_equally_urgent_nodes_are_repaired_by_drain_cost_including_ended_pods() -> None:
    """Follows ``GetPods`` of pkg/utils/node/node.go, used by pkg/controllers/disruption/types.go to sum the cost."""
    names = [f"node-{number}" for number in range(12)]
    nodes = [*(_sick(name) for name in names[:2]), *(a_node(name=name) for name in names[2:])]
    claims = [a_claim(name) for name in names]
    settings = parse_settings({"FEATURE_GATES": "NodeRepair=true"}, "1.15.0")
    for ended, repaired in (((), "node-0"), (("node-0",), "node-1"), (("node-0", "node-1"), "node-0")):
        pods = [a_pod(name=f"job-of-{name}", node=name, phase="Failed") for name in ended]
        result = prepared(nodes=nodes, nodeclaims=claims, pods=pods, settings=settings)
        (repair,) = simulate(result, [Method.REPAIR]).methods
        assert [candidate.name for command in repair.commands for candidate in command.candidates] == [repaired]
