from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.aws.prices import NodePrices, PriceOrigin, PriceSettings, PriceSource, PriceTable
from karptui.disruption.launch_price import ReckonedPrices as Reckoned
from karptui.disruption.simulation import NewNode
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.labels import CAPACITY_TYPE, ZONE
from karptui.karpenter.requirements import Requirement, Requirements
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.whatif.difference_lines import TypeOption
from karptui.whatif.outcome import Cost, cost_of_new_node, cost_of_option

LISTED = PriceTable(origin=PriceOrigin(PriceSource.BUILT_IN, 0), on_demand={"m5.large": 0.096})
WITH_SPOT = PriceTable(
    origin=PriceOrigin(PriceSource.AWS, 0), on_demand={"m5.large": 0.096}, zonal={("m5.large", "a", "spot"): 0.03}
)
DISCOUNT = PriceSettings(multiplier=0.5, surcharge_per_node_hour=0.01)


def an_option(capacity_type: str, price: float | None = 0.096) -> TypeOption:
    return TypeOption("m5.large", price, "a", capacity_type)


@pytest.mark.parametrize(
    ("prices", "option", "cost"),
    [
        (None, None, Cost()),
        (None, an_option("spot"), Cost(0.096)),
        (None, an_option("spot", 0.0), Cost()),
        (NodePrices((LISTED,)), None, Cost()),
        (NodePrices((LISTED,)), an_option("on-demand"), Cost(0.096)),
        (NodePrices((LISTED,)), an_option("spot"), Cost(None, 0.096)),
        (NodePrices((LISTED,)), an_option("spot", None), Cost()),
        (NodePrices((WITH_SPOT,)), an_option("spot"), Cost(0.03)),
        # AWS bills a reservation in any case, although Karpenter treats it as almost free.
        (NodePrices((LISTED,)), an_option("reserved", 0.096 / 10**7), Cost(0.096)),
        (NodePrices((LISTED,), DISCOUNT), an_option("on-demand"), Cost(0.058)),
        (NodePrices((LISTED,), DISCOUNT), an_option("spot"), Cost(None, 0.058)),
        (NodePrices((LISTED,), PriceSettings(is_disabled=True)), an_option("spot"), Cost()),
        (NodePrices(), an_option("on-demand"), Cost()),
    ],
)
def test_the_cost_of_a_new_node(prices: NodePrices | None, option: TypeOption | None, cost: Cost) -> None:
    assert cost_of_option(prices, option) == pytest.approx(cost)


def an_offering(capacity_type: str, price: float, *, is_available: bool = True) -> Offering:
    requirements = (
        NodeSelectorRequirement(CAPACITY_TYPE, "In", (capacity_type,)),
        NodeSelectorRequirement(ZONE, "In", ("a",)),
    )
    return Offering(requirements=requirements, price_per_hour=price, is_available=is_available)


@pytest.mark.parametrize(("offerings", "cost"), [
    ((an_offering("spot", 0.096), an_offering("on-demand", 0.096)), Cost(0.096)),
    ((an_offering("spot", 0.03), an_offering("on-demand", 0.096)), Cost(None, 0.03)),
    ((an_offering("spot", 0.03, is_available=False), an_offering("on-demand", 0.096)), Cost(0.096)),
    ((an_offering("reserved", 0.0), an_offering("on-demand", 0.096, is_available=False)), Cost()),
])  # fmt: skip
def test_a_replacement_costs_as_much_as_its_cheapest_offering(offerings: tuple[Offering, ...], cost: Cost) -> None:
    dearer = tuple(replace(offering, price_per_hour=offering.price_per_hour + 1) for offering in offerings)
    types = (
        InstanceType(name="m5.large", requirements=(), capacity={}, offerings=offerings),
        InstanceType(name="m5.xlarge", requirements=(), capacity={}, offerings=dearer),
    )
    node = NewNode(pool_name="general", book=Reckoned(types), type_names=("m5.large", "m5.xlarge"),
                   requirements=Requirements([Requirement.of(CAPACITY_TYPE, "In", ("spot", "on-demand"))]), requests={},
                   pods=(), annotations={})  # fmt: skip
    assert cost_of_new_node(NodePrices((LISTED,)), node) == cost
