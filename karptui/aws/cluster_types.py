"""The instance types of a whole cluster: every EC2NodeClass, resolved with the zones and nodes that it shows."""

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
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import CAPACITY_TYPE, ON_DEMAND, REGION, SPOT
from karptui.karpenter.launch_errors import NO_FREE_ADDRESSES
from karptui.karpenter.nodeclass import EC2_KIND, NodeClassRef, is_ec2
from karptui.karpenter.requirements import Requirements
from karptui.karpenter.settings import Settings
from karptui.kube.node import Node
from karptui.kube.recent import Recent

MarketOf = Callable[[str, Iterable[SubnetZone]], Market]
"""Returns the market of a region for the zones of a cluster."""


class _Inputs(NamedTuple):
    """What instance types follow from."""

    decisive: tuple[Ec2NodeClass, Settings, tuple[InstanceTypeFacts, ...]]
    market: tuple[Any, ...]
    """Prices and what is sold out change every few minutes."""
    memory_bytes: Mapping[str, int]
    """And so does of which types there are nodes that have reported theirs."""


_known: Final[Recent[_Inputs, tuple[InstanceType, ...]]] = Recent(most=16, patience=64)
"""What NodeClasses come to, by what of: they change seldom, and clusters several times a second.

Each is some megabytes large, so those that an edit or an outage has left behind are let go."""


class NodeClassTypes(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One EC2NodeClass and the types that come of it."""

    nodeclass: Ec2NodeClass
    market: Market
    types: tuple[InstanceType, ...]
    discovered_memory_bytes: Mapping[str, int]
    """Memory that nodes have reported and that the types were resolved with, by type."""


class ClusterTypes(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """All EC2NodeClasses of a cluster."""

    by_nodeclass: Mapping[str, NodeClassTypes]
    problems: Mapping[str, str]
    """Why a NodeClass has no types, by its name."""
    notes: tuple[str, ...]
    """What was assumed, in sentences."""

    def of(self, ref: NodeClassRef) -> NodeClassTypes | None:
        """Return what a NodePool's NodeClass comes to; None for other providers', and where nothing is known."""
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
    """Resolve every EC2NodeClass; other providers' NodeClasses are passed over.

    Placement groups cannot be seen from the cluster: a NodeClass that selects one is resolved without it, and noted.

    Args:
        inventory: NodeClasses, nodes and NodeClaims count.
        settings: The controller's.
        market_of: What a region sells; the built-in catalogue's by default.
        facts: EC2's facts; the built-in catalogue's by default.
        uses_discovered_memory: Whether memory that live nodes report replaces the estimate, as it does in a controller
            that has seen them.
        full_subnets: IDs of subnets that Karpenter leaves out because they had no free addresses.
    """
    chosen = tuple(instance_type_facts().values() if facts is None else facts)
    parsed, problems = _parse(inventory)
    reported = _reported(inventory, parsed) if uses_discovered_memory else {}
    seen = node_zones(inventory.nodes)
    found: dict[str, NodeClassTypes] = {}
    notes: dict[str, None] = {}
    for nodeclass in parsed:
        try:
            one = _with_zones(nodeclass, seen, notes)
            market = market_of(_region(inventory.nodes, one), _merged(one.zones, seen))
            market = without_full_zones(market, one.status.subnets or (), full_subnets)
            memory = reported.get(one.name, {})
            types = _resolved(one, settings, market, chosen, memory)
        except NodeClassError as error:
            problems[nodeclass.name] = str(error)
            continue
        found[one.name] = NodeClassTypes(nodeclass=one, market=market, types=types, discovered_memory_bytes=memory)
        notes |= dict.fromkeys(_notes(one, market, takes_spot=_takes_spot(inventory, one.name)))
    return ClusterTypes(by_nodeclass=found, problems=problems, notes=tuple(notes))


def without_full_zones(market: Market, subnets: Iterable[Subnet], full_subnets: AbstractSet[str]) -> Market:
    """Return a market without the zones in which all subnets of a NodeClass are full; reservations stay."""
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
    """Return the same types for the same inputs: to compare them is quicker by far, and what is indexed stays so."""
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
    owned = [(nodes[claim.node_name], claim) for claim in inventory.nodeclaims if claim.node_name in nodes]
    return discovered_memory_bytes(parsed, owned)


def _with_zones(nodeclass: Ec2NodeClass, seen: tuple[SubnetZone, ...], notes: dict[str, None]) -> Ec2NodeClass:
    """Return a NodeClass that has subnets: one whose status was never written gets the zones of the nodes."""
    if nodeclass.zones or not seen:
        return nodeclass
    notes[f"{EC2_KIND} {nodeclass.name}: status.subnets is empty: a subnet in each zone that has nodes is assumed"] = (
        None
    )
    subnets = tuple(Subnet(zone=zone.name, zone_id=zone.zone_id) for zone in seen)
    status = msgspec.structs.replace(nodeclass.status, subnets=subnets)
    return msgspec.structs.replace(nodeclass, status=status)


def _merged(own: tuple[SubnetZone, ...], seen: tuple[SubnetZone, ...]) -> tuple[SubnetZone, ...]:
    """Return each zone once, by name, with its id where either knows it."""
    ids: dict[str, str] = {}
    for zone in (*own, *seen):
        ids[zone.name] = ids.get(zone.name) or zone.zone_id
    return tuple(SubnetZone(name, zone_id) for name, zone_id in ids.items())


def _region(nodes: Iterable[Node], nodeclass: Ec2NodeClass) -> str:
    """Return the region of the NodeClass's zones, else the one that most nodes are labelled with."""
    named = next(filter(None, (region_of(zone.name) for zone in nodeclass.zones)), "")
    if named:
        return named
    labelled = Counter(node.labels[REGION] for node in nodes if node.labels.get(REGION))
    return labelled.most_common(1)[0][0] if labelled else ""


def _takes_spot(inventory: Inventory, nodeclass: str) -> bool:
    """Return whether a NodePool of an EC2NodeClass may launch spot instances; without any, one may come."""
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
        yield f"what {zones} offers is not known: all types of {market.region or 'AWS'} are taken as offered"
    if market.on_demand.region != market.region:
        yield f"prices are the {market.on_demand.label}: there is no list of {market.region or 'this region'}"
    if market.spot_price_per_hour is None and takes_spot:
        yield "no spot prices are known: in Karpenter's choices spot counts at the on-demand price, an upper bound"
    unknown = sorted(
        reservation.id
        for reservations in nodeclass.reservations.values()
        for reservation in reservations
        if reservation.id not in market.instances_left
    )
    if unknown:
        yield f"{name}: instances left in {', '.join(unknown)} are not known: taken as none"
    if nodeclass.spec.placement_group_selector is not None:
        yield f"{name}: its placement group is not known: types are resolved without it"
