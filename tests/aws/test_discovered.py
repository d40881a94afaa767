"""Memory that nodes have reported."""

from __future__ import annotations

from typing import Any

from karptui.aws.discovered import current_image, discovered_memory_bytes
from karptui.aws.nodeclass import Ec2NodeClass, parse_spec_and_status
from karptui.karpenter.labels import ARCH, INSTANCE_TYPE, REGISTERED
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass_ref import NodeClassRef
from karptui.kube.node import Node
from karptui.kube.quantity import of_units

AMIS = [
    {"id": f"ami-{arch}", "requirements": [{"key": ARCH, "operator": "In", "values": [arch]}]}
    for arch in ("amd64", "arm64")
]


def a_class(name: str = "default", amis: list[dict[str, Any]] = AMIS) -> Ec2NodeClass:
    return parse_spec_and_status(name, {}, {"amis": amis})


def a_node(
    memory_bytes: int | None,
    *,
    image: str = "ami-amd64",
    nodeclass: str = "default",
    registered: str = "true",
    instance_type: str = "m5.large",
) -> tuple[Node, NodeClaim]:
    labels = {INSTANCE_TYPE: instance_type, ARCH: "amd64", REGISTERED: registered}
    capacity = {} if memory_bytes is None else {"memory": of_units(memory_bytes)}
    claim = NodeClaim(name="claim", image_id=image, node_class_ref=NodeClassRef(name=nodeclass))
    return Node(name="node", labels=labels, capacity=capacity), claim


def test_the_least_report_of_a_type_counts() -> None:
    nodes = [a_node(8_000), a_node(7_000), a_node(9_000), a_node(100, instance_type="t3.nano")]
    assert discovered_memory_bytes([a_class()], nodes) == {"default": {"m5.large": 7_000, "t3.nano": 100}}


def test_nodes_that_teach_nothing() -> None:
    nodes = [
        a_node(1, registered=""),
        a_node(1, image="ami-old"),
        a_node(1, nodeclass="gone"),
        a_node(None),
    ]
    assert discovered_memory_bytes([a_class()], nodes) == {"default": {}}


def test_nodeclasses_with_the_same_images_share_what_is_learned() -> None:
    twin = a_class("twin", list(reversed(AMIS)))
    other = a_class("other", AMIS[:1])
    found = discovered_memory_bytes([a_class(), twin, other], [a_node(8_000)])
    assert found == {"default": {"m5.large": 8_000}, "twin": {"m5.large": 8_000}, "other": {}}


def test_the_first_image_that_fits_is_the_current_one() -> None:
    amis = a_class(amis=[*AMIS, {"id": "ami-any"}]).amis
    assert current_image(amis, {ARCH: "arm64"}) == "ami-arm64"
    assert current_image(amis, {ARCH: "riscv"}) == "ami-any"
    assert current_image((), {ARCH: "amd64"}) is None
