from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from karptui.aws.prices import NodePrices
from karptui.karpenter.instance_type import NodeOverlay
from karptui.karpenter.labels import DO_NOT_DISRUPT, INITIALIZED
from karptui.kube.pod import PodVolume
from karptui.kube.volumes import PersistentVolumeClaim
from karptui.provisioning.reporter import Cancelled
from karptui.views.column import plain
from karptui.views.whatif.document import DIFFERENCE, answer_values
from karptui.whatif.accuracy import accuracy_of
from karptui.whatif.difference import Difference, blocker_changes, difference, next_lines
from karptui.whatif.difference_lines import NOWHERE, PlaceKind, PodPlace
from karptui.whatif.edits import (
    AnyEdit,
    CopyPod,
    DeleteObject,
    ObjectRef,
    PutObject,
    RemoveNode,
    SetField,
    SetSetting,
    TakeOut,
)
from karptui.whatif.edits.apply import apply
from karptui.whatif.replay import replay
from karptui.whatif.run import Answer, answer, answers
from karptui.whatif.scenario import Replay, Scenario
from karptui.whatif.situation import WhatIfBase
from tests.builders import (
    DAY_NS,
    NOW_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_pod,
    a_pod_template,
    an_instance_type,
    an_owner,
    present,
)
from tests.whatif.edits.test_apply import GENERAL, POOL
from tests.whatif.snapshots import base, with_objects

TYPES = (
    an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1, "spot": 0.04}),
    an_instance_type(name="m5.4xlarge", cpu="16", memory="64Gi", prices={"on-demand": 0.8}),
)
SPOT = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}
REQUIREMENTS = ("spec", "template", "spec", "requirements")


def another(name: str, **spec: Any) -> dict[str, Any]:
    deepcopy = copy.deepcopy(POOL)
    deepcopy["metadata"] = {"name": name, "uid": name}
    deepcopy["spec"] = {**deepcopy["spec"], **spec}
    return deepcopy


def node(name: str, **fields: Any) -> tuple[Any, Any]:
    result = a_node(name=name, **{"cpu": "1900m", **fields})
    claim = a_nodeclaim(name=f"claim-{name}", node=name)
    marks = ("Launched", "Registered", "Initialized")
    return result, replace(
        claim,
        provider_id=result.provider_id,
        labels=result.labels,
        node_name=name,
        created_ns=NOW_NS - DAY_NS,
        conditions=tuple(a_condition(mark) for mark in marks),
    )


def fleet(*pods: Any, nodes: int = 2, manifests: tuple[dict[str, Any], ...] = (POOL,), **fields: Any) -> WhatIfBase:
    pairs = [node(f"node-{i + 1}") for i in range(nodes)]
    return base(*manifests, types=TYPES, pods=pods, nodes=tuple(result for result, _ in pairs),
                nodeclaims=tuple(claim for _, claim in pairs), **fields)  # fmt: skip


def consolidatable(start: WhatIfBase) -> WhatIfBase:
    claims = tuple(
        replace(claim, conditions=(*claim.conditions, a_condition("Consolidatable")))
        for claim in start.inventory.nodeclaims
    )
    return with_objects(start, nodeclaims=claims)


def changed(start: WhatIfBase, *edits: AnyEdit, mode: Replay = Replay.PENDING) -> Difference:
    return difference(start, apply(start, edits), mode)


def running(count: int, node: str, **fields: Any) -> tuple[Any, ...]:
    return tuple(a_pod(name=f"{node}-{i}", node=node, **fields) for i in range(count))


