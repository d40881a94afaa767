"""The instance types of each NodePool, and the assumptions about them; resolved once per generation.

Other providers' types come from the labels of their nodes, and from Karpenter's own metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Final

import msgspec

from karptui.aws.auto_mode import SOURCE, auto_mode_types
from karptui.aws.cluster_types import ClusterTypes, by_instance_type, cluster_types, without_full_zones
from karptui.aws.evidence import Evidence, markets_of
from karptui.aws.launch_refusals import UnavailableOfferings
from karptui.aws.market import live_instance_types
from karptui.aws.nodeclass import NodeClassError, subnets_of
from karptui.aws.prices import region_of
from karptui.aws.region import node_zones, zones_of
from karptui.decode.kinds import Kind
from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import (
    CAPACITY_TYPE,
    HOSTNAME,
    INITIALIZED,
    INSTANCE_TYPE,
    NODEPOOL,
    REGISTERED,
    SPOT,
    WELL_KNOWN,
    ZONE,
)
from karptui.karpenter.metrics import ControllerMetrics
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import EC2_KIND, is_auto_mode, is_ec2
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.kube import resources
from karptui.kube.objects import Node
from karptui.kube.pod import PodTemplate
from karptui.kube.quantity import Quantity, QuantityFormat, of_millis, of_units
from karptui.kube.recent import LastAnswer
from karptui.kube.resources import CPU, MEMORY, PODS
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.units import clock_text, counted, verb
from karptui.provisioning.instance_types import InstanceTypes
from karptui.session.cluster_view import ClusterView
from karptui.session.nodeclasses import UnreadClasses, assumed_nodeclasses, assumed_text, unread_classes, unread_ec2
from karptui.state.cluster import inventory_of


def requested_labels_of(inventory: Inventory) -> frozenset[str]:
    """Return the type labels that NodePools ask for, and the providers' labels that pods ask for."""
    groups = {pool.node_class_ref.group for pool in inventory.nodepools}
    templates = {pod.template for pod in inventory.pods if not pod.node_name}
    selected = (key for template in templates for key in _selected(template))
    required = (term.key for pool in inventory.nodepools for term in pool.requirements)
    pool_keys = {key for pool in inventory.nodepools for key in pool.template_labels}
    return frozenset((*required, *(key for key in selected if key.partition("/")[0] in groups))) - pool_keys


def _selected(template: PodTemplate) -> Iterable[str]:
    yield from template.node_selector
    for terms in (template.required_node_terms or (), (p.preference for p in template.preferred_node_terms)):
        for term in terms:
            yield from (requirement.key for requirement in term.match_expressions)


def shown_by(inventory: Inventory) -> tuple[Node | NodeClaim, ...]:
    """Return the sources of type facts: the nodes, and launched NodeClaims without a node."""
    names = {node.name for node in inventory.nodes}
    return (*inventory.nodes, *(claim for claim in inventory.nodeclaims if claim.node_name not in names))


def seen_types(nodes: Iterable[Node | NodeClaim], labels: frozenset[str] = frozenset()) -> tuple[InstanceType, ...]:
    """Return a type for every instance type label, as small as the smallest of its nodes, with its nodes' labels.

    Offerings are the zones and capacity types of nodes; their prices are unknown and set to 0. A requested
    label that no node of a type has may have any value.
    """
    return tuple(_seen_type(name, of_type, labels) for name, of_type in by_instance_type(nodes))


_OF_NODES: Final = frozenset({HOSTNAME, NODEPOOL, REGISTERED, INITIALIZED, CAPACITY_TYPE, INSTANCE_TYPE})
"""Labels that describe no more of a type than its name and offerings."""


def _where(capacity_type: str, zone: str) -> tuple[NodeSelectorRequirement, ...]:
    named = ((CAPACITY_TYPE, capacity_type), (ZONE, zone))
    return tuple(NodeSelectorRequirement(key, "In", (value,)) for key, value in named if value)


