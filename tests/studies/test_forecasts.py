from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.forward.result import Moment, Played
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.studies.forecasts import most_more_nodes, spent
from karptui.studies.plan import Plan, objects_of, plan
from karptui.views.plan import document, headline, price_text, rollout_lines
from karptui.whatif.edits import DeleteObject, ObjectRef, PutObject, RemoveNode, SetField, SetSetting, TakeOut
from tests.builders import a_pod, an_instance_type
from tests.forward.making import a_pair
from tests.whatif.edits.test_apply import POOL
from tests.whatif.snapshots import base

TYPES = tuple(
    an_instance_type(name=name, cpu="2", memory="8Gi", prices={"on-demand": price})
    for name, price in (("m5.large", 0.1), ("m6i.large", 0.12))
)
GENERAL = ObjectRef("NodePool", "general")
ONLY_NEW = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m6i.large"]}]


def planned(nodes: str, *, drifted: tuple[str, ...] = ()) -> Plan:
    """Return the plan of a change of instance types, with this disruption budget and these drifted nodes."""
    disruption: dict[str, Any] = {"consolidateAfter": "Never", "budgets": [{"nodes": nodes}]}
    pool = {**POOL, "spec": {**POOL["spec"], "disruption": disruption}}
    pairs = [a_pair(name, conditions=("Drifted",) if name in drifted else ()) for name in ("n0", "n1", "n2")]
    on = base(pool, types=TYPES, nodes=tuple(node for node, _ in pairs), nodeclaims=tuple(claim for _, claim in pairs),
              pods=tuple(a_pod(name=f"p{i}", node=f"n{i}", cpu="1500m") for i in range(3)))  # fmt: skip
    edit = SetField(GENERAL, ("spec", "template", "spec", "requirements"), ONLY_NEW)
    return plan(on, (edit,), horizon_ns=3600 * NS_PER_SECOND)


def test_a_rollout_has_a_duration_extra_nodes_and_extra_costs() -> None:
    result = planned("1")
    assert result.rollout_ns is not None
    assert result.stalled_by == ()
    summary = document("x", result)["rolloutSummary"]
    assert summary["drifted"] == 3
    assert summary["seconds"] == result.rollout_ns // NS_PER_SECOND
    assert summary["mostExtraNodes"] == max(moment.nodes for moment in result.edited.series) - 3 == 1
    until_ns = result.edited.from_ns + result.rollout_ns
    assert summary["extraDollars"] == pytest.approx(spent(result.edited, until_ns) - 0.3 * summary["seconds"] / 3600)
    first, meanwhile = rollout_lines(result)
    assert first.startswith("all drifted nodes are replaced after ")
    assert meanwhile.startswith("meanwhile up to 1 extra node, $0.0")
    assert any(risk.startswith("3 NodeClaims drift and are replaced, the last after ") for risk in result.risks())
    gained = replace(result.difference, drift_gained=result.difference.drift_gained[:1])
    one_drifts = replace(result, answer=replace(result.answer, difference=gained))
    assert any(risk.startswith("1 NodeClaim drifts and is replaced") for risk in one_drifts.risks())


def test_the_headline_has_no_cost_at_the_end_if_a_node_has_no_price() -> None:
    result = planned("1")
    assert "At the end: $0.36/h instead of $0.30/h" in headline(result)
    unpriced = (*result.now.series[:-1], replace(result.now.end, unpriced=1))
    assert "at the end" not in headline(replace(result, now=replace(result.now, series=unpriced)))


def test_sums_without_some_nodes_are_marked_and_unknown_changes_left_out() -> None:
    result = planned("1")
    assert price_text(result) == "$0.30/h now; at the end $0.30/h without the edits, $0.36/h with them (+$0.06/h)"
    assert (
        price_text(replace(result, edited=result.now))
        == "$0.30/h now; at the end $0.30/h without the edits, $0.30/h with them"
    )

    def left_out(played: Played, price: float | None = None) -> Played:
        return replace(
            played,
            series=tuple(
                replace(moment, unpriced=1, price_per_hour=moment.price_per_hour if price is None else price)
                for moment in played.series
            ),
        )

    all_the_time = replace(result, now=left_out(result.now), edited=left_out(result.edited))
    assert (
        price_text(all_the_time) == "$0.30/h+ now; at the end $0.30/h+ without the edits, $0.36/h+ with them (+$0.06/h)"
    )
    assert all_the_time.extra_dollars == result.extra_dollars
    some = replace(result, edited=left_out(result.edited))
    assert price_text(some) == "$0.30/h now; at the end $0.30/h without the edits, $0.36/h+ with them"
    assert some.extra_dollars is None
    assert list(rollout_lines(some))[-1] == "meanwhile up to 1 extra node"
    unknown = replace(result, now=left_out(result.now, 0.0), edited=left_out(result.edited, 0.0))
    assert price_text(unknown) == "n/a now; at the end n/a without the edits, n/a with them"
    assert list(rollout_lines(unknown))[-1].endswith(", at the same total cost")


