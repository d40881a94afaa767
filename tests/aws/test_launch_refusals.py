from __future__ import annotations

from typing import Any

from karptui.aws.launch_refusals import (
    REFUSED_NS,
    LaunchRefusal,
    UnavailableOfferings,
    recent_launch_refusals,
    unavailable_now,
)
from karptui.aws.prices import OfferingKey
from karptui.karpenter.instance_type import error_words
from karptui.karpenter.inventory import ClusterHistory, GoneClaim, Inventory
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from karptui.karpenter.nodeclass import NodeClass
from karptui.kube.objects import Event
from tests.builders.events import an_event
from tests.builders.instants import MINUTE_NS, NOW_NS
from tests.builders.nodes import a_nodeclaim, a_nodepool
from tests.builders.parts import a_condition, a_requirement

SUBNETS = [
    {"id": "subnet-0a1", "zone": "us-east-1a", "zoneID": "use1-az4"},
    {"id": "subnet-0b2", "zone": "us-east-1b", "zoneID": "use1-az6"},
]
NODECLASS = NodeClass(
    name="default", group="karpenter.k8s.aws", kind="EC2NodeClass", spec={}, status={"subnets": SUBNETS}
)
ICE = (
    "InsufficientInstanceCapacity: We currently do not have sufficient {type} capacity in the Availability Zone you "
    "requested ({zone}). Our system will be working on provisioning additional capacity."
)
ELSEWHERE = " You can currently get {type} capacity by not specifying an Availability Zone or choosing us-east-1b."


def a_refusal_event(*errors: str, claim: str = "batch-abcde", ago_ns: int = MINUTE_NS, **fields: Any) -> Event:
    """Return Karpenter's event about a NodeClaim that EC2 refused."""
    text = f"creating instance, insufficient capacity, with fleet error(s), {'; '.join(errors)}"
    fields = {"name": claim, "about": f"NodeClaim/{claim}", "message": f"NodeClaim {claim} event: {text}", **fields}
    return an_event(reason="InsufficientCapacityError", last_ns=NOW_NS - ago_ns, **fields)


def a_pool(*capacity_types: str) -> Any:
    return a_nodepool(name="batch", requirements=(a_requirement(CAPACITY_TYPE, "In", *capacity_types),))


def refusals(*events: Event, capacity_types: tuple[str, ...] = ("spot",), **others: Any) -> tuple[LaunchRefusal, ...]:
    history = others.pop("history", ClusterHistory())
    return recent_launch_refusals(cluster(*events, capacity_types=capacity_types, **others), history)


def cluster(*events: Event, capacity_types: tuple[str, ...] = ("spot",), **others: Any) -> Inventory:
    return Inventory(events=events, nodepools=(a_pool(*capacity_types),), nodeclasses=(NODECLASS,), **others)


def test_an_event_names_type_and_zone_and_not_the_zones_that_have_capacity() -> None:
    error = ICE.format(type="c7i.4xlarge", zone="us-east-1a") + ELSEWHERE.format(type="c7i.4xlarge")
    (refusal,) = refusals(a_refusal_event(error, count=3))
    assert (refusal.error_code, refusal.nodepool, refusal.nodeclaim) == (
        "InsufficientInstanceCapacity", "batch", "batch-abcde",
    )  # fmt: skip
    assert (refusal.instance_types, refusal.zones, refusal.capacity_types) == (
        ("c7i.4xlarge",),
        ("us-east-1a",),
        ("spot",),
    )
    assert (refusal.last_ns, refusal.count, refusal.is_truncated) == (NOW_NS - MINUTE_NS, 3, False)


def test_every_error_code_of_a_message_counts_but_not_partial_names() -> None:
    whole = ICE.format(type="c7i.4xlarge", zone="us-east-1a")
    trace = " (aws-error-code=UnfulfillableCapacity, aws-operation-name=CreateFleet)"
    result, other = refusals(
        a_refusal_event("MaxSpotInstanceCountExceeded: Max spot instance count exceeded", whole + trace)
    )
    assert {result.error_code, other.error_code} == {"InsufficientInstanceCapacity", "MaxSpotInstanceCountExceeded"}
    assert "aws-error-code" not in f"{result.message}{other.message}"
    text = f"creating instance, insufficient capacity, with fleet error(s), {whole}; {whole.replace('4x', '24x')}"
    for length in range(len(text)):
        cut = a_refusal_event(about="NodeClaim/batch-abcde", message=f"NodeClaim batch-abcde event: {text[:length]}...")
        for refusal in refusals(cut):
            assert refusal.is_truncated
            assert set(refusal.instance_types) <= {"c7i.4xlarge", "c7i.24xlarge"}
            assert set(refusal.zones) <= {"us-east-1a"}


