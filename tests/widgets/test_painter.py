from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from karptui.views.row import Bar
from karptui.widgets.row_table.painter import bar_parts, cut_end, cut_inside


@pytest.mark.parametrize(("bar", "width", "parts"), [
    pytest.param(Bar(10, 50, 100), 10, (1, 5, 0, 4), id="whole cells"),
    pytest.param(Bar(10, 55, 100), 10, (1, 5, 1, 3), id="half a cell"),
    pytest.param(Bar(0, 0, 100), 10, (0, 0, 0, 10), id="nothing"),
    pytest.param(Bar(1, 0, 100), 10, (1, 0, 0, 9), id="DaemonSets never vanish"),
    pytest.param(Bar(0, 1, 100), 10, (0, 0, 1, 9), id="nor does a small pod"),
    pytest.param(Bar(1, 2, 100), 3, (1, 0, 1, 1), id="nor both on a short bar"),
    pytest.param(Bar(2, 35, 100), 3, (1, 0, 1, 1), id="a third and a bit"),
    pytest.param(Bar(1, 98, 100), 10, (1, 8, 1, 0), id="nearly full is not full"),
    pytest.param(Bar(98, 0, 100), 10, (9, 0, 0, 1), id="nor of DaemonSets alone"),
    pytest.param(Bar(99, 1, 100), 10, (9, 1, 0, 0), id="full"),
    pytest.param(Bar(50, 100, 100), 9, (3, 6, 0, 0), id="more than there is"),
    pytest.param(Bar(1, 1, 0), 10, (0, 0, 0, 0), id="a capacity that is not known"),
    pytest.param(Bar(1, 1, 2), 0, (0, 0, 0, 0), id="no room"),
])  # fmt: skip
def test_bar_parts_of_a_node(bar: Bar, width: int, parts: tuple[int, int, int, int]) -> None:
    assert bar_parts(bar, width) == parts


amounts = st.integers(0, 10**12)


@given(amounts, amounts, st.integers(1, 10**12), st.integers(1, 80))
def test_bar_parts_fill_the_width_and_show_all_requests(daemons: int, workload: int, capacity: int, width: int) -> None:
    parts = bar_parts(Bar(daemons, workload, capacity), width)
    assert parts.cells == width
    assert min(parts) >= 0
    assert (parts.workload + parts.half > 0) == (workload > 0)
    if width > 1:
        assert (parts.daemons > 0) == (daemons > 0)
        assert (parts.free + parts.half == 0) == (daemons + workload >= capacity)


@pytest.mark.parametrize(("name", "width", "expected"), [
    pytest.param("checkout-api-7c9d8f6b5-x2x4q", 20, "checkout-api-…-x2x4q", id="the workload and the pod"),
    pytest.param("checkout-api-7c9d8f6b5-x2x4q", 22, "checkout-api-7c…-x2x4q", id="and what fits between"),
    pytest.param("(general-44pzp)", 14, "(genera…44pzp)", id="a NodeClaim in brackets"),
    pytest.param("ip-10-0-114-239", 14, "ip-…-0-114-239", id="the last of an address"),
    pytest.param("ip-10-0-39-190", 12, "ip-1…-39-190", id="as many numbers as fit whole"),
    pytest.param("ip-10-0-114-239", 8, "ip-…-239", id="or one"),
    pytest.param("worker-12345678901", 9, "work…8901", id="a number that has no room"),
    pytest.param("kafka-broker-eu-west-12", 18, "kafka-broke…est-12", id="never less than six"),
    pytest.param("abcdefghijklmnop", 9, "abcd…mnop", id="half of each without a dash"),
    pytest.param("runner-0123456789abcdef", 13, "runner…abcdef", id="no more than half of a long end"),
    pytest.param("api-x2x4q", 2, "a…", id="hardly any room"),
    pytest.param("api-x2x4q", 1, "…", id="a single cell"),
    pytest.param("api-x2x4q", 0, "", id="none"),
])  # fmt: skip
def test_a_cut_name_keeps_its_start_and_end(name: str, width: int, expected: str) -> None:
    assert cut_inside(name, width) == expected


@pytest.mark.parametrize(("width", "expected"), [(6, "check…"), (1, "…"), (0, "")])
def test_a_cut_text_keeps_its_start(width: int, expected: str) -> None:
    assert cut_end("checkout", width) == expected


@given(st.text("ab-界", min_size=2, max_size=30), st.integers(0, 40))
def test_a_cut_text_fills_its_column(text: str, width: int) -> None:
    width = min(width, cell_len(text) - 1)
    assert cell_len(cut_inside(text, width)) == cell_len(cut_end(text, width)) == width


@given(st.text("abc", min_size=20, max_size=30), st.text("xyz09", min_size=5, max_size=5), st.integers(13, 20))
def test_cut_pod_names_of_one_workload_stay_distinguishable(workload: str, pod: str, width: int) -> None:
    name = f"{workload}-{pod}"
    assert cut_inside(name, width).endswith(name[-6:])
    assert cut_inside(name, width).startswith(name[: width - 7])
