"""Whole types: offerings, compatibility, discovered memory."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.instance_types import allocatable, incompatible_types, instance_types
from karptui.aws.labels import PLACEMENT_GROUP_ID, PLACEMENT_GROUP_PARTITION, RESERVATION_ID, ZONE_ID
from karptui.aws.market import Market, OfferingKey
from karptui.aws.nodeclass import NodeClassError
from karptui.aws.offerings import PlacementGroup
from karptui.karpenter.instance_type import UNFULFILLABLE, InstanceType
from karptui.karpenter.labels import CAPACITY_TYPE, ZONE
from karptui.karpenter.settings import parse_settings
from tests.aws.builders import a_market, a_nodeclass, resolve, some_settings


def offered(instance_type: InstanceType) -> dict[tuple[str, str], bool]:
    found = {}
    for offering in instance_type.offerings:
        values = {one.key: one.values[0] for one in offering.requirements if one.values}
        found[values[CAPACITY_TYPE], values[ZONE]] = offering.is_available
    return found


def test_every_type_of_the_catalogue_is_returned() -> None:
    found = instance_types(a_nodeclass(), some_settings(), a_market())
    assert [one.name for one in found] == list(instance_type_facts())


def test_without_subnets_there_are_no_types() -> None:
    with pytest.raises(NodeClassError, match=r"EC2NodeClass default: status\.subnets is empty"):
        instance_types(a_nodeclass(status={"subnets": []}), some_settings(), a_market())


def test_offerings_are_zones_times_capacity_types() -> None:
    assert offered(resolve("m5.large")) == {
        ("on-demand", "us-east-1a"): True,
        ("spot", "us-east-1a"): True,
        ("on-demand", "us-east-1b"): True,
        ("spot", "us-east-1b"): True,
    }


def test_a_spot_price_that_nobody_knows_is_marked() -> None:
    def stood_in(market: Market) -> set[tuple[str, float]]:
        found = resolve("m5.large", market=market).offerings
        return {(one.requirements[0].values[0], one.price_per_hour) for one in found if one.is_price_assumed}

    assert stood_in(a_market()) == {("spot", 0.096)}
    prices = {("m5.large", zone): 0.04 for zone in ("us-east-1a", "us-east-1b")}
    assert not stood_in(replace(a_market(), spot_price_per_hour=prices))


def test_a_zone_without_a_subnet_is_unavailable_and_has_no_id() -> None:
    nodeclass = a_nodeclass(status={"subnets": [{"zone": "us-east-1a", "zoneID": "use1-az4"}]})
    found = resolve("m5.large", nodeclass)
    assert [key for key, is_available in offered(found).items() if is_available] == [
        ("on-demand", "us-east-1a"),
        ("spot", "us-east-1a"),
    ]
    ids = [one.values for offering in found.offerings for one in offering.requirements if one.key == ZONE_ID]
    assert ids == [("use1-az4",), ("use1-az4",)]


def test_a_type_without_a_price_is_unavailable() -> None:
    found = resolve("p5e.48xlarge")
    assert not any(offered(found).values())
    assert {offering.price_per_hour for offering in found.offerings} == {0.0}


def test_pools_that_ec2_has_refused_are_unavailable() -> None:
    market = replace(a_market(), sold_out={OfferingKey("spot", "m5.large", "us-east-1b"): UNFULFILLABLE})
    found = offered(resolve("m5.large", market=market))
    assert [key for key, is_available in found.items() if not is_available] == [("spot", "us-east-1b")]


RESERVATION = {"id": "cr-1", "instanceType": "m5.large", "availabilityZone": "us-east-1a", "state": "active"}


@pytest.mark.parametrize(
    ("changes", "left", "is_available"),
    [
        ({}, 3, True),
        ({}, 0, True),
        ({"state": "expiring"}, 3, False),
        ({"availabilityZone": "us-east-1f"}, 3, False),
    ],
)
def test_reservations(changes: dict[str, Any], left: int, is_available: bool) -> None:
    nodeclass = a_nodeclass(status={"capacityReservations": [{**RESERVATION, **changes}]})
    market = replace(a_market(), instances_left={"cr-1": left})
    (reserved,) = (o for o in resolve("m5.large", nodeclass, market=market).offerings if o.price_per_hour < 0.01)
    assert (reserved.is_available, reserved.reservation_capacity) == (is_available, left)
    assert reserved.price_per_hour == 0.096 / 10_000_000


def test_until_1_14_a_full_reservation_is_not_available() -> None:
    nodeclass = a_nodeclass(status={"capacityReservations": [RESERVATION]})
    for version, is_available in (("1.14.1", False), ("1.15.0", True)):
        settings = parse_settings({}, version)
        offerings = resolve("m5.large", nodeclass, settings).offerings
        (reserved,) = (one for one in offerings if one.is_reserved)
        assert (reserved.is_available, reserved.is_launchable(settings.rules)) == (is_available, False)


def test_a_refusal_holds_for_one_reservation() -> None:
    reservations = [RESERVATION, {**RESERVATION, "id": "cr-2"}]
    nodeclass = a_nodeclass(status={"capacityReservations": reservations})
    refused = {OfferingKey("reserved", "m5.large", "us-east-1a", "cr-2"): UNFULFILLABLE}
    market = replace(a_market(), instances_left={"cr-1": 1, "cr-2": 1}, sold_out=refused)
    offerings = resolve("m5.large", nodeclass, market=market).offerings
    assert [one.is_available for one in offerings if one.is_reserved] == [True, False]


def test_enclaves_rule_out_types_without_them() -> None:
    for name, options, is_sold in (
        ("m5.large", {"enabled": True}, False),
        ("m5.xlarge", {"enabled": True}, True),
        ("m5.large", {"enabled": False}, True),
    ):
        found = resolve(name, a_nodeclass(enclaveOptions=options))
        assert any(one.is_available for one in found.offerings) is is_sold


def test_without_the_gate_there_are_no_reserved_offerings() -> None:
    nodeclass = a_nodeclass(status={"capacityReservations": [RESERVATION]})
    market = replace(a_market(), instances_left={"cr-1": 1})
    found = resolve("m5.large", nodeclass, some_settings(FEATURE_GATES="ReservedCapacity=false"), market=market)
    assert {key for key, _ in offered(found)} == {"on-demand", "spot"}
    assert {one.key: one.values for one in found.requirements}[RESERVATION_ID] == ("cr-1",)


def test_a_partition_group_multiplies_offerings() -> None:
    group = PlacementGroup("pg-1", "partition", 3)
    found = resolve("m5.large", placement_group=group)
    assert len(found.offerings) == 4 * 3
    values = {one.key: one.values for one in found.requirements}
    assert (values[PLACEMENT_GROUP_ID], values[PLACEMENT_GROUP_PARTITION]) == (("pg-1",), ("1", "2", "3"))


def test_other_groups_only_name_themselves() -> None:
    found = resolve("m5.large", placement_group=PlacementGroup("pg-1", "cluster"))
    assert len(found.offerings) == 4
    assert PLACEMENT_GROUP_PARTITION not in {one.key for one in found.requirements}


INTERFACE = {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}


@pytest.mark.parametrize(
    ("name", "spec", "group", "reason"),
    [
        ("m5.large", {}, None, None),
        ("a1.large", {}, None, "a1 types cannot boot AL2023"),
        ("a1.large", {"alias": "al2@latest"}, None, None),
        ("m1.small", {"networkInterfaces": []}, None, "networkInterfaces need an Elastic Network Adapter"),
        ("m5.large", {"networkInterfaces": [INTERFACE]}, None, None),
        ("m5.large", {"networkInterfaces": [{**INTERFACE, "networkCardIndex": 1}]}, None, "has no network card 1"),
        (
            "m5.large",
            {"networkInterfaces": [{**INTERFACE, "deviceIndex": 3}]},
            None,
            "network card 0 has no device index 3",
        ),
        (
            "m5.large",
            {"networkInterfaces": [{**INTERFACE, "interfaceType": "efa-only"}]},
            None,
            "has 0 EFA interfaces, 1 are requested",
        ),
        (
            "m5.large",
            {"cpuOptions": {"nestedVirtualization": "enabled"}},
            None,
            "does not support nested virtualization",
        ),
        ("m5.large", {"cpuOptions": {"nestedVirtualization": "disabled"}}, None, None),
        ("t3.large", {}, PlacementGroup("pg-1", "cluster"), "does not support cluster placement groups"),
        ("m5.metal", {"connectionTracking": {}}, None, "connection tracking needs the Nitro hypervisor"),
        ("m5.large", {"connectionTracking": {}}, None, None),
    ],
)
def test_compatibility(name: str, spec: dict[str, Any], group: PlacementGroup | None, reason: str | None) -> None:
    nodeclass = a_nodeclass(**spec)
    found = incompatible_types(nodeclass, [instance_type_facts()[name]], group)
    assert found.get(name) == reason
    assert any(offered(resolve(name, nodeclass, placement_group=group)).values()) is (reason is None)


def test_the_whole_catalogue_is_looked_at_by_default() -> None:
    assert len(incompatible_types(a_nodeclass())) == 6


def test_reported_memory_replaces_the_estimate_but_not_the_threshold() -> None:
    nodeclass = a_nodeclass(kubelet={"evictionHard": {"memory.available": "5%"}})
    estimated = resolve("m5.large", nodeclass)
    reported = resolve("m5.large", nodeclass, discovered_memory_bytes={"m5.large": 7_900_000_000})
    assert reported.capacity["memory"].units == 7_900_000_000
    assert reported.overhead.eviction_threshold == estimated.overhead.eviction_threshold


@pytest.mark.parametrize(
    ("spec", "settings", "memory_mib"),
    [
        ({"kubelet": {"maxPods": 110}}, {}, 239_554),
        ({"kubelet": {"maxPods": 110}, "alias": "bottlerocket@latest"}, {}, 240_918),
        ({"alias": "windows2022@latest"}, {}, 240_918),
        ({}, {"RESERVED_ENIS": "1"}, 239_554),
        ({"alias": "bottlerocket@latest"}, {"RESERVED_ENIS": "1"}, 239_873),
        ({"kubelet": {"kubeReserved": {"memory": "1Gi"}}}, {}, 241_359),
    ],
)
def test_allocatable_memory_of_r5a_8xlarge(spec: dict[str, Any], settings: dict[str, str], memory_mib: int) -> None:
    found = resolve("r5a.8xlarge", a_nodeclass(**spec), some_settings(**settings))
    assert allocatable(found)["memory"].units == memory_mib << 20
