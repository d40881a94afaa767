from __future__ import annotations

from typing import Any

from karptui.aws.nodeclass import SubnetZone
from karptui.aws.region import place_of
from karptui.karpenter.nodeclass import NodeClass
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
