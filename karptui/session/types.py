"""One instance type in one NodePool, and one NodePool with its types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Final

import msgspec

from karptui.aws.auto_mode import SOURCE
from karptui.aws.cluster_types import ClusterTypes, NodeClassTypes
from karptui.aws.evidence import Evidence, offering_value
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.instance_types import incompatible_types
from karptui.aws.kubelet import expression_results
from karptui.aws.ledger import Ledger, build_ledger, largest_pod, safe_overhead_percent
from karptui.aws.lint import LintFinding, reserved_more_than_node, too_few_pod_slots, unknown_operators, wildcard_values
from karptui.aws.live import live_instance_types
from karptui.aws.market import OfferingKey
from karptui.aws.nodeclass import Ec2NodeClass, NodeClassError, parse_nodeclass
from karptui.aws.observed import ObservedType, observed_types
from karptui.aws.prices import NodePrices, Price, PriceOrigin, PriceSource
from karptui.aws.user_data import user_data_settings
from karptui.decode.kinds import Kind
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.labels import CAPACITY_TYPE, ON_DEMAND, SPOT, WELL_KNOWN, ZONE
from karptui.karpenter.nodeclass import EC2_KIND, is_auto_mode, is_ec2, nodeclass_key
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import Requirements
from karptui.karpenter.settings import Settings
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.kube.quantity import Quantity
from karptui.kube.recent import LastAnswer
from karptui.provisioning.catalogue import allocatable_nano
from karptui.provisioning.instance_types import may_go_to, pool_types
from karptui.provisioning.pool_types import Filter, PoolTypes, TypeVerdict
from karptui.session.cluster_view import ClusterView
from karptui.session.pool_types import OfferedTypes, offered_types_of
from karptui.state.inventory import inventory_of


class Standing(StrEnum):
    """How things stand with an offering."""

    OFFERED = "offered"
    NOT_ALLOWED = "not allowed by the pool"
    SOLD_OUT = "sold out"
    NO_SUBNET = "no subnet"
    NOT_SOLD = "not sold here"
    RULED_OUT = "ruled out by the NodeClass"
    UNAVAILABLE = "unavailable"
    NO_PRICE = "no price"


class TypeOffer(msgspec.Struct, frozen=True):
    """One way to buy a type: a zone and a capacity type."""

    zone: str
    capacity_type: str
    standing: Standing
    price: Price | None
    """None where nobody knows it."""
    reservation_id: str = ""
    instances_left: int = 0
    """In the reservation."""


class PoolContext(msgspec.Struct, frozen=True, eq=False):
    """What the types of one NodePool are looked at with."""

    pool_name: str
    requirements: Requirements
    settings: Settings
    book: NodePrices
    nodeclass: Ec2NodeClass | None
    """None off AWS, and where it cannot be read."""
    nodeclass_types: NodeClassTypes | None
    """None where the types were not worked out from an EC2NodeClass."""
    facts: Mapping[str, InstanceTypeFacts]
    observed: Mapping[str, ObservedType]
    origin: str
    """Where the list of types comes from, in words."""


class TypeEntry(msgspec.Struct, frozen=True, tag=True, eq=False, dict=True):
    """One row of the Types screen."""

    context: PoolContext
    verdict: TypeVerdict

    @property
    def name(self) -> str:
        """The instance type."""
        return self.verdict.instance_type.name

    @property
    def instance_type(self) -> InstanceType:
        """The type as the scheduler gets it."""
        return self.verdict.instance_type

    @property
    def is_left(self) -> bool:
        """Whether a new node may have it."""
        return self.verdict.removed_by is None

    @property
    def is_wanted(self) -> bool:
        """Whether the NodePool's requirements allow it, whatever else rules it out."""
        return self.verdict.removed_by is not Filter.REQUIREMENTS

    @property
    def facts(self) -> InstanceTypeFacts | None:
        """What EC2 says; None where nobody knows the type."""
        return self.context.facts.get(self.name)

    @property
    def observed(self) -> ObservedType | None:
        """What nodes of the type report in this cluster; None where there is no such node."""
        return self.context.observed.get(self.name)

    @cached_property
    def ledger(self) -> Ledger | None:
        """Where the advertised memory goes; None where EC2's facts or the NodeClass are not known."""
        facts, resolved = self.facts, self.context.nodeclass_types
        if facts is None or self.context.nodeclass is None:
            return None
        ledger = build_ledger(
            facts,
            self.instance_type,
            self.context.settings,
            is_memory_discovered=resolved is not None and self.name in resolved.discovered_memory_bytes,
        )
        planned = ledger.advertised_memory_bytes - ledger.contiguous_memory_bytes - ledger.vm_overhead_bytes
        # Types that came with a snapshot may have been worked out under other settings: their account would not add up.
        return ledger if ledger.is_memory_discovered or planned == resources.memory_bytes(ledger.capacity) else None

    @cached_property
    def expressions(self) -> Mapping[str, str]:
        """Kubelet settings that are expressions, with what they come to on the type: by place, such as ``maxPods``."""
        facts, nodeclass = self.facts, self.context.nodeclass
        return {} if facts is None or nodeclass is None else expression_results(facts, nodeclass, self.context.settings)

    @cached_property
    def allocatable(self) -> dict[str, Quantity]:
        """What pods may request of a node."""
        amounts, capacity = allocatable_nano(self.instance_type), self.instance_type.capacity
        return {name: Quantity(amount, capacity[name].format) for name, amount in amounts.items() if name in capacity}

    @cached_property
    def largest_pod(self) -> dict[str, Quantity]:
        """The most that one pod may request beside the DaemonSets, never below zero."""
        if self.ledger is not None:
            return largest_pod(self.ledger, self.verdict.daemons)
        left = resources.subtract(self.allocatable, self.verdict.daemons)
        return {name: amount if amount.nano > 0 else Quantity(0, amount.format) for name, amount in left.items()}

    @cached_property
    def offers(self) -> tuple[TypeOffer, ...]:
        """Every way to buy it, by zone and capacity type; each pair once."""
        reason = self.ruled_out
        found = {
            (offer.zone, offer.capacity_type, offer.reservation_id): offer
            for offer in (self._offer(offering, reason) for offering in self.instance_type.offerings)
        }
        return tuple(found[key] for key in sorted(found))

    @cached_property
    def ruled_out(self) -> str:
        """Why the EC2NodeClass rules the type out; empty where it does not."""
        resolved, facts = self.context.nodeclass_types, self.facts
        if resolved is None or facts is None:
            return ""
        return incompatible_types(resolved.nodeclass, [facts]).get(self.name, "")

    def _offer(self, offering: Offering, ruled_out: str) -> TypeOffer:
        zone, capacity_type = offering_value(offering, ZONE), offering_value(offering, CAPACITY_TYPE)
        return TypeOffer(
            zone,
            capacity_type,
            self._standing(offering, zone, capacity_type, ruled_out),
            self._price(offering, zone, capacity_type),
            offering_value(offering, "karpenter.k8s.aws/capacity-reservation-id"),
            offering.reservation_capacity,
        )

    def _standing(self, offering: Offering, zone: str, capacity_type: str, ruled_out: str) -> Standing:
        if not offering.is_available:
            return self._why_unavailable(zone, capacity_type, ruled_out)
        allowed = self.context.requirements.compatible(Requirements.from_selectors(offering.requirements), WELL_KNOWN)
        return Standing.OFFERED if allowed else Standing.NOT_ALLOWED

    def _why_unavailable(self, zone: str, capacity_type: str, ruled_out: str) -> Standing:
        resolved = self.context.nodeclass_types
        if resolved is None:
            return Standing.UNAVAILABLE
        if ruled_out:
            return Standing.RULED_OUT
        market = resolved.market
        if OfferingKey(capacity_type, self.name, zone) in market.sold_out:
            return Standing.SOLD_OUT
        if zone not in market.zones_by_type.get(self.name, frozenset()):
            return Standing.NOT_SOLD
        if zone not in {one.name for one in resolved.nodeclass.zones}:
            return Standing.NO_SUBNET
        return Standing.NO_PRICE if market.price(capacity_type, self.name, zone) is None else Standing.UNAVAILABLE

    def _price(self, offering: Offering, zone: str, capacity_type: str) -> Price | None:
        book = self.context.book
        known = book.price(self.name, zone, capacity_type)
        if not offering.is_price_overlaid or book.settings.is_disabled:
            return known
        listed, currency = offering.price_per_hour, known.currency if known is not None else "USD"
        return Price(book.settings.applied(listed), listed, currency, PriceOrigin(PriceSource.OVERLAY, 0))

    def cheapest(self, capacity_type: str) -> Price | None:
        """Return the least known price of a capacity type among offerings that are to be had, else among all."""
        known = [offer for offer in self.offers if offer.capacity_type == capacity_type and offer.price is not None]
        had = [offer for offer in known if offer.standing is Standing.OFFERED] or known
        return min((offer.price for offer in had if offer.price is not None), key=lambda p: p.per_hour, default=None)

    @cached_property
    def on_demand(self) -> Price | None:
        """The least on-demand price."""
        return self.cheapest(ON_DEMAND)

    @cached_property
    def spot(self) -> Price | None:
        """The least spot price that somebody really knows."""
        return self.cheapest(SPOT)

    @cached_property
    def offered(self) -> Mapping[str, tuple[str, ...]]:
        """Zones to be had by capacity type."""
        found: dict[str, list[str]] = {}
        for offer in self.offers:
            if offer.standing is Standing.OFFERED and offer.zone not in found.setdefault(offer.capacity_type, []):
                found[offer.capacity_type].append(offer.zone)
        return {name: tuple(zones) for name, zones in found.items()}


