from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.errors import RequestError
from karptui.karpenter.labels import COMPUTE_TYPE, FARGATE, ZONE
from karptui.kube.pod import PodVolume
from karptui.kube.selectors import NodeSelectorTerm
from karptui.kube.volumes import PersistentVolume, PersistentVolumeClaim
from karptui.provisioning.not_modelled import KUBE_SCHEDULER_APPROXIMATED, PREEMPTION
from karptui.studies.drill import Drill, Loss, LossKind, drill, drills, losses
from karptui.studies.pod_trial import samples
from karptui.views.drill import TABLE, detail_lines, headline, overview
from karptui.whatif.situation import WhatIfBase
from tests.builders import DAY_NS, NOW_NS, a_node, a_nodeclaim, a_pod, a_requirement, an_instance_type, an_owner
from tests.whatif.edits.test_apply import POOL
from tests.whatif.snapshots import base
from tests.whatif.test_difference import another

TYPES = (an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1, "spot": 0.04}),)
A, B = "us-east-1a", "us-east-1b"
WITHOUT_A = Loss(LossKind.ZONE, A)
WITHOUT_GENERAL = Loss(LossKind.NODEPOOL, "general")
IN_A = {"topology.kubernetes.io/zone": A}


def cluster(
    *pods: Any, manifests: tuple[dict[str, Any], ...] = (POOL,), types: Any = TYPES, **others: Any
) -> WhatIfBase:
    """Return a node in each of two zones: ``a`` on demand, ``b`` on spot."""
    nodes = (a_node(name="a", zone=A), a_node(name="b", zone=B, capacity_type="spot"))
    claims = tuple(
        a_nodeclaim(
            name=f"claim-{node.name}", node=node.name, zone=zone, capacity_type=kind, provider_id=node.provider_id
        )
        for node, zone, kind in zip(nodes, (A, B), ("on-demand", "spot"), strict=True)
    )
    given = {"nodes": nodes, "nodeclaims": claims, "pods": pods, **others}
    return base(*manifests, types=types, **given)


def counts(result: Drill) -> tuple[int, int, int, int]:
    return result.pods, result.on_nodes, result.on_new, len(result.pending)


def test_pods_fit_on_other_nodes_or_new_ones_or_are_unschedulable() -> None:
    pods = (
        a_pod(name="small", node="a", cpu="500m"),
        a_pod(name="large", node="a", cpu="1600m"),
        a_pod(name="bound", node="a", cpu="100m", node_selector=IN_A),
        a_pod(name="stays", node="b", cpu="500m"),
    )
    result = drill(cluster(*pods), WITHOUT_A)
    assert counts(result) == (3, 1, 1, 1)
    assert (result.nodes, result.nodes_before) == (("a",), 2)
    (waiting,) = result.pending
    assert (waiting.pod_key, waiting.owner) == ("default/bound", "ReplicaSet/default/web")
    (launch,) = result.launches
    assert (launch.pool_name, launch.nodes, launch.types) == ("general", 1, ((f"m5.large spot {B}", 1),))
    assert result.price_after == pytest.approx(0.04)
    assert TABLE.values(result, 0)["pending"][0]["reason"] == waiting.reason
    assert headline(result) == (
        f"without zone {A} 1 of 3 pods stays pending, 1 fit on other nodes, 1 need 1 new node ($0.04/h);"
        " 1 of 2 nodes is gone"
    )
    parts = [line for line in detail_lines(result) if not line.startswith("    ")]
    assert parts == ["  Stay pending", "  New nodes", "  Assumed", "  Not modelled"]


def test_daemonset_pods_do_not_move_and_pods_without_an_owner_are_lost() -> None:
    alone = a_pod(name="alone", node="a")
    alone = replace(alone, template=replace(alone.template, owners=()))
    result = drill(cluster(a_pod(name="agent", node="a", daemonset="agent"), alone), WITHOUT_A)
    assert counts(result) == (0, 0, 0, 0)
    assert result.lost == ("default/alone",)
    assert headline(result) == (
        f"without zone {A} no pod has to move; 1 pod without an owner is lost; 1 of 2 nodes is gone"
    )
    assert "  Lost: no owner recreates them" in list(detail_lines(result))


def test_pods_pending_today_may_become_unschedulable() -> None:
    result = drill(cluster(a_pod(name="new", cpu="1500m", node_selector=IN_A)), WITHOUT_A)
    assert counts(result) == (0, 0, 0, 0)
    assert [unplaced.pod_key for unplaced in result.also_pending] == ["default/new"]
    assert result.waiting == 0, "they are pending without the loss too"
    assert "; 1 pod pending today is unschedulable too;" in headline(result)
    assert "  Pending today, unschedulable after the loss" in list(detail_lines(result))