def test_pods_that_become_schedulable_and_their_cost() -> None:
    start = fleet(a_pod(name="big", cpu="10"), nodes=1, manifests=(another("general", limits={"cpu": "2"}),))
    result = changed(start, SetField(GENERAL, ("spec", "limits"), None))
    assert (result.before.pending, result.after.pending) == (1, 0)
    assert (result.before.nodes, result.after.nodes, result.after.launched) == (1, 2, 1)
    assert result.price_delta_per_hour == pytest.approx(0.8)
    assert result.price_delta_share == pytest.approx(8.0)
    (gain,) = result.now_fit
    assert (gain.owner, gain.before, gain.after) == (
        "ReplicaSet/default/web", NOWHERE, PodPlace(PlaceKind.CLAIM, "general"),
    )  # fmt: skip
    (claim,) = result.claims
    assert claim.is_changed
    assert (present(claim.cheapest).name, present(claim.cheapest).capacity_type) == ("m5.4xlarge", "on-demand")
    assert dict(claim.requests)["cpu"] == "10"
    (pool,) = result.pools
    assert pool.is_changed
    assert (pool.nodes_before, pool.nodes_after, pool.launched_after) == (1, 2, 1)


def test_the_workload_pods_of_each_nodepool_are_counted() -> None:
    daemon = a_pod(name="agent", node="node-1", owner=an_owner(kind="DaemonSet", name="agent"))
    pods = (*running(2, "node-1", cpu="100m"), *running(1, "node-2", cpu="100m"), daemon, a_pod(name="big", cpu="10"))
    start = fleet(*pods, manifests=(another("general", limits={"cpu": "2"}), another("spare")))

    def counts(result: Difference) -> dict[str, tuple[int, int]]:
        return {pool.name: (pool.pods_before, pool.pods_after) for pool in result.pools}

    assert counts(changed(start, SetField(GENERAL, ("spec", "weight"), 5))) == {"general": (3, 3), "spare": (1, 1)}
    gone = changed(start, RemoveNode("node-1"), mode=Replay.REMOVE)
    assert counts(gone) == {"general": (3, 3), "spare": (1, 1)}, "the pods move to node-2"
    assert counts(changed(start, mode=Replay.NEXT)) == {"general": (0, 0), "spare": (0, 0)}


def test_pods_that_become_unschedulable_have_a_reason() -> None:
    start = fleet(a_pod(name="a", cpu="10"), a_pod(name="b", cpu="10"), nodes=0)
    result = changed(
        start, SetField(GENERAL, ("spec", "limits", "cpu"), "1"), CopyPod(ObjectRef("Pod", "a", "default"), 1)
    )
    assert [(unplaced.pod_key, unplaced.gate) for unplaced in result.no_longer_fit] == [
        ("default/a", "limits"),
        ("default/a-whatif-0", "limits"),
        ("default/b", "limits"),
    ]
    first, copied, _ = result.no_longer_fit
    assert first.reason == "the limits of NodePool general leave no room for another node"
    assert first.karpenter_says.startswith("all available instance types exceed limits")
    assert first.was == PodPlace(PlaceKind.CLAIM, "general")
    assert copied.was is None
    assert len(result.claims_before) == 2
    again = changed(fleet(a_pod(cpu="99"), nodes=0), SetField(GENERAL, ("spec", "weight"), 3))
    (still,) = again.still_pending
    assert still.reason.startswith("the nearest type of NodePool general is m5.4xlarge, short of cpu 83")


@pytest.mark.parametrize("mode", [Replay.PENDING, Replay.REMOVE])
def test_without_a_usable_nodepool_kube_scheduler_places_the_pods_of_a_removed_node(mode: Replay) -> None:
    static = {**POOL, "spec": {**POOL["spec"], "replicas": 2}}
    start = fleet(*running(3, "node-1"), manifests=(static,))
    result = changed(start, RemoveNode("node-1"), mode=mode)
    assert result.after.pending == 0
    (move,) = result.moves
    assert (len(move.pods), move.after.node_name) == (3, "node-2")


