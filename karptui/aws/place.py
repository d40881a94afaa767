"""Where a cluster stands: its AWS region and zones, as its nodes and EC2NodeClasses tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karptui.aws.errors import NodeClassError
from karptui.aws.labels import ZONE_ID
from karptui.aws.market import region_of
from karptui.aws.nodeclass import SubnetZone, is_ec2, parse_nodeclass
from karptui.karpenter.labels import ZONE
from karptui.karpenter.nodeclass import NodeClass
from karptui.kube.node import Node

_AWS: Final = "aws:"


class Place(msgspec.Struct, frozen=True):
    """A region and the zones of it that a cluster uses; empty off AWS, and before anything is known."""

    region: str = ""
    zones: tuple[SubnetZone, ...] = ()


NOWHERE: Final = Place()


def place_of(nodes: Iterable[Node], nodeclasses: Iterable[NodeClass]) -> Place:
    """Return where a cluster stands.

    Zones of other providers can look like AWS's, so nodes count by their providerID.

    Args:
        nodes: Those that AWS runs are looked at.
        nodeclasses: EC2NodeClasses name zones before there are nodes, and the ids of zones.
    """
    ids: dict[str, str] = {}
    for nodeclass in filter(is_ec2, nodeclasses):
        try:
            zones = parse_nodeclass(nodeclass).zones
        except NodeClassError:
            continue
        for zone in zones:
            ids[zone.name] = ids.get(zone.name) or zone.zone_id
    for zone in node_zones(node for node in nodes if node.provider_id.startswith(_AWS)):
        ids[zone.name] = ids.get(zone.name) or zone.zone_id
    region = next(filter(None, map(region_of, sorted(ids))), "")
    return Place(region, tuple(SubnetZone(name, ids[name]) for name in sorted(ids))) if region else NOWHERE


def node_zones(nodes: Iterable[Node]) -> tuple[SubnetZone, ...]:
    """Return the zones that nodes stand in, with their ids where a node is labelled with it."""
    ids: dict[str, str] = {}
    for node in nodes:
        zone = node.labels.get(ZONE, "")
        if zone:
            ids[zone] = node.labels.get(ZONE_ID, "") or ids.get(zone, "")
    return tuple(SubnetZone(zone, ids[zone]) for zone in sorted(ids))
