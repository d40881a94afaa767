from __future__ import annotations

from typing import Any

import pytest

from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.karpenter.settings import parse_settings
from karptui.kube.selectors import NodeSelectorTerm
from karptui.kube.taints import Taint
from karptui.provisioning.instance_types import pool_types
from karptui.provisioning.pool_types import Filter, PoolTypes
from tests import builders

SETTINGS = parse_settings({})


def a_type(
    name: str,
    *,
    cpu: str = "2",
    memory: str = "8Gi",
    pods: str = "10",
    price: float = 1.0,
    reserved: str = "0",
    is_available: bool = True,
    capacity_type: str = "on-demand",
) -> InstanceType:
    return InstanceType(
        name=name,
        requirements=(builders.a_requirement("node.kubernetes.io/instance-type", "In", name),),
        capacity=builders.amounts({"cpu": cpu, "memory": memory, "pods": pods}),
        overhead=Overhead(kube_reserved=builders.amounts({"memory": reserved})),
        offerings=(
            Offering(
                requirements=(
                    builders.a_requirement("topology.kubernetes.io/zone", "In", "z-1"),
                    builders.a_requirement("karpenter.sh/capacity-type", "In", capacity_type),
                ),
                price_per_hour=price,
                is_available=is_available,
            ),
        ),
    )


def types_of_pool(*types: InstanceType, pool: Any = None, settings: Any = SETTINGS, **inventory: Any) -> PoolTypes:
    pools = inventory.pop("nodepools", None) or (pool or builders.a_nodepool(),)
    return pool_types(Inventory(nodepools=pools, **inventory), types, settings)[0]


def removed(result: PoolTypes) -> dict[str, tuple[str | None, str]]:
    return {verdict.instance_type.name: (verdict.removed_by, verdict.reason) for verdict in result.verdicts}


def test_each_type_is_counted_at_the_first_filter_that_rules_it_out() -> None:
    pool = builders.a_nodepool(
        requirements=(
            builders.a_requirement("karpenter.sh/capacity-type", "In", "on-demand"),
            builders.a_requirement("node.kubernetes.io/instance-type", "NotIn", "unwanted"),
        ),
        limits=builders.amounts({"cpu": "6"}),
    )
    result = types_of_pool(
        a_type("fits", price=0.5),
        a_type("unwanted"),
        a_type("sold-out", is_available=False),
        a_type("spot-only", capacity_type="spot"),
        a_type("reserved", reserved="9Gi"),
        a_type("few-slots", pods="1"),
        a_type("full", pods="2"),
        a_type("too-large", cpu="8"),
        pool=pool,
        daemonsets=(builders.a_daemonset(name="a"), builders.a_daemonset(name="b")),
    )
    assert removed(result) == {
        "fits": (None, ""),
        "unwanted": ("requirements", "node.kubernetes.io/instance-type NotIn [unwanted]"),
        "sold-out": ("offerings", "sold out, or excluded by the NodeClass"),
        "spot-only": ("offerings", "no offering in the zones and capacity types allowed"),
        "reserved": ("reserved", "memory"),
        "few-slots": ("daemonsets", "pods"),
        "full": ("pod", "pods"),
        "too-large": ("limits", "cpu"),
    }
    assert [(count.filter, count.removed, count.left) for count in result.counts] == [
        (Filter.REQUIREMENTS, 1, 7),
        (Filter.OFFERINGS, 2, 5),
        (Filter.RESERVED, 1, 4),
        (Filter.DAEMONSETS, 1, 3),
        (Filter.POD, 1, 2),
        (Filter.LIMITS, 1, 1),
    ]
    assert [verdict.instance_type.name for verdict in result.left] == ["fits"]
    assert result.left[0].daemon_pods == 2


def test_types_of_equal_price_share_a_rank() -> None:
    result = types_of_pool(
        a_type("a", price=2.0), a_type("b", price=1.0), a_type("c", price=1.0), a_type("d", price=3.0)
    )
    assert [(verdict.instance_type.name, verdict.rank) for verdict in result.verdicts] == [
        ("a", 3),
        ("b", 1),
        ("c", 1),
        ("d", 4),
    ]