class PoolEntry(msgspec.Struct, frozen=True, tag=True, eq=False, dict=True):
    """One NodePool on the Types screen."""

    found: PoolTypes
    context: PoolContext
    problem: str
    """Why there are no types, in words; empty when there are."""
    types: tuple[TypeEntry, ...]
    findings: tuple[LintFinding, ...]
    pods: tuple[Pod, ...]
    """Pending pods that may go to the pool, one of each kind, those that ask the most memory first."""
    safe_overhead_percent: float | None
    """The least VM_MEMORY_OVERHEAD_PERCENT that overestimates no type of the pool that has nodes; None without any."""

    @property
    def name(self) -> str:
        """The NodePool."""
        return self.found.pool.name

    @cached_property
    def left(self) -> tuple[TypeEntry, ...]:
        """The types that a new node may have, cheapest first."""
        left = [one for one in self.types if one.is_left]
        return tuple(sorted(left, key=lambda one: (one.verdict.rank or len(left) + 1, one.name)))

    @cached_property
    def wanted(self) -> tuple[TypeEntry, ...]:
        """The types that the requirements allow."""
        return tuple(one for one in self.types if one.is_wanted)

    def type(self, name: str) -> TypeEntry | None:
        """Return a type by its name."""
        return next((one for one in self.types if one.name == name), None)


