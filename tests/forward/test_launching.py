"""What a NodeClaim is launched as."""

from __future__ import annotations

from karptui.forward.launching import LaunchOrder, launch, ready
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.labels import CAPACITY_TYPE, INITIALIZED, INSTANCE_TYPE, NODEPOOL, SPOT, ZONE
from karptui.karpenter.requirements import IN, Requirement, Requirements
from karptui.karpenter.rules import NEWEST
from tests.builders import NOW_NS, a_node, a_nodepool, an_instance_type

BOTH = an_instance_type(name="m5.large", prices={"on-demand": 0.1, "spot": 0.04}, reserved={"cpu": "70m"})
DEAR = an_instance_type(name="m5.xlarge", cpu="4", prices={"on-demand": 0.2})


def an_order(*types: InstanceType, **allowed: tuple[str, ...]) -> LaunchOrder:
    keys = {"capacity": CAPACITY_TYPE, "zone": ZONE}
    requirements = Requirements(Requirement.of(keys[key], IN, values) for key, values in allowed.items())
    return LaunchOrder(a_nodepool(), types, requirements, {})


def test_spot_comes_before_on_demand() -> None:
    made = launch(an_order(BOTH, DEAR), NEWEST, name="new", now_ns=NOW_NS)
    assert made is not None
    assert made.capacity_type == SPOT
    assert made.claim.labels[INSTANCE_TYPE] == "m5.large"
    assert made.claim.labels[ZONE] == "us-east-1a", "the first zone of equal price"
    assert made.claim.labels[NODEPOOL] == "general"


def test_requirements_hold() -> None:
    made = launch(
        an_order(BOTH, DEAR, capacity=("on-demand",), zone=("us-east-1b",)), NEWEST, name="new", now_ns=NOW_NS
    )
    assert made is not None
    assert (made.claim.labels[CAPACITY_TYPE], made.claim.labels[ZONE]) == ("on-demand", "us-east-1b")


def test_nothing_on_offer_is_no_launch() -> None:
    assert launch(an_order(DEAR, capacity=("spot",)), NEWEST, name="new", now_ns=NOW_NS) is None


def test_what_is_reserved_is_not_allocatable() -> None:
    made = launch(an_order(BOTH), NEWEST, name="new", now_ns=NOW_NS)
    assert made is not None
    assert made.claim.allocatable["cpu"].millis == 1930


def test_a_node_that_has_joined_already_is_kept() -> None:
    made = launch(an_order(BOTH), NEWEST, name="new", now_ns=NOW_NS)
    assert made is not None
    claim, fresh = ready(made.claim, None, NOW_NS)
    assert (fresh.name, claim.node_name, fresh.labels[INITIALIZED]) == ("new", "new", "true")
    claim, joined = ready(made.claim, a_node(name="ip-10", is_initialized=False), NOW_NS)
    assert (joined.name, claim.node_name, joined.labels[INITIALIZED]) == ("ip-10", "ip-10", "true")
    assert claim.is_true("Initialized")
