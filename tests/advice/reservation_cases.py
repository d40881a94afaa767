"""Clusters for the rules about capacity reservations and NodeOverlays."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from karptui.advice.finding import Severity
from karptui.aws.evidence import Evidence
from karptui.aws.region import AccountReservation, Dated, RegionFacts
from karptui.karpenter import labels
from karptui.karpenter.instance_type import NodeOverlay
from karptui.karpenter.inventory import CapacityBuffer, Inventory
from karptui.kube.objects import Condition
from karptui.kube.timestamps import MINUTE_NS
from tests.advice.asking import Case, quiet
from tests.advice.nodeclass_cases import ec2, with_class
from tests.builders import (
    HOUR_NS,
    NOW_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pod,
    a_requirement,
    amounts,
    an_instance_type,
    an_inventory,
)

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
TYPES: Final = (
    an_instance_type(name="m5.xlarge", prices={"on-demand": 0.2, "reserved": 0.0}),
    an_instance_type(name="m5.large", prices={"on-demand": 0.1}),
)
HELD: Final = {"id": "cr-1", "instanceType": "m5.xlarge", "availabilityZone": "us-east-1a"}


def reserving(*needs: Any) -> Inventory:
    return with_class(ec2(status={"capacityReservations": [HELD]}), requirements=needs)


def told(left: int, id_: str = "cr-1") -> Evidence:
    """Return EC2's answer about a reservation of five instances."""
    result = (AccountReservation(id_, "m5.xlarge", "us-east-1a", "active", 5, left),)
    return Evidence(facts=RegionFacts(reservations=Dated(result, NOW_NS)))


def an_idle_node(capacity_type: str) -> Inventory:
    """Return an empty node that consolidation may remove."""
    more: dict[str, Any] = {"instance_type": "m5.xlarge", "capacity_type": capacity_type}
    nodeclaim = a_nodeclaim(name="c", node="n", **more)
    since_ns = NOW_NS - HOUR_NS
    claim = a_nodeclaim(
        name="c", node="n", conditions=(*nodeclaim.conditions, a_condition("Consolidatable", since_ns=since_ns)), **more
    )
    return Inventory(nodes=(a_node(name="n", **more),), nodeclaims=(claim,), nodepools=(a_nodepool(),))


def a_buffer(status: str, age_ns: int) -> CapacityBuffer:
    text = 'PodTemplate "room" not found'
    ready = Condition("ReadyForProvisioning", status, "PodTemplateNotFound", text, NOW_NS - age_ns)
    return CapacityBuffer(name="room", namespace="ops", conditions=(ready,), has_spec_ref=True)


def overlays(*overlay: NodeOverlay) -> Inventory:
    return an_inventory(nodepools=(a_nodepool(),), overlays=overlay)


def an_overlay(name: str, *types: str, weight: int = 10, **sets: Any) -> NodeOverlay:
    return NodeOverlay(
        name=name, weight=weight, requirements=(a_requirement(labels.INSTANCE_TYPE, "In", *types),), **sets
    )