_POOLS: Final[LastAnswer[tuple[PoolEntry, ...]]] = LastAnswer()


def pool_entries(view: ClusterView) -> tuple[PoolEntry, ...]:
    """Return the types of every NodePool; the same object as long as nothing that counts has changed.

    Takes a tenth of a second the first time, so it belongs in a thread. Of pods, only those that wait are watched for
    changes: what DaemonSets ask follows their templates or, as in Karpenter, their newest live pod.
    """
    state, offered = view.state, offered_types_of(view)
    return _POOLS.get(
        (
            offered,
            state.nodepools,
            state.daemonsets,
            state.pending_pods,
            state.nodes,
            state.of(Kind.NODEOVERLAY),
            view.prices,
        ),
        lambda: _entries(view, offered),
    )


def _entries(view: ClusterView, offered: OfferedTypes) -> tuple[PoolEntry, ...]:
    inventory = inventory_of(view.state)
    found_pools = pool_types(inventory, offered.types, view.evidence.settings)
    observed = observed_types(inventory.nodes)
    pending = [pod for pod in view.state.pending_pods.values() if pod.is_active]
    return tuple(_entry(view, one, offered.nodeclasses, observed, pending) for one in found_pools)


def _entry(
    view: ClusterView,
    found: PoolTypes,
    resolved: ClusterTypes,
    observed: Mapping[str, ObservedType],
    pending: Iterable[Pod],
) -> PoolEntry:
    evidence, pool = view.evidence, found.pool
    nodeclass_types = resolved.of(pool.node_class_ref)
    nodeclass = nodeclass_types.nodeclass if nodeclass_types is not None else _nodeclass(view, pool)
    context = PoolContext(
        pool_name=pool.name,
        requirements=found.requirements,
        settings=evidence.settings,
        book=view.prices,
        nodeclass=nodeclass,
        nodeclass_types=nodeclass_types,
        facts=live_instance_types(evidence.facts) if nodeclass is not None else {},
        observed=observed,
        origin=_origin(pool, evidence),
    )
    types = tuple(TypeEntry(context, verdict) for verdict in found.verdicts)
    wanted = [one for one in types if one.is_wanted]
    reported = [
        (one.facts, resources.memory_bytes({"memory": spread.smallest}))
        for one in wanted
        if one.facts is not None and one.observed is not None and (spread := one.observed.capacity.get("memory"))
    ]
    return PoolEntry(
        found=found,
        context=context,
        problem=_problem(pool, resolved, evidence, has_types=bool(types)),
        types=types,
        findings=_findings(found, nodeclass),
        pods=_waiting(found, pending),
        safe_overhead_percent=safe_overhead_percent(reported),
    )


