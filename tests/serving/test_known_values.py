from __future__ import annotations

from sys import getrefcount

from karptui.aws.evidence import Evidence
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import ARCH, ZONE
from karptui.karpenter.nodepool import NodePool
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.serving.known_values import known_values, label_values
from karptui.session.cluster_view import ClusterView
from tests.builders.clusters import state_of


def in_(key: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key, "In", values)


def of(name: str, *arches: str, zones: tuple[str, ...] = ()) -> InstanceType:
    offerings = tuple(Offering(requirements=(in_(ZONE, zone),), price_per_hour=1.0) for zone in zones)
    return InstanceType(name=name, requirements=(in_(ARCH, *arches),), capacity={}, offerings=offerings)


def test_values_of_types_and_of_their_offerings_are_told_once_and_in_order() -> None:
    types = (of("a", "arm64", zones=("b", "a")), of("b", "amd64", "arm64", zones=("a",)))
    assert label_values(types) == {ARCH: ("amd64", "arm64"), ZONE: ("a", "b")}


def viewed(types: tuple[InstanceType, ...]) -> ClusterView:
    state = state_of(Inventory(nodepools=(NodePool(name="one"),)))
    return ClusterView(state, {}, evidence=Evidence(instance_types=types))


def test_the_same_types_are_looked_through_once_and_those_before_are_let_go() -> None:
    types = (of("a", "arm64"),)
    view, held = viewed(types), getrefcount(types)
    assert known_values(view).types is known_values(view).types
    assert getrefcount(types) > held
    assert known_values(viewed((of("b", "amd64"),))).labels == {ARCH: ("amd64",)}
    assert getrefcount(types) == held


def test_values_that_nodepools_give_are_added() -> None:
    pools = (
        NodePool(name="one", template_labels={"team": "blue", ARCH: "riscv64"}),
        NodePool(name="two", template_labels={"team": "amber"}),
    )
    state = state_of(Inventory(nodepools=pools))
    view = ClusterView(state, {}, evidence=Evidence(instance_types=(of("a", "arm64"),)))
    assert known_values(view).labels == {ARCH: ("arm64", "riscv64"), "team": ("amber", "blue")}
