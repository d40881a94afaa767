from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, timedelta, timezone

import pytest

from karptui.kube import units
from karptui.kube.quantity import parse_quantity
from karptui.kube.timestamps import NS_PER_SECOND

MI = 1 << 20
GI = 1 << 30
MINUTE, HOUR, DAY = 60, 3600, 86400
NOON = 1_795_521_607 * NS_PER_SECOND
CET = timezone(timedelta(hours=1), "CET")
NANO = 10**9
TEXTS: dict[Callable[..., str], list[tuple[object, str]]] = {
    units.cpu_text: [*((0, "0"), (1, "1m"), (250, "250m"), (-250, "-250m")),
                     *((9_999, "9999m"), (10_000, "10"), (57_340, "57.3"))],
    units.memory_text: [*((0, "0"), (12, "12B"), (2048, "2Ki"), (938 * MI, "938Mi"), (-938 * MI, "-938Mi")),
                        *((9 * GI, "9,216Mi"), (10 * GI, "10Gi"), (int(31.24 * GI), "31.2Gi"), (2150 * GI, "2,150Gi")),
                        (12 * 1024 * GI, "12Ti")],
    units.mebibytes_text: [(239_555 * MI - 1, "239,554Mi"), (-1, "-1Mi")],
    units.cpu_pair_text: [*(((1930, 3920), "1930/3920m"), ((12_400, 15_890), "12.4/15.9"),
                            ((120, 15_890), "0.1/15.9"))],
    units.memory_pair_text: [*(((938 * MI, 7120 * MI), "938/7,120Mi"), ((12 * GI, 122 * GI), "12/122Gi"),
                               ((512 * GI, 12 << 40), "0.5/12Ti"))],
    units.percent_text: [((999, 1000), "99%"), ((1300, 1000), "130%"), ((5, 0), "n/a")],
    units.lacking_text: [*((("cpu", 12_500_000_000), "12.5"), (("cpu", 14_640_000_000), "14.7"), (("cpu", 1), "1m")),
                         *((("memory", 1), "1Mi"), (("memory", 6846 * MI * NANO), "6,846Mi")),
                         *((("hugepages-2Mi", 3 * MI * NANO), "3Mi"), (("pods", 3 * NANO), "3"))],
    units.duration_text: [
        *((-5, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (10 * MINUTE, "10m")),
        *((179 * MINUTE, "179m"), (3 * HOUR, "3h"), (3 * HOUR + 20 * MINUTE, "3h20m"), (8 * HOUR + 59, "8h")),
        *((47 * HOUR, "47h"), (2 * DAY, "2d"), (4 * DAY + 6 * HOUR, "4d6h"), (8 * DAY + 6 * HOUR, "8d")),
        *((729 * DAY, "729d"), (730 * DAY, "2y"), (775 * DAY, "2y45d"), (9 * 365 * DAY, "9y")),
    ],
    units.age_text: [((NOON - 90 * NS_PER_SECOND, NOON), "90s"), ((NOON + NS_PER_SECOND, NOON), "0s")],
    units.clock_text: [(NOON, "12:00:07Z")],
    units.instant_text: [*((NOON, "2026-11-24 12:00:07Z"), ((NOON, UTC), "2026-11-24 12:00:07Z")),
                         ((NOON, CET), "2026-11-24 12:00:07Z (13:00 CET)")],
    units.first_of: [*((((), 2), ""), ((("a",), 2), "a"), ((("a", "b"), 2), "a, b"),
                       ((("a", "b", "c"), 2), "a, b and 1 more")), ((["x"] * 2_002, 2), "x, x and 2,000 more")],
}  # fmt: skip


@pytest.mark.parametrize("write", TEXTS, ids=lambda write: write.__name__)
def test_amounts_times_and_names_are_written_in_their_units(write: Callable[..., str]) -> None:
    for given, text in TEXTS[write]:
        assert (write(*given) if isinstance(given, tuple) else write(given)) == text, given


@pytest.mark.parametrize(("resource", "quantity", "text", "exact"), [
    ("cpu", "2", "2000m", "2000m"),
    ("cpu", "2000m", "2000m", "2000m"),
    ("cpu", "12500m", "12.5", "12.5"),
    ("memory", "240Gi", "240Gi", "245,760Mi"),
    ("hugepages-2Mi", "1Gi", "1,024Mi", "1,024Mi"),
    ("nvidia.com/gpu", "4", "4", "4"),
])  # fmt: skip
def test_amounts_of_resources_are_written_in_their_units(resource: str, quantity: str, text: str, exact: str) -> None:
    nano = parse_quantity(quantity).nano
    assert units.amount_text(resource, nano) == text
    assert units.amount_text(resource, nano, is_exact=True) == exact
