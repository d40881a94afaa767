from __future__ import annotations

from karptui.forward.result import StepKind
from karptui.karpenter.settings import Settings
from karptui.kube.quantity import parse_quantity
from tests.builders import HOUR_NS, a_nodepool, a_pod
from tests.forward.making import a_pair, a_world, played, seconds, steps

STATIC = Settings(gates={"StaticCapacity": True})


def test_nodes_that_are_missing_are_launched_at_once() -> None:
    forecast = played(a_world(a_pair("node-1"), nodepools=[a_nodepool(replicas=3)]), settings=STATIC)
    (launched,) = steps(forecast, StepKind.PROVISION)
    assert (len(launched.claims), seconds(launched)) == (2, 0)
    assert forecast.end.nodes == 3


def test_without_the_gate_nothing_is_brought_to_replicas() -> None:
    forecast = played(a_world(a_pair("node-1"), nodepools=[a_nodepool(replicas=3)]))
    assert steps(forecast, StepKind.PROVISION) == []


def test_no_more_than_the_limit_of_nodes_are_launched() -> None:
    pool = a_nodepool(replicas=5, limits={"nodes": parse_quantity("2")})
    forecast = played(a_world(a_pair("node-1"), nodepools=[pool]), settings=STATIC)
    assert forecast.end.nodes == 2


def test_an_expired_node_is_launched_again() -> None:
    pair = a_pair("node-1", expire_after_ns=2 * HOUR_NS)
    forecast = played(a_world(pair, nodepools=[a_nodepool(replicas=1)]), settings=STATIC)
    kinds = [step.kind for step in forecast.steps]
    assert kinds[:2] == [StepKind.EXPIRE, StepKind.PROVISION]
    assert forecast.end.nodes == 1


def test_pods_of_daemonsets_have_nowhere_else_to_go() -> None:
    pods = [a_pod(name="ds", node="node-1", cpu="100m", daemonset="ds"), a_pod(name="web", node="node-1", cpu="100m")]
    forecast = played(a_world(a_pair("node-1"), nodepools=[a_nodepool(replicas=0)], pods=pods), settings=STATIC)
    (deleted,) = steps(forecast, StepKind.DISRUPT)
    assert (deleted.nodes, deleted.evictions, deleted.pods) == (("node-1",), 1, ("default/web",))


def test_of_nodes_that_are_more_than_replicas_the_empty_go_first_and_those_with_guarded_pods_last() -> None:
    pods = [
        a_pod(name="guarded", node="node-1", cpu="100m", annotations={"karpenter.sh/do-not-disrupt": "true"}),
        a_pod(name="free", node="node-3", cpu="100m"),
    ]
    pairs = [a_pair(f"node-{i}") for i in (1, 2, 3)]
    forecast = played(a_world(*pairs, nodepools=[a_nodepool(replicas=1)], pods=pods), settings=STATIC)
    deleted = steps(forecast, StepKind.DISRUPT)
    assert [(step.method, step.nodes) for step in deleted] == [
        ("static.deprovisioning", ("node-2",)),
        ("static.deprovisioning", ("node-3",)),
    ]
    assert forecast.end.nodes == 1