def _seen_type(name: str, nodes: list[Node | NodeClaim], requested_labels: frozenset[str]) -> InstanceType:
    smallest = min(nodes, key=lambda node: resources.memory_bytes(node.allocatable))
    keys = {key for node in nodes for key in node.labels if key in WELL_KNOWN or key in requested_labels} - _OF_NODES
    labels = [(key, sorted({node.labels[key] for node in nodes if key in node.labels})) for key in sorted(keys)]
    unknown = requested_labels - keys - _OF_NODES
    pairs = sorted({(node.labels.get(CAPACITY_TYPE, ""), node.labels.get(ZONE, "")) for node in nodes})
    return InstanceType(
        name=name,
        requirements=(
            NodeSelectorRequirement(INSTANCE_TYPE, "In", (name,)),
            *(NodeSelectorRequirement(key, "In", tuple(values)) for key, values in labels if values),
            *(NodeSelectorRequirement(key, "Exists", ()) for key in sorted(unknown)),
        ),
        seen_on=len(nodes),
        unknown_keys=unknown,
        capacity=smallest.capacity,
        overhead=Overhead(kube_reserved=resources.subtract(smallest.capacity, smallest.allocatable)),
        offerings=tuple(
            Offering(requirements=_where(capacity_type, zone), price_per_hour=0.0) for capacity_type, zone in pairs
        ),
    )


KUBELET_PODS: Final = 110
"""The kubelet's default: metrics do not contain the pod limit of a type."""
_IN_METRICS: Final = frozenset({INSTANCE_TYPE, CAPACITY_TYPE, ZONE})
"""Labels of a type that metrics tell."""


def with_metrics(
    seen: tuple[InstanceType, ...], metrics: ControllerMetrics | None, labels: frozenset[str]
) -> tuple[InstanceType, ...]:
    """Return types as Karpenter's own metrics know them: their offerings and prices, and types that no node shows.

    A type without nodes has known cpu, memory and offerings, but no labels: it is left out if any other
    label is requested. Its overhead is the largest share among nodes of other types.
    """
    offerings = _offerings(metrics) if metrics is not None else {}
    if metrics is None or not offerings:
        return seen
    priced = tuple(msgspec.structs.replace(t, offerings=offerings[t.name]) if t.name in offerings else t for t in seen)
    if labels - _IN_METRICS - {NODEPOOL}:
        return priced
    names = {instance_type.name for instance_type in seen}
    share = {name: max((_kept_share(type_, name) for type_ in seen), default=0.0) for name in (CPU, MEMORY)}
    named = sorted((metrics.cpu_cores.keys() & metrics.memory_bytes.keys() & offerings.keys()) - names)
    return (*priced, *(_type_of_metrics(name, metrics, offerings[name], share) for name in named))


def _offerings(metrics: ControllerMetrics) -> dict[str, tuple[Offering, ...]]:
    """Return the offerings in the metrics, by type; without a price nothing can be launched there."""
    offerings: dict[str, list[Offering]] = {}
    has_spot_prices = metrics.has_spot_prices
    for name, offering in metrics.offerings.items():
        offerings.setdefault(name.instance_type, []).append(
            Offering(
                requirements=_where(name.capacity_type, name.zone),
                price_per_hour=offering.price_per_hour or 0.0,
                is_available=offering.is_available is not False,
                is_price_assumed=name.capacity_type == SPOT and not has_spot_prices,
            )
        )
    return {name: tuple(offerings) for name, offerings in offerings.items()}


def _kept_share(instance_type: InstanceType, name: str) -> float:
    whole = resources.nano(instance_type.capacity, name)
    return resources.nano(instance_type.overhead.kube_reserved, name) / whole if whole else 0.0


