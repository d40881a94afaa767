"""The gates, in Karpenter's order and all of them."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.disruption.candidate import find_candidates
from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.disruption.gates import Gate, all_gates, first_failure, is_overridden
from karptui.karpenter import labels
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.node import Node
from tests.builders import NOW_NS, a_node, a_nodeclaim, a_nodepool, a_pdb, a_pod, present
from tests.disruption.making import a_claim, a_fleet, node_of

PROTECTED = {labels.DO_NOT_DISRUPT: "true"}


def _fleet(*, node: bool | Node | None = None, claim: bool | NodeClaim | None = None, **objects: Any) -> Fleet:
    nodes = [] if node is False else [node or a_node()]
    claims = [] if claim is False else [claim or a_claim()]
    return a_fleet(nodes=nodes, nodeclaims=claims, **objects)


def test_a_label_that_is_missing() -> None:
    own = {key: value for key, value in a_node().labels.items() if key != labels.NODEPOOL}
    node = a_node(pool="", labels={**own, labels.INITIALIZED: "true", labels.REGISTERED: "true"})
    fleet = _fleet(node=node, claim=a_nodeclaim(name="claim-node-1"))
    failure = first_failure(fleet, fleet.nodes[0])
    assert present(failure).gate is Gate.NO_NODEPOOL_LABEL
    assert present(failure).message == "Node doesn't have required label (label=karpenter.sh/nodepool)"


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
        Gate.NOT_INITIALIZED,
        Gate.NODE_DND,
        Gate.POD_DND,
        Gate.PDB_EXHAUSTED,
    }


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


def test_a_protected_pod_hides_pdbs_and_stops_checking_annotations() -> None:
    pods = [
        a_pod(name="a", node="node-1", annotations={labels.DO_NOT_DISRUPT: "1d"}),
        a_pod(name="b", node="node-1", annotations=PROTECTED),
        a_pod(name="c", node="node-1", annotations={labels.DO_NOT_DISRUPT: "1w"}),
    ]
    fleet = _fleet(pods=pods, pdbs=[a_pdb()])
    recorder = Recorder()
    find_candidates(fleet, recorder)
    assert set(recorder.by_object()) == {"Node/node-1", "NodeClaim/claim-node-1", "Pod/default/a"}


@pytest.mark.parametrize(
    ("grace_ns", "gate", "is_passed"),
    [(None, Gate.POD_DND, False), (0, Gate.POD_DND, True), (0, Gate.PDB_EXHAUSTED, True), (0, Gate.NODE_DND, False)],
)
def test_a_grace_period_opens_pod_gates_only(grace_ns: int | None, gate: Gate, is_passed: bool) -> None:
    fleet = _fleet(claim=a_claim(termination_grace_period_ns=grace_ns))
    assert is_overridden(gate, fleet.nodes[0]) is is_passed


def test_drift_ignores_pod_gates_with_a_grace_period() -> None:
    claim = a_claim(termination_grace_period_ns=0)
    fleet = _fleet(claim=claim, pods=[a_pod(node="node-1", annotations=PROTECTED)])
    candidates = find_candidates(fleet, Recorder())
    assert candidates.graceful == ()
    assert [one.name for one in candidates.eventual] == ["node-1"]


def test_a_deleting_or_unready_nodepool_still_resolves() -> None:
    for pool in (a_nodepool(deletion_ns=NOW_NS), a_nodepool(is_ready=False)):
        fleet = _fleet(nodepools=[pool])
        assert first_failure(fleet, node_of(fleet)) is None
