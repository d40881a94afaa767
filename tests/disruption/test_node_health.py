"""Nodes that the controller of node repair deletes beside all methods: what is said of them, and when."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.disruption.repair import HealthDeletion
from karptui.disruption.study import DisruptionStudy, study_all
from karptui.karpenter.settings import parse_settings
from karptui.kube.objects import Condition
from tests.builders import MINUTE_NS, NOW_NS, a_node, present
from tests.disruption.making import a_claim, prepared


def _study(minutes: int, version: str, *, sick: int = 1, gate: str = "true") -> DisruptionStudy:
    """Return a study of six nodes of which some have not been ready for so long."""
    ready = Condition("Ready", "False", "KubeletNotReady", "", NOW_NS - minutes * MINUTE_NS)
    names = [f"node-{number}" for number in range(6)]
    nodes = [a_node(name=name) for name in names]
    nodes = [*(replace(node, conditions=(ready,)) for node in nodes[:sick]), *nodes[sick:]]
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