def test_full_subnet_includes_its_zone() -> None:
    error = (
        "InsufficientFreeAddressesInSubnet: There are not enough free addresses in subnet 'subnet-0a1' to satisfy the "
        "requested number of instances."
    )
    event = a_refusal_event(error)
    about_pod = a_refusal_event(
        error, about="Pod/shop/web-1", message=event.message.replace("event", "nominated for this pod failed to launch")
    )
    (result,) = refusals(about_pod, event)
    assert (result.subnets, result.zones, result.instance_types, result.count) == (
        ("subnet-0a1",),
        ("us-east-1a",),
        (),
        1,
    )
    (alone,) = refusals(about_pod)
    assert alone.nodeclaim == "batch-abcde"
    assert unavailable_now(cluster(event), NOW_NS) == UnavailableOfferings(
        subnets=frozenset({"subnet-0a1"}), until_ns=NOW_NS - MINUTE_NS + REFUSED_NS
    )


def test_refusals_from_conditions_and_deleted_claims() -> None:
    quota = a_condition("Launched", status="Unknown", reason="SpotQuotaExceeded", message="exceeds your spot quota")
    other = a_condition("Launched", status="Unknown", reason="RequestLimitExceeded", message="Request limit exceeded")
    claims = [
        a_nodeclaim(name=f"batch-{number}", pool="batch", stage="", conditions=(result,))
        for number, result in enumerate((quota, other))
    ]
    (result,) = refusals(nodeclaims=tuple(claims))
    assert (result.error_code, result.nodepool, result.capacity_types) == ("SpotQuotaExceeded", "batch", ("spot",))
    on_demand = a_nodeclaim(
        name="batch-abcde", pool="batch", stage="", requirements=(a_requirement(CAPACITY_TYPE, "In", "on-demand"),)
    )
    history = ClusterHistory(claims=(GoneClaim(on_demand, NOW_NS),))
    event = a_refusal_event(ICE.format(type="c7i.4xlarge", zone="us-east-1a"))
    (asked,) = refusals(event, capacity_types=("spot", "on-demand"), history=history)
    assert asked.capacity_types == ("on-demand",)


def test_refused_offerings_are_excluded_for_a_while_in_their_zone_or_everywhere() -> None:
    event = a_refusal_event(ICE.format(type="c7i.4xlarge", zone="us-east-1a"), ago_ns=0)
    key = OfferingKey("spot", "c7i.4xlarge", "us-east-1a")
    offerings = [unavailable_now(cluster(event), NOW_NS + late).offerings for late in (0, REFUSED_NS - 1, REFUSED_NS)]
    assert offerings == [{key: "InsufficientInstanceCapacity"}, {key: "InsufficientInstanceCapacity"}, {}]
    error = (
        "InsufficientInstanceCapacity: We currently do not have sufficient g5.xlarge capacity in zones with support "
        "for 'gp3' volumes."
    )
    everywhere = unavailable_now(cluster(a_refusal_event(error)), NOW_NS).offerings
    assert everywhere.keys() == {OfferingKey("spot", "g5.xlarge", zone) for zone in ("us-east-1a", "us-east-1b")}


def test_on_demand_is_refused_only_after_spot() -> None:
    error, both = ICE.format(type="c7i.4xlarge", zone="us-east-1a"), ("spot", "on-demand")
    first, second = (
        a_refusal_event(error, claim=f"batch-{name}", ago_ns=ago) for name, ago in (("aaaaa", 9), ("bbbbb", 5))
    )
    spot, on_demand = (OfferingKey(item, "c7i.4xlarge", "us-east-1a") for item in both)
    assert unavailable_now(cluster(first, capacity_types=both), NOW_NS).offerings.keys() == {spot}
    assert unavailable_now(cluster(second, first, capacity_types=both), NOW_NS).offerings.keys() == {spot, on_demand}


def test_requested_types_are_omitted_if_the_message_lacks_them() -> None:
    claim = a_nodeclaim(name="batch-abcde", pool="batch", stage="",
                        requirements=(a_requirement(CAPACITY_TYPE, "In", "spot"),
                                      a_requirement(INSTANCE_TYPE, "In", "c7i.4xlarge", "c7i.8xlarge"),
                                      a_requirement(ZONE, "In", "us-east-1b")))  # fmt: skip
    history = ClusterHistory(claims=(GoneClaim(claim, NOW_NS),))
    expected = {OfferingKey("spot", name, "us-east-1b") for name in ("c7i.4xlarge", "c7i.8xlarge")}
    nameless = "InsufficientInstanceCapacity: There is no Spot capacity available that matches your request."
    cut = (
        ICE.format(type="c7i.4xlarge", zone="us-east-1b") + "; InsufficientInstanceCapacity: We currently do not ha..."
    )
    for error in (nameless, cut):
        result = unavailable_now(cluster(a_refusal_event(error)), NOW_NS, history)
        assert result.offerings.keys() == expected
    [named] = refusals(a_refusal_event(ICE.format(type="c7i.4xlarge", zone="us-east-1b")), history=history)
    assert named.asked_types == ()


def test_a_full_placement_group_is_no_lack_of_capacity() -> None:
    limit = "You've reached the limit of instances in this spread placement group."
    (refusal,) = refusals(a_refusal_event(f"InsufficientInstanceCapacity: {limit}"))
    assert refusal.error_code == "SpreadPlacementGroupLimit"
    assert error_words(refusal.error_code).startswith("the spread placement group has seven instances")