GATE: Final = {"FEATURE_GATES": "NodeOverlay=true"}
CASES: Final = [
    Case("reservation-unused", reserving,
         ("3 of 5 instances of cr-1 (m5.xlarge in us-east-1a) are free and paid for ($0.60/h). ",
          "general may launch into it once pods need a node."),
         INFO, types=TYPES, evidence=told(3), per_hour=0.6),
    Case("reservation-unused", lambda: reserving(a_requirement(labels.CAPACITY_TYPE, "In", "on-demand")),
         ("1 of 5 instances of cr-1 (m5.xlarge in us-east-1a) is free", "None of its NodePools (general) may use it."),
         types=TYPES, evidence=told(1), name="excluded"),
    Case("reservation-unused", reserving, ("The feature gate ReservedCapacity is off",), types=TYPES, evidence=told(1),
         settings={"FEATURE_GATES": "ReservedCapacity=false"}, name="gate"),
    Case("reservation-unused",
         lambda: with_class(ec2(status={"capacityReservations": [{**HELD, "reservationType": "capacity-block"}]}),
                            requirements=()),
         ("2 of 5 instances of cr-1 (m5.xlarge in us-east-1a) are free and paid for. general may",), INFO, types=TYPES,
         evidence=told(2), name="block"),
    *quiet("reservation-unused", reserving, types=TYPES, evidence=told(0)),
    Case("buffer-not-ready", lambda: Inventory(capacity_buffers=(a_buffer("False", HOUR_NS),)),
         ('CapacityBuffer ops/room has not been ready for 1h and reserves nothing: PodTemplate "room" not found.',),
         ERROR),
    *quiet("buffer-not-ready",
           lambda: Inventory(capacity_buffers=(a_buffer("True", HOUR_NS), a_buffer("False", MINUTE_NS)))),
    Case("reservation-unused", reserving, types=TYPES, evidence=told(3, "cr-2"), name="other"),
    Case("reservation-unused", reserving, types=TYPES, name="unknown"),
    Case("reservation-unused", lambda: reserving(a_requirement(labels.CAPACITY_TYPE, "In", "on-demand")),
         ("Karpenter never launches into capacity reservation cr-1 (m5.xlarge in us-east-1a)",
          "none of its NodePools (general) allows the capacity type reserved"), types=TYPES, name="never"),
    Case("reservation-unused", lambda: reserving(a_requirement(labels.CAPACITY_TYPE, "In", "reserved"),
                                                 a_requirement(labels.ZONE, "In", "us-east-1c")),
         types=TYPES, name="reported by pool-no-types"),
    Case("reservation-node-removed", lambda: an_idle_node("reserved"),
         ("Consolidation would remove 1 reserved node (n), and nothing blocks it: the reservation stays billed",), INFO,
         types=TYPES, is_simulated=True),
    *quiet("reservation-node-removed", lambda: an_idle_node("on-demand"), types=TYPES, is_simulated=True),
    Case("overlay-rejected",
         lambda: overlays(an_overlay("a", "m5.large", "m5.xlarge", price="0.5"),
                          an_overlay("b", "m5.large", price_adjustment="-10%")),
         ("NodeOverlay a is not applied to any type: it conflicts with b, of the same weight 10.",), types=TYPES,
         settings=GATE),
    Case("overlay-rejected", lambda: overlays(an_overlay("a", "m5.large", capacity=amounts({"cpu": "4"}))),
         ("NodeOverlay a is not applied to any type: invalid capacity: cpu in resource, restricted.",), types=TYPES,
         settings=GATE, name="invalid"),
    Case("overlay-rejected",
         lambda: replace(overlays(an_overlay("a", "m5.large", capacity=amounts({"x.io/fuse": "2", "x.io/kvm": "2"})),
                                  an_overlay("b", "m5.large", capacity=amounts({"x.io/fuse": "1"}))),
                         pods=(a_pod(requests={"x.io/kvm": "1"}),)),
         ("of the same weight 10. No other overlay adds x.io/kvm, which pending pods request.",), Severity.ERROR,
         types=TYPES, settings=GATE, name="missed"),
    *quiet("overlay-rejected",
           lambda: overlays(an_overlay("a", "m5.large", price="1"), an_overlay("b", "m5.xlarge", price="1")),
           lambda: overlays(an_overlay("a", "m5.large", price="1"), an_overlay("b", "m5.large", price="1", weight=9)),
           types=TYPES, settings=GATE),
    Case("overlay-effect",
         lambda: overlays(an_overlay("a", "m5.large", "m5.xlarge", price_adjustment="-10%",
                                     capacity=amounts({"x.io/fuse": "2"}))),
         ("NodeOverlay a (weight 10) sets price -10% and x.io/fuse 2 for 2 types (m5.large, m5.xlarge) of general",),
         INFO, types=TYPES, settings=GATE),
    Case("overlay-effect", lambda: overlays(an_overlay("a", "m7i.large", price="1")),
         ("NodeOverlay a sets price 1, and matches no type that a NodePool can launch.",), types=TYPES, settings=GATE,
         name="unmatched"),
    Case("overlay-effect",
         lambda: an_inventory(nodepools=(a_nodepool(),
                                         a_nodepool(name="other",
                                                    requirements=(a_requirement(labels.INSTANCE_TYPE, "In", "x"),))),
                              overlays=(an_overlay("a", "m5.large", price="1"),)),
         ("sets price 1 for 1 type (m5.large) of general; heavier",), INFO, types=TYPES, settings=GATE, name="allowed"),
    *quiet("overlay-effect", lambda: overlays(an_overlay("a", "m5.large", price="1")), types=TYPES),
]  # fmt: skip
