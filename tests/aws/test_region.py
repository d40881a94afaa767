"""Where a cluster stands."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.nodeclass import SubnetZone
from karptui.aws.region import NOWHERE, place_of
from karptui.karpenter.nodeclass import NodeClass
from karptui.kube.node import Node
from tests import builders


def an_ec2_nodeclass(status: object, spec: dict[str, Any] | None = None) -> NodeClass:
    return NodeClass(
        name="default",
        group="karpenter.k8s.aws",
        kind="EC2NodeClass",
        spec=spec or {"amiSelectorTerms": [{"alias": "al2023@latest"}]},
        status={"subnets": status},
    )


def test_nodes_and_subnets_tell() -> None:
    nodeclass = an_ec2_nodeclass([{"zone": "eu-west-1b", "zoneID": "euw1-az2"}])
    place = place_of([builders.a_node(zone="eu-west-1a")], [nodeclass])
    assert place.region == "eu-west-1"
    assert place.zones == (SubnetZone("eu-west-1a", ""), SubnetZone("eu-west-1b", "euw1-az2"))


def test_an_invalid_nodeclass_is_skipped() -> None:
    broken = an_ec2_nodeclass([], {"kubelet": "many"})
    assert place_of([builders.a_node(zone="eu-west-1a")], [broken]).region == "eu-west-1"


@pytest.mark.parametrize(
    "node",
    [
        builders.a_node(zone="ap-southeast-1a", provider_id="alicloud://i-1"),
        builders.a_node(zone="europe-west1-b", provider_id="gce://p/europe-west1-b/n"),
        builders.a_node(zone=""),
    ],
    ids=["looks alike", "google", "no zone"],
)
def test_nodes_outside_aws_have_no_place(node: Node) -> None:
    assert place_of([node], []) == NOWHERE
