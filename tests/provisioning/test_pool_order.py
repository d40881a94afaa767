"""In which order NodePools and pods are tried."""

from __future__ import annotations

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.provisioning import prepare
from karptui.provisioning.pool_order import usable_pools
from karptui.provisioning.waiting_pods import queue_order
from tests.builders import NOW_NS, a_nodepool, a_pod, an_instance_type


def test_of_equal_weight_the_name_that_comes_last_goes_first() -> None:
    pools = [a_nodepool(name="a"), a_nodepool(name="heavy", weight=10), a_nodepool(name="c"), a_nodepool(name="b")]
    assert [pool.name for pool in usable_pools(pools)] == ["heavy", "c", "b", "a"]


def test_pods_go_by_cpu_then_memory_then_age() -> None:
    pods = [
        a_pod(name="young", requests={"cpu": "1"}, created_ns=NOW_NS),
        a_pod(name="old", requests={"cpu": "1"}, created_ns=NOW_NS - 1),
        a_pod(name="wide", requests={"cpu": "1", "memory": "1Gi"}, created_ns=NOW_NS),
        a_pod(name="big", requests={"cpu": "2"}, created_ns=NOW_NS),
    ]
    prepared = prepare(
        Inventory(nodepools=(a_nodepool(),), pods=tuple(pods)), (an_instance_type(),), Settings(), NOW_NS
    )
    queue = queue_order([prepared.queued(pod) for pod in pods], prepared.columns.index)
    assert [queued.pod.name for queued in queue] == ["big", "wide", "old", "young"]
