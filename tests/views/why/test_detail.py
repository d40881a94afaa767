"""Node detail for each kind of blocker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.disruption.analysis import NodeDetail, NodeFindings, NodeOutlook
from karptui.disruption.budgets import BudgetState, Reason
from karptui.disruption.codes import Blocker, Code, WhyCode
from karptui.disruption.command import Method
from karptui.disruption.gates import Gate, GateCheck
from karptui.disruption.lanes import Lane, Why
from karptui.disruption.no_place import NoPlace
from karptui.disruption.node_verdict import Landing, Verdict
from karptui.disruption.outlook import Outcome
from karptui.disruption.termination import InstanceWarning
from karptui.session.nodes import NodeEntry
from karptui.state.usage import NodeUsage
from karptui.views.why.detail import landing_cell, no_landing_text, why_lines
from karptui.views.why.lanes import lane_lines, lanes_values
from tests.builders import MINUTE_NS, NOW_NS, a_node, a_nodeclaim, a_pod, text_of, texts_of
from tests.views.why.test_words import analysed, entry


def a_state(reason: Reason, allowed: int, **fields: Any) -> BudgetState:
    given: dict[str, Any] = (
        {"pool_name": "p", "reason": reason, "nodes": 9, "allowed": allowed, "deleting": (), "not_ready": (),
           "binding": None} | fields
    )  # fmt: skip
    return BudgetState(**given)


FOUND = NodeFindings(key="claim/c", node_name="n", pool_name="p", why=Why(code=WhyCode.POLICY))


def lines(findings: NodeFindings = FOUND, detail: NodeDetail | None = None, *, claim: bool = True) -> list[str]:
    entry = NodeEntry(a_node(), a_nodeclaim() if claim else None, findings=findings)
    return texts_of(why_lines(entry, detail, NOW_NS))


def detail(*gates: GateCheck, **fields: Any) -> NodeDetail:
    return NodeDetail("claim/c", gates, **fields)


def a_blocker(code: Code, **fields: Any) -> Blocker:
    return Blocker(code=code, **{"object_key": "n", "is_wanted": True, **fields})


def test_gates_are_in_order_and_closed_ones_have_a_line_each() -> None:
    text = lines(detail=detail(GateCheck(Gate.NODE_DND, is_open=False, message="the node says so"),
                               GateCheck(Gate.POD_DND, is_open=False, message="a pod", object_key="Pod/a/b"),
                               GateCheck(Gate.PDB_MULTIPLE, is_open=True)))  # fmt: skip
    assert text[2:5] == [" ✘ node annotation  the node says so", " ✘ protected pods  a/b", " ✔ no pod with two PDBs"]


def test_rules_of_the_nodepool() -> None:
    shut = replace(FOUND,
                   blockers=(a_blocker(Code.WHEN_EMPTY_POLICY, message="WhenEmpty, but not empty"),
                             a_blocker(Code.CONSOLIDATION_DISABLED, message="consolidation disabled"),
                             a_blocker(Code.NO_ZONE_LABEL, message="no zone")))  # fmt: skip
    text = lines(shut, detail())
    assert " – policy  WhenEmpty, but not empty" in text
    assert not any("consolidateAfter has passed" in line for line in text)
    assert " ✔ consolidateAfter has passed, policy WhenEmpty, labels and type known" in lines(
        detail=detail(consolidation_policy="WhenEmpty")
    )


@pytest.mark.parametrize(("states", "codes", "line"), [
    ((a_state(Reason.EMPTY, 1 << 31),), (), " ✔ disruption budgets  no limit"),
    ((a_state(Reason.EMPTY, 2, deleting=("x",)), a_state(Reason.DRIFTED, 1 << 31)), (),
     " ✔ disruption budgets  left: Empty 1 of 2, Drifted no limit"),
    ((a_state(Reason.EMPTY, 0, problem="day 7"),), (Code.BUDGET_ZERO,),
     " ✘ disruption budgets  closed, a budget cannot be read: day 7"),
])  # fmt: skip
def test_the_detail_shows_the_remaining_budget(states: Sequence[BudgetState], codes: Sequence[Code], line: str) -> None:
    findings = replace(FOUND, blockers=tuple(map(a_blocker, codes)))
    assert line in lines(findings, detail(budgets=states))


def test_why_no_removal_could_be_simulated() -> None:
    assert " ? simulated removal  no NodePool" in lines(detail=detail(problem="no NodePool"))
    assert "no NodePool" not in "".join(lines(detail=detail()))


def test_the_result_of_the_simulation() -> None:
    goes, stays = Verdict(Outcome.DELETE, "Emptiness"), Verdict(Outcome.NO)
    free = replace(FOUND, outlook=NodeOutlook(now=goes, lifted=goes, freed=goes))
    assert " ? simulated now  would be deleted: it is empty" in lines(free)
    held = replace(
        FOUND,
        blockers=(a_blocker(Code.NODE_DND), a_blocker(Code.BUDGET_ZERO)),
        outlook=NodeOutlook(now=stays, lifted=goes, freed=goes, without=(Outcome.NO,)),
        recent_pods=3,
    )
    text = lines(held)
    assert " ? simulated without the blockers  would be deleted: it is empty" in text
    assert " ! still receives pods  3 in the last hour" in text
    assert not any("if only this is lifted" in line for line in text)
    pods = tuple(a_blocker(Code.POD_DND, object_kind="Pod", object_key=f"a/{name}") for name in "bc")
    alone = replace(
        held, blockers=pods, outlook=NodeOutlook(now=stays, lifted=goes, freed=goes, without=(Outcome.DELETE,))
    )
    # A blocker that came after the simulation has no answer yet.
    assert [line for line in lines(alone) if "a/" in line] == ["     a/b · if only this is lifted: delete", "     a/c"]


def test_an_unschedulable_pod_names_the_shortage_first() -> None:
    landing = Landing(error="no instance type", no_place=NoPlace("a/b", uninitialized_node="new"))
    said_ = "Karpenter schedules it to new, which does not count before it is initialized · Karpenter: no instance type"
    assert no_landing_text(landing) == said_
    assert landing_cell(landing, a_pod()).text == f"✘ {said_}"


def test_nothing_blocks_the_lane_of_an_interruption_warning() -> None:
    taken = NodeEntry(
        a_node(),
        a_nodeclaim(),
        findings=replace(FOUND, lanes=(Lane("Drift"),), warning=InstanceWarning("SpotInterrupted", NOW_NS - MINUTE_NS)),
    )
    assert text_of(lane_lines(taken, NOW_NS)[-1]) == (
        " Interruption SpotInterrupted 60s ago: nothing in the cluster blocks it"
    )
    told = (lanes_values(taken, NOW_NS) or {})["Interruption"]
    assert (told["wanted"], told["heldBy"], told["lacks"]) == (True, "", "")


def test_each_method_has_a_line_and_conditions_that_block_nothing_are_marked() -> None:
    entry_ = entry(analysed(), "dnd")
    lanes = texts_of(lane_lines(entry_, NOW_NS))
    assert lanes[0].startswith(" Emptiness ")
    assert any(line.startswith(" Multi, Single wanted") and "✘ a pod has" in line for line in lanes)
    assert lanes[-2].startswith(" Expiry ")
    assert lanes[-1] == " Interruption no warning from the cloud"
    idle = replace(FOUND, blockers=(a_blocker(Code.NODE_DND, is_wanted=False),))
    gates = (GateCheck(Gate.NODE_DND, is_open=False, message="Disruption is blocked"),)
    text = lines(idle, detail(*gates))
    assert " – node annotation  Disruption is blocked, blocks no method now" in text


def test_a_node_of_a_static_nodepool_says_so_first() -> None:
    only_drift = replace(FOUND, lanes=(Lane("Drift", code="NOT_DRIFTED"),))
    nodeentry = NodeEntry(a_node(), a_nodeclaim(), findings=only_drift)
    assert text_of(lane_lines(nodeentry, NOW_NS)[0]) == " Drift        –  not drifted"
    nodeentry = NodeEntry(a_node(), a_nodeclaim(), findings=replace(only_drift, is_static=True))
    assert texts_of(lane_lines(nodeentry, NOW_NS))[:2] == [
        " Emptiness, Multi, Single –  static NodePool: only drift removes its nodes",
        " Drift        –  not drifted",
    ]


def test_emptiness_names_the_pods_that_would_have_to_move_and_none_of_daemonsets() -> None:
    not_empty = replace(FOUND, lanes=(Lane("Emptiness", code="NOT_EMPTY"),), moving_pods=29)
    nodeentry = NodeEntry(a_node(), a_nodeclaim(), NodeUsage(daemonset_pods=2, workload_pods=29), findings=not_empty)
    assert text_of(lane_lines(nodeentry, NOW_NS)[0]).endswith("–  has 29 pods to move")
    told = lanes_values(replace(nodeentry, findings=replace(not_empty, moving_pods=1)), NOW_NS)
    assert (told or {})["Emptiness"]["message"] == "has 1 pod to move"


def test_a_closed_gate_is_one_line_with_the_methods_it_blocks() -> None:
    findings = replace(
        FOUND,
        lanes=(Lane("Drift", is_wanted=True), Lane("SingleNodeConsolidation", True, "POD_DND", 0)),
        blockers=tuple(
            a_blocker(
                code,
                object_kind="Pod",
                object_key=f"a/{place}",
                blocks=frozenset({Method.SINGLE_NODE}),
                value="b/p b/q" if code is Code.PDB_MULTIPLE else "",
            )
            for place, code in enumerate((Code.POD_DND,) * 8 + (Code.PDB_MULTIPLE,))
        ),
    )
    # Karpenter stops at the first pod that a PodDisruptionBudget blocks, so the other gate is closed too.
    text = lines(findings, detail(GateCheck(Gate.POD_DND, is_open=False), GateCheck(Gate.PDB_MULTIPLE, is_open=True)))
    at = text.index(" ✘ protected pods: 8  blocks Single")
    assert text[at + 1 : at + 10] == [
        *(f"     a/{place}" for place in range(6)), "     and 2 more: Blockers (6)",
        " ✘ two PDBs on a pod  blocks Single", "     a/8 by b/p + b/q",
    ]  # fmt: skip
    idle = replace(findings, blockers=tuple(replace(blocker, is_wanted=False) for blocker in findings.blockers))
    text = lines(idle, detail(GateCheck(Gate.POD_DND, is_open=False)))
    assert " – protected pods: 8  blocks no method now, would block Single" in text
