from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.kube import usage
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.usage import (
    GROWTH,
    Measured,
    UsagePeriod,
    add_reading,
    bound_of,
    bucket_of,
    of_periods,
    percentile_of,
)
from tests.studies.test_rightsize import a_pod

MINUTE_NS = 60 * NS_PER_SECOND
WEB = "StatefulSet/shop/web"
PODS = {WEB: [a_pod("web-0", "n0"), a_pod("web-1", "n1")]}


def a_period(*readings: list[Measured], begin_ns: int = 0, step_ns: int = MINUTE_NS) -> UsagePeriod:
    period = UsagePeriod(begin_ns, begin_ns)
    for number, measured in enumerate(readings, 1):
        add_reading(period, begin_ns + number * step_ns, measured)
    return period


def web(cpu: int, memory: int = 1, container: str = "app", workload: str = WEB) -> Measured:
    return Measured(workload, container, cpu, memory)


@given(st.integers(0, 10_000_000))
def test_the_bound_of_a_bucket_is_at_most_5_percent_above_its_amounts(millis: int) -> None:
    bound = bound_of(bucket_of(millis))
    assert max(millis, 1) <= bound <= max(millis * GROWTH, 1)


def test_absurd_amounts_are_capped_and_invalid_buckets_of_a_file_refused() -> None:
    period = a_period([web(10**40, 1 << 90)])
    data = msgspec.json.encode(period)
    assert msgspec.json.decode(data, type=UsagePeriod) == period
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(data.replace(b'"500"', b'"501"'), type=UsagePeriod)


@given(st.lists(st.integers(0, 100_000), min_size=1, max_size=60), st.integers(1, 100))
def test_a_percentile_is_that_of_the_measurements_or_at_most_5_percent_more(
    amounts: list[int], percentile: int
) -> None:
    counts = a_period(*([web(amount)] for amount in amounts)).workloads[WEB]["app"].cpu
    exact = sorted(amounts)[math.ceil(len(amounts) * percentile / 100) - 1]
    assert max(exact, 1) <= percentile_of(counts, percentile) <= max(exact * GROWTH, 1)


@given(st.lists(st.lists(st.tuples(st.integers(0, 9_999), st.integers(1, 2**40)), min_size=1), min_size=1), st.data())
def test_several_periods_give_the_same_result_as_one(
    readings: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    measured = [[web(cpu, memory) for cpu, memory in reading] for reading in readings]
    cut = data.draw(st.integers(0, len(measured)))
    parts = [a_period(*measured[:cut]), a_period(*measured[cut:], begin_ns=cut * MINUTE_NS)]
    whole = of_periods([a_period(*measured)], PODS, percentile=95, hours=168)
    assert of_periods(parts, PODS, percentile=95, hours=168) == whole
    (item,) = whole.items
    assert item.requests["memory"].units == max(memory for reading in readings for _, memory in reading)


def test_the_length_is_the_measured_time_of_each_container() -> None:
    period = a_period(*([web(5), web(7), web(9, container="side")] for _ in range(10)))
    add_reading(period, period.to_ns + 8 * 3600 * NS_PER_SECOND, [web(5)])
    add_reading(period, period.to_ns + MINUTE_NS, [web(5)])
    lengths = {name: usage.seconds for name, usage in period.workloads[WEB].items()}
    assert lengths == {"app": 11 * 60, "side": 10 * 60}, "eight hours without a reading counted as measured"
    recommendations = of_periods([period], PODS, percentile=95, hours=168)
    assert recommendations.known_hours == (11 / 60, 11 / 60)
    assert [item.is_unsure for item in recommendations.items] == [True]
    day = a_period(*([web(5)] for _ in range(24 * 60)))
    assert [item.is_unsure for item in of_periods([day], PODS, percentile=95, hours=168).items] == [False]


def test_containers_without_measurements_are_counted_and_get_no_recommendation() -> None:
    recommendations = of_periods([a_period([web(5, container="gone")])], PODS, percentile=95, hours=168)
    assert (recommendations.items, recommendations.without, recommendations.known_hours) == ((), 1, None)


def test_the_number_of_containers_of_a_period_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MOST_CONTAINERS", 2)
    many = [web(1, workload=f"Deployment/a/{number}") for number in range(4)]
    period = a_period(many, [web(9), *reversed(many)])
    assert list(period.workloads) == ["Deployment/a/0", "Deployment/a/1"]
    assert all(usage["app"].cpu == {0: 2} for usage in period.workloads.values())