def test_reasons_of_several_nodepools() -> None:
    pools = (
        POOL,
        another("gpu",
                template={**POOL["spec"]["template"],
                          "spec": {**POOL["spec"]["template"]["spec"],
                                   "taints": [{"key": "gpu", "effect": "NoSchedule"}]}}),
    )  # fmt: skip
    result = changed(fleet(a_pod(cpu="99", memory="900Gi", requests={"x/y": "3"}), nodes=0, manifests=pools))
    assert result.still_pending[0].reason.endswith("(1 other NodePool matches worse)")
    assert "memory 913,408Mi" in result.still_pending[0].reason
    assert "x/y 3" in result.still_pending[0].reason
    nobody = changed(fleet(a_pod(), nodes=0, manifests=()))
    assert nobody.still_pending[0].reason.startswith("no existing node accepts it, and no NodePool accepts pods")
    assert nobody.still_pending[0].karpenter_says == ""
    passed_over = changed(
        fleet(a_pod(template=a_pod_template(node_selector={"karpenter.sh/nodepool-hash": "x"})), nodes=0)
    )
    assert passed_over.still_pending[0].reason.startswith("Karpenter ignores it: ")
    assert passed_over.still_pending[0].karpenter_says
    asked = changed(fleet(a_pod(node_selector={"team": "a"}), nodes=0))
    assert "team" in asked.still_pending[0].reason


def test_only_the_first_sixteen_kinds_of_pods_are_explained_with_numbers() -> None:
    pods = [a_pod(name=f"p-{i}", cpu="99", labels={"app": str(i)}) for i in range(20)]
    result = changed(fleet(*pods, nodes=0))
    assert sum("the nearest type" in unplaced.reason for unplaced in result.still_pending) == 16
    assert sum("no instance type of NodePool general" in unplaced.reason for unplaced in result.still_pending) == 4


def test_pods_that_change_pool() -> None:
    start = fleet(a_pod(cpu="10"), nodes=0, manifests=(POOL, another("other", weight=5)))
    result = changed(start, SetField(ObjectRef("NodePool", "other"), ("spec", "weight"), 50))
    (move,) = result.moves
    assert (move.before.pool_name, move.after.pool_name) == ("general", "other")
    assert [pool.name for pool in result.pools] == ["other", "general"]


def test_swapped_equal_pods_have_not_moved_unless_they_have_volumes() -> None:
    template = a_pod_template(owners=(an_owner(),), cpu="1500m")
    pods = tuple(a_pod(name=f"w-{i}", template=template) for i in range(2))
    start = fleet(*pods)
    result = changed(start, SetField(ObjectRef("Pod", "w-0", "default"), ("metadata", "labels", "x"), "y"))
    assert result.moves == ()
    removed = changed(start, RemoveNode("node-1"))
    assert len(removed.claims) == 1


def test_pods_of_removed_nodes_move() -> None:
    start = fleet(*running(2, "node-1", cpu="500m"), a_pod(name="daemon", node="node-1", daemonset="agent"))
    result = changed(start, RemoveNode("node-1"))
    (move,) = result.moves
    assert move.before == PodPlace(PlaceKind.NODE, "general", "node-1")
    assert move.after == PodPlace(PlaceKind.NODE, "general", "node-2")
    assert move.pods == ("default/node-1-0", "default/node-1-1")
    (line,) = result.nodes
    assert (line.node_name, line.is_changed) == ("node-2", True)
    assert (result.before.nodes, result.after.nodes) == (2, 1)
    with_mode = changed(start, RemoveNode("node-1"), mode=Replay.REMOVE)
    assert with_mode.moves == result.moves
    assert with_mode.after.nodes == 1
    assert changed(start, mode=Replay.REMOVE).moves == ()


@pytest.mark.parametrize("mode", [Replay.PENDING, Replay.REMOVE])
def test_pods_without_an_owner_are_lost_with_the_nodes_that_edits_remove(mode: Replay) -> None:
    alone = a_pod(name="psql", node="node-1", template=a_pod_template(namespace="tools"))
    result = changed(fleet(*running(1, "node-1", cpu="500m"), alone), RemoveNode("node-1"), mode=mode)
    assert result.lost_pods == ("tools/psql",)
    assert [move.pods for move in result.moves] == [("default/node-1-0",)]
    assert result.after.pending == 0
    assert changed(fleet(alone), RemoveNode("node-1"), mode=Replay.SCRATCH).lost_pods == ()


