"""The table of clusters, and sums over clusters with current data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.fleet import ClusterFigures, FleetRow, MemberLine, WorstFinding
from karptui.session.watch import OUTDATED_NS
from karptui.views.filters import parse_query
from karptui.views.fleet import TABLE, sums_text, top_bar, verdict_text
from karptui.views.table import build_rows

NOW_NS = 1_795_003_200 * NS_PER_SECOND
ERROR = WorstFinding("error", "STOPPED", "Disruption is paused")
FINE = WorstFinding("info", "FINE", "no problems found")


def a_row(
    name: str = "prod",
    *,
    age_ns: int = 0,
    trouble: str = "",
    ended: str = "",
    worst: WorstFinding | None = ERROR,
    version: str = "1.15.0",
    **figures: float | None,
) -> FleetRow:
    numbers = {"nodes": 10, "per_hour": 2.5, "unpriced": 0, "held": 0.5, "pending": 3, **figures}
    result = ClusterFigures(worst=worst, is_fine=worst is FINE, version=version, **numbers)  # type: ignore[arg-type]
    return FleetRow(name, MemberLine(result, NOW_NS - age_ns, trouble), ended)


@pytest.mark.parametrize(("row", "text"), [
    (FleetRow("x"), "connecting"),
    (FleetRow("x", MemberLine(trouble="no route")), "✘ no route"),
    (a_row(ended="its process was ended by SIGKILL"), "✘ its process was ended by SIGKILL"),
    (a_row(worst=None), "analysing"),
    (a_row(), "✘ Disruption is paused"),
    (a_row(worst=FINE), "✔ no problems found"),
    (a_row(trouble="connection lost"), "✘ connection lost"),
])  # fmt: skip
def test_the_verdict_column_has_the_worst_finding_or_an_error(row: FleetRow, text: str) -> None:
    assert verdict_text(row) == text


def test_sums_leave_out_outdated_clusters_and_show_their_number() -> None:
    rows = [a_row("a"), a_row("b", nodes=1, per_hour=1.0, held=0.0), a_row("c", age_ns=OUTDATED_NS), FleetRow("d")]
    assert sums_text(rows, NOW_NS) == "11 nodes · $3.50/h · held $0.50/h · without 2 clusters"
    assert sums_text([*rows, a_row("e", held=None, unpriced=2)], NOW_NS) == (
        "21 nodes · $6.00/h+ · held $0.50/h+ · without 2 clusters"
    )
    assert sums_text([a_row(held=None, per_hour=None)], NOW_NS) == "10 nodes · $/h n/a · held n/a"
    assert sums_text([FleetRow("d")], NOW_NS) == "without 1 cluster"
    assert top_bar(rows, NOW_NS).health.text == "● 2 of 4 current"


def test_clusters_that_need_attention_are_first_and_unknown_numbers_are_dashes() -> None:
    warning = WorstFinding("warning", "DRIFT", "drift is stuck")
    rows = [
        a_row("fine", worst=FINE),
        a_row("warns", worst=warning, version=""),
        a_row("errs"),
        FleetRow("gone\x1b[31m", MemberLine(trouble="refused \x1b[2J")),
        FleetRow("new"),
    ]
    result = build_rows(TABLE, rows, query=parse_query("", TABLE.subject), sort=TABLE.default_sort, now_ns=NOW_NS)
    shown = [[cell.text for cell in result[index].cells] for index in range(len(result))]
    assert [cells[0] for cells in shown][:3] == ["gone␛[31m", "errs", "warns"]
    assert shown[0][1:] == ["-", "-", "-", "-", "-", "n/a", "✘ refused ␛[2J"]
    assert shown[1][1:] == ["10", "2.50", "0.50", "3", "1.15.0", "0s", "✘ Disruption is paused"]
    notable = build_rows(TABLE, rows, query=parse_query("", TABLE.subject), sort=TABLE.default_sort,
                         is_notable_only=True, now_ns=NOW_NS)  # fmt: skip
    assert len(notable) == 3


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=12))
def test_nodes_are_summed_over_current_clusters_only(clusters: list[tuple[int, bool]]) -> None:
    rows = [
        a_row(str(number), nodes=nodes, age_ns=0 if is_current else OUTDATED_NS)
        for number, (nodes, is_current) in enumerate(clusters)
    ]
    text, current = sums_text(rows, NOW_NS), [nodes for nodes, is_current in clusters if is_current]
    assert text.startswith(f"{sum(current)} node") == bool(current)
    assert ("without" in text) == (len(current) < len(clusters))
