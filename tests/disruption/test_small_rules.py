from __future__ import annotations

import sys
from typing import Any

import pytest

from karptui.disruption import owner
from karptui.disruption.blockers import BlockerSurvey
from karptui.disruption.codes import CODES, RANKS, Code, WhyCode, codes_shown_as
from karptui.disruption.command import Method
from karptui.disruption.do_not_disrupt import record, record_departing
from karptui.disruption.events import Recorder, nominations, window_ns
from karptui.disruption.fleet import Fleet
from karptui.disruption.gates import Gate, all_gates, first_failure
from karptui.disruption.launch_price import ReckonedPrices
from karptui.disruption.methods import MethodRun, observed_fleet
from karptui.disruption.owner import OwnerIndex
from karptui.disruption.removal import EngineSimulator, assumed_seconds
from karptui.disruption.static_drift import headroom
from karptui.disruption.termination import commanded_names
from karptui.karpenter import labels
from karptui.karpenter.do_not_disrupt import read_value
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import DisruptionBudget
from karptui.kube.objects import Node
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.workload import Workload
from tests.builders import (
    DAY_NS,
    HOUR_NS,
    NOW_NS,
    SECOND_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pdb,
    a_pod,
    a_pod_template,
    an_event,
    an_owner,
    present,
)
from tests.disruption.making import a_claim, a_fleet, blockers_of, consolidatable, drifted, node_of, prepared

PROTECTED = {labels.DO_NOT_DISRUPT: "true"}


@pytest.mark.parametrize(("batch_seconds", "lasts"), [(10.0, 20), (1.0, 10), (30.0, 60)])
def test_a_nomination_lasts_twice_the_longest_batch(batch_seconds: float, lasts: int) -> None:
    assert window_ns(batch_seconds) == lasts * SECOND_NS


@pytest.mark.parametrize(("zone", "price"), [
    ((NodeSelectorRequirement(labels.ZONE, "In", ("a",)),), 1.0),
    ((NodeSelectorRequirement(labels.ZONE, "In", ("b",)),), 0.0),
    ((NodeSelectorRequirement(labels.ZONE, "NotIn", ("a",)),), 0.0),
    ((NodeSelectorRequirement(labels.ZONE, "Exists"),), 0.0),
    ((), 0.0),
])  # fmt: skip
def test_price_is_of_the_offering_with_the_nodes_zone(zone: tuple[NodeSelectorRequirement, ...], price: float) -> None:
    kind = NodeSelectorRequirement(labels.CAPACITY_TYPE, "In", ("spot",))
    offering = Offering(requirements=(kind, *zone), price_per_hour=1.0)
    prices = ReckonedPrices([InstanceType(name="m5.large", requirements=(), capacity={}, offerings=(offering,))])
    assert prices.price("m5.large", "a", "spot") == price
    assert prices.price("m5.large", "", "spot") == 0.0


def test_nominations_of_removed_nodes_are_ignored() -> None:
    fleet = a_fleet(nodes=[a_node(), a_node(name="node-2")], nodeclaims=[a_claim()])
    events = [
        an_event(reason="Nominated", message="Pod should schedule on: nodeclaim/gone, node/node-2", last_ns=NOW_NS),
        an_event(reason="Nominated", message="Pod should schedule on: node/node-2", last_ns=NOW_NS - 5 * SECOND_NS),
        an_event(reason="Nominated", message="Pod should schedule on: node/node-1", last_ns=NOW_NS - DAY_NS),
        an_event(reason="Other", message="node/node-1", last_ns=NOW_NS),
    ]
    assert nominations(events, fleet.nodes, 10.0, NOW_NS) == {"node-2": NOW_NS + 20 * SECOND_NS}
    assert nominations([], fleet.nodes, 10.0, NOW_NS) == {}


