from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from karptui.aws.cluster_types import _Images, current_image, discovered_memory_bytes, observed_types
from karptui.aws.nodeclass import Ec2NodeClass, parse_spec_and_status
from karptui.karpenter.labels import ARCH, INSTANCE_TYPE, REGISTERED, ZONE
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.kube.objects import Node
from karptui.kube.quantity import Quantity, of_units, parse_quantity

ARCHS = ("amd64", "arm64")
BETA_ARCH = "beta.kubernetes.io/arch"
AMIS = [{"id": f"ami-{arch}", "requirements": [{"key": ARCH, "operator": "In", "values": [arch]}]} for arch in ARCHS]


def a_class(name: str = "default", amis: list[dict[str, Any]] = AMIS) -> Ec2NodeClass:
    return parse_spec_and_status(name, {}, {"amis": amis})


def a_node(
    memory_bytes: int | None,
    *,
    image: str = "ami-amd64",
    nodeclass: str = "default",
    registered: str = "true",
    instance_type: str = "m5.large",
    labels: Mapping[str, str] = MappingProxyType({ARCH: "amd64"}),
) -> tuple[Node, NodeClaim]:
    named = {INSTANCE_TYPE: instance_type, REGISTERED: registered, **labels}
    capacity = {} if memory_bytes is None else {"memory": of_units(memory_bytes)}
    claim = NodeClaim(name="claim", image_id=image, node_class_ref=NodeClassRef(name=nodeclass))
    return Node(name="node", labels=named, capacity=capacity), claim


def test_which_reports_of_memory_count() -> None:
    nodes = [a_node(1, registered=""), a_node(1, image="ami-old"), a_node(1, nodeclass="gone"), a_node(None)]
    assert discovered_memory_bytes([a_class()], nodes) == {"default": {}}
    twin = a_class("twin", list(reversed(AMIS)))
    other = a_class("other", AMIS[:1])
    numbers = discovered_memory_bytes([a_class(), twin, other], [a_node(8_000)])
    assert numbers == {"default": {"m5.large": 8_000}, "twin": {"m5.large": 8_000}, "other": {}}


def test_the_first_image_that_fits_is_the_current_one() -> None:
    amis = a_class(amis=[*AMIS, {"id": "ami-any"}]).amis
    assert current_image(amis, {ARCH: "arm64"}) == "ami-arm64"
    assert current_image(amis, {ARCH: "riscv"}) == "ami-any"
    assert current_image((), {ARCH: "amd64"}) is None


LABELS = st.dictionaries(
    st.sampled_from([ARCH, BETA_ARCH, ZONE, "topology.ebs.csi.aws.com/zone", "team"]), st.sampled_from("abc")
)
SELECTORS = st.lists(st.fixed_dictionaries({"key": st.sampled_from([ARCH, BETA_ARCH, ZONE, "team", "never"]),
                                            "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
                                            "values": st.lists(st.sampled_from("abc"), min_size=1, max_size=2)}),
                     max_size=2)  # fmt: skip


@given(st.lists(SELECTORS, max_size=4), st.lists(LABELS, min_size=1, max_size=8))
def test_cached_images_equal_computed_ones(terms: list[list[dict[str, Any]]], nodes: list[dict[str, str]]) -> None:
    listed = [
        {"id": f"ami-{at}", "requirements": [_selector(**document) for document in each]}
        for at, each in enumerate(terms)
    ]
    amis = a_class(amis=listed).amis
    images = _Images(amis)
    for labels in (*nodes, *reversed(nodes)):
        assert images.current(labels) == current_image(amis, labels)


def _selector(key: str, operator: str, values: list[str]) -> dict[str, Any]:
    named = {"key": key, "operator": operator}
    return {**named, "values": values} if operator in ("In", "NotIn") else named


def node(name: str, instance_type: str, memory: str, **more: str) -> Node:
    capacity = {"memory": parse_quantity(memory), **{key: parse_quantity(text) for key, text in more.items()}}
    labels = {"node.kubernetes.io/instance-type": instance_type} if instance_type else {}
    return Node(name=name, labels=labels, capacity=capacity, allocatable={"memory": parse_quantity(memory)})


def units(amount: Quantity) -> int:
    return amount.units


def test_smallest_and_largest_of_each_resource() -> None:
    observed = observed_types([node(str(n), "m5.large", text) for n, text in enumerate(("8Gi", "6Gi", "7Gi"))])
    memory = observed["m5.large"].capacity["memory"]
    assert observed["m5.large"].node_count == 3
    assert [units(amount) >> 30 for amount in (memory.smallest, memory.largest)] == [6, 8]
    assert not memory.is_uniform
    assert observed["m5.large"].allocatable["memory"] == memory
