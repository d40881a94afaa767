"""Prices of nodes, and worst-case launch prices.

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
"""Launch price of a type without a usable offering; Karpenter uses the largest float."""
_LAUNCH_ORDER: Final = tuple(
    Requirements((Requirement.of(CAPACITY_TYPE, "In", (capacity_type,)),))
    for capacity_type in (RESERVED, SPOT, ON_DEMAND)
)
_NAMING: Final = ("In", "DoesNotExist")
_cost_labels: Final = itemgetter(INSTANCE_TYPE, CAPACITY_TYPE, ZONE, NODEPOOL)


class PricedOffering(msgspec.Struct, frozen=True, gc=False):
    """An offering; those with equal requirements share a kind."""

    kind: int
    price_per_hour: float
    is_launchable: bool


class ReckonedPrices:
    """Prices of a list of instance types, by name, zone and capacity type or by requirements."""

    def __init__(self, types: Iterable[InstanceType], rules: Rules = NEWEST) -> None:
        self.rules = rules
        self.types: Mapping[str, InstanceType] = {instance_type.name: instance_type for instance_type in types}
        self._by_place: dict[str, dict[tuple[str, str], Offering]] = {}
        self._offerings: dict[str, tuple[PricedOffering, ...]] = {}
        self._kind_of: dict[tuple[NodeSelectorRequirement, ...], int] = {}
        self._kinds: list[Requirements] = []
        self._launch_ranks: list[tuple[bool, ...]] = []
        self._allowed: dict[Requirements, dict[int, bool]] = {}

    def __len__(self) -> int:
        return len(self.types)

    def price(self, type_name: str, zone: str, capacity_type: str) -> float:
        """Return the price per hour of a type's first matching offering, available or not; 0 if unknown."""
        offering = self._offering(type_name, zone, capacity_type)
        return 0.0 if offering is None or math.isnan(offering.price_per_hour) else offering.price_per_hour

    def known_price(self, type_name: str, zone: str, capacity_type: str) -> float | None:
        """Return the same price; None if it is unknown or the on-demand price is assumed."""
        offering = self._offering(type_name, zone, capacity_type)
        is_assumed = offering is not None and offering.is_price_assumed
        return None if is_assumed else self.price(type_name, zone, capacity_type) or None

    def _offering(self, type_name: str, zone: str, capacity_type: str) -> Offering | None:
        places = self._by_place.get(type_name)
        if places is None:
            places = self._by_place[type_name] = _places(self.types.get(type_name))
        return places.get((zone, capacity_type))

    def offerings(self, type_name: str) -> tuple[PricedOffering, ...]:
        """Return a type's offerings."""
        offerings = self._offerings.get(type_name)
        if offerings is None:
            offerings = self._offerings[type_name] = tuple(
                PricedOffering(
                    self._kind(offering.requirements), offering.price_per_hour, offering.is_launchable(self.rules)
                )
                for offering in self.types[type_name].offerings
            )
        return offerings

    def _kind(self, selectors: tuple[NodeSelectorRequirement, ...]) -> int:
        kind = self._kind_of.get(selectors)
        if kind is None:
            kind = self._kind_of[selectors] = len(self._kinds)
            requirements = Requirements.from_selectors(selectors)
            self._kinds.append(requirements)
            self._launch_ranks.append(tuple(rank.compatible(requirements, WELL_KNOWN) for rank in _LAUNCH_ORDER))
        return kind

    def compatible(self, type_name: str, requirements: Requirements, *, available_only: bool) -> list[PricedOffering]:
        """Return a type's offerings that requirements allow; only launchable ones if ``available_only``."""
        answers = self._allowed.setdefault(requirements, {})
        compatible = []
        for offering in self.offerings(type_name):
            if available_only and not offering.is_launchable:
                continue
            is_allowed = answers.get(offering.kind)
            if is_allowed is None:
                is_allowed = requirements.compatible(self._kinds[offering.kind], WELL_KNOWN)
                answers[offering.kind] = is_allowed
            if is_allowed:
                compatible.append(offering)
        return compatible

    def cheapest(self, type_name: str, requirements: Requirements, *, available_only: bool) -> float:
        """Return the lowest price of a type's compatible offerings; ``UNREACHABLE`` without any."""
        offerings = self.compatible(type_name, requirements, available_only=available_only)
        return min((offering.price_per_hour for offering in offerings), default=UNREACHABLE)

    def worst_launch(self, type_name: str, requirements: Requirements) -> float:
        """Return the highest price of the available compatible offerings of the first capacity type that has any.

        The order is the provider's launch order: reserved, spot, on-demand.
        """
        offerings = self.compatible(type_name, requirements, available_only=True)
        for rank in range(len(_LAUNCH_ORDER)):
            prices = [offering.price_per_hour for offering in offerings if self._launch_ranks[offering.kind][rank]]
            if prices:
                return max(prices)
        return UNREACHABLE


def _places(instance_type: InstanceType | None) -> dict[tuple[str, str], Offering]:
    places: dict[tuple[str, str], Offering] = {}
    for offering in instance_type.offerings if instance_type is not None else ():
        # For a label without values, Karpenter draws a random number, which matches no zone.
        values = {
            requirement.key: min(requirement.values, default="")
            for requirement in offering.requirements
            if requirement.operator in _NAMING
        }
        if ZONE in values and CAPACITY_TYPE in values:
            places.setdefault((values[ZONE], values[CAPACITY_TYPE]), offering)
    return places


def pool_costs(claims: Iterable[NodeClaim], books: Mapping[str, ReckonedPrices]) -> dict[str, float]:
    """Return the total price per hour of each NodePool's NodeClaims, by the claims' own labels.

    A claim counts once it has labels for instance type, capacity type, zone and NodePool; an unknown price counts as 0.
    """
    totals: dict[str, float] = {}
    for claim in claims:
        cost = _cost(claim, books)
        if cost is not None:
            pool, price = cost
            totals[pool] = totals.get(pool, 0.0) + price
    return totals


def unpriced_claims(claims: Iterable[NodeClaim], books: Mapping[str, ReckonedPrices]) -> list[NodeClaim]:
    """Return the NodeClaims that `pool_costs` omits or counts as 0."""
    return [claim for claim in claims if (cost := _cost(claim, books)) is None or not cost[1]]


def _cost(claim: NodeClaim, books: Mapping[str, ReckonedPrices]) -> tuple[str, float] | None:
    """Return a NodeClaim's NodePool and price; None if it lacks a required label."""
    try:
        type_name, capacity_type, zone, pool = _cost_labels(claim.labels)
    except KeyError:
        return None
    book = books.get(pool)
    return pool, book.price(type_name, zone, capacity_type) if book is not None else 0.0