def test_a_stalled_rollout_names_the_nodes_and_the_blocker() -> None:
    result = planned("0")
    assert result.rollout_ns is None
    assert {words for _, words in result.stalled_by} == {"budget"}
    assert next(rollout_lines(result)) == "3 of 3 drifted nodes left, blocked by budget: n0, n1, n2"
    assert document("x", result)["rolloutSummary"]["seconds"] is None
    assert result.risks()[0] == "the rollout stalls: 3 of 3 drifted nodes left, blocked by budget"


@pytest.mark.parametrize(("nodes", "left"), [("0", ("n1", "n2", "n0")), ("1", ())])
def test_already_drifted_nodes_are_part_of_the_rollout(nodes: str, left: tuple[str, ...]) -> None:
    result = planned(nodes, drifted=("n0",))
    assert result.drifted_before == ("n0",)
    assert tuple(name for name, _ in result.stalled_by) == left
    assert document("x", result)["rolloutSummary"]["drifted"] == 3


def unrolled(edited_nodes: str, *, nodes: str = "0") -> Plan:
    """Return the plan of a change of budgets only, on a drifted node."""
    disruption: dict[str, Any] = {"consolidateAfter": "Never", "budgets": [{"nodes": nodes}]}
    pool = {**POOL, "spec": {**POOL["spec"], "disruption": disruption}}
    node, claim = a_pair("n0", conditions=("Drifted",))
    on = base(pool, types=TYPES, nodes=(node,), nodeclaims=(claim,), pods=(a_pod(name="p", node="n0"),))
    edits = (
        SetField(GENERAL, ("spec", "disruption", "budgets"), [{"nodes": edited_nodes}]),
        SetField(GENERAL, ("spec", "weight"), 9),
    )
    return plan(on, edits, horizon_ns=3600 * NS_PER_SECOND)


def test_a_rollout_that_the_edit_blocks_counts_as_stalled() -> None:
    result = unrolled("0")
    assert result.drifted == ()
    assert result.unfinished == ()
    assert list(rollout_lines(result)) == []
    assert not any("stall" in risk for risk in result.risks())
    result = unrolled("0", nodes="1")
    assert result.stalled_by == (("n0", "budget"),)
    assert result.risks()[0] == "the rollout stalls: 1 of 1 drifted node left, blocked by budget"


def test_a_plan_names_each_edited_object_once() -> None:
    edits = (
        SetField(GENERAL, ("spec", "weight"), 1),
        SetField(GENERAL, ("spec", "weight"), 2),
        PutObject("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"),
        PutObject("a: ["),
        DeleteObject(ObjectRef("Pod", "b", "x")),
        RemoveNode("n"),
        SetSetting("A", "b"),
        TakeOut(capacity_type="spot"),
    )
    named = ("NodePool/general", "Pod/a", "Pod/x/b", "Node/n", "setting A", "without spot every type")
    assert objects_of(edits) == named


def test_extra_nodes_are_counted_against_the_unedited_forecast() -> None:
    def play(*counts: tuple[int, int]) -> Played:
        series = tuple(Moment(at_ns, nodes, 0.0, 0) for at_ns, nodes in counts)
        return Played(
            from_ns=0, until_ns=9, is_quiescent=True, steps=(), series=series, kept=(), assumptions=(), not_modelled=()
        )

    now = play((0, 3), (2, 5), (6, 4))
    assert most_more_nodes(play((0, 3), (2, 5), (4, 6), (6, 5)), now, 9) == 1
    assert most_more_nodes(play((0, 3), (2, 5), (7, 9)), now, 6) == 1
    assert most_more_nodes(play((0, 3), (1, 3)), now, 9) == 0
