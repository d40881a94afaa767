"""A cluster's region and zones, and the answers of the AWS APIs for that region, each with its time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import chain
from typing import Final, Generic, TypeVar

import msgspec

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.labels import ZONE_ID
from karptui.aws.nodeclass import SubnetZone, read_auto_mode, readable
from karptui.aws.prices import region_of
from karptui.karpenter.labels import ZONE
from karptui.karpenter.nodeclass import NodeClass, is_auto_mode, is_ec2
from karptui.kube.objects import Node

T = TypeVar("T")


class Dated(msgspec.Struct, Generic[T], frozen=True, rename="camel"):
    """A value and the time it was read."""

    value: T
    as_of_ns: int
    """Nanoseconds since the epoch."""


class AccountSubnet(msgspec.Struct, frozen=True):
    """A subnet in EC2."""

    id: str
    zone: str
    zone_id: str
    free_addresses: int


class AccountReservation(msgspec.Struct, frozen=True):
    """A capacity reservation in EC2."""

    id: str
    instance_type: str
    zone: str
    state: str
    total_instances: int
    instances_left: int


class FactKind(StrEnum):
    """A kind of data with its own API, permission and age."""

    INSTANCE_TYPES = "instance types"
    OFFERINGS = "offerings"
    ON_DEMAND_PRICES = "on-demand prices"
    SPOT_PRICES = "spot prices"
    ZONES = "zones"
    SUBNETS = "subnets"
    RESERVATIONS = "capacity reservations"


class FactPhase(StrEnum):
    """Status of a kind of data."""

    OFF = "off"
    """Disabled."""
    WAITING = "waiting"
    """Not read yet."""
    LIVE = "live"
    """Read in this run, or recently enough."""
    CACHED = "cached"
    """Read in an earlier run or too long ago; reading again has failed."""
    UNAVAILABLE = "unavailable"
    """Never read; a less trusted source is used."""
    RECORDED = "recorded"
    """Read when the snapshot was recorded."""


class FactStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Status of a kind of data, for display."""

    phase: FactPhase
    sentence: str = ""
    """Why it is not live; empty if it is."""
    as_of_ns: int = 0
    """Time of the data shown, in nanoseconds since the epoch; 0 without data."""
    retry_at_ns: int = 0
    """Time of the next attempt, in nanoseconds since the epoch; 0 for none."""


def shared_sentence(statuses: Iterable[FactStatus]) -> str:
    """Return the error message if all failed statuses have the same, otherwise an empty string."""
    sentences = {status.sentence for status in statuses if status.phase in (FactPhase.CACHED, FactPhase.UNAVAILABLE)}
    return next(iter(sentences)) if len(sentences) == 1 else ""


class RegionFacts(msgspec.Struct, frozen=True, kw_only=True, eq=False, rename="camel", omit_defaults=True):
    """Answers of the AWS APIs; None for those not available."""

    region: str = ""
    instance_types: Dated[Mapping[str, InstanceTypeFacts]] | None = None
    """By name: the region's types that Karpenter can use."""
    zone_ids_by_type: Dated[Mapping[str, tuple[str, ...]]] | None = None
    """Zone ids by type; ids, unlike names, are the same in all accounts."""
    on_demand: Dated[Mapping[str, float]] | None = None
    """List price per hour by instance type: Linux, shared tenancy, no pre-installed software."""
    spot: Dated[Mapping[str, Mapping[str, float]]] | None = None
    """Price per hour by instance type and zone id."""
    zones: Dated[tuple[SubnetZone, ...]] | None = None
    """Zones with the account's names."""
    subnets: Dated[tuple[AccountSubnet, ...]] | None = None
    reservations: Dated[tuple[AccountReservation, ...]] | None = None


NO_FACTS: Final = RegionFacts()


_AWS: Final = "aws:"


class Place(msgspec.Struct, frozen=True):
    """A cluster's region and the zones it uses; empty outside AWS and before they are known."""

    region: str = ""
    zones: tuple[SubnetZone, ...] = ()
    is_auto_mode: bool = False
    """Whether EKS Auto Mode launches all its nodes."""


NOWHERE: Final = Place()


def place_of(nodes: Iterable[Node], nodeclasses: Iterable[NodeClass]) -> Place:
    """Return a cluster's region and zones.

    Nodes are recognized by providerID, because other providers' zone names can look like AWS's.

    Args:
        nodeclasses: EC2NodeClasses and EKS Auto Mode's contain zones before there are nodes, and zone ids.
    """
    aws_nodeclasses = [nodeclass for nodeclass in nodeclasses if is_ec2(nodeclass) or is_auto_mode(nodeclass)]
    in_status = chain.from_iterable(map(zones_of, aws_nodeclasses))
    on_nodes = node_zones(node for node in nodes if node.provider_id.startswith(_AWS))
    zones = tuple(sorted(merged_zones(in_status, on_nodes), key=lambda zone: zone.name))
    region = next(filter(None, (region_of(zone.name) for zone in zones)), "")
    if not region:
        return NOWHERE
    return Place(region, zones, is_auto_mode=bool(aws_nodeclasses) and all(map(is_auto_mode, aws_nodeclasses)))


def merged_zones(*zones: Iterable[SubnetZone]) -> tuple[SubnetZone, ...]:
    """Return each zone once, by name, with its id if known."""
    ids: dict[str, str] = {}
    for zone in chain.from_iterable(zones):
        ids[zone.name] = ids.get(zone.name) or zone.zone_id
    return tuple(SubnetZone(name, zone_id) for name, zone_id in ids.items())


def zones_of(nodeclass: NodeClass) -> tuple[SubnetZone, ...]:
    """Return the zones of the subnets in a NodeClass's status; empty if they cannot be parsed."""
    if is_auto_mode(nodeclass):
        return read_auto_mode(nodeclass).zones
    parsed = readable(nodeclass)
    return parsed.zones if parsed is not None else ()


def node_zones(nodes: Iterable[Node]) -> tuple[SubnetZone, ...]:
    """Return the zones of nodes, with their ids if a node has the label."""
    ids: dict[str, str] = {}
    for node in nodes:
        zone = node.labels.get(ZONE, "")
        if zone:
            ids[zone] = node.labels.get(ZONE_ID, "") or ids.get(zone, "")
    return tuple(SubnetZone(zone, ids[zone]) for zone in sorted(ids))
