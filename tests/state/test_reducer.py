from __future__ import annotations

from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.state.cluster import EMPTY
from karptui.state.reducer import Batch, reduce
from tests.builders import a_node, a_nodepool, a_pod, a_pod_template, an_owner
from tests.state.stories import after, told


def test_the_empty_state_knows_nothing() -> None:
    assert EMPTY.generation == 0
    assert not EMPTY.nodes
    assert not EMPTY.pods
    assert not EMPTY.pending_pods
    assert not EMPTY.pods_on("node-1")
    assert EMPTY.usage("node-1").pods == 0
    assert EMPTY.claim_of("node-1") is None
    assert EMPTY.node_of("general-abcde") is None
    assert list(EMPTY.claims_without_node()) == []


def test_each_change_makes_a_generation_and_leaves_the_one_before_as_it_was() -> None:
    first = after(told(Kind.NODE, a_node(name="node-1")))
    second = after(told(Kind.NODE, a_node(name="node-2")), begin=first)
    assert (first.generation, second.generation) == (1, 2)
    assert list(first.nodes) == ["node-1"]
    assert list(second.nodes) == ["node-1", "node-2"]


@pytest.mark.parametrize(
    "batch",
    [
        Batch({}),
        told(Kind.NODE),
        told(Kind.NODE, gone=("never-seen",)),
        told(Kind.NODE, a_node(name="node-1")),
        told(Kind.NODE, a_node(name="node-1"), replaces=True),
        told(Kind.POD),
    ],
)
def test_what_is_told_again_as_it_was_changes_nothing(batch: Batch) -> None:
    state = after(told(Kind.NODE, a_node(name="node-1")))
    assert reduce(state, batch) is state


def test_a_pod_told_again_as_it_was_changes_nothing() -> None:
    template = a_pod_template()
    state = after(told(Kind.POD, a_pod(template=template, node="node-1")))
    assert reduce(state, told(Kind.POD, a_pod(template=template, node="node-1"))) is state
    assert reduce(state, told(Kind.POD, a_pod(template=template, node="node-2"))) is not state


def test_kinds_that_a_batch_does_not_touch_stay_the_same_objects() -> None:
    before = after(told(Kind.NODE, a_node()), told(Kind.POD, a_pod(node="node-1")))
    now = reduce(before, told(Kind.NODEPOOL, a_nodepool()))
    assert now.nodes is before.nodes
    assert now.pods is before.pods
    assert now.node_usage is before.node_usage
    assert now.pods_by_node is before.pods_by_node
    assert now.links is before.links


def test_usage_of_nodes_that_a_batch_does_not_touch_stays_the_same_object() -> None:
    before = after(told(Kind.POD, a_pod(name="a", node="node-1"), a_pod(name="b", node="node-2")))
    now = reduce(before, told(Kind.POD, a_pod(name="c", node="node-2")))
    assert now.node_usage["node-1"] is before.node_usage["node-1"]
    assert now.pods_by_node["node-1"] is before.pods_by_node["node-1"]
    assert now.usage("node-2").workload_pods == 2


def test_replacing_a_kind_drops_what_is_not_in_the_list_and_takes_its_order() -> None:
    before = after(told(Kind.NODE, a_node(name="a"), a_node(name="b"), a_node(name="c")))
    now = reduce(before, told(Kind.NODE, a_node(name="d"), a_node(name="b"), replaces=True))
    assert list(now.nodes) == ["d", "b"]
    assert now.nodes["b"] is before.nodes["b"]


def test_an_object_that_changes_keeps_its_place() -> None:
    now = after(
        told(Kind.NODE, a_node(name="a"), a_node(name="b")), told(Kind.NODE, a_node(name="a", is_unschedulable=True))
    )
    assert list(now.nodes) == ["a", "b"]
    assert now.nodes["a"].is_unschedulable


def test_an_object_that_comes_back_goes_to_the_end() -> None:
    now = after(
        told(Kind.NODE, a_node(name="a"), a_node(name="b")),
        told(Kind.NODE, gone=("a",)),
        told(Kind.NODE, a_node(name="a")),
    )
    assert list(now.nodes) == ["b", "a"]


def amounts(state: Any, node: str = "node-1") -> tuple[int, int, int, int]:
    """Return millicores and pods of DaemonSets and of the workload."""
    usage = state.usage(node)
    cpu = [part["cpu"].millis if "cpu" in part else 0 for part in (usage.daemonset, usage.workload)]
    return cpu[0], usage.daemonset_pods, cpu[1], usage.workload_pods


class TestUsage:
    def test_daemonset_pods_are_counted_apart(self) -> None:
        now = after(
            told(
                Kind.POD,
                a_pod(name="agent-1", node="node-1", daemonset="agent", cpu="50m"),
                a_pod(name="web-1", node="node-1", cpu="250m"),
                a_pod(name="static", node="node-1", owner=an_owner(kind="Node", api_version="v1"), cpu="10m"),
            )
        )
        assert amounts(now) == (50, 1, 260, 2)
        assert now.usage("node-1").workload["pods"].units == 2
        assert now.usage("node-1").requests["pods"].units == 3
        assert now.usage("node-1").pods == 3

    def test_a_pod_may_come_before_its_node(self) -> None:
        now = after(told(Kind.POD, a_pod(node="node-1")), told(Kind.NODE, a_node(name="node-1")))
        assert amounts(now) == (0, 0, 100, 1)

    def test_binding_moves_a_pod_from_the_pending_ones_to_its_node(self) -> None:
        pending = after(told(Kind.POD, a_pod(name="web-1")))
        assert list(pending.pending_pods) == ["default/web-1"]
        assert not pending.node_usage
        now = reduce(pending, told(Kind.POD, a_pod(name="web-1", node="node-1")))
        assert not now.pending_pods
        assert amounts(now) == (0, 0, 100, 1)

    def test_every_resource_is_summed_exactly_and_what_comes_to_nothing_is_left_out(self) -> None:
        gpu = {"nvidia.com/gpu": "1", "ephemeral-storage": "100m"}
        now = after(
            told(
                Kind.POD,
                a_pod(name="a", node="node-1", cpu="1n", memory="0", requests=gpu),
                a_pod(name="b", node="node-1", cpu="1n", memory=""),
            )
        )
        workload = now.usage("node-1").workload
        assert {name: amount.nano for name, amount in workload.items()} == {
            "cpu": 2,
            "pods": 2_000_000_000,
            "nvidia.com/gpu": 1_000_000_000,
            "ephemeral-storage": 100_000_000,
        }

    def test_a_pod_that_asks_for_the_same_leaves_the_sums_as_they_are(self) -> None:
        template = a_pod_template()
        before = after(told(Kind.POD, a_pod(node="node-1", template=template, is_ready=False)))
        now = reduce(before, told(Kind.POD, a_pod(node="node-1", template=template, is_ready=True)))
        assert now.node_usage["node-1"] is before.node_usage["node-1"]
        assert now.pods_on("node-1")["default/web-1"].ready
