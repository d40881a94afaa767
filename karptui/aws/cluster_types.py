"""Instance types of a cluster: every EC2NodeClass resolved with the zones and nodes of the cluster.

Once a node of a type has registered, Karpenter uses its reported memory instead of the estimate. Source:
pkg/controllers/providers/instancetype/capacity/controller.go and ``UpdateInstanceTypeCapacityFromNode`` in
pkg/providers/instancetype/instancetype.go in Karpenter's AWS provider. The controller remembers it for 60 days; only
live nodes are visible from outside, which is also all that a restarted controller has. Outside AWS, reported resources
are all that is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.instance_types import Resolved, instance_types
from karptui.aws.kubelet import expressions
from karptui.aws.nodeclass import Ami, Ec2NodeClass, NodeClassError, Subnet, SubnetZone, parse_nodeclass
from karptui.aws.prices import Market, OfferingKey, built_in_market, region_of
from karptui.aws.region import merged_zones, node_zones
from karptui.karpenter.instance_type import NO_FREE_ADDRESSES, InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, KEY_ALIASES, ON_DEMAND, REGION, REGISTERED, SPOT
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import EC2_KIND, NodeClassRef, is_ec2
from karptui.karpenter.requirements import Requirements
from karptui.karpenter.settings import Settings
from karptui.kube.cel_library import why_no_cel
from karptui.kube.group import group_by
from karptui.kube.objects import Node
from karptui.kube.quantity import Quantity
from karptui.kube.recent import Recent
from karptui.kube.resources import ResourceList, memory_bytes

MarketOf = Callable[[str, Iterable[SubnetZone]], Market]
"""Returns the market of a region for a cluster's zones."""


class _Inputs(NamedTuple):
    """Cache key of a NodeClass's instance types."""

    decisive: tuple[Ec2NodeClass, Settings, tuple[InstanceTypeFacts, ...]]
    market: tuple[Any, ...]
    """Prices and unavailable offerings, which change every few minutes."""
    memory_bytes: Mapping[str, int]
    """Reported memory by type, which changes with the nodes."""


_cache: Final[Recent[_Inputs, tuple[InstanceType, ...]]] = Recent(most=16, patience=64)
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
    full_subnets: frozenset[str] = frozenset(),
) -> ClusterTypes:
    """Resolve every EC2NodeClass; those of other providers are skipped.

    Placement groups are not visible in the cluster: a NodeClass with one is resolved without it, and noted.

    Args:
        market_of: Returns a region's market; the built-in catalogue's by default.
        facts: EC2's data about its types; the built-in catalogue's by default.
        full_subnets: IDs of subnets that Karpenter excludes because they have no free addresses.
    """
    chosen = tuple(instance_type_facts().values() if facts is None else facts)
    parsed, problems = _parse(inventory)
    nodes = {node.name: node for node in inventory.nodes}
    claims_by_node = [(nodes[claim.node_name], claim) for claim in inventory.nodeclaims if claim.node_name in nodes]
    reported = discovered_memory_bytes(parsed, claims_by_node)
    seen = node_zones(inventory.nodes)
    types: dict[str, NodeClassTypes] = {}
    notes: dict[str, None] = {}
    for parsed_nodeclass in parsed:
        try:
            nodeclass = _with_zones(parsed_nodeclass, seen, notes)
            market = market_of(_region(inventory.nodes, nodeclass), merged_zones(nodeclass.zones, seen))
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
        if why_no_cel() and settings.rules.evaluates_kubelet and expressions(nodeclass.kubelet):
            name = f"{EC2_KIND} {nodeclass.name}"
            notes[f"{name}: expressions in spec.kubelet are ignored: {why_no_cel()}"] = None
    return ClusterTypes(by_nodeclass=types, problems=problems, notes=tuple(notes))


def without_full_zones(market: Market, subnets: Iterable[Subnet], full_subnets: frozenset[str]) -> Market:
    """Return a market without zones whose subnets of a NodeClass are all full; reservations remain."""
    if not full_subnets:
        return market
    by_zone = group_by(subnets, lambda subnet: subnet.zone)
    full = {zone for zone, of_zone in by_zone.items() if full_subnets.issuperset(subnet.id for subnet in of_zone)}
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
        kept = ((key, types) for key, types in _cache.items() if key.decisive == decisive)
        before = next((Resolved(types, key.memory_bytes) for key, types in kept), None)
        return instance_types(
            nodeclass, settings, market, facts=facts, discovered_memory_bytes=memory_bytes, before=before
        )

    return _cache.get(_Inputs(decisive, msgspec.structs.astuple(market), memory_bytes), make)