def _nodeclass(view: ClusterView, pool: NodePool) -> Ec2NodeClass | None:
    """Return the NodeClass of a pool whose types came with a snapshot."""
    known = view.state.nodeclasses.get(nodeclass_key(pool.node_class_ref.kind, pool.node_class_ref.name))
    if known is None or not is_ec2(known):
        return None
    try:
        return parse_nodeclass(known)
    except NodeClassError:
        return None


def _origin(pool: NodePool, evidence: Evidence) -> str:
    if evidence.instance_types is not None:
        return "recorded with the snapshot"
    ref = pool.node_class_ref
    if is_auto_mode(ref):
        return f"{ref.kind} {ref.name}: approximated from {SOURCE}"
    if not is_ec2(ref):
        return "what nodes report: the provider's list is not known"
    has_facts = evidence.facts.instance_types is not None
    return f"{EC2_KIND} {ref.name}, {'EC2' if has_facts else 'built-in catalogue'}"


def _problem(pool: NodePool, resolved: ClusterTypes, evidence: Evidence, *, has_types: bool) -> str:
    ref = pool.node_class_ref
    if has_types:
        return ""
    if evidence.instance_types is None and not is_ec2(pool.node_class_ref):
        return f"{ref.kind} {ref.name}: its types are not known, and no node tells"
    return resolved.problems.get(ref.name) or f"{ref.kind} {ref.name} is not there"


def _waiting(found: PoolTypes, pending: Iterable[Pod]) -> tuple[Pod, ...]:
    """Return one pod of each kind that asks for something, the largest first."""
    by_template: dict[int, Pod] = {}
    for pod in sorted(pending, key=lambda one: (one.namespace, one.name)):
        if id(pod.template) not in by_template and may_go_to(pod, found.pool, found.requirements):
            by_template[id(pod.template)] = pod
    return tuple(sorted(by_template.values(), key=lambda pod: -resources.memory_bytes(pod.template.requests)))


def _findings(found: PoolTypes, nodeclass: Ec2NodeClass | None) -> tuple[LintFinding, ...]:
    pool = found.pool
    written = (f"NodePool {pool.name}", "spec.template.spec.requirements", pool.requirements)
    findings = [*unknown_operators(*written), *wildcard_values(*written)]
    looked_at = [one for one in found.verdicts if one.removed_by not in ("requirements", "offerings", "reserved")]
    daemon_pods = {one.instance_type.name: one.daemon_pods for one in looked_at}
    findings += too_few_pod_slots(pool.name, [one.instance_type for one in looked_at], daemon_pods)
    if nodeclass is not None:
        findings += user_data_settings(nodeclass)
        allowed = [one.instance_type for one in found.verdicts if one.removed_by != "requirements"]
        findings += reserved_more_than_node(nodeclass.name, allowed)
    return tuple(findings)