@pytest.mark.parametrize(("pod", "left"), [
    ({"memory": "7Gi"}, {"small", "large"}),
    ({"memory": "12Gi"}, {"large"}),
    ({"memory": "12Gi", "node_selector": {"node.kubernetes.io/instance-type": "large"}}, {"small", "large"}),
    ({"memory": "12Gi", "node_selector": {"karpenter.sh/nodepool": "another"}}, {"small", "large"}),
    ({"memory": "12Gi",
      "required_node_terms": (NodeSelectorTerm((builders.a_requirement("karpenter.sh/capacity-type", "In", "spot"),)),
                              NodeSelectorTerm((builders.a_requirement("karpenter.sh/capacity-type", "In",
                                                                       "on-demand"),)))},
     {"large"}),
    ({"memory": "12Gi", "node": "node-1"}, {"small", "large"}),
], ids=["small", "large", "asks for large", "another pool", "second term", "bound"])  # fmt: skip
def test_the_smallest_pending_pod(pod: dict[str, Any], left: set[str]) -> None:
    result = types_of_pool(a_type("small"), a_type("large", memory="16Gi"), pods=(builders.a_pod(**pod),))
    assert {verdict.instance_type.name for verdict in result.left} == left


def test_skipped_pools_are_last_with_a_reason() -> None:
    pools = (
        builders.a_nodepool(name="asleep", is_ready=False),
        builders.a_nodepool(name="static", replicas=2),
        builders.a_nodepool(name="leaving", deletion_ns=builders.NOW_NS, replicas=2),
        builders.a_nodepool(name="foreign", node_class_ref=NodeClassRef("karpenter.azure.com", "AKSNodeClass", "x")),
        builders.a_nodepool(name="light"),
        builders.a_nodepool(name="heavy", weight=10),
    )
    results = pool_types(Inventory(nodepools=pools), {"light": (a_type("one"),)}, SETTINGS)
    assert [(types.pool.name, types.rank, types.why_not) for types in results] == [
        ("heavy", 1, ""),
        ("light", 2, ""),
        ("asleep", None, "not Ready"),
        ("foreign", None, "another provider's: Karpenter for AWS skips it"),
        ("leaving", None, "being deleted"),
        ("static", None, "static: it keeps its replicas and accepts no pending pods"),
    ]
    assert [len(types.verdicts) for types in results] == [0, 1, 0, 0, 0, 0]


def test_min_values_that_cannot_be_met() -> None:
    pool = builders.a_nodepool(
        requirements=(builders.a_requirement("node.kubernetes.io/instance-type", "In", "a", "b", min_values=2),)
    )
    assert types_of_pool(a_type("a"), pool=pool).why_not == (
        "minValues of node.kubernetes.io/instance-type is not met: only 1 value offered"
    )
    lenient = parse_settings({"MIN_VALUES_POLICY": "BestEffort"})
    assert types_of_pool(a_type("a"), pool=pool, settings=lenient).why_not == ""


def test_types_are_excluded_by_exhausted_limits() -> None:
    pool = builders.a_nodepool(limits=builders.amounts({"nvidia.com/gpu": "1"}))
    node = builders.a_node(allocatable={"nvidia.com/gpu": "2"})
    result = types_of_pool(
        a_type("a"), pool=pool, nodes=(node,), nodeclaims=(builders.a_nodeclaim(),)
    )  # fmt: skip
    assert removed(result) == {"a": ("limits", "nvidia.com/gpu")}


