from __future__ import annotations

from typing import Any

import pytest

from karptui.disruption.do_not_disrupt import record
from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.disruption.gates import Gate, all_gates, first_failure
from karptui.karpenter import labels
from karptui.karpenter.do_not_disrupt import read_value
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.node import Node
from tests.builders import HOUR_NS, NOW_NS, a_node, a_nodepool, a_pdb, a_pod
from tests.disruption.making import a_claim, a_fleet, node_of

PROTECTED = {labels.DO_NOT_DISRUPT: "true"}


def _fleet(*, node: bool | Node | None = None, claim: bool | NodeClaim | None = None, **objects: Any) -> Fleet:
    nodes = [] if node is False else [node or a_node()]
    claims = [] if claim is False else [claim or a_claim()]
    return a_fleet(nodes=nodes, nodeclaims=claims, **objects)


def test_every_gate_is_answered() -> None:
    protected = a_pod(name="a", node="node-1", annotations=PROTECTED)
    fleet = _fleet(
        node=a_node(annotations=PROTECTED, is_initialized=False),
        pods=[protected, a_pod(name="b", node="node-1")],
        pdbs=[a_pdb()],
    )
    answers = {check.gate: check.is_open for check in all_gates(fleet, fleet.nodes[0])}
    assert list(answers) == [gate for gate in Gate if gate is not Gate.NODEPOOL_NO_TYPES]
    assert {gate for gate, is_open in answers.items() if not is_open} == {
        Gate.NOT_INITIALIZED, Gate.NODE_DND, Gate.POD_DND, Gate.PDB_EXHAUSTED,
    }  # fmt: skip


def test_without_any_pdb_it_is_not_known_whether_evictions_are_allowed() -> None:
    fleet = _fleet(pods=[a_pod(name="a", node="node-1")])
    answers = {check.gate: check.is_open for check in all_gates(fleet, fleet.nodes[0])}
    assert (answers[Gate.POD_DND], answers[Gate.PDB_MULTIPLE], answers[Gate.PDB_EXHAUSTED]) == (True, None, None)


def test_unmanaged_nodes_have_no_further_gates() -> None:
    fleet = _fleet(claim=False)
    answers = {check.gate: check.is_open for check in all_gates(fleet, fleet.nodes[0])}
    assert list(answers) == [gate for gate in Gate if gate is not Gate.NODEPOOL_NO_TYPES]
    assert answers[Gate.UNMANAGED] is False
    assert {answers[gate] for gate in list(answers)[2:]} == {None}


def test_a_deleting_or_unready_nodepool_still_resolves() -> None:
    for pool in (a_nodepool(deletion_ns=NOW_NS), a_nodepool(is_ready=False)):
        fleet = _fleet(nodepools=[pool])
        assert first_failure(fleet, node_of(fleet)) is None


@pytest.mark.parametrize(("text", "document"), [
    ("true", {}),
    ("2h", ["DoNotDisruptUntil: The karpenter.sh/do-not-disrupt grace period will elapse at 2026-11-20T13:00:00Z"]),
    ("30m",
     [("DoNotDisruptGracePeriodElapsed: The karpenter.sh/do-not-disrupt grace period has elapsed, pod is now "
       "disruptable")]),
    ("1d",
     [('InvalidDoNotDisruptAnnotation: Invalid karpenter.sh/do-not-disrupt annotation: failed to parse "1d" as a '
       'duration: time: unknown unit "d" in duration "1d", ignoring annotation')]),
    ("0s",
     [('InvalidDoNotDisruptAnnotation: Invalid karpenter.sh/do-not-disrupt annotation: duration "0s" must be '
       'positive, ignoring annotation')]),
])  # fmt: skip
def test_karpenters_events(text: str, document: dict[str, Any] | list[str]) -> None:
    recorder = Recorder()
    record(recorder, a_pod(name="job"), read_value(text).at(NOW_NS - HOUR_NS, NOW_NS))
    assert recorder.by_object() == ({"Pod/default/job": document} if document else {})
