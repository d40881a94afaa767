from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from karptui.aws.auto_mode import auto_mode_types, is_launched
from karptui.aws.catalogue import instance_type_facts
from karptui.aws.nodeclass import read_auto_mode
from karptui.aws.prices import PriceSettings, built_in_market
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.labels import AUTO_MODE_LABELS
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.settings import Settings

SUBNETS: Mapping[str, Any] = {"subnets": [{"id": "subnet-1", "zone": "us-east-1a", "zoneID": "use1-az4"}]}


def a_nodeclass(*, spec: Mapping[str, Any] | None = None, status: Mapping[str, Any] = SUBNETS) -> NodeClass:
    return NodeClass(name="default", kind="NodeClass", group="eks.amazonaws.com", spec=spec or {}, status=status)


def types_of(
    nodeclass: NodeClass, *, share: float = 0.12, asked: frozenset[str] = frozenset()
) -> dict[str, InstanceType]:
    zones = read_auto_mode(nodeclass).zones
    instance_types = auto_mode_types(nodeclass, Settings(), built_in_market("us-east-1", zones),
                                     facts=instance_type_facts().values(), prices=PriceSettings(auto_mode_share=share),
                                     requested_labels=asked)  # fmt: skip
    return {instance_type.name: instance_type for instance_type in instance_types}


@pytest.mark.parametrize(
    ("name", "launches"),
    [("m5.large", True), ("t3.small", False), ("t3.medium", True), ("m7g.medium", False), ("m3.large", False)],
)
def test_families_and_sizes_match_the_documentation(name: str, launches: bool) -> None:
    assert is_launched(instance_type_facts()[name]) is launches
    assert (name in types_of(a_nodeclass())) is launches


def test_pods_and_labels_are_those_of_auto_mode() -> None:
    instance_types = types_of(a_nodeclass())
    assert {str(instance_types[name].capacity["pods"]) for name in ("m5.4xlarge", "m5.24xlarge")} == {"110"}
    assert str(instance_types["m5.large"].capacity["pods"]) == "29"
    instance_type = types_of(a_nodeclass())["g6.xlarge"]
    labels = {requirement.key: requirement.values for requirement in instance_type.requirements}
    assert labels["eks.amazonaws.com/instance-gpu-name"] == ("l4",)
    assert labels["eks.amazonaws.com/compute-type"] == ("auto",)
    assert labels.keys() >= AUTO_MODE_LABELS
    keys = {*labels, *(term.key for offering in instance_type.offerings for term in offering.requirements)}
    assert not any(key.startswith("karpenter.k8s.aws/") for key in keys)
    instance_type = types_of(a_nodeclass(), asked=frozenset({"eks.amazonaws.com/rack", "example.com/team"}))["m5.large"]
    assert instance_type.unknown_keys == {"eks.amazonaws.com/rack"}


@pytest.mark.parametrize(("size", "name", "expected"), [
    (None, "m5.large", 80 << 30),
    ("160Gi", "m5.large", 160 << 30),
    (None, "i4i.large", 468 * 10**9),
    ("1Ti", "i4i.large", 1 << 40),
])  # fmt: skip
def test_storage_is_the_larger_of_volume_and_local_disks(size: str | None, name: str, expected: int) -> None:
    spec = {} if size is None else {"ephemeralStorage": {"size": size}}
    assert types_of(a_nodeclass(spec=spec))[name].capacity["ephemeral-storage"].units == expected


def test_every_price_includes_the_auto_mode_charge() -> None:
    free, charged = (types_of(a_nodeclass(), share=share)["m5.large"] for share in (0.0, 0.25))
    for before, after in zip(free.offerings, charged.offerings, strict=True):
        assert after.price_per_hour == pytest.approx(before.price_per_hour * 1.25)
