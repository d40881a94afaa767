from __future__ import annotations

import pytest

from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName


def offerings(**prices: float | None) -> dict[OfferingName, OfferingMetrics]:
    """Return offerings of one type: ``a_spot=0.1`` is spot in zone a."""
    result = {}
    for name, price in prices.items():
        zone, _, usage = name.partition("_")
        result[OfferingName("m5.large", zone, usage.replace("_", "-"))] = OfferingMetrics(price, True)
    return result


@pytest.mark.parametrize(("prices", "has_spot_prices"), [
    ({}, False),
    ({"a_on_demand": 0.1}, False),
    ({"a_spot": 0.1}, False),
    ({"a_on_demand": 0.1, "a_spot": 0.1}, False),
    ({"a_on_demand": 0.1, "a_spot": None}, False),
    ({"a_on_demand": None, "a_spot": 0.1}, False),
    ({"a_on_demand": 0.1, "b_spot": 0.05}, False),
    ({"a_on_demand": 0.1, "a_spot": 0.1, "b_on_demand": 0.1, "b_spot": 0.04}, True),
])  # fmt: skip
def test_spot_prices_have_been_read_once_one_differs(prices: dict[str, float | None], has_spot_prices: bool) -> None:
    metrics = ControllerMetrics(read_at_ns=0, endpoint="", offerings=offerings(**prices))
    assert metrics.has_spot_prices is has_spot_prices


def evaluations(simulated: int, scheduling: float = 1.0) -> ControllerMetrics:
    """Return metrics: three consolidation passes waited 15 s, ten did not; one of ten Emptiness passes waited."""
    return ControllerMetrics(
        read_at_ns=0,
        endpoint="",
        evaluation_seconds={"single": (38.8, 8), "multi": (17.5, 5), "empty": (16.0, 10)},
        unwaited_evaluations={"single": 6, "multi": 4, "empty": 9},
        simulated_removals=(scheduling, simulated),
    )


@pytest.mark.parametrize(
    ("metrics", "seconds"),
    [
        (evaluations(100), (8 + 2) / 100),
        (evaluations(10), 1),
        (evaluations(10, scheduling=20.0), 2),
        (evaluations(9), None),
        (ControllerMetrics(read_at_ns=0, endpoint="", simulated_removals=(3.0, 10)), 0.3),
    ],
    ids=["passes without waits", "ten samples", "at least the scheduling", "too few samples", "scheduling alone"],
)
def test_seconds_of_a_simulated_removal(metrics: ControllerMetrics, seconds: float | None) -> None:
    assert metrics.seconds_per_removal == pytest.approx(seconds)