def test_a_removal_moves_no_pods_to_uninitialized_nodes() -> None:
    pair = (node("node-1"), node("node-2"))
    nodes, claims = [result for result, _ in pair], [claim for _, claim in pair]
    nodes[1] = replace(nodes[1], labels={key: value for key, value in nodes[1].labels.items() if key != INITIALIZED})
    pool = another("general", disruption={"consolidateAfter": "Never"})
    pods = running(2, "node-1", cpu="500m")
    young = base(pool, types=TYPES, pods=pods, nodes=tuple(nodes), nodeclaims=tuple(claims))
    assert changed(young, RemoveNode("node-1")).moves != (), "the default replay schedules them to node-2"
    result = changed(young, RemoveNode("node-1"), mode=Replay.REMOVE)
    assert (result.moves, result.nodes) == ((), ())
    assert [(unplaced.pod_key, unplaced.reason) for unplaced in result.no_longer_fit] == [
        (f"default/node-1-{number}", "Karpenter schedules it to node-2, which does not count before it is initialized")
        for number in range(2)
    ]


def test_replay_from_scratch() -> None:
    start = fleet(
        *running(1, "node-1", cpu="500m"),
        *running(1, "node-2", cpu="500m"),
        a_pod(name="d", node="node-1", daemonset="agent"),
    )
    outcome = replay(start, Replay.SCRATCH)
    assert len(outcome.claims) == 1
    assert {pod.key for pod in outcome.waiting} == {"default/node-1-0", "default/node-2-0"}
    assert replay(start, Replay.SCRATCH) is outcome
    unmanaged = base(POOL, types=TYPES, nodes=(a_node(name="own", pool=""),), pods=running(1, "own"))
    assert replay(unmanaged, Replay.SCRATCH).waiting == ()


def test_removed_pods() -> None:
    start = fleet(a_pod(name="a", cpu="10"), nodes=0)
    result = changed(start, DeleteObject(ObjectRef("Pod", "a", "default")))
    assert result.moves == ()
    assert len(result.claims_before) == 1
    assert result.before.launched == 1
    assert result.after.launched == 0


def test_the_new_position_of_a_nodepool_with_an_edited_weight() -> None:
    start = fleet(manifests=(POOL, another("zeta", weight=POOL["spec"].get("weight", 1)), another("alone", weight=90)))
    zeta = ObjectRef("NodePool", "zeta")

    def rows_of(*edits: AnyEdit) -> list[tuple[Any, ...]]:
        weights = changed(start, *edits).weights
        return [(change.pool_name, change.ahead_of, change.behind, change.is_usable) for change in weights]

    assert rows_of(SetField(zeta, ("spec", "weight"), 95)) == [("zeta", ("alone",), (), True)]
    assert rows_of(SetField(GENERAL, ("spec", "weight"), 60)) == [("general", ("zeta",), (), True)]
    assert rows_of(SetField(ObjectRef("NodePool", "alone"), ("spec", "weight"), 80)) == [("alone", (), (), True)]
    no_type = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["*"]}]
    unusable = (SetField(zeta, REQUIREMENTS, no_type), SetField(zeta, ("spec", "weight"), 99))
    assert rows_of(*unusable) == [("zeta", ("alone",), (), False)]
    assert changed(start, *unusable).without_types == ("zeta",)
    assert changed(start, unusable[1]).without_types == ()
    assert rows_of(SetField(zeta, ("spec", "limits"), {"cpu": "8"})) == []