def test_nodes_for_pods_that_are_pending_today_count_as_new() -> None:
    coming = a_nodeclaim(name="coming", stage="Launched", zone=A, provider_id="aws:///us-east-1a/i-coming")
    full = (a_pod(name="there", node="b", cpu="1600m"), a_pod(name="new", cpu="1500m"))
    start = cluster(*full)
    result = drill(cluster(*full, nodeclaims=(*start.inventory.nodeclaims, coming)), WITHOUT_A)
    assert (counts(result), result.launched, result.for_pending, result.starting) == ((0, 0, 0, 0), 1, 1, 1)
    assert drill(cluster(*full, nodeclaims=(*start.inventory.nodeclaims, coming)), Loss(LossKind.ZONE, B)).starting == 0
    result = drill(cluster(*full, a_pod(name="moved", node="a", cpu="100m")), WITHOUT_A)
    assert "1 fit on other nodes, pods pending today need 1 new node ($0.04/h)" in headline(result)


def test_what_does_not_start_now_is_assumed_to() -> None:
    stuck = a_node(name="stuck", zone=B, is_initialized=False)
    claim = a_nodeclaim(name="claim-stuck", node="stuck", stage="Registered", created_ns=NOW_NS - DAY_NS)
    start = cluster(nodes=(a_node(name="a", zone=A), stuck), nodeclaims=(a_nodeclaim(node="a", zone=A), claim))
    unhealthy = {**POOL, "status": {"conditions": [
        *POOL["status"]["conditions"], {"type": "NodeRegistrationHealthy", "status": "False"}]}}  # fmt: skip
    assert "stuck becomes ready, although it has been uninitialized for long" in drill(start, WITHOUT_A).assumed
    assert "new nodes of general register, although its last ones did not" in (
        drill(cluster(manifests=(unhealthy,)), WITHOUT_A).assumed
    )
    assert PREEMPTION in drill(start, WITHOUT_A).not_modelled


def test_fargate_starts_its_pods_elsewhere() -> None:
    host = a_node(name="fargate-1", pool="", zone=A, labels={COMPUTE_TYPE: FARGATE})
    pod = a_pod(name="web", node="fargate-1", scheduler_name="fargate-scheduler")
    result = drill(cluster(pod, nodes=(a_node(name="a", zone=A), host), nodeclaims=()), WITHOUT_A)
    assert (counts(result), result.nodes, result.also_pending) == ((0, 0, 0, 0), ("a",), ())
    assert samples(cluster(pod).inventory) == ()


def test_a_volume_keeps_its_pod_in_the_zone() -> None:
    claim = PersistentVolumeClaim(name="data", namespace="default", volume_name="disk", phase="Bound",
                                  annotations={"pv.kubernetes.io/bind-completed": "yes"})  # fmt: skip
    at_home = NodeSelectorTerm((a_requirement(ZONE, "In", A),))
    disk = PersistentVolume(name="disk", required_node_terms=(at_home,))
    volumes = (PodVolume("data", claim_name="data"),)
    pod = a_pod(name="db", node="a", cpu="100m", owner=an_owner(kind="StatefulSet", name="db"), volumes=volumes)
    assert counts(drill(cluster(pod, claims=(claim,), volumes=(disk,)), WITHOUT_A)) == (1, 0, 0, 1)
    reachable = replace(disk, required_node_terms=(NodeSelectorTerm((a_requirement(ZONE, "In", A, B),)),))
    assert counts(drill(cluster(pod, claims=(claim,), volumes=(reachable,)), WITHOUT_A)) == (1, 1, 0, 0)


def test_losses_of_a_capacity_type_and_a_nodepool() -> None:
    spot_only = {"karpenter.sh/capacity-type": "spot"}
    pods = (a_pod(name="cheap", node="b", node_selector=spot_only), a_pod(name="any", node="b", cpu="1"))
    result = drill(cluster(*pods), Loss(LossKind.CAPACITY_TYPE, "spot"))
    assert counts(result) == (2, 1, 0, 1)
    assert result.nodes == ("b",)
    start = cluster(a_pod(name="web", node="a", cpu="1"), manifests=(POOL, another("spare")))
    result = drill(start, WITHOUT_GENERAL)
    assert counts(result) == (1, 0, 1, 0)
    assert [launch.pool_name for launch in result.launches] == ["spare"]
    assert "nodes drain" not in " ".join(result.assumed)
    assert headline(result).startswith("without NodePool general 1 pod fits elsewhere: 1 need 1 new node")
    only_a = [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [A]}]
    bound = another("bound", template={"spec": {**POOL["spec"]["template"]["spec"], "requirements": only_a}})
    result = drill(cluster(manifests=(POOL, bound)), WITHOUT_A)
    assert result.closed == ("bound",)
    lines = list(detail_lines(result))
    assert lines[lines.index("  NodePools with nothing left to launch") + 1] == "    bound"


