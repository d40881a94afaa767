from __future__ import annotations

from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.state.reducer import Batch, reduce
from karptui.state.usage import NO_USAGE
from tests.builders import a_node, a_nodepool, a_pod, an_owner
from tests.state.stories import after, told


def test_each_change_makes_a_new_generation_and_leaves_the_previous_one_alone() -> None:
    first = after(told(Kind.NODE, a_node(name="node-1")))
    second = after(told(Kind.NODE, a_node(name="node-2")), begin=first)
    assert (first.generation, second.generation) == (1, 2)
    assert list(first.nodes) == ["node-1"]
    assert list(second.nodes) == ["node-1", "node-2"]


@pytest.mark.parametrize("batch", [
    Batch({}),
    told(Kind.NODE),
    told(Kind.NODE, gone=("never-seen",)),
    told(Kind.NODE, a_node(name="node-1")),
    told(Kind.NODE, a_node(name="node-1"), replaces=True),
    told(Kind.POD),
])  # fmt: skip
def test_a_batch_without_changes_returns_the_same_state(batch: Batch) -> None:
    state = after(told(Kind.NODE, a_node(name="node-1")))
    assert reduce(state, batch) is state


def test_parts_that_a_batch_does_not_touch_stay_the_same_objects() -> None:
    before = after(told(Kind.NODE, a_node()), told(Kind.POD, a_pod(node="node-1")))
    now = reduce(before, told(Kind.NODEPOOL, a_nodepool()))
    assert now.nodes is before.nodes
    assert now.pods is before.pods
    assert now.node_usage is before.node_usage
    assert now.pods_by_node is before.pods_by_node
    assert now.links is before.links
    before = after(told(Kind.POD, a_pod(name="a", node="node-1"), a_pod(name="b", node="node-2")))
    now = reduce(before, told(Kind.POD, a_pod(name="c", node="node-2")))
    assert now.node_usage["node-1"] is before.node_usage["node-1"]
    assert now.pods_by_node["node-1"] is before.pods_by_node["node-1"]
    assert now.node_usage["node-2"].workload_pods == 2


def amounts(state: Any, node: str = "node-1") -> tuple[int, int, int, int]:
    """Return the millicores and pods of DaemonSets, then those of other workloads."""
    usage = state.node_usage.get(node, NO_USAGE)
    cpu = [part["cpu"].millis if "cpu" in part else 0 for part in (usage.daemonset, usage.workload)]
    return cpu[0], usage.daemonset_pods, cpu[1], usage.workload_pods


class TestUsage:
    def test_daemonset_pods_are_counted_separately(self) -> None:
        now = after(
            told(
                Kind.POD,
                a_pod(name="agent-1", node="node-1", daemonset="agent", cpu="50m"),
                a_pod(name="web-1", node="node-1", cpu="250m"),
                a_pod(name="static", node="node-1", owner=an_owner(kind="Node", api_version="v1"), cpu="10m"),
            )
        )
        assert amounts(now) == (50, 1, 260, 2)
        assert now.node_usage["node-1"].workload["pods"].units == 2
        assert now.node_usage["node-1"].pods == 3
