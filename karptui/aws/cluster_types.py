"""Instance types of a cluster: every EC2NodeClass resolved with the zones and nodes of the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple

import msgspec

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.instance_types import Resolved, instance_types
from karptui.aws.market import Market, OfferingKey, built_in_market, region_of
from karptui.aws.nodeclass import Ec2NodeClass, NodeClassError, Subnet, SubnetZone, parse_nodeclass
from karptui.aws.observed import discovered_memory_bytes
from karptui.aws.region import node_zones
from karptui.karpenter.instance_type import NO_FREE_ADDRESSES, InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import CAPACITY_TYPE, ON_DEMAND, REGION, SPOT
from karptui.karpenter.nodeclass import EC2_KIND, NodeClassRef, is_ec2
from karptui.karpenter.requirements import Requirements
from karptui.karpenter.settings import Settings
from karptui.kube.node import Node
from karptui.kube.recent import Recent

MarketOf = Callable[[str, Iterable[SubnetZone]], Market]
"""Returns the market of a region for a cluster's zones."""


class _Inputs(NamedTuple):
    """Cache key of a NodeClass's instance types."""

    decisive: tuple[Ec2NodeClass, Settings, tuple[InstanceTypeFacts, ...]]
    market: tuple[Any, ...]
    """Prices and unavailable offerings, which change every few minutes."""
    memory_bytes: Mapping[str, int]
    """Reported memory by type, which changes with the nodes."""


_known: Final[Recent[_Inputs, tuple[InstanceType, ...]]] = Recent(most=16, patience=64)
"""Resolved types: NodeClasses change rarely, clusters several times a second. An entry takes several megabytes, so
unused ones are dropped."""


