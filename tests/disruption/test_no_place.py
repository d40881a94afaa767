from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from karptui.disruption.blockers import BlockerSurvey
from karptui.disruption.candidate import Candidate
from karptui.disruption.methods import observed_fleet
from karptui.disruption.no_place import NO_TYPES, NoPlace, PoolMiss, cause_text, no_place_text, reason_of
from karptui.disruption.node_verdict import Verdict, landings_of, verdict_of
from karptui.disruption.outlook import RemovalSimulator
from karptui.disruption.removal import EngineSimulator
from karptui.karpenter import labels
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import Pod
from karptui.kube.quantity import parse_quantity
from karptui.kube.resources import Shortage
from karptui.kube.taints import Taint
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.rejection import PodError
from tests.builders import a_node, a_nodepool, a_pod, amounts, present
from tests.disruption.making import a_claim, consolidatable, node_of, prepared

HERE: dict[str, Any] = {"node": "node-1", "name": "big"}


def _cluster(
    *, pods: Sequence[Pod], pools: Sequence[NodePool] | None = None, others: Sequence[Mapping[str, Any]] = ()
) -> Prepared:
    node = a_node(instance_type="m5.2xlarge", cpu="90", memory="300Gi")
    return prepared(nodes=[node, *(a_node(name=f"other-{i}", **fields) for i, fields in enumerate(others))],
                    nodeclaims=[a_claim(instance_type="m5.2xlarge", conditions=(consolidatable(),)),
                                *(a_claim(f"other-{i}", instance_type="m5.large") for i, _ in enumerate(others))],
                    nodepools=pools or [a_nodepool(budgets=())], pods=pods)  # fmt: skip


def _verdict(cluster: Prepared) -> Verdict:
    fleet = observed_fleet(cluster)
    node = node_of(fleet)
    return verdict_of(RemovalSimulator(cluster, fleet).now(node, BlockerSurvey(fleet).of(node)))


def _reason(*, pods: Sequence[Pod] | None = None, **cluster: Any) -> NoPlace:
    verdict = _verdict(_cluster(pods=pods or [a_pod(**HERE, cpu="100m")], **cluster))
    assert verdict.refusal_code == "SIM_UNSCHEDULABLE"
    assert verdict.no_place is not None
    return verdict.no_place


def test_shortage_has_an_amount() -> None:
    place = _reason(pods=[a_pod(**HERE, cpu="9", memory="40Gi")])
    assert (place.pod_key, place.others, place.nodes) == ("default/big", 0, ())
    (miss,) = place.pools
    assert (miss.pool_name, miss.gate, miss.instance_type) == ("general", "instance types", "m5.2xlarge")
    assert {shortage.resource for shortage in miss.shortages} == {"cpu", "memory"}
    text = no_place_text(place)
    assert text.startswith(
        "default/big cannot be placed elsewhere: the nearest type of NodePool general is m5.2xlarge, short of cpu 1"
    )
    assert ", memory " in text


@pytest.mark.parametrize(("fields", "pool", "words"), [
    ({"node_selector": {labels.ARCH: "arm64"}}, {},
     "no instance type of NodePool general has kubernetes.io/arch=arm64"),
    ({"node_selector": {"team": "data"}}, {}, "no node of NodePool general matches team"),
    ({}, {"taints": (Taint("ci", "NoSchedule", "true"),)},
     "it does not tolerate ci=true:NoSchedule of NodePool general"),
    ({}, {"limits": {"cpu": parse_quantity("1")}}, "the limits of NodePool general leave no room for another node"),
])  # fmt: skip
def test_every_kind_of_reason(fields: Mapping[str, Any], pool: Mapping[str, Any], words: str) -> None:
    place = _reason(pods=[a_pod(**HERE, cpu="100m", **fields)], pools=[a_nodepool(budgets=(), **pool)])
    assert cause_text(place) == words


def test_landings_show_why_existing_nodes_do_not_fit() -> None:
    first = a_pod(**HERE, cpu="9")
    cluster = _cluster(
        pods=[first, a_pod(node="node-1", name="like it", template=first.template)],
        others=[{"cpu": "1"}, {"cpu": "1", "taints": (Taint("x", "NoSchedule"),)}],
    )
    fleet = observed_fleet(cluster)
    candidate = Candidate(fleet, node_of(fleet), *present(fleet.resolved("general")))
    landings = landings_of(EngineSimulator(cluster, fleet).remove((candidate,), is_consolidation=True))
    landing = landings["default/big"]
    assert landings["default/like it"].no_place is landing.no_place
    assert landing.no_place is not None
    assert landing.no_place.nodes == (("room", 1), ("taints", 1))
    assert cause_text(landing.no_place).endswith("2 nodes tried: 1 room · 1 taints")


def test_uninitialized_node_does_not_count() -> None:
    place = _reason(pods=[a_pod(**HERE, cpu="9")], others=[{"cpu": "90", "memory": "300Gi", "is_initialized": False}])
    assert place.uninitialized_node == "other-0"
    assert cause_text(place) == "Karpenter schedules it to other-0, which does not count before it is initialized"


