from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.views.row import Bar
from karptui.widgets.stacked_bar import bar_parts


@pytest.mark.parametrize(
    ("bar", "width", "parts"),
    [
        (Bar(10, 50, 100), 10, (1, 5, 4)),
        (Bar(0, 0, 100), 10, (0, 0, 10)),
        (Bar(1, 0, 100), 10, (1, 0, 9)),
        (Bar(0, 1, 100), 10, (0, 1, 9)),
        (Bar(1, 99, 100), 10, (1, 9, 0)),
        (Bar(99, 1, 100), 10, (9, 1, 0)),
        (Bar(50, 100, 100), 9, (3, 6, 0)),
        (Bar(1, 1, 0), 10, (0, 0, 0)),
        (Bar(1, 1, 2), 0, (0, 0, 0)),
    ],
)
def test_parts(bar: Bar, width: int, parts: tuple[int, int, int]) -> None:
    assert bar_parts(bar, width) == parts


amounts = st.integers(0, 10**12)


@given(amounts, amounts, st.integers(1, 10**12), st.integers(1, 80))
def test_the_parts_fill_the_width_and_nothing_requested_is_hidden(
    daemons: int, workload: int, capacity: int, width: int
) -> None:
    parts = bar_parts(Bar(daemons, workload, capacity), width)
    assert sum(parts) == width
    assert min(parts) >= 0
    if daemons + workload:
        assert parts[0] + parts[1] >= 1
    if parts[0] + parts[1] > 1:
        assert (parts[0] > 0) == (daemons > 0) or parts[0] > 0
        assert (parts[1] > 0) == (workload > 0)
