"""The table of NodePools: filters, order, plain values."""

from __future__ import annotations

import pytest

from karptui.decode.kinds import Kind
from karptui.disruption.churn.life import Life
from karptui.disruption.churn.report import Churn, ChurnWindow
from karptui.session.cluster_view import ClusterView
from karptui.session.pools import pool_rows, with_last_hour
from karptui.sources.source import Phase, SourceStatus
from karptui.views.filters import compile_query, parse_query
from karptui.views.pools.columns import pools_table
from karptui.views.pools.sentences import pool_sentences
from tests import builders
from tests.builders import MINUTE_NS, NOW_NS
from tests.stories import plain_text
from tests.views.pools.rows import ROWS, VIEW, cells, overlap_of, rows_of


@pytest.mark.parametrize(("query", "names"), [
    ("weight>=50", ["primary", "spare", "secondary", "gpu"]),
    ("pool=s*", ["spare", "secondary"]),
    ("nodes>0", ["primary", "spare"]),
    ("drifted>0", ["primary"]),
    ("shared>0", ["primary", "spare", "secondary", "extra", "rest"]),
    ("policy=never", ["extra"]),
    ("ready=nodeclass*", ["gpu"]),
    ("class=default types>0 $>1", ["primary"]),
    ("-l team=x", []),
    ("spare", ["spare"]),
])  # fmt: skip
def test_filters(query: str, names: list[str]) -> None:
    table = pools_table()
    test = compile_query(parse_query(query, table.subject), table.subject, NOW_NS)
    assert [row.name for row in pool_rows(VIEW) if test(row)] == names


def test_fractions_of_cores_are_told() -> None:
    (row,) = rows_of(builders.a_nodepool(limits=builders.amounts({"cpu": "2500m"}))).values()
    assert pools_table().values(row, NOW_NS)["limits"]["cpu"]["limit"] == 2.5


REQUESTED = frozenset({"cpu_requested", "mem_requested"})


@pytest.mark.parametrize(("kind", "columns"), [
    (Kind.NODE, {*REQUESTED, "nodes", "cpu", "memory", "cost", "drifted", "budget"}),
    (Kind.NODECLAIM, {*REQUESTED, "nodes", "cpu", "memory", "cost", "drifted", "budget", "created"}),
    (Kind.DAEMONSET, {"carries"}),
    (Kind.POD, {"shared", "budget"}),
])  # fmt: skip
def test_a_missing_permission_never_shows_as_zero(kind: Kind, columns: set[str]) -> None:
    view = ClusterView(VIEW.state, {**VIEW.statuses, str(kind): _refused(kind)}, VIEW, evidence=VIEW.evidence)
    row = pool_rows(view)[0]
    assert {name for name, text in cells(row).items() if text == "unread"} == columns
    shares = {name for name, text in cells(row).items() if text.startswith("unread/")}
    assert shares == (REQUESTED if kind is Kind.POD else set())
    told = plain_text(pool_sentences(row))
    assert ("the rest of its limits is unknown" in told) is (kind in (Kind.NODE, Kind.NODECLAIM))
    values = pools_table().values(row, NOW_NS)
    assert (values["nodes"] is None) is (kind in (Kind.NODE, Kind.NODECLAIM))
    assert (values["new_node_daemonset_pods"] is None) is (kind is Kind.DAEMONSET)
    lines = plain_text(overlap_of(view))
    assert ("may not be listed" in lines) is (kind is not Kind.DAEMONSET)


def _refused(kind: Kind) -> SourceStatus:
    return SourceStatus(kind=kind, phase=Phase.FORBIDDEN, since_ns=NOW_NS)


def test_the_last_hour_is_a_row_s_own_and_nothing_where_nobody_knows() -> None:
    name = next(iter(ROWS))
    lives = tuple(Life(claim=f"c{n}", pool=name, created_ns=NOW_NS - n * 20 * MINUTE_NS) for n in range(3))
    watched = with_last_hour(
        tuple(ROWS.values()), Churn(window=ChurnWindow(NOW_NS, 0, NOW_NS - 60 * MINUTE_NS), lives=lives)
    )
    assert {row.name: cells(row)["hour"] for row in watched if row.alive} == {name: "▁▁▁▃▃▃▃▅▅▅▅█ +3"}
    assert all(cells(row)["hour"] == "-" for row in with_last_hour(tuple(ROWS.values()), None))