class NodeClassTypes(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """An EC2NodeClass and its instance types."""

    nodeclass: Ec2NodeClass
    market: Market
    types: tuple[InstanceType, ...]
    discovered_memory_bytes: Mapping[str, int]
    """Memory reported by nodes by instance type, with which the types were resolved."""


class ClusterTypes(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """All EC2NodeClasses of a cluster."""

    by_nodeclass: Mapping[str, NodeClassTypes]
    problems: Mapping[str, str]
    """Why a NodeClass has no types, by NodeClass name."""
    notes: tuple[str, ...]
    """Assumptions, as text."""

    def of(self, ref: NodeClassRef) -> NodeClassTypes | None:
        """Return a NodePool's types; None for other providers, and if nothing is known."""
        return self.by_nodeclass.get(ref.name) if is_ec2(ref) else None


def cluster_types(
    inventory: Inventory,
    settings: Settings,
    *,
    market_of: MarketOf = built_in_market,
    facts: Iterable[InstanceTypeFacts] | None = None,
    uses_discovered_memory: bool = True,
    full_subnets: AbstractSet[str] = frozenset(),
) -> ClusterTypes:
    """Resolve every EC2NodeClass; those of other providers are skipped.

    Placement groups are not visible in the cluster: a NodeClass with one is resolved without it, and noted.

    Args:
        inventory: NodeClasses, nodes and NodeClaims are used.
        market_of: Returns a region's market; the built-in catalogue's by default.
        facts: EC2's data about its types; the built-in catalogue's by default.
        uses_discovered_memory: Whether memory reported by nodes replaces the estimate, as in a controller that has seen
            these nodes.
        full_subnets: IDs of subnets that Karpenter excludes because they have no free addresses.
    """
    chosen = tuple(instance_type_facts().values() if facts is None else facts)
    parsed, problems = _parse(inventory)
    reported = _reported(inventory, parsed) if uses_discovered_memory else {}
    seen = node_zones(inventory.nodes)
    types: dict[str, NodeClassTypes] = {}
    notes: dict[str, None] = {}
    for parsed_nodeclass in parsed:
        try:
            nodeclass = _with_zones(parsed_nodeclass, seen, notes)
            market = market_of(_region(inventory.nodes, nodeclass), _merged(nodeclass.zones, seen))
            market = without_full_zones(market, nodeclass.status.subnets or (), full_subnets)
            memory = reported.get(nodeclass.name, {})
            resolved = _resolved(nodeclass, settings, market, chosen, memory)
        except NodeClassError as error:
            problems[parsed_nodeclass.name] = str(error)
            continue
        types[nodeclass.name] = NodeClassTypes(
            nodeclass=nodeclass, market=market, types=resolved, discovered_memory_bytes=memory
        )
        notes |= dict.fromkeys(_notes(nodeclass, market, takes_spot=_takes_spot(inventory, nodeclass.name)))
    return ClusterTypes(by_nodeclass=types, problems=problems, notes=tuple(notes))


def without_full_zones(market: Market, subnets: Iterable[Subnet], full_subnets: AbstractSet[str]) -> Market:
    """Return a market without zones whose subnets of a NodeClass are all full; reservations remain."""
    if not full_subnets:
        return market
    by_zone: dict[str, set[str]] = {}
    for subnet in subnets:
        by_zone.setdefault(subnet.zone, set()).add(subnet.id)
    full = {zone for zone, ids in by_zone.items() if ids <= full_subnets}
    keys = {
        OfferingKey(capacity_type, name, zone): NO_FREE_ADDRESSES
        for name, zones in market.zones_by_type.items()
        for zone in zones & full
        for capacity_type in (ON_DEMAND, SPOT)
    }
    return msgspec.structs.replace(market, sold_out={**market.sold_out, **keys})


def _resolved(
    nodeclass: Ec2NodeClass,
    settings: Settings,
    market: Market,
    facts: tuple[InstanceTypeFacts, ...],
    memory_bytes: Mapping[str, int],
) -> tuple[InstanceType, ...]:
    """Return cached types if the inputs are equal: comparing is much faster, and indexes of the types stay valid."""
    decisive = (nodeclass, settings, facts)

    def make() -> tuple[InstanceType, ...]:
        kept = ((key, types) for key, types in _known.items() if key.decisive == decisive)
        before = next((Resolved(types, key.memory_bytes) for key, types in kept), None)
        return instance_types(
            nodeclass, settings, market, facts=facts, discovered_memory_bytes=memory_bytes, before=before
        )

    return _known.get(_Inputs(decisive, msgspec.structs.astuple(market), memory_bytes), make)


def _parse(inventory: Inventory) -> tuple[list[Ec2NodeClass], dict[str, str]]:
    parsed, problems = [], {}
    for nodeclass in filter(is_ec2, inventory.nodeclasses):
        try:
            parsed.append(parse_nodeclass(nodeclass))
        except NodeClassError as error:
            problems[nodeclass.name] = str(error)
    return parsed, problems


def _reported(inventory: Inventory, parsed: list[Ec2NodeClass]) -> Mapping[str, Mapping[str, int]]:
    nodes = {node.name: node for node in inventory.nodes}
    claims_by_node = [(nodes[claim.node_name], claim) for claim in inventory.nodeclaims if claim.node_name in nodes]
    return discovered_memory_bytes(parsed, claims_by_node)


def _with_zones(nodeclass: Ec2NodeClass, seen: tuple[SubnetZone, ...], notes: dict[str, None]) -> Ec2NodeClass:
    """Return the NodeClass with subnets: if its status has none, in the zones of the nodes."""
    if nodeclass.zones or not seen:
        return nodeclass
    notes[f"{EC2_KIND} {nodeclass.name}: status.subnets is empty: a subnet in each zone that has nodes is assumed"] = (
        None
    )
    subnets = tuple(Subnet(zone=zone.name, zone_id=zone.zone_id) for zone in seen)
    status = msgspec.structs.replace(nodeclass.status, subnets=subnets)
    return msgspec.structs.replace(nodeclass, status=status)


def _merged(zones: tuple[SubnetZone, ...], seen: tuple[SubnetZone, ...]) -> tuple[SubnetZone, ...]:
    """Return each zone once, by name, with its id if known."""
    ids: dict[str, str] = {}
    for zone in (*zones, *seen):
        ids[zone.name] = ids.get(zone.name) or zone.zone_id
    return tuple(SubnetZone(name, zone_id) for name, zone_id in ids.items())


def _region(nodes: Iterable[Node], nodeclass: Ec2NodeClass) -> str:
    """Return the region of the NodeClass's zones, otherwise the most common region label of nodes."""
    named = next(filter(None, (region_of(zone.name) for zone in nodeclass.zones)), "")
    if named:
        return named
    labelled = Counter(node.labels[REGION] for node in nodes if node.labels.get(REGION))
    return labelled.most_common(1)[0][0] if labelled else ""


def _takes_spot(inventory: Inventory, nodeclass: str) -> bool:
    """Return whether any NodePool of an EC2NodeClass may launch spot instances; True without NodePools."""
    pools = [pool for pool in inventory.nodepools if is_ec2(ref := pool.node_class_ref) and ref.name == nodeclass]
    return not pools or any(
        Requirements.from_labels(pool.template_labels).get(CAPACITY_TYPE).allows(SPOT)
        and Requirements.from_selectors(pool.requirements).get(CAPACITY_TYPE).allows(SPOT)
        for pool in pools
    )


def _notes(nodeclass: Ec2NodeClass, market: Market, *, takes_spot: bool) -> Iterable[str]:
    name = f"{EC2_KIND} {nodeclass.name}"
    if market.zones_assumed:
        zones = ", ".join(market.zones_assumed)
        yield f"offerings in {zones} are unknown: every type of {market.region or 'AWS'} is assumed to be offered"
    if market.on_demand.region != market.region:
        yield f"prices are the {market.on_demand.label}: there is no price list for {market.region or 'this region'}"
    if market.spot_price_per_hour is None and takes_spot:
        yield "no spot prices are known: spot is simulated at the on-demand price, an upper bound"
    unknown = sorted(
        reservation.id
        for reservations in nodeclass.reservations.values()
        for reservation in reservations
        if reservation.id not in market.instances_left
    )
    if unknown:
        yield f"{name}: instances left in {', '.join(unknown)} are unknown: assumed to be 0"
    if nodeclass.spec.placement_group_selector is not None:
        yield f"{name}: its placement group is unknown: types are resolved without it"
