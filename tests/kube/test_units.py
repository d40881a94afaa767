from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, timedelta, timezone

import pytest

from karptui.kube import units
from karptui.kube.quantity import parse_quantity
from karptui.kube.timestamps import NS_PER_SECOND

MI = 1 << 20
GI = 1 << 30


@pytest.mark.parametrize(
    ("millis", "text"),
    [(0, "0"), (1, "1m"), (250, "250m"), (9_999, "9999m"), (10_000, "10"), (57_340, "57.3"), (-250, "-250m")],
)
def test_cpu_is_millicores_and_cores_from_ten_up(millis: int, text: str) -> None:
    assert units.cpu_text(millis) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0"),
        (12, "12B"),
        (2048, "2Ki"),
        (938 * MI, "938Mi"),
        (9 * GI, "9,216Mi"),
        (10 * GI, "10Gi"),
        (int(31.24 * GI), "31.2Gi"),
        (2150 * GI, "2,150Gi"),
        (12 * 1024 * GI, "12Ti"),
        (-938 * MI, "-938Mi"),
    ],
)
def test_memory_is_mi_and_gi_from_ten_up(size: int, text: str) -> None:
    assert units.memory_text(size) == text


@pytest.mark.parametrize(
    ("resource", "quantity", "text", "exact"),
    [
        ("cpu", "2", "2000m", "2000m"),
        ("cpu", "2000m", "2000m", "2000m"),
        ("cpu", "12500m", "12.5", "12.5"),
        ("memory", "240Gi", "240Gi", "245,760Mi"),
        ("hugepages-2Mi", "1Gi", "1,024Mi", "1,024Mi"),
        ("nvidia.com/gpu", "4", "4", "4"),
    ],
)
def test_amount_texts(resource: str, quantity: str, text: str, exact: str) -> None:
    nano = parse_quantity(quantity).nano
    assert units.amount_text(resource, nano) == text
    assert units.amount_text(resource, nano, is_exact=True) == exact


def test_pairs_share_the_unit_of_the_larger() -> None:
    assert units.cpu_pair_text(1930, 3920) == "1930/3920m"
    assert units.cpu_pair_text(12_400, 15_890) == "12.4/15.9"
    assert units.cpu_pair_text(120, 15_890) == "0.1/15.9"
    assert units.memory_pair_text(938 * MI, 7120 * MI) == "938/7,120Mi"
    assert units.memory_pair_text(12 * GI, 122 * GI) == "12/122Gi"
    assert units.memory_pair_text(512 * GI, 12 * 1024 * GI) == "0.5/12Ti"


def test_percent_is_truncated_and_unknown_without_a_total() -> None:
    assert units.percent_text(999, 1000) == "99%"
    assert units.percent_text(1300, 1000) == "130%"
    assert units.percent_text(5, 0) == "n/a"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (179 * 60, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 20 * 60, "3h20m"),
        (8 * 3600 + 59, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (4 * 86400 + 6 * 3600, "4d6h"),
        (8 * 86400 + 6 * 3600, "8d"),
        (729 * 86400, "729d"),
        (775 * 86400, "2y45d"),
        (730 * 86400, "2y"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_durations_read_as_kubectl_prints_them(seconds: int, text: str) -> None:
    assert units.duration_text(seconds) == text


def test_ages_and_instants() -> None:
    noon = 1_795_521_607 * NS_PER_SECOND
    assert units.age_text(noon - 90 * NS_PER_SECOND, noon) == "90s"
    assert units.age_text(noon + NS_PER_SECOND, noon) == "0s"
    assert units.clock_text(noon) == "12:00:07Z"
    assert units.instant_text(noon) == "2026-11-24 12:00:07Z"
    zone = timezone(timedelta(hours=1), "CET")
    assert units.instant_text(noon, zone) == "2026-11-24 12:00:07Z (13:00 CET)"
    assert units.instant_text(noon, UTC) == "2026-11-24 12:00:07Z"


@pytest.mark.parametrize(
    ("resource", "nano", "text"),
    [
        ("cpu", 12_500_000_000, "12.5"),
        ("cpu", 14_640_000_000, "14.7"),
        ("cpu", 1, "1m"),
        ("memory", 1, "1Mi"),
        ("memory", 6846 * MI * 10**9, "6,846Mi"),
        ("hugepages-2Mi", 3 * MI * 10**9, "3Mi"),
        ("pods", 3 * 10**9, "3"),
    ],
)
def test_shortages_are_rounded_up(resource: str, nano: int, text: str) -> None:
    assert units.lacking_text(resource, nano) == text


def test_what_there_is_is_never_overstated() -> None:
    assert units.mebibytes_text(239_555 * MI - 1) == "239,554Mi"
    assert units.mebibytes_text(-1) == "-1Mi"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ((), ""),
        (("a",), "a"),
        (("a", "b"), "a, b"),
        (("a", "b", "c"), "a, b and 1 more"),
        (["x"] * 2_002, "x, x and 2,000 more"),
    ],
)
def test_the_first_of_some_names(names: Sequence[str], text: str) -> None:
    assert units.first_of(names, 2) == text
