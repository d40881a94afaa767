from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from karptui.aws.evidence import Evidence
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.karpenter.settings import Settings
from karptui.session.pool_types import offered_types
from tests.builders import a_node, a_nodepool


def test_types_are_unknown_without_a_nodeclass_or_those_seen_on_nodes_of_other_providers() -> None:
    pool = a_nodepool(name="own", is_ready=False)
    other = replace(a_nodepool(name="other"), node_class_ref=NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "k"))
    inventory = Inventory(nodepools=(pool, other), nodes=(a_node(pool="other"),))
    offered = offered_types(inventory, Settings(), Evidence())
    types, notes = offered.types, offered.notes
    assert isinstance(types, Mapping)
    assert set(types) == {"other"}
    assert [instance_type.name for instance_type in types["other"]] == ["m5.large"]
    unknown = "EC2NodeClass default, which is not among those that were read"
    assert f"NodePool own: no instance types are known for {unknown}" in notes
    told = "the instance types and prices of KWOKNodeClass are not known: 1 type seen on 1 node is used instead"
    assert told in notes


def test_an_unread_nodeclass_of_a_ready_nodepool_is_assumed_from_the_nodes() -> None:
    node = replace(a_node(pool="own"), os_image="Bottlerocket OS 1.49.0 (aws-k8s-1.33)")
    offered = offered_types(Inventory(nodepools=(a_nodepool(name="own"),), nodes=(node,)), Settings(), Evidence())
    assert isinstance(offered.types, Mapping)
    assert len(offered.types["own"]) > 1000
    assert offered.notes[-1] == (
        "EC2NodeClass default was not read: bottlerocket@latest in the zones of the nodes is assumed, "
        "with the kubelet's defaults"
    )