def test_a_command_needs_both_condition_and_taint() -> None:
    mark = a_condition("DisruptionReason", reason="Empty")
    fleet = a_fleet(
        nodes=[a_node(), a_node(name="u", pool="")],
        nodeclaims=[a_claim(conditions=(mark,)), a_nodeclaim(name="x", stage="Launched", node="x")],
    )
    assert commanded_names(fleet.nodes) == frozenset()


def test_owners() -> None:
    lone = a_pod_template()
    job = a_pod_template(owners=(an_owner(kind="Job", name="nightly-1", api_version="batch/v1"),))
    workloads = [
        Workload(name="nightly-1", namespace="default", api_version="batch/v1", kind="Job"),
        Workload(name="db", namespace="default", api_version="apps/v1", kind="StatefulSet", owners=(an_owner(),)),
    ]
    index = OwnerIndex(workloads)
    assert index.of(a_pod(template=lone)) is None
    assert [str(index.of(a_pod(name=name, template=job))) for name in "ab"] == ["Job/default/nightly-1"] * 2
    fleet = a_fleet(
        nodes=[a_node()],
        nodeclaims=[a_claim()],
        pods=[a_pod(node="node-1", template=a_pod_template(annotations={labels.DO_NOT_DISRUPT: "true"}))],
    )
    assert blockers_of(fleet)["POD_DND"].owner == ""


def test_drift_checks_annotations_of_all_pods() -> None:
    pods = [
        a_pod(name="a", node="node-1", annotations={labels.DO_NOT_DISRUPT: "true"}),
        a_pod(name="b", node="node-1", annotations={labels.DO_NOT_DISRUPT: "1d"}),
        a_pod(name="c", node="node-1", owner=an_owner(kind="StatefulSet"), deletion_ns=NOW_NS),
    ]
    claim = a_claim(conditions=(drifted(),), termination_grace_period_ns=0)
    cluster = prepared(nodes=[a_node()], nodeclaims=[claim], pods=pods)
    fleet, recorder = observed_fleet(cluster), Recorder()
    result = MethodRun(fleet, EngineSimulator(cluster, fleet), recorder).ask(Method.DRIFT)
    assert [command.decision for command in result.commands] == ["replace"]
    assert "Pod/default/b" in recorder.by_object()


def test_pods_of_removed_nodes_are_checked() -> None:
    pods = [
        a_pod(name="a", node="node-1", annotations={labels.DO_NOT_DISRUPT: "1d"}),
        a_pod(name="b", node="node-1", annotations={labels.DO_NOT_DISRUPT: "1d"}, phase="Failed"),
        a_pod(name="c", node="node-1", annotations={labels.DO_NOT_DISRUPT: "1d"},
              owner=an_owner(kind="Node", api_version="v1")),
    ]  # fmt: skip
    fleet = a_fleet(
        nodes=[a_node()],
        nodeclaims=[a_claim(deletion_ns=NOW_NS), a_nodeclaim(name="x", stage="Launched", node="x", deletion_ns=NOW_NS)],
        pods=pods,
    )
    recorder = Recorder()
    record_departing(fleet, recorder)
    assert list(recorder.by_object()) == ["Pod/default/a"]


def test_ended_statefulset_pods_are_rescheduled_while_being_deleted() -> None:
    owner = an_owner(kind="StatefulSet")
    pods = [
        a_pod(name="db-0", node="node-1", owner=owner, phase="Failed", deletion_ns=NOW_NS),
        a_pod(name="db-1", node="node-1", owner=owner, phase="Failed"),
    ]
    fleet = a_fleet(nodes=[a_node()], nodeclaims=[a_claim()], pods=pods)
    node = node_of(fleet)
    assert [pod.name for pod in fleet.pods_of(node)] == ["db-0"]
    assert not fleet.is_empty(node)


