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


def evaluations(simulated: int) -> ControllerMetrics:
    """Return metrics of three passes that waited 15 s, ten that did not, and Emptiness."""
    return ControllerMetrics(
        read_at_ns=0,
        endpoint="",
        evaluation_seconds={"single": (38.0, 8), "multi": (17.0, 5), "empty": (900.0, 60)},
        unwaited_evaluations={"single": 6, "multi": 4},
        removals_simulated=simulated,
    )


def test_a_simulated_removal_takes_what_passes_last_without_their_waits() -> None:
    assert evaluations(100).seconds_per_removal == pytest.approx((8 + 2) / 100)
    assert evaluations(10).seconds_per_removal == pytest.approx(1)


def test_few_simulations_and_passes_that_only_waited_tell_nothing() -> None:
    assert evaluations(9).seconds_per_removal is None
    waited = ControllerMetrics(
        read_at_ns=0,
        endpoint="",
        evaluation_seconds={"single": (15.0, 1)},
        unwaited_evaluations={"single": 0},
        removals_simulated=10,
    )
    assert waited.seconds_per_removal is None
