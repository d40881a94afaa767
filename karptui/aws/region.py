"""Where a cluster stands, and what the AWS APIs said about that region, each fact with the moment it was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, Generic, TypeVar

import msgspec

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.labels import ZONE_ID
from karptui.aws.market import region_of
from karptui.aws.nodeclass import NodeClassError, SubnetZone, parse_nodeclass, read_auto_mode
from karptui.karpenter.labels import ZONE
from karptui.karpenter.nodeclass import NodeClass, is_auto_mode, is_ec2
from karptui.kube.node import Node

T = TypeVar("T")


class Dated(msgspec.Struct, Generic[T], frozen=True, rename="camel"):
    """A fact and when it was asked for."""

    value: T
    as_of_ns: int
    """Nanoseconds since the epoch."""


class AccountSubnet(msgspec.Struct, frozen=True):
    """A subnet as EC2 describes it."""

    id: str
    zone: str
    zone_id: str
    free_addresses: int
    """IPv4 addresses that are left."""


class AccountReservation(msgspec.Struct, frozen=True):
    """A capacity reservation as EC2 describes it."""

    id: str
    instance_type: str
    zone: str
    state: str
    total_instances: int
    instances_left: int
    ends_at: str = ""
    """RFC 3339; empty for one that ends when it is cancelled."""


class FactKind(StrEnum):
    """What is asked for: one kind, one API, one permission, one age."""

    INSTANCE_TYPES = "instance types"
    OFFERINGS = "offerings"
    ON_DEMAND_PRICES = "on-demand prices"
    SPOT_PRICES = "spot prices"
    ZONES = "zones"
    SUBNETS = "subnets"
    RESERVATIONS = "capacity reservations"


class FactPhase(StrEnum):
    """How things stand with a kind of fact."""

    OFF = "off"
    """Not asked for, by choice."""
    WAITING = "waiting"
    """Not asked for yet."""
    LIVE = "live"
    """Read from its source in this run, or read so recently that asking again would say the same."""
    CACHED = "cached"
    """Read in an earlier run, or too long ago; asking again has not worked."""
    UNAVAILABLE = "unavailable"
    """Never read: something less trusted stands in."""
    RECORDED = "recorded"
    """Read when the recording was made that holds it."""


class FactStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How things stand with one kind of fact, in words fit for a screen."""

    phase: FactPhase
    sentence: str = ""
    """Why it is not live; empty when all is well."""
    as_of_ns: int = 0
    """When what is shown was asked for: nanoseconds since the epoch, 0 where nothing is."""
    retry_at_ns: int = 0
    """When it will be asked for again: nanoseconds since the epoch, 0 for not at all."""


def shared_sentence(statuses: Iterable[FactStatus]) -> str:
    """Return the one sentence that explains all the trouble there is, empty where there is none or several."""
    sentences = {status.sentence for status in statuses if status.phase in (FactPhase.CACHED, FactPhase.UNAVAILABLE)}
    return next(iter(sentences)) if len(sentences) == 1 else ""


class RegionFacts(msgspec.Struct, frozen=True, kw_only=True, eq=False, rename="camel", omit_defaults=True):
    """Everything the APIs have said; None for what they have not."""

    region: str = ""
    instance_types: Dated[Mapping[str, InstanceTypeFacts]] | None = None
    """By name: the types of the region that Karpenter can know of."""
    zone_ids_by_type: Dated[Mapping[str, tuple[str, ...]]] | None = None
    """Zones that offer a type, by id: the names differ between accounts."""
    on_demand: Dated[Mapping[str, float]] | None = None
    """List price per hour by instance type: Linux, shared tenancy, no pre-installed software."""
    spot: Dated[Mapping[str, Mapping[str, float]]] | None = None
    """Price per hour by instance type and zone id."""
    zones: Dated[tuple[SubnetZone, ...]] | None = None
    """The account's names of the zones."""
    subnets: Dated[tuple[AccountSubnet, ...]] | None = None
    reservations: Dated[tuple[AccountReservation, ...]] | None = None


NO_FACTS: Final = RegionFacts()


_AWS: Final = "aws:"


class Place(msgspec.Struct, frozen=True):
    """A region and the zones of it that a cluster uses; empty off AWS, and before anything is known."""

    region: str = ""
    zones: tuple[SubnetZone, ...] = ()
    is_auto_mode: bool = False
    """Whether EKS Auto Mode launches its nodes, and no other Karpenter."""


NOWHERE: Final = Place()


def place_of(nodes: Iterable[Node], nodeclasses: Iterable[NodeClass]) -> Place:
    """Return where a cluster stands.

    Zones of other providers can look like AWS's, so nodes count by their providerID.

    Args:
        nodes: Those that AWS runs are looked at.
        nodeclasses: EC2NodeClasses and those of EKS Auto Mode name zones before there are nodes, and the ids of zones.
    """
    ids: dict[str, str] = {}
    known = [nodeclass for nodeclass in nodeclasses if is_ec2(nodeclass) or is_auto_mode(nodeclass)]
    for nodeclass in known:
        for zone in zones_of(nodeclass):
            ids[zone.name] = ids.get(zone.name) or zone.zone_id
    for zone in node_zones(node for node in nodes if node.provider_id.startswith(_AWS)):
        ids[zone.name] = ids.get(zone.name) or zone.zone_id
    region = next(filter(None, map(region_of, sorted(ids))), "")
    if not region:
        return NOWHERE
    zones = tuple(SubnetZone(name, ids[name]) for name in sorted(ids))
    return Place(region, zones, is_auto_mode=bool(known) and all(map(is_auto_mode, known)))


def zones_of(nodeclass: NodeClass) -> tuple[SubnetZone, ...]:
    """Return the zones of the subnets that a NodeClass's status names; none where it cannot be read."""
    if is_auto_mode(nodeclass):
        return read_auto_mode(nodeclass).zones
    try:
        return parse_nodeclass(nodeclass).zones
    except NodeClassError:
        return ()


def node_zones(nodes: Iterable[Node]) -> tuple[SubnetZone, ...]:
    """Return the zones that nodes stand in, with their ids where a node is labelled with it."""
    ids: dict[str, str] = {}
    for node in nodes:
        zone = node.labels.get(ZONE, "")
        if zone:
            ids[zone] = node.labels.get(ZONE_ID, "") or ids.get(zone, "")
    return tuple(SubnetZone(zone, ids[zone]) for zone in sorted(ids))
