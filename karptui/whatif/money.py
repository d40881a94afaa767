"""What nodes are said to cost: the dollars of the top bar, not the prices that Karpenter decides by.

Karpenter reckons with spot at the on-demand price until it has read spot prices, and with reserved capacity as good as
free. Where a price book is known it speaks instead: a price that nobody knows is none, and a reservation is billed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from karptui.aws.evidence import offering_value
from karptui.aws.prices import PriceBook
from karptui.disruption.price import PriceBook as ReckonedPrices
from karptui.disruption.simulation import NewNode
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, SPOT, WELL_KNOWN, ZONE
from karptui.karpenter.requirements import Requirements
from karptui.provisioning.state_node import StateNode
from karptui.whatif.lines import TypeOption


class Cost(NamedTuple):
    """Of one node."""

    per_hour: float | None = None
    """Dollars; None where nobody knows."""
    at_most_per_hour: float | None = None
    """Where nobody knows the price of a spot node, what it would cost on demand."""


def cost_of_node(prices: PriceBook | None, books: Mapping[str, ReckonedPrices], state: StateNode) -> Cost:
    """Return what a node that exists costs, by its labels.

    Args:
        prices: What prices are shown; None to take those that Karpenter decides by.
        books: The prices that Karpenter decides by, by NodePool.
        state: The node.
    """
    labels = state.labels
    place = labels.get(INSTANCE_TYPE, ""), labels.get(ZONE, ""), labels.get(CAPACITY_TYPE, "")
    own = books.get(state.nodepool_name)
    return _cost(prices, *place, own.price(*place) if own is not None else None)


def cost_of_option(prices: PriceBook | None, option: TypeOption | None) -> Cost:
    """Return what a new node costs if it comes as this type."""
    if option is None:
        return Cost()
    return _cost(prices, option.name, option.zone, option.capacity_type, option.price_per_hour)


def cost_of_new_node(prices: PriceBook | None, node: NewNode) -> Cost:
    """Return what a node that takes the place of others costs at its cheapest offering."""
    return cost_of_option(prices, _cheapest(node))


def _cost(
    prices: PriceBook | None, type_name: str, zone: str, capacity_type: str, reckoned_per_hour: float | None
) -> Cost:
    """Return a cost.

    Args:
        prices: What prices are shown; None to take those that Karpenter decides by.
        type_name: Of the node.
        zone: Of the node.
        capacity_type: Of the node.
        reckoned_per_hour: What Karpenter decides by; None or 0 where it has no price.
    """
    if prices is None:
        return Cost(reckoned_per_hour or None)
    price = prices.price(type_name, zone, capacity_type)
    if price is not None:
        return Cost(price.per_hour)
    if capacity_type == SPOT and reckoned_per_hour and not prices.settings.is_disabled:
        return Cost(None, prices.settings.applied(reckoned_per_hour))
    return Cost()


def _cheapest(node: NewNode) -> TypeOption | None:
    allowed: dict[object, bool] = {}
    found: list[tuple[float, str, str, str]] = []
    for name in node.type_names:
        for offering in node.book.types[name].offerings:
            key = offering.requirements
            if key not in allowed:
                allowed[key] = node.requirements.compatible(Requirements.from_selectors(key), WELL_KNOWN)
            if offering.is_available and allowed[key]:
                zone, capacity_type = offering_value(offering, ZONE), offering_value(offering, CAPACITY_TYPE)
                found.append((offering.price_per_hour, name, capacity_type, zone))
    if not found:
        return None
    price_per_hour, name, capacity_type, zone = min(found)
    return TypeOption(name, price_per_hour, zone, capacity_type)