def test_types_are_in_price_order() -> None:
    result = changed(
        fleet(a_pod(), nodes=0), SetField(GENERAL, REQUIREMENTS, [{**SPOT, "values": ["spot", "on-demand"]}])
    )
    (claim,) = result.claims
    assert [(option.name, option.price_per_hour, option.capacity_type) for option in claim.types] == [
        ("m5.large", 0.04, "spot"),
        ("m5.4xlarge", 0.8, "on-demand"),
    ]
    out = changed(fleet(a_pod(), nodes=0), TakeOut(capacity_type="spot"))
    assert out.claims[0].types[0].price_per_hour == 0.1
    assert out.claims[0].is_changed is False, "the same pods with the same types are unchanged"


def test_unknown_prices_are_counted() -> None:
    pair = node("odd", instance_type="x9.huge")
    start = base(POOL, types=TYPES, nodes=(pair[0],), nodeclaims=(pair[1],))
    result = changed(start)
    assert (result.before.nodes, result.before.unpriced, result.before.price_per_hour) == (1, 1, 0.0)
    assert result.before.unbounded == 1
    assert [(pool.unpriced_before, pool.unpriced_after) for pool in result.pools] == [(1, 1)]
    assert result.price_delta_share is None
    lone = replace(pair[1], labels={**pair[1].labels, "karpenter.sh/nodepool": "gone"})
    stray = replace(pair[0], labels={**pair[0].labels, "karpenter.sh/nodepool": "gone"})
    assert changed(base(POOL, types=TYPES, nodes=(stray,), nodeclaims=(lone,))).before.unpriced == 1


def test_changed_budgets_are_listed_for_each_reason() -> None:
    path = ("spec", "disruption", "budgets")
    result = changed(fleet(nodes=2), SetField(GENERAL, path, [{"nodes": "2", "reasons": ["Drifted"]}]))
    by_reason = {line.reason: line for line in result.budgets}
    assert (by_reason["Drifted"].allowed_before, by_reason["Drifted"].allowed_after) == (1, 2)
    assert (by_reason["Empty"].allowed_after, by_reason["Empty"].left_after) == (None, None)
    gone = changed(fleet(nodes=2), DeleteObject(GENERAL))
    assert {line.allowed_after for line in gone.budgets} == {0}
    assert changed(fleet(nodes=2)).budgets == ()
    path = ("spec", "disruption", "budgets")
    edit = SetField(GENERAL, path, [{"nodes": "1"}, {"nodes": "0", "reasons": ["Unhealthy"]}])
    start = fleet(nodes=2)
    gate = "NodeRepair=true"
    (line,) = changed(fleet(nodes=2, settings={"FEATURE_GATES": gate}), edit).budgets
    assert (line.reason, line.allowed_before, line.allowed_after) == ("Unhealthy", 1, 0)
    assert changed(start, edit).budgets == ()
    assert changed(start, SetSetting("FEATURE_GATES", gate)).budgets == (), "the budget did not exist before"


def test_the_next_disruption() -> None:
    start = consolidatable(fleet(*running(1, "node-1", cpu="100m"), nodes=2))
    result = changed(start, SetField(GENERAL, ("spec", "disruption", "budgets"), [{"nodes": "0"}]), mode=Replay.NEXT)
    (command,) = present(result.next_before).commands
    assert (command.method, command.decision, command.nodes) == ("Emptiness", "delete", ("node-2",))
    assert present(result.next_after).commands == ()
    assert present(result.next_after).because == "disruption budgets allow none of 2 nodes to be removed"
    assert (result.before.nodes, result.after.nodes) == (1, 2)
    assert result.moves == ()
    drifting = changed(start, SetField(GENERAL, ("spec", "template", "spec", "expireAfter"), "24h"), mode=Replay.NEXT)
    assert drifting.after.drifted == 2


