"""Nodes that the controller of node repair deletes beside all methods: what is said of them, and when."""

from __future__ import annotations

from typing import Any, Final

import pytest
from msgspec.structs import replace

from karptui.disruption.fleet import Fleet
from karptui.disruption.methods import observed_fleet
from karptui.disruption.repair import HealthDeletion, health_deletions
from karptui.disruption.study import DisruptionStudy, study_all
from karptui.karpenter.settings import parse_settings
from karptui.kube.node import Node
from karptui.kube.objects import Condition
from tests.builders import MINUTE_NS, NOW_NS, a_node, present
from tests.disruption.making import a_claim, prepared

BEFORE: Final = parse_settings({"FEATURE_GATES": "NodeRepair=true"}, "1.14.1")


def _sick(name: str, provider_id: str | None = None, *, pool: str = "general", minutes: int = 31) -> Node:
    """Return a node that has not been ready for so long."""
    ready = Condition("Ready", "False", "KubeletNotReady", "", NOW_NS - minutes * MINUTE_NS)
    return a_node(name=name, provider_id=provider_id, pool=pool, conditions=(ready,))


def _fleet(**objects: Any) -> Fleet:
    """Return a fleet under Karpenter 1.14.1 with node repair."""
    return observed_fleet(prepared(settings=BEFORE, **objects))


def _study(minutes: int, version: str, *, sick: int = 1, gate: str = "true") -> DisruptionStudy:
    """Return a study of six nodes of which some have not been ready for so long."""
    names = [f"node-{number}" for number in range(6)]
    nodes = [*(_sick(name, minutes=minutes) for name in names[:sick]), *(a_node(name=name) for name in names[sick:])]
    settings = parse_settings({"FEATURE_GATES": f"NodeRepair={gate}"}, version)
    return DisruptionStudy(prepared(nodes=nodes, nodeclaims=[a_claim(name) for name in names], settings=settings), 1)


@pytest.mark.parametrize(
    ("minutes", "sick", "found", "named"),
    [
        (31, 1, HealthDeletion(NOW_NS - MINUTE_NS, is_tripped=False), ("node-0",)),
        (29, 1, HealthDeletion(NOW_NS + MINUTE_NS, is_tripped=False), ()),
        (31, 3, HealthDeletion(NOW_NS - MINUTE_NS, is_tripped=True), ()),
    ],
)
def test_before_1_15_a_controller_deletes_what_is_unhealthy(
    minutes: int, sick: int, found: HealthDeletion, named: tuple[str, ...]
) -> None:
    study = _study(minutes, "1.14.1", sick=sick)
    assert study_all(study, ()).findings["claim/claim-node-0"].unhealthy == found
    assert study.analysis.findings["claim/claim-node-5"].unhealthy is None
    study.ask_next()
    assert present(study.analysis.next).unhealthy == named


def test_since_then_the_method_does() -> None:
    for study in (_study(31, "1.15.0"), _study(31, "1.14.1", gate="false")):
        assert study_all(study, ()).findings["claim/claim-node-0"].unhealthy is None
        study.ask_next()
        assert present(study.analysis.next).unhealthy == ()


@pytest.mark.parametrize("provider_ids", [("",), ("aws:///us-east-1a/node-0", "aws:///us-east-1a/node-0")])
def test_a_node_without_a_nodeclaim_of_its_own_is_left_alone(provider_ids: tuple[str, ...]) -> None:
    claims = [replace(a_claim("node-0"), name=f"claim-{at}", provider_id=one) for at, one in enumerate(provider_ids)]
    assert health_deletions(_fleet(nodes=[_sick("node-0", provider_ids[0])], nodeclaims=claims)) == {}


def test_a_nodeclaim_without_nodepool_counts_all_nodes() -> None:
    alone = replace(a_claim("node-0"), labels={})
    nodes = [_sick("node-0"), _sick("node-1", pool="other"), *(a_node(name=f"well-{at}") for at in range(3))]
    for count, is_tripped in ((len(nodes), True), (len(nodes) + 1, False)):
        fleet = _fleet(nodes=[*nodes, a_node(name="one-more")][:count], nodeclaims=[alone])
        assert health_deletions(fleet) == {"node-0": HealthDeletion(NOW_NS - MINUTE_NS, is_tripped)}
