"""What nodes cost and what a launch would cost at worst.

Rules: ``OfferingPrice``, ``WorstLaunchPrice`` and ``OrderByPrice`` in ``pkg/cloudprovider/types.go``,
``resolveNodePrice`` in ``pkg/controllers/disruption/types.go``, ``pkg/state/cost/cost.go``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Final

import msgspec

from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, NODEPOOL, ON_DEMAND, RESERVED, SPOT, WELL_KNOWN, ZONE
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.requirements import Requirement, Requirements
from karptui.karpenter.rules import NEWEST, Rules
from karptui.kube.selectors import NodeSelectorRequirement

UNREACHABLE: Final = math.inf
"""Launch price of a type without a usable offering: Karpenter takes the largest number there is."""
_LAUNCH_ORDER: Final = tuple(
    Requirements((Requirement.of(CAPACITY_TYPE, "In", (capacity_type,)),))
    for capacity_type in (RESERVED, SPOT, ON_DEMAND)
)
_NAMING: Final = ("In", "DoesNotExist")
_cost_labels: Final = itemgetter(INSTANCE_TYPE, CAPACITY_TYPE, ZONE, NODEPOOL)


class PricedOffering(msgspec.Struct, frozen=True, gc=False):
    """An offering; those of equal requirements share a kind."""

    kind: int
    price_per_hour: float
    is_launchable: bool


class ReckonedPrices:
    """Prices of one list of instance types, looked up by name, zone and capacity type or by requirements."""

    def __init__(self, types: Iterable[InstanceType], rules: Rules = NEWEST) -> None:
        self.rules = rules
        self.types: Mapping[str, InstanceType] = {one.name: one for one in types}
        self._by_place: dict[str, dict[tuple[str, str], Offering]] = {}
        self._offerings: dict[str, tuple[PricedOffering, ...]] = {}
        self._kind_of: dict[tuple[NodeSelectorRequirement, ...], int] = {}
        self._kinds: list[Requirements] = []
        self._launch_ranks: list[tuple[bool, ...]] = []
        self._allowed: dict[Requirements, dict[int, bool]] = {}

    def __len__(self) -> int:
        return len(self.types)

    def price(self, type_name: str, zone: str, capacity_type: str) -> float:
        """Return the price per hour of a type's first offering there, available or not; 0 where it is not known."""
        offering = self._offering(type_name, zone, capacity_type)
        return 0.0 if offering is None or math.isnan(offering.price_per_hour) else offering.price_per_hour

    def known_price(self, type_name: str, zone: str, capacity_type: str) -> float | None:
        """Return the same; None where it is not known, and where the on-demand price stands in for it."""
        offering = self._offering(type_name, zone, capacity_type)
        is_stood_in = offering is not None and offering.is_price_assumed
        return None if is_stood_in else self.price(type_name, zone, capacity_type) or None

    def _offering(self, type_name: str, zone: str, capacity_type: str) -> Offering | None:
        places = self._by_place.get(type_name)
        if places is None:
            places = self._by_place[type_name] = _places(self.types.get(type_name))
        return places.get((zone, capacity_type))

    def offerings(self, type_name: str) -> tuple[PricedOffering, ...]:
        """Return the offerings of a type."""
        found = self._offerings.get(type_name)
        if found is None:
            found = self._offerings[type_name] = tuple(
                PricedOffering(self._kind(one.requirements), one.price_per_hour, one.is_launchable(self.rules))
                for one in self.types[type_name].offerings
            )
        return found

    def _kind(self, selectors: tuple[NodeSelectorRequirement, ...]) -> int:
        kind = self._kind_of.get(selectors)
        if kind is None:
            kind = self._kind_of[selectors] = len(self._kinds)
            requirements = Requirements.from_selectors(selectors)
            self._kinds.append(requirements)
            self._launch_ranks.append(tuple(asked.compatible(requirements, WELL_KNOWN) for asked in _LAUNCH_ORDER))
        return kind

    def compatible(self, type_name: str, requirements: Requirements, *, available_only: bool) -> list[PricedOffering]:
        """Return a type's offerings that requirements allow; if asked, only those that can be launched into."""
        answers = self._allowed.setdefault(requirements, {})
        found = []
        for offering in self.offerings(type_name):
            if available_only and not offering.is_launchable:
                continue
            is_allowed = answers.get(offering.kind)
            if is_allowed is None:
                is_allowed = requirements.compatible(self._kinds[offering.kind], WELL_KNOWN)
                answers[offering.kind] = is_allowed
            if is_allowed:
                found.append(offering)
        return found

    def cheapest(self, type_name: str, requirements: Requirements, *, available_only: bool) -> float:
        """Return the least price of a type's compatible offerings, ``UNREACHABLE`` where there is none."""
        offerings = self.compatible(type_name, requirements, available_only=available_only)
        return min((offering.price_per_hour for offering in offerings), default=UNREACHABLE)

    def worst_launch(self, type_name: str, requirements: Requirements) -> float:
        """Return the dearest available compatible offering of the first capacity type that has any.

        The order is reserved, spot, on-demand: that is how the provider would launch it.
        """
        offerings = self.compatible(type_name, requirements, available_only=True)
        for rank in range(len(_LAUNCH_ORDER)):
            prices = [one.price_per_hour for one in offerings if self._launch_ranks[one.kind][rank]]
            if prices:
                return max(prices)
        return UNREACHABLE


def _places(instance_type: InstanceType | None) -> dict[tuple[str, str], Offering]:
    places: dict[tuple[str, str], Offering] = {}
    for offering in instance_type.offerings if instance_type is not None else ():
        # Of a label that may have any value Karpenter takes a number by chance, which is no place's.
        named = {one.key: min(one.values, default="") for one in offering.requirements if one.operator in _NAMING}
        if ZONE in named and CAPACITY_TYPE in named:
            places.setdefault((named[ZONE], named[CAPACITY_TYPE]), offering)
    return places


def pool_costs(claims: Iterable[NodeClaim], books: Mapping[str, ReckonedPrices]) -> dict[str, float]:
    """Return what the NodeClaims of each NodePool cost per hour, by the labels of the claims themselves.

    A claim counts once it carries instance type, capacity type, zone and NodePool; an unknown price counts as 0.
    """
    totals: dict[str, float] = {}
    for claim in claims:
        found = _cost(claim, books)
        if found is not None:
            pool, price = found
            totals[pool] = totals.get(pool, 0.0) + price
    return totals


def unpriced_claims(claims: Iterable[NodeClaim], books: Mapping[str, ReckonedPrices]) -> list[NodeClaim]:
    """Return the NodeClaims that `pool_costs` leaves out, or counts as 0."""
    return [claim for claim in claims if (found := _cost(claim, books)) is None or not found[1]]


def _cost(claim: NodeClaim, books: Mapping[str, ReckonedPrices]) -> tuple[str, float] | None:
    """Return the NodePool of a NodeClaim and its price; None where it lacks a label that says so."""
    try:
        type_name, capacity_type, zone, pool = _cost_labels(claim.labels)
    except KeyError:
        return None
    book = books.get(pool)
    return pool, book.price(type_name, zone, capacity_type) if book is not None else 0.0