def test_error_messages_are_computed_on_demand() -> None:
    cluster = _cluster(pods=[a_pod(**HERE, cpu="9"), a_pod(name="waits", cpu="95")])
    fleet = observed_fleet(cluster)
    node = node_of(fleet)
    pool, book = present(fleet.resolved(node.nodepool_name))
    simulation = EngineSimulator(cluster, fleet).remove((Candidate(fleet, node, pool, book),), is_consolidation=True)
    assert [(pod.name, type(why)) for pod, why in simulation.errors] == [("big", PodError), ("waits", PodError)]
    [(pod, why)] = simulation.blocking_errors
    assert (pod.name, str(why)) == ("big", landings_of(simulation)[pod.key].error)
    assert simulation.explanation() == f"Not all pods would schedule, default/big => {why} "


def test_selected_nodepool_is_nearest_even_if_skipped() -> None:
    pools = [a_nodepool(budgets=()), a_nodepool(name="static", budgets=(), replicas=3)]
    place = _reason(pods=[a_pod(**HERE, node_selector={labels.NODEPOOL: "static"})], pools=pools)
    assert place.named == ("static",)
    assert place.skipped_pool == "static"
    assert cause_text(place).startswith(
        "provisioning skips NodePool static: it is static (3 replicas) and launches no nodes"
    )
    assert reason_of(place)[0].startswith("provisioning skips NodePool static")


@pytest.mark.parametrize(("fields", "gate"), [
    ({"node_selector": {"team": "a"}}, "requirements"),
    ({"node_selector": {labels.NODEPOOL: "nobody"}}, "requirements"),
    ({"cpu": "90"}, "instance types"),
    ({"cpu": "1"}, "limits"),
])  # fmt: skip
def test_limits_are_the_reason_only_if_nothing_else_is(fields: dict[str, Any], gate: str) -> None:
    full = a_nodepool(budgets=(), limits=amounts({"cpu": "1"}))
    place = _reason(pods=[a_pod(**{**HERE, **fields})], pools=[full])
    assert [miss.gate for miss in place.pools] == [gate]


def _short(resource: str, need: str, room: str) -> Shortage:
    return Shortage(resource, parse_quantity(need), parse_quantity(room))


BIG_MISS = PoolMiss("general", "instance types", "m5.xlarge", (_short("cpu", "5", "3800m"),))


@pytest.mark.parametrize(("no_place", "text"), [
    (NoPlace("a/b", uninitialized_node="n1"),
     "Karpenter schedules it to n1, which does not count before it is initialized"),
    (NoPlace("a/b"), "no NodePool has a launchable instance type"),
    (NoPlace("a/b", pools=(PoolMiss("x", "instance types"),)),
     "no instance type of NodePool x has the labels, the capacity and an available offering"),
    (NoPlace("a/b", pools=(PoolMiss("x", "taints"), PoolMiss("y", "taints"))),
     "it does not tolerate the taints of any of 2 NodePools"),
    (NoPlace("a/b", pools=(PoolMiss("x", "topology"), PoolMiss("y", "topology"))),
     "spread or affinity rules allow no domain in any of 2 NodePools"),
    (NoPlace("a/b", pools=(PoolMiss("x", "requirements", asked=("zone In [a b]",)),)),
     "no node of NodePool x matches zone In [a b]"),
    (NoPlace("a/b", pools=(BIG_MISS,)), "the nearest type of NodePool general is m5.xlarge, short of cpu 1200m"),
    (NoPlace("a/b", pools=(PoolMiss("arm", "taints", asked=("team=x",)), BIG_MISS), nodes=(("room", 7), ("taints", 2))),
     ("the nearest type of NodePool general is m5.xlarge, short of cpu 1200m; other NodePools: 1 taints; 9 nodes "
      "tried: 7 room · 2 taints")),
    (NoPlace("a/b", pools=tuple(PoolMiss(name, "taints", asked=("team=x",)) for name in "xyz")),
     "it does not tolerate team=x of any of 3 NodePools"),
    (NoPlace("a/b", pools=(PoolMiss("general", "instance types", asked=(f"{labels.ZONE} DoesNotExist",)),)),
     "no zone satisfies both volumes and zone rules, so no node of NodePool general accepts it"),
])  # fmt: skip
def test_cause_text(no_place: NoPlace, text: str) -> None:
    assert cause_text(no_place) == text


@pytest.mark.parametrize(("others", "words"), [(0, ""), (1, " and 1 more"), (2, " and 2 more")])
def test_pods_that_fit_nowhere_else(others: int, words: str) -> None:
    no_place = NoPlace("web/big-0", others)
    assert (
        no_place_text(no_place)
        == f"web/big-0{words} cannot be placed elsewhere: no NodePool has a launchable instance type"
    )


def test_no_nodepool_is_near() -> None:
    assert reason_of(NoPlace("default/web-1")) == (NO_TYPES, "NodePools")


def test_nodepool_of_the_node_is_named_before_nearer_ones() -> None:
    pools = (
        PoolMiss("general", "requirements", asked=("team",)),
        PoolMiss("web", "taints", asked=("dedicated=web:NoSchedule",)),
    )
    no_place = NoPlace("shop/front-0", pools=pools)
    assert reason_of(no_place) == (
        "no node of NodePool general matches team (1 other NodePool matches worse)",
        "requirements",
    )
    assert reason_of(no_place, "web") == (
        "it does not tolerate dedicated=web:NoSchedule of NodePool web (1 other NodePool cannot take it either)",
        "taints",
    )
    assert reason_of(no_place, "gone") == reason_of(no_place)