def test_the_reason_why_nothing_is_disrupted() -> None:
    assert next_lines(replay(fleet(), Replay.NEXT)).because.startswith("no node passes the gates")
    launching = a_nodeclaim(name="new", provider_id="")
    paused = fleet(nodes=0, manifests=(POOL,))
    paused = with_objects(paused, nodeclaims=(replace(launching, provider_id=""),))
    assert "have no provider ID: new" in next_lines(replay(paused, Replay.NEXT)).because


def test_gained_and_lost_blockers() -> None:
    unwanted = fleet(a_pod(name="ci", node="node-1", annotations={DO_NOT_DISRUPT: "true"}))
    start = consolidatable(unwanted)
    path = ("metadata", "annotations", DO_NOT_DISRUPT)
    side = apply(start, (SetField(ObjectRef("Pod", "ci", "default"), path),))
    gained, lost = blocker_changes(start, side)
    assert [(line.code, line.node_name, line.object) for line in lost] == [("POD_DND", "node-1", "Pod/default/ci")]
    assert gained == ()
    removed = apply(start, (RemoveNode("node-1"),))
    _, lost = blocker_changes(start, removed)
    assert {line.code for line in lost} == {"POD_DND"}
    # A condition that stops no method is not a blocker.
    assert blocker_changes(unwanted, apply(unwanted, (RemoveNode("node-1"),)))[1] == ()
    policy = apply(start, (SetField(GENERAL, ("spec", "disruption", "consolidateAfter"), "Never"),))
    gained, _ = blocker_changes(start, policy)
    assert {line.code for line in gained} == {"CONSOLIDATION_DISABLED"}
    *_, result = answers(start, Scenario("never", edits=policy.edits))
    assert answer_values(result)["blockersGained"][0]["nodePool"] == "general"


def test_replays_report_progress_and_can_be_cancelled() -> None:
    def stop(done: int, total: int) -> None:
        raise Cancelled

    pods = tuple(a_pod(name=f"p-{i}") for i in range(3))
    for mode in (Replay.PENDING, Replay.SCRATCH, Replay.REMOVE):
        with pytest.raises(Cancelled):
            replay(fleet(*pods), mode, stop)
    seen: list[tuple[int, int]] = []
    replay(fleet(*pods), Replay.PENDING, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)
    start = fleet(*running(1, "node-1", cpu="1"), nodes=1)
    conditions = tuple(
        a_condition(mark) for mark in ("Launched", "Registered", "Initialized", "Consolidatable", "Drifted")
    )
    drifted = replace(start.inventory.nodeclaims[0], conditions=conditions)
    start = with_objects(start, nodeclaims=(drifted,))
    with pytest.raises(Cancelled):
        replay(start, Replay.NEXT, stop)
    with pytest.raises(Cancelled):
        blocker_changes(start, apply(start, ()), stop)


def test_pods_with_their_own_volume_claims_are_not_equal() -> None:
    claims = tuple(
        PersistentVolumeClaim(name=f"data-{i}", namespace="default", storage_class_name="") for i in range(2)
    )
    pods = tuple(a_pod(name=f"p-{i}", cpu="1", volumes=(PodVolume("data", f"data-{i}"),)) for i in range(2))
    result = changed(fleet(*pods, claims=claims), SetSetting("PREFERENCE_POLICY", "Ignore"))
    assert result.moves == ()


# Accuracy and JSON