def _type_of_metrics(
    name: str, metrics: ControllerMetrics, offerings: tuple[Offering, ...], share: dict[str, float]
) -> InstanceType:
    capacity: dict[str, Quantity] = {
        CPU: of_millis(metrics.cpu_cores[name] * 1000),
        MEMORY: of_units(metrics.memory_bytes[name], QuantityFormat.BINARY_SI),
        PODS: of_units(KUBELET_PODS),
    }
    kept = {key: Quantity(int(amount.nano * share.get(key, 0.0)), amount.format) for key, amount in capacity.items()}
    return InstanceType(
        name=name,
        requirements=(NodeSelectorRequirement(INSTANCE_TYPE, "In", (name,)),),
        is_named=True,
        capacity=capacity,
        overhead=Overhead(kube_reserved=kept),
        offerings=offerings,
    )


class OfferedTypes(msgspec.Struct, frozen=True, eq=False):
    """The instance types that a cluster's NodePools choose from."""

    types: InstanceTypes
    """Before NodeOverlays."""
    nodeclasses: ClusterTypes
    """The types of each EC2NodeClass; empty if the types came with a snapshot."""
    pool_notes: tuple[str, ...] = ()
    """Assumptions for single NodePools."""

    @property
    def notes(self) -> tuple[str, ...]:
        """All assumptions."""
        return (*self.nodeclasses.notes, *self.nodeclasses.problems.values(), *self.pool_notes)


_OFFERED: Final[LastAnswer[OfferedTypes]] = LastAnswer()
_NO_NODECLASSES: Final = ClusterTypes(by_nodeclass={}, problems={}, notes=())


def offered_types_of(view: ClusterView) -> OfferedTypes:
    """Return the types of a view's NodePools; the same object as long as no relevant input has changed."""
    state, evidence, unread = view.state, view.evidence, unread_classes(view)
    return _OFFERED.get(
        (state.nodepools, state.nodeclasses, state.nodes, state.nodeclaims, state.of(Kind.NODEOVERLAY), evidence),
        lambda: offered_types(inventory_of(state), evidence.settings, evidence, unread),
        equals=(unread,),
    )


def offered_types(
    inventory: Inventory, settings: Settings, evidence: Evidence, unread: UnreadClasses | None = None
) -> OfferedTypes:
    """Return the types of a cluster's NodePools.

    Types come from the snapshot if it has them, else from each EC2NodeClass (one that was not read is assumed),
    else from nodes of other providers.

    Args:
        settings: Karpenter's settings; they may differ from the settings in the evidence.
        unread: NodeClasses that were not read; when None, as the NodePools report them.
    """
    if evidence.instance_types is not None:
        return OfferedTypes(evidence.instance_types, _NO_NODECLASSES)
    if unread is None:
        unread = UnreadClasses(unread_ec2(inventory.nodepools, inventory.nodeclasses))
    assumed = assumed_nodeclasses(unread.refs, inventory.nodepools, inventory.nodes)
    resolved = cluster_types(
        msgspec.structs.replace(inventory, nodeclasses=(*inventory.nodeclasses, *assumed)),
        settings,
        market_of=markets_of(evidence, has_overlays=bool(inventory.overlays)),
        facts=live_instance_types(evidence.facts).values(),
        full_subnets=evidence.unavailable.subnets,
    )
    by_pool: dict[str, Sequence[InstanceType]] = {}
    auto_mode = cache(partial(_auto_mode_types, inventory, settings, evidence))
    seen = cache(partial(_types_of_nodes, inventory, evidence))
    notes = [assumed_text(node_class) for node_class in assumed]
    for pool in inventory.nodepools:
        if (types := resolved.of(pool.node_class_ref)) is not None:
            by_pool[pool.name] = types.types
        elif is_auto_mode(pool.node_class_ref):
            by_pool[pool.name] = instance_types = auto_mode(pool.node_class_ref.name)
            notes.append(_auto_mode_note(pool, instance_types))
        elif not is_ec2(pool.node_class_ref):
            by_pool[pool.name] = seen()
            notes.append(_seen_note(pool, seen()))
        else:
            name = pool.node_class_ref.name
            why = "" if name in resolved.problems else f", which {unread.why_no_types(pool)}"
            notes.append(f"NodePool {pool.name}: no instance types are known for {EC2_KIND} {name}{why}")
    notes += _refused_notes(evidence.unavailable)
    return OfferedTypes(by_pool, resolved, tuple(dict.fromkeys(notes)))


