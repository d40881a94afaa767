from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.capacity import ephemeral_storage
from karptui.aws.catalogue import instance_type_facts
from karptui.aws.labels import RESERVATION_ID
from karptui.aws.nodeclass import NodeClassError
from karptui.aws.offerings import PlacementGroup, incompatibility
from karptui.aws.prices import Market
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.labels import CAPACITY_TYPE, ZONE
from tests.aws.builders import a_market, a_nodeclass, resolve, some_settings


def offered(instance_type: InstanceType) -> dict[tuple[str, str], bool]:
    result = {}
    for offering in instance_type.offerings:
        values = {requirement.key: requirement.values[0] for requirement in offering.requirements if requirement.values}
        result[values[CAPACITY_TYPE], values[ZONE]] = offering.is_available
    return result


def test_an_assumed_spot_price_is_marked() -> None:
    def stood_in(market: Market) -> set[tuple[str, float]]:
        offerings = resolve("m5.large", market=market).offerings
        return {(item.requirements[0].values[0], item.price_per_hour) for item in offerings if item.is_price_assumed}

    assert stood_in(a_market()) == {("spot", 0.096)}
    prices = {("m5.large", zone): 0.04 for zone in ("us-east-1a", "us-east-1b")}
    assert not stood_in(replace(a_market(), spot_price_per_hour=prices))


RESERVATION = {"id": "cr-1", "instanceType": "m5.large", "availabilityZone": "us-east-1a", "state": "active"}


def test_without_the_gate_there_are_no_reserved_offerings() -> None:
    nodeclass = a_nodeclass(status={"capacityReservations": [RESERVATION]})
    market = replace(a_market(), instances_left={"cr-1": 1})
    instance_type = resolve("m5.large", nodeclass, some_settings(FEATURE_GATES="ReservedCapacity=false"), market=market)
    assert {key for key, _ in offered(instance_type)} == {"on-demand", "spot"}
    assert {item.key: item.values for item in instance_type.requirements}[RESERVATION_ID] == ("cr-1",)


INTERFACE = {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}


@pytest.mark.parametrize(("name", "spec", "group", "reason"), [
    ("m5.large", {}, None, None),
    ("a1.large", {}, None, "a1 types cannot boot AL2023"),
    ("a1.large", {"alias": "al2@latest"}, None, None),
    ("m1.small", {"networkInterfaces": []}, None, "networkInterfaces need an Elastic Network Adapter"),
    ("m5.large", {"networkInterfaces": [INTERFACE]}, None, None),
    ("m5.large", {"networkInterfaces": [{**INTERFACE, "networkCardIndex": 1}]}, None, "has no network card 1"),
    ("m5.large", {"networkInterfaces": [{**INTERFACE, "deviceIndex": 3}]}, None,
     "network card 0 has no device index 3"),
    ("m5.large", {"networkInterfaces": [{**INTERFACE, "interfaceType": "efa-only"}]}, None,
     "has 0 EFA interfaces, 1 are requested"),
    ("m5.large", {"cpuOptions": {"nestedVirtualization": "enabled"}}, None, "does not support nested virtualization"),
    ("m5.large", {"cpuOptions": {"nestedVirtualization": "disabled"}}, None, None),
    ("t3.large", {}, PlacementGroup("pg-1", "cluster"), "does not support cluster placement groups"),
    ("m5.metal", {"connectionTracking": {}}, None, "connection tracking needs the Nitro hypervisor"),
    ("m5.large", {"connectionTracking": {}}, None, None),
])  # fmt: skip
def test_compatibility(name: str, spec: dict[str, Any], group: PlacementGroup | None, reason: str | None) -> None:
    nodeclass = a_nodeclass(**spec)
    assert incompatibility(instance_type_facts()[name], nodeclass, group) == reason
    assert any(offered(resolve(name, nodeclass, placement_group=group)).values()) is (reason is None)


def volume(device: str | None = "/dev/xvda", size: str | int | None = None, *, root: bool = False) -> dict[str, Any]:
    mapping: dict[str, Any] = {"ebs": {} if size is None else {"volumeSize": size}}
    if device is not None:
        mapping["deviceName"] = device
    if root:
        mapping["rootVolume"] = True
    return mapping


@pytest.mark.parametrize(("mappings", "sentence"), [
    ([{"deviceName": "/dev/xvda"}], "spec.blockDeviceMappings[0] has no ebs"),
    ([volume("/dev/sdf", "1Gi"), volume(None, "1Gi")], "spec.blockDeviceMappings[1] has no deviceName"),
    ([volume(size="large")], "spec.blockDeviceMappings[0].ebs.volumeSize: 'large' is not a quantity"),
])  # fmt: skip
def test_values_that_crash_karpenter_are_reported(mappings: list[dict[str, Any]], sentence: str) -> None:
    with pytest.raises(NodeClassError) as caught:
        ephemeral_storage(instance_type_facts()["m5.large"], a_nodeclass(blockDeviceMappings=mappings))
    assert sentence in str(caught.value)