def test_blockers_of_every_node_of_a_static_nodepool() -> None:
    names = ("node-1", "node-2")
    fleet = a_fleet(
        nodepools=[a_nodepool(replicas=1, budgets=())],
        nodes=[a_node(name=name) for name in names],
        nodeclaims=[a_claim(name, conditions=(consolidatable(),)) for name in names],
    )
    survey = BlockerSurvey(fleet)
    assert [[str(blocker.code) for blocker in survey.of(node)] for node in fleet.nodes] == [["STATIC_SCALING"]] * 2
    room = headroom(fleet, fleet.pools["general"])
    assert (room.active, room.deleting, room.room) == (2, 0, None)
    alone = a_fleet(nodepools=[a_nodepool(replicas=1, budgets=())], nodes=[a_node()], nodeclaims=[a_claim()])
    assert blockers_of(alone) == {}


def test_node_without_ready_condition_consumes_the_budget() -> None:
    fleet = a_fleet(
        nodepools=[a_nodepool(budgets=(DisruptionBudget("1"),))],
        nodes=[a_node(conditions=())],
        nodeclaims=[a_claim(conditions=(consolidatable(),))],
    )
    blocker = blockers_of(fleet)["BUDGET_ZERO"]
    assert (blocker.since_ns, blocker.value) == (None, "nodes 1")


def test_owner_index_keeps_no_template_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "_MAX_CACHED", 3)
    index = OwnerIndex(())
    templates = [a_pod_template(owners=(an_owner(name=f"web-{number}"),)) for number in range(5)]
    before = [sys.getrefcount(template) for template in templates]
    owners = [index.of(a_pod(template=template)) for template in templates]
    assert [present(item).name for item in owners] == [f"web-{number}" for number in range(5)]
    assert [sys.getrefcount(template) for template in templates] == before
    assert len(index._cached) <= 3


def test_every_code_has_a_word_and_a_meaning() -> None:
    assert set(CODES) == set(Code)
    assert all(facts.word and facts.meaning for facts in CODES.values())
    assert {facts.why for facts in CODES.values()} <= set(RANKS) == set(WhyCode)


@pytest.mark.parametrize(("why", "codes"), [
    (WhyCode.DND, {Code.POD_DND}),
    (WhyCode.PDB, {Code.PDB_EXHAUSTED, Code.PDB_MULTIPLE}),
    (WhyCode.BUDGET, {Code.BUDGET_ZERO}),
    (WhyCode.NEVER, {Code.CONSOLIDATION_DISABLED}),
    (WhyCode.OK, set()),
])  # fmt: skip
def test_blocker_codes_of_a_why_code(why: WhyCode, codes: set[Code]) -> None:
    assert set(codes_shown_as(why)) == codes


def test_blocker_words_differ_from_numbered_codes() -> None:
    assert not [facts.word for facts in CODES.values() if "×" in facts.word]


@pytest.mark.parametrize(
    ("nodes", "seconds"), [(0, 0.03), (60, 0.03), (61, 0.031), (300, 0.252), (1000, 0.9), (2000, 1.826)]
)
def test_the_assumed_simulation_time_grows_with_the_cluster(nodes: int, seconds: float) -> None:
    assert assumed_seconds(nodes) == pytest.approx(seconds)


def _fleet(*, node: bool | Node | None = None, claim: bool | NodeClaim | None = None, **objects: Any) -> Fleet:
    nodes = [] if node is False else [node or a_node()]
    claims = [] if claim is False else [claim or a_claim()]
    return a_fleet(nodes=nodes, nodeclaims=claims, **objects)


def test_every_gate_is_checked() -> None:
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


def test_pdb_gates_are_unknown_without_any_pdb() -> None:
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
def test_events_about_do_not_disrupt(text: str, document: dict[str, Any] | list[str]) -> None:
    recorder = Recorder()
    record(recorder, a_pod(name="job"), read_value(text).at(NOW_NS - HOUR_NS, NOW_NS))
    assert recorder.by_object() == ({"Pod/default/job": document} if document else {})
