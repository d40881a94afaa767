from __future__ import annotations

from karptui.aws.observed import observed_types
from karptui.kube.node import Node
from karptui.kube.quantity import Quantity, parse_quantity


def node(name: str, instance_type: str, memory: str, **more: str) -> Node:
    capacity = {"memory": parse_quantity(memory), **{key: parse_quantity(text) for key, text in more.items()}}
    labels = {"node.kubernetes.io/instance-type": instance_type} if instance_type else {}
    return Node(name=name, labels=labels, capacity=capacity, allocatable={"memory": parse_quantity(memory)})


def units(amount: Quantity) -> int:
    return amount.units


def test_smallest_median_and_largest_of_each_resource() -> None:
    observed = observed_types([node(str(n), "m5.large", text) for n, text in enumerate(("8Gi", "6Gi", "7Gi"))])
    memory = observed["m5.large"].capacity["memory"]
    assert observed["m5.large"].node_count == 3
    assert [units(amount) >> 30 for amount in (memory.smallest, memory.median, memory.largest)] == [6, 7, 8]
    assert not memory.is_uniform
    assert observed["m5.large"].allocatable["memory"] == memory


def test_the_median_is_a_value_that_a_node_reports() -> None:
    memory = observed_types([node("a", "t", "6Gi"), node("b", "t", "8Gi")])["t"].capacity["memory"]
    assert units(memory.median) >> 30 == 6


def test_types_in_order_and_resources_only_where_reported() -> None:
    observed = observed_types(
        [node("a", "z.large", "1Gi"), node("b", "a.large", "1Gi", gpu="1"), node("c", "a.large", "1Gi")]
    )
    assert list(observed) == ["a.large", "z.large"]
    assert observed["a.large"].capacity["gpu"].is_uniform
    assert "gpu" not in observed["z.large"].capacity


def test_nodes_that_say_nothing_do_not_count() -> None:
    silent = Node(name="new", labels={"node.kubernetes.io/instance-type": "m5.large"})
    assert observed_types([silent, node("a", "", "1Gi")]) == {}
