"""One instance type of a NodePool as a value: its memory ledger, its offerings, and why it is ruled out."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from karptui.aws.cluster_types import NodeClassTypes, ObservedType
from karptui.aws.evidence import offering_value
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.kubelet import expression_results
from karptui.aws.ledger import Ledger, build_ledger, largest_pod, matching_overhead_percent
from karptui.aws.nodeclass import Ec2NodeClass
from karptui.aws.offerings import incompatibility
from karptui.aws.prices import NodePrices, OfferingKey, Price, PriceOrigin, PriceSource
from karptui.karpenter.instance_type import NO_FREE_ADDRESSES, InstanceType, Offering
from karptui.karpenter.labels import CAPACITY_TYPE, WELL_KNOWN, ZONE
from karptui.karpenter.requirements import Requirements
from karptui.karpenter.settings import Settings
from karptui.kube import resources
from karptui.kube.quantity import Quantity
from karptui.kube.resources import MEMORY
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.provisioning.catalogue import allocatable_nano
from karptui.provisioning.pool_types import TypeVerdict
from karptui.session.types import Availability, TypeEntry, TypeOffer


class PoolContext(msgspec.Struct, frozen=True, eq=False):
    """The inputs shared by all types of one NodePool."""

    requirements: Requirements
    settings: Settings
    book: NodePrices
    nodeclass: Ec2NodeClass | None
    """None off AWS, and if it cannot be read."""
    nodeclass_types: NodeClassTypes | None
    """None if the types were not resolved from an EC2NodeClass."""
    facts: Mapping[str, InstanceTypeFacts]
    observed: Mapping[str, ObservedType]
    origin: str
    """Source of the list of types, as text."""
    unlisted: str = ""
    """Note that the list lacks types of existing nodes; empty if it is complete."""


class TypeReader:
    """Makes the value of one type."""

    def __init__(
        self,
        context: PoolContext,
        verdict: TypeVerdict,
        allowed: dict[tuple[NodeSelectorRequirement, ...], bool],
    ) -> None:
        self._context, self._verdict, self._allowed = context, verdict, allowed
        self._type: InstanceType = verdict.instance_type
        self._facts: InstanceTypeFacts | None = context.facts.get(self._type.name)

    def read(self) -> TypeEntry:
        """Return the value."""
        verdict, instance_type, context = self._verdict, self._type, self._context
        ledger = self._ledger()
        allocatable = {
            name: Quantity(amount, instance_type.capacity[name].format)
            for name, amount in allocatable_nano(instance_type).items()
            if name in instance_type.capacity
        }
        ruled_out = self._ruled_out()
        return TypeEntry(
            **msgspec.structs.asdict(verdict),
            name=instance_type.name,
            capacity=instance_type.capacity,
            overhead=instance_type.overhead,
            allocatable=allocatable,
            largest_pod=largest_pod(ledger.allocatable if ledger is not None else allocatable, verdict.daemons),
            memory_mib=self._facts.memory_mib if self._facts is not None else None,
            observed=context.observed.get(instance_type.name),
            matching_overhead_percent=self._matching_percent(),
            ledger=ledger,
            expressions=(
                expression_results(self._facts, context.nodeclass, context.settings)
                if self._facts is not None and context.nodeclass is not None
                else {}
            ),
            offers=self._offers(ruled_out),
            ruled_out=ruled_out,
        )

    def _ledger(self) -> Ledger | None:
        """Return the account; types that came with a snapshot under other settings have none: it would not add up."""
        facts, resolved = self._facts, self._context.nodeclass_types
        if facts is None or self._context.nodeclass is None:
            return None
        ledger = build_ledger(
            facts,
            self._type,
            self._context.settings,
            is_memory_discovered=resolved is not None and self._type.name in resolved.discovered_memory_bytes,
        )
        planned = ledger.advertised_memory_bytes - ledger.contiguous_memory_bytes - ledger.vm_overhead_bytes
        return ledger if ledger.is_memory_discovered or planned == resources.memory_bytes(ledger.capacity) else None

    def _matching_percent(self) -> float | None:
        observed = self._context.observed.get(self._type.name)
        spread = observed.capacity.get(MEMORY) if observed is not None else None
        if spread is None or self._facts is None:
            return None
        return matching_overhead_percent(self._facts, spread.smallest.units)

    def _ruled_out(self) -> str:
        resolved = self._context.nodeclass_types
        if resolved is None or self._facts is None:
            return ""
        return incompatibility(self._facts, resolved.nodeclass) or ""

    def _offers(self, ruled_out: str) -> tuple[TypeOffer, ...]:
        offers = {
            (offer.zone, offer.capacity_type, offer.reservation_id): offer
            for offer in (self._offer(offering, ruled_out) for offering in self._type.offerings)
        }
        return tuple(offers[key] for key in sorted(offers))

    def _offer(self, offering: Offering, ruled_out: str) -> TypeOffer:
        zone, capacity_type = offering_value(offering, ZONE), offering_value(offering, CAPACITY_TYPE)
        return TypeOffer(
            zone,
            capacity_type,
            self._availability(offering, zone, capacity_type, ruled_out),
            self._price(offering, zone, capacity_type),
            offering_value(offering, "karpenter.k8s.aws/capacity-reservation-id"),
            offering.reservation_capacity,
        )

    def _availability(self, offering: Offering, zone: str, capacity_type: str, ruled_out: str) -> Availability:
        if not offering.is_available:
            return self._why_unavailable(zone, capacity_type, ruled_out)
        allowed = self._allowed.get(offering.requirements)
        if allowed is None:
            requirements = Requirements.from_selectors(offering.requirements)
            allowed = self._allowed[offering.requirements] = self._context.requirements.compatible(
                requirements, WELL_KNOWN
            )
        return Availability.OFFERED if allowed else Availability.NOT_ALLOWED

    def _why_unavailable(self, zone: str, capacity_type: str, ruled_out: str) -> Availability:
        resolved = self._context.nodeclass_types
        if resolved is None:
            return Availability.UNAVAILABLE
        if ruled_out:
            return Availability.RULED_OUT
        market = resolved.market
        error_code = market.sold_out.get(OfferingKey(capacity_type, self._type.name, zone))
        if error_code is not None:
            return Availability.NO_ADDRESSES if error_code == NO_FREE_ADDRESSES else Availability.SOLD_OUT
        if zone not in market.zones_by_type.get(self._type.name, frozenset()):
            return Availability.NOT_SOLD
        if zone not in {subnet_zone.name for subnet_zone in resolved.nodeclass.zones}:
            return Availability.NO_SUBNET
        return (
            Availability.NO_PRICE
            if market.price(capacity_type, self._type.name, zone) is None
            else Availability.UNAVAILABLE
        )

    def _price(self, offering: Offering, zone: str, capacity_type: str) -> Price | None:
        book = self._context.book
        price = book.price(self._type.name, zone, capacity_type)
        if not offering.is_price_overlaid or book.settings.is_disabled:
            return price
        listed, currency = offering.price_per_hour, price.currency if price is not None else "USD"
        return Price(book.settings.applied(listed), listed, currency, PriceOrigin(PriceSource.OVERLAY, 0))