def test_approximations_and_unmodelled_rules_are_listed() -> None:
    start = fleet(*running(1, "node-1"))
    start.karpenter_version = "1.9.3"
    text = "kind: EC2NodeClass\napiVersion: karpenter.k8s.aws/v1\nmetadata: {name: x}\nspec: {amiSelectorTerms: []}\n"
    edits = (
        PutObject(text),
        RemoveNode("node-1"),
        SetField(ObjectRef("ReplicaSet", "web", "default"), ("spec", "template", "metadata", "labels", "a"), "b"),
        SetField(ObjectRef("EC2NodeClass", "x"), ("spec", "subnetSelectorTerms"), []),
    )
    side = apply(start, edits[:2])
    accuracy = accuracy_of(start, replace_edits(side, edits), Replay.PENDING)
    assert accuracy.is_other_version
    assert any("without a rollout" in text for text in accuracy.approximated)
    assert any("protections and budgets" in text for text in accuracy.approximated)
    assert any("amiSelectorTerms, subnetSelectorTerms" in text for text in accuracy.not_modelled)
    assert any("kube-scheduler" in text for text in accuracy.not_modelled)
    for mode, words in (
        (Replay.SCRATCH, "all workload pods are created at once"),
        (Replay.REMOVE, "even if they are protected"),
        (Replay.NEXT, "of equal candidates"),
    ):
        assert any(words in text for text in accuracy_of(start, side, mode).approximated)
    start.prices = side.prices = NodePrices()
    side.inventory = replace(side.inventory, overlays=(NodeOverlay(name="dear", price="9"),))
    priced = accuracy_of(start, side, Replay.PENDING).approximated
    assert any("the top bar counts" in text for text in priced)
    assert any("NodeOverlays" in text for text in priced)
    start.karpenter_version = "v1.14.0"
    assert not accuracy_of(start, side, Replay.NEXT).is_other_version
    assert accuracy.modelled_version == "1.15.0"


@pytest.mark.parametrize("mode", list(Replay))
def test_an_answer_can_be_sent_to_another_process(mode: Replay) -> None:
    start = consolidatable(fleet(a_pod(), a_pod(name="b", node="node-1", annotations={DO_NOT_DISRUPT: "true"})))
    path = ("metadata", "annotations", DO_NOT_DISRUPT)
    edits = (SetField(ObjectRef("Pod", "b", "default"), path), SetSetting("RESERVED_ENIS", "1"))
    first, whole = answers(start, Scenario("freed", mode, edits))
    assert first.blockers_lost is None
    assert whole.blockers_lost
    for item in (first, whole):
        assert msgspec.json.decode(msgspec.json.encode(item), type=Answer) == item


def test_an_answer_without_a_difference_has_only_its_error() -> None:
    result = answer(fleet(), Scenario("none", edits=(RemoveNode("nobody"),)))
    assert answer_values(result) == {"error": result.problem}
    assert "nobody" in result.problem


def replace_edits(side: Any, edits: tuple[AnyEdit, ...]) -> Any:
    side.edits = edits
    return side


def test_json_has_all_parts_of_the_answer() -> None:
    start = fleet(a_pod(cpu="10"), a_pod(name="huge", cpu="900"), *running(1, "node-1", cpu="1"))
    result = changed(start, RemoveNode("node-1"), SetField(GENERAL, ("spec", "template", "spec", "expireAfter"), "1h"))
    document = plain(DIFFERENCE, result)
    assert msgspec.json.decode(msgspec.json.encode(document)) == document
    assert document["before"]["pricePerHour"] == result.before.price_per_hour
    assert document["newNodeClaims"][0]["instanceTypes"][0]["capacityType"] == "on-demand"
    assert document["moves"][0]["before"] == {"kind": "node", "nodePool": "general", "node": "node-1"}
    assert document["stillPending"][0]["pod"] == "default/huge"
    assert set(document["driftGained"][0]) == {"nodeClaim", "nodeName", "nodePool", "reason", "because"}
    following = plain(DIFFERENCE, changed(start, mode=Replay.NEXT))
    assert "nextBefore" in following
    assert following["nextAfter"]["commands"] == []
    lost = changed(
        start, SetField(GENERAL, ("spec", "limits", "cpu"), "0"), CopyPod(ObjectRef("Pod", "huge", "default"), 1)
    )
    before = {item["pod"]: item["before"] for item in plain(DIFFERENCE, lost)["noLongerFit"]}
    assert before["default/huge-whatif-0"] is None
    assert before["default/web-1"] == {"kind": "new node", "nodePool": "general", "node": ""}