def test_types_excluded_by_each_daemonset() -> None:
    pool = builders.a_nodepool(
        taints=(Taint("dedicated", "NoSchedule", "x"),),
        requirements=(builders.a_requirement("node.kubernetes.io/instance-type", "In", "few", "small", "large"),),
    )
    daemonsets = (
        builders.a_daemonset(name="agent"),
        builders.a_daemonset(name="heavy", memory="6Gi"),
        builders.a_daemonset(name="intolerant", tolerations=()),
        builders.a_daemonset(name="picky", node_selector={"node.kubernetes.io/instance-type": "other"}),
        builders.a_daemonset(name="typed", node_selector={"kind": "gpu"}),
    )
    types = (a_type("few", memory="32Gi", pods="1"), a_type("small", memory="6Gi"), a_type("large", memory="32Gi"))
    told = {
        item.key.partition("/")[2]: item for item in types_of_pool(*types, pool=pool, daemonsets=daemonsets).daemonsets
    }
    assert {name: (result.types, result.excluded, result.one_too_many) for name, result in told.items()} == {
        "agent": (3, ("few", "small"), ()),
        "heavy": (3, ("few", "small"), ("few", "small")),
        "intolerant": (0, (), ()),
        "picky": (0, (), ()),
        "typed": (0, (), ()),
    }
    assert told["agent"].why_not == ""
    assert told["intolerant"].why_not == "does not tolerate dedicated=x:NoSchedule"
    assert "node.kubernetes.io/instance-type" in told["picky"].why_not
    assert told["typed"].why_not == 'label "kind" does not have known values'


def test_why_a_daemonset_fits_none_of_the_types() -> None:
    picky = builders.a_daemonset(node_selector={"node.kubernetes.io/instance-type": "other"})
    assert types_of_pool(a_type("one"), daemonsets=(picky,)).daemonsets[0].why_not == (
        "its node selector or affinity fits none of the types"
    )
    assert types_of_pool(daemonsets=(picky,)).daemonsets[0].why_not == "no type is left to run it"


def test_used_and_remaining_limits() -> None:
    pool = builders.a_nodepool(limits=builders.amounts({"cpu": "5", "nodes": "2"}))
    nodes = tuple(builders.a_node(name=f"node-{i}", cpu="2", memory="8Gi") for i in range(2))
    claims = tuple(builders.a_nodeclaim(name=f"claim-{i}", node=f"node-{i}") for i in range(2))
    result = types_of_pool(a_type("a"), pool=pool, nodes=nodes, nodeclaims=claims)
    assert result.used["nodes"] == 2 * 10**9
    assert result.remaining["nodes"] == 0
    assert result.used["cpu"] + result.remaining["cpu"] == 5 * 10**9
    assert result.used["memory"] > 0
    assert "memory" not in result.remaining
    leaving = types_of_pool(
        a_type("a"),
        pool=pool,
        nodes=nodes,
        nodeclaims=(claims[0], builders.a_nodeclaim(name="claim-1", node="node-1", deletion_ns=1)),
    )
    assert leaving.used["nodes"] == 10**9


@pytest.mark.parametrize(("nodes", "expected"), [("1", ("limits", "nodes")), ("2", (None, ""))])
def test_types_are_excluded_if_no_node_is_left_of_a_limit(nodes: str, expected: tuple[str | None, str]) -> None:
    pool = builders.a_nodepool(limits=builders.amounts({"nodes": nodes}))
    claim = builders.a_nodeclaim(node="node-1")
    result = types_of_pool(a_type("a"), pool=pool, nodes=(builders.a_node(),), nodeclaims=(claim,))
    assert removed(result) == {"a": expected}


def test_types_are_computed_again_only_if_an_input_changes() -> None:
    pool, types = builders.a_nodepool(limits=builders.amounts({"cpu": "100"})), (a_type("m.small"),)
    first, after_a_report, after_growth = (
        types_of_pool(*types, pool=pool, nodes=(builders.a_node(created_ns=created_ns, cpu=cpu),))
        for created_ns, cpu in ((1, "2"), (2, "2"), (2, "64"))
    )
    assert after_a_report.verdicts is first.verdicts
    assert after_growth.remaining["cpu"] < first.remaining["cpu"]


def test_the_first_daemonset_that_does_not_fit() -> None:
    daemonsets = tuple(builders.a_daemonset(name=name) for name in "abcd")
    result = types_of_pool(a_type("two", pods="2"), a_type("one", pods="1"), a_type("ten"), daemonsets=daemonsets)
    told = {item.key.partition("/")[2]: (item.one_too_many, item.excluded) for item in result.daemonsets}
    assert told == {"a": ((), ()), "b": (("one",), ()), "c": (("two",), ()), "d": ((), ())}