def _refused_notes(refused: UnavailableOfferings) -> Iterator[str]:
    parts = [
        *([counted(len(refused.offerings), "offering")] if refused.offerings else []),
        *([counted(len(refused.subnets), "full subnet")] if refused.subnets else []),
        *sorted(refused.capacity_types),
    ]
    if parts:
        until = clock_text(refused.until_ns)
        yield f"by events, EC2 refused {' and '.join(parts)}: excluded until {until} at the latest; there may be more"


def _types_of_nodes(inventory: Inventory, evidence: Evidence) -> tuple[InstanceType, ...]:
    labels = requested_labels_of(inventory)
    return with_metrics(seen_types(shown_by(inventory), labels), evidence.metrics, labels)


def _auto_mode_types(
    inventory: Inventory, settings: Settings, evidence: Evidence, name: str
) -> tuple[InstanceType, ...]:
    """Return AWS's documented types of an EKS Auto Mode NodeClass, plus those of its nodes; without it, the latter."""
    refs = {pool.name: pool.node_class_ref for pool in inventory.nodepools}
    pools = {pool for pool, ref in refs.items() if is_auto_mode(ref) and ref.name == name}
    nodes = [node for node in inventory.nodes if node.labels.get(NODEPOOL) in pools]
    labels, zones = requested_labels_of(inventory), node_zones(inventory.nodes)
    nodeclass = next((n for n in inventory.nodeclasses if is_auto_mode(n) and n.name == name), None)
    if nodeclass is None:
        return seen_types(nodes, labels)
    subnet_zones = zones_of(nodeclass) or zones
    region = next(filter(None, (region_of(zone.name) for zone in subnet_zones)), "")
    market = markets_of(evidence, has_overlays=bool(inventory.overlays))(region, subnet_zones)
    try:
        documented = auto_mode_types(
            nodeclass,
            settings,
            without_full_zones(market, subnets_of(nodeclass), evidence.unavailable.subnets),
            facts=live_instance_types(evidence.facts).values(),
            nodes=nodes,
            seen_zones=zones,
            prices=evidence.price_settings,
            requested_labels=labels,
        )
    except NodeClassError:
        return seen_types(nodes, labels)
    names = {instance_type.name for instance_type in documented}
    return (*documented, *(seen_type for seen_type in seen_types(nodes, labels) if seen_type.name not in names))


def _auto_mode_note(pool: NodePool, types: Sequence[InstanceType]) -> str:
    """Return the source of the types of an EKS Auto Mode NodePool, and the approximations."""
    documented = sum(not instance_type.seen_on for instance_type in types)
    if not documented:
        return _seen_note(pool, types)
    return (
        f"NodeClass {pool.node_class_ref.name} of EKS Auto Mode: {counted(documented, 'type')} as {SOURCE} lists them; "
        "approximated: what a node keeps back where no node of the type shows it, and what Auto Mode charges"
    )


def _seen_note(pool: NodePool, types: Sequence[InstanceType]) -> str:
    kind = pool.node_class_ref.kind or f"the NodeClass of NodePool {pool.name}"
    if not types:
        return f"no instance types of {kind} are known, and no node shows one"
    seen = [instance_type for instance_type in types if instance_type.seen_on]
    shown = f"{counted(len(seen), 'type')} seen on {counted(sum(type_.seen_on for type_ in seen), 'node')}"
    if not any(offering.price_per_hour for instance_type in types for offering in instance_type.offerings):
        used = verb(len(seen), "is", "are")
        return f"the instance types and prices of {kind} are not known: {shown} {used} used instead"
    if named := sum(instance_type.is_named for instance_type in types):
        return (
            f"of {kind} Karpenter's metrics tell prices, and cpu and memory of "
            f"{counted(named, 'type')} beside the {shown}; what those keep back and their labels are not known"
        )
    return f"of {kind} Karpenter's metrics tell the prices of {shown}; labels of its other types are not known"