@pytest.mark.parametrize("mode", list(Replay))
def test_an_edited_cluster_is_freed_with_its_answer(mode: Replay) -> None:
    start = fleet(a_pod(), a_pod(name="b", node="node-1"))
    gc.collect()
    gc.disable()
    try:
        edited = apply(start, (SetSetting("RESERVED_ENIS", "1"),))
        difference(start, edited, mode)
        freed = weakref.ref(edited)
        prepared = weakref.ref(edited.prepared)
        del edited
        assert (freed(), prepared()) == (None, None)
    finally:
        gc.enable()


def test_a_replacement_costs_as_much_as_its_cheapest_type() -> None:
    pair = node("node-1", instance_type="m5.4xlarge", cpu="15900m")
    claim = replace(pair[1], conditions=(*pair[1].conditions, a_condition("Consolidatable")))
    claims: dict[str, Any] = {"nodes": (pair[0],), "nodeclaims": (claim,), "pods": running(1, "node-1", cpu="1")}
    result = changed(base(POOL, types=TYPES, **claims), mode=Replay.NEXT)
    assert present(result.next_after).commands[0].decision == "replace"
    assert result.after.price_per_hour in (0.1, 0.04)
    assert result.after.launched == 1
    document = plain(DIFFERENCE, result)
    assert document["nextAfter"]["commands"][0]["replacements"] == [{"nodePool": "general", "instanceType": "m5.large"}]


def test_a_drifted_node_of_a_static_pool_is_replaced_from_its_template() -> None:
    static = another("general", replicas=1)
    static["spec"].pop("weight")
    static["spec"]["limits"] = {"nodes": "5"}
    pair = node("node-1")
    claim = replace(pair[1], conditions=(*pair[1].conditions, a_condition("Drifted")))
    start = base(static, another("dynamic"), types=TYPES, nodes=(pair[0],), nodeclaims=(claim,))
    result = changed(start, mode=Replay.NEXT)
    (command,) = present(result.next_after).commands
    assert (command.method, command.replacements) == ("StaticDrift", (("general", ""),))
    assert (result.after.nodes, result.after.unpriced) == (1, 1)


def test_replay_next_schedules_no_pods_and_explains_an_early_end() -> None:
    unready = {**POOL, "status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    pair = node("node-1")
    claim = replace(pair[1], conditions=(*pair[1].conditions, a_condition("Drifted")))
    start = base(unready, types=TYPES, nodes=(pair[0],), nodeclaims=(claim,), pods=running(1, "node-1", cpu="1"))
    because = next_lines(replay(start, Replay.NEXT)).because
    assert because == "the pass ends early: creating scheduler, no nodepools found"
    outcome = replay(fleet(a_pod(cpu="99")), Replay.NEXT)
    assert outcome.places == {}
    assert [pod.key for pod in outcome.unplaced] == ["default/web-1"]


def test_cached_price_orders_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.whatif.difference_lines.MOST_KEPT", 0)
    start = fleet(a_pod(), nodes=0)
    assert changed(start, SetField(GENERAL, ("spec", "weight"), 3)).claims[0].is_changed is False
    assert changed(start, SetField(GENERAL, ("spec", "weight"), 4)).claims[0].is_changed is False


def test_from_scratch_keeps_the_nodes_of_static_nodepools() -> None:
    static = another("static", replicas=1)
    static["spec"].pop("weight")
    pairs = [node("kept", pool="static"), node("gone")]
    start = base(POOL, static, types=TYPES, nodes=tuple(result for result, _ in pairs),
                 nodeclaims=tuple(claim for _, claim in pairs),
                 pods=(*running(1, "kept", cpu="1"), *running(1, "gone", cpu="1")))  # fmt: skip
    outcome = replay(start, Replay.SCRATCH)
    assert [pod.key for pod in outcome.waiting] == ["default/gone-0"]
    assert outcome.pools["static"].nodes == 1
    assert outcome.pools["general"].nodes == outcome.pools["general"].launched == 1