def _parse(inventory: Inventory) -> tuple[list[Ec2NodeClass], dict[str, str]]:
    parsed, problems = [], {}
    for nodeclass in filter(is_ec2, inventory.nodeclasses):
        try:
            parsed.append(parse_nodeclass(nodeclass))
        except NodeClassError as error:
            problems[nodeclass.name] = str(error)
    return parsed, problems


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


def _region(nodes: Iterable[Node], nodeclass: Ec2NodeClass) -> str:
    """Return the region of the NodeClass's zones, otherwise the most common region label of nodes."""
    if named := next(filter(None, (region_of(zone.name) for zone in nodeclass.zones)), ""):
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


def discovered_memory_bytes(
    nodeclasses: Iterable[Ec2NodeClass], nodes: Iterable[tuple[Node, NodeClaim]]
) -> Mapping[str, Mapping[str, int]]:
    """Return the least memory reported by nodes of each type, by NodeClass name and instance type.

    Only registered nodes that run the current image of their NodeClass count, for every NodeClass with the same images.
    """
    images_by_nodeclass = {nodeclass.name: _Images(nodeclass.amis) for nodeclass in nodeclasses}
    reported_by_images: dict[frozenset[Ami], dict[str, int]] = {}
    for node, claim in nodes:
        images = images_by_nodeclass.get(claim.node_class_ref.name)
        if images is None or node.labels.get(REGISTERED) != "true" or claim.image_id != images.current(node.labels):
            continue
        if reported := memory_bytes(node.capacity):
            by_type = reported_by_images.setdefault(images.set, {})
            name = node.labels.get(INSTANCE_TYPE, "")
            by_type[name] = min(reported, by_type.get(name, reported))
    return {name: reported_by_images.get(images.set, {}) for name, images in images_by_nodeclass.items()}


class _Images:
    def __init__(self, amis: Iterable[Ami]) -> None:
        self._amis = tuple(amis)
        self.set = frozenset(self._amis)
        keys = {KEY_ALIASES.get(term.key, term.key) for ami in self._amis for term in ami.selectors}
        self._keys = (*keys, *(alias for alias, key in KEY_ALIASES.items() if key in keys))
        self._current: dict[tuple[str | None, ...], str | None] = {}

    def current(self, labels: Mapping[str, str]) -> str | None:
        """Return the id of the current image for a node with these labels, None if none matches."""
        of_interest = tuple(map(labels.get, self._keys))
        if of_interest not in self._current:
            self._current[of_interest] = current_image(self._amis, labels)
        return self._current[of_interest]


def current_image(amis: Iterable[Ami], labels: Mapping[str, str]) -> str | None:
    """Return the id of the first image that matches a node's labels, None if none does."""
    node = Requirements.from_labels(labels)
    return next((ami.id for ami in amis if node.compatible(Requirements.from_selectors(ami.selectors))), None)


class ResourceSpread(msgspec.Struct, frozen=True):
    """Distribution of a resource over several nodes."""

    smallest: Quantity
    largest: Quantity

    @property
    def is_uniform(self) -> bool:
        """Whether all nodes report the same amount."""
        return self.smallest.nano == self.largest.nano


NodeT = TypeVar("NodeT", bound=Node | NodeClaim)


class ObservedType(msgspec.Struct, frozen=True):
    """Resources reported by the nodes of an instance type."""

    node_count: int
    capacity: Mapping[str, ResourceSpread]
    """By resource name, over the nodes that report it."""
    allocatable: Mapping[str, ResourceSpread]


def observed_types(nodes: Iterable[Node]) -> dict[str, ObservedType]:
    """Return reported resources by instance type label, sorted by name.

    Nodes without the label, and nodes that have not reported yet, are ignored.
    """
    return {
        name: ObservedType(
            len(of_type),
            _spreads([node.capacity for node in of_type]),
            _spreads([node.allocatable for node in of_type]),
        )
        for name, of_type in by_instance_type(nodes)
    }


def by_instance_type(nodes: Iterable[NodeT]) -> list[tuple[str, list[NodeT]]]:
    """Return nodes or NodeClaims that report a capacity by the label of their instance type, sorted by name."""
    by_type = group_by((node for node in nodes if node.capacity), lambda node: node.labels.get(INSTANCE_TYPE, ""))
    return sorted((name, of_type) for name, of_type in by_type.items() if name)


def _spreads(lists: list[ResourceList]) -> dict[str, ResourceSpread]:
    amounts: dict[str, list[Quantity]] = {}
    for resources in lists:
        for name, amount in resources.items():
            amounts.setdefault(name, []).append(amount)
    return {name: _spread(of_resource) for name, of_resource in sorted(amounts.items())}


def _spread(amounts: list[Quantity]) -> ResourceSpread:
    ordered = sorted(amounts, key=lambda amount: amount.nano)
    return ResourceSpread(ordered[0], ordered[-1])
