from __future__ import annotations

import pytest

from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName


def offerings(**prices: float | None) -> dict[OfferingName, OfferingMetrics]:
    """Return offerings of one type: ``a_spot=0.1`` is spot in zone a."""
    found = {}
    for name, price in prices.items():
        zone, _, usage = name.partition("_")
        found[OfferingName("m5.large", zone, usage.replace("_", "-"))] = OfferingMetrics(price, True)
    return found


@pytest.mark.parametrize(
    ("prices", "has_spot_prices"),
    [
        ({}, False),
        ({"a_on_demand": 0.1}, False),
        ({"a_spot": 0.1}, False),
        ({"a_on_demand": 0.1, "a_spot": 0.1}, False),
        ({"a_on_demand": 0.1, "a_spot": None}, False),
        ({"a_on_demand": None, "a_spot": 0.1}, False),
        ({"a_on_demand": 0.1, "b_spot": 0.05}, False),
        ({"a_on_demand": 0.1, "a_spot": 0.1, "b_on_demand": 0.1, "b_spot": 0.04}, True),
    ],
)
def test_spot_prices_have_been_read_once_one_differs(prices: dict[str, float | None], has_spot_prices: bool) -> None:
    metrics = ControllerMetrics(read_at_ns=0, endpoint="", offerings=offerings(**prices))
    assert metrics.has_spot_prices is has_spot_prices