def test_without_any_nodepool_kube_scheduler_places_pods_on_remaining_nodes() -> None:
    group = a_node(name="group", pool="", zone=B, cpu="2")
    pods = [
        a_pod(name="web", node="a", cpu="1"),
        a_pod(name="large", node="a", cpu="1500m"),
        a_pod(name="gpu", node="a", cpu="100m", node_selector={"gpu": "yes"}),
        a_pod(name="theirs", node="a", cpu="100m", scheduler_name="volcano"),
    ]
    start = cluster(*pods, nodes=(a_node(name="a", zone=A), group), nodeclaims=(a_nodeclaim(node="a", zone=A),))
    result = drill(start, WITHOUT_GENERAL)
    assert counts(result) == (4, 1, 0, 3)
    reasons = {unplaced.pod_key: unplaced.reason for unplaced in result.pending}
    assert reasons["default/gpu"].startswith("no existing node accepts it, and no NodePool accepts pods")
    assert reasons["default/theirs"].startswith("its scheduler volcano is not modelled, and no NodePool accepts pods")
    assert KUBE_SCHEDULER_APPROXIMATED in result.assumed


def test_pods_that_exclude_karpenters_nodes_move_to_other_nodes() -> None:
    """Karpenter ignores these pods, so kube-scheduler places them after Karpenter has placed the others."""
    keeps_off = (NodeSelectorTerm((a_requirement("karpenter.sh/nodepool", "DoesNotExist"),)),)
    groups = tuple(a_node(name=f"group-{zone}", pool="", zone=zone, cpu="2") for zone in (A, B))
    pods = [
        a_pod(name="karpenter", node=groups[0].name, cpu="1", required_node_terms=keeps_off),
        a_pod(name="web", node=groups[0].name, cpu="600m"),
        a_pod(name="coredns", node=groups[0].name, cpu="1", required_node_terms=keeps_off),
    ]
    result = drill(cluster(*pods, nodes=groups, nodeclaims=()), WITHOUT_A)
    assert counts(result) == (3, 2, 0, 1)
    assert result.pending[0].pod_key != "default/web"


@pytest.mark.parametrize(("loss", "says"), [
    (Loss(LossKind.ZONE, "x"), f"zone=x: no node has it; there are {A}, {B}"),
    (Loss(LossKind.CAPACITY_TYPE, "x"), "capacity-type=x: no node has it; there are on-demand, spot"),
    (Loss(LossKind.NODEPOOL, "x"), "nodepool=x: no node has it; there are general, spare"),
], ids=str)  # fmt: skip
def test_a_loss_that_the_cluster_does_not_have_is_refused(loss: Loss, says: str) -> None:
    with pytest.raises(RequestError) as caught:
        drill(cluster(manifests=(POOL, another("spare"))), loss)
    assert str(caught.value) == says


def test_every_loss_is_simulated_and_the_worst_of_a_kind_is_first() -> None:
    start = cluster(
        a_pod(name="x", node="b"), a_pod(name="y", node="b", node_selector={"topology.kubernetes.io/zone": B})
    )
    assert [str(loss) for loss in losses(start.inventory)] == [
        f"zone={A}", f"zone={B}", "capacity-type=on-demand", "capacity-type=spot", "nodepool=general",
    ]  # fmt: skip
    result = drills(start)
    assert [str(item.loss) for item in result] == [
        f"zone={B}", f"zone={A}", "capacity-type=spot", "capacity-type=on-demand", "nodepool=general",
    ]  # fmt: skip
    assert overview(result) == (
        f"without NodePool general 2 pods stay pending; without zone {B} 1 pod stays pending;"
        " losing any one capacity type leaves none of its pods pending"
    )
    cells = [column.cell(result[0], 0).text for column in TABLE.columns]
    assert cells[:5] == [f"zone={B}", "1", "2", "1", "-"]
    assert overview([result[0], result[0]]).endswith("(1 other zone would leave pods pending too)")


def test_unknown_prices_of_launched_nodes_are_mentioned() -> None:
    result = drill(cluster(a_pod(name="x", node="a", cpu="1600m"), a_pod(name="y", node="b", cpu="1600m")), WITHOUT_A)
    (launch,) = result.launches
    for price, unpriced, at_most, says in (
        (0.0, 1, False, "(price unknown)"),
        (1.0, 0, True, "(at most $1.00/h)"),
        (1.0, 2, False, "($1.00/h, 2 without a price)"),
    ):
        other = replace(launch, price_per_hour=price, unpriced=unpriced, is_at_most=at_most)
        assert says in headline(replace(result, launches=(other,)))
