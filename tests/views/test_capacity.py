"""Parts of a cluster: sums, shares, the last hour, and unknown values."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.aws.money import per_hour_text
from karptui.decode.kinds import Kind
from karptui.disruption.churn.last_hour import BIN_NS, BINS
from karptui.disruption.churn.life import Life, Removal
from karptui.disruption.churn.report import Churn, ChurnWindow, alive_by_pool
from karptui.karpenter.inventory import Inventory
from karptui.session.capacity import GROUPINGS, capacity_entries
from karptui.session.cluster_view import ClusterView
from karptui.session.costs import Held
from karptui.session.nodes import PodAccess
from karptui.views.capacity import capacity_sentence, capacity_table
from karptui.views.last_hour import sparkline, trend
from karptui.views.row import Bar
from karptui.views.table import build_rows
from tests.builders import HOUR_NS, NOW_NS, a_node, a_pod, text_of
from tests.builders.clusters import state_of
from tests.ui.fleet import a_fleet, status, view_of

MINUTE_NS = 60_000_000_000
NODES = view_of(a_fleet()).node_entries


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_every_node_is_in_exactly_one_part(grouping: str) -> None:
    entries = capacity_entries(NODES, grouping)
    assert sum(entry.nodes for entry in entries) == sum(node.node is not None for node in NODES) == entries[0].all_nodes
    assert sum(entry.starting for entry in entries) == sum(entry.node is None for entry in NODES)
    assert sum(entry.cpu.requested for entry in entries) == sum(entry.cpu.requested for entry in NODES)
    assert sum(entry.total.per_hour for entry in entries) == pytest.approx(entries[0].all_per_hour)
    assert len({entry.key for entry in entries}) == len(entries)


@pytest.mark.parametrize(("counts", "line", "change"), [
    ((3, 4, 8, 5), "▁▂█▃", 2),
    ((None, 4, 4, 4), " ───", 0),
    ((None, None, 4, 5), "", None),
    ((), "", None),
    ((9, 0, 4), "█▁▄", -5),
])  # fmt: skip
def test_a_sparkline_scales_from_minimum_to_maximum(
    counts: tuple[int | None, ...], line: str, change: int | None
) -> None:
    assert (sparkline(counts), trend(counts)) == (line, change)


def test_the_last_hour_counts_living_nodes_only_for_the_observed_time() -> None:
    name = NODES[0].pool
    lives = (
        Life(claim="old", pool=name, created_ns=1),
        Life(claim="gone", pool=name, created_ns=1, removed_ns=NOW_NS - 12 * MINUTE_NS),
        Life(claim="new", pool=name, created_ns=NOW_NS - 2 * MINUTE_NS),
        Life(claim="other", pool="else", created_ns=1),
    )
    churn = Churn(window=ChurnWindow(NOW_NS, NOW_NS - 4 * BIN_NS), lives=lives)
    [entry] = [entry for entry in capacity_entries(NODES, "pool", churn) if entry.name == name]
    assert entry.alive == (*[None] * (BINS - 5), 2, 2, 1, 1, 2)
    assert alive_by_pool(churn) == {name: entry.alive, "else": (*[None] * (BINS - 5), 1, 1, 1, 1, 1)}


@pytest.mark.parametrize(("minutes", "is_known"), [(30, False), (90, True)])
def test_the_last_hour_of_zones_is_unknown_if_a_removed_nodeclaim_may_have_been_in_any(
    minutes: int, *, is_known: bool
) -> None:
    node = NODES[0]
    lives = (
        Life(claim="old", pool=node.pool, zone=node.zone, capacity_type=node.capacity_type, created_ns=1),
        Life(claim="gone", pool=node.pool, created_ns=1, removed_ns=NOW_NS - minutes * MINUTE_NS, why=Removal.EMPTY),
        Life(claim="new", pool=node.pool, created_ns=NOW_NS - MINUTE_NS),
    )
    churn = Churn(window=ChurnWindow(NOW_NS, NOW_NS - HOUR_NS), lives=lives)
    entry = next(entry for entry in capacity_entries(NODES, "zone", churn) if entry.name == node.zone)
    table = capacity_table("zone")
    cells = dict(
        zip(
            [heading.id for heading in table.headings()],
            build_rows(table, [entry], now_ns=NOW_NS)[0].cells,
            strict=True,
        )
    )
    assert (cells["hour"].text == "n/a") is not is_known
    pools = capacity_entries(NODES, "pool", churn)
    assert None not in next(entry for entry in pools if entry.name == node.pool).alive


def test_free_capacity_is_not_reduced_by_nodes_with_more_requests_than_capacity() -> None:
    nodes = tuple(a_node(name=name, cpu="1", memory="4Gi") for name in "ab")
    pods = tuple(a_pod(name=name, node=name, cpu=cpu, memory="1Gi") for name, cpu in (("a", "600m"), ("b", "2")))
    statuses = {str(kind): status(kind) for kind in (Kind.NODE, Kind.POD)}
    view = ClusterView(state_of(Inventory(nodes=nodes, pods=pods)), statuses)
    [entry] = capacity_entries(view.node_entries, "pool")
    values = capacity_table("pool").values(entry, NOW_NS)
    assert (values["free_cpu_millis"], values["free_mem_bytes"]) == (400, 6 << 30)


def test_a_row_shows_its_share_and_unknown_values() -> None:
    table = capacity_table("pool")
    entry = next(entry for entry in capacity_entries(NODES, "pool") if entry.name == "trino")
    ids = [heading.id for heading in table.headings()]
    cells = dict(zip(ids, build_rows(table, [entry], now_ns=NOW_NS)[0].cells, strict=True))
    assert cells["nodes"].bar == Bar(0, entry.nodes, entry.all_nodes)
    assert cells["hour"].text == "-"
    waiting = build_rows(table, [replace(entry, held=Held(nodes=2, waiting=1))], now_ns=NOW_NS)[0]
    assert waiting.cells[ids.index("held")].text == "0.00+"
    hidden = replace(entry, access=PodAccess.FORBIDDEN)
    cells = dict(zip(ids, build_rows(table, [hidden], now_ns=NOW_NS)[0].cells, strict=True))
    assert cells["cpu"].text.startswith("unread/")
    assert (cells["pods"].text[:6], cells["free"].text) == ("unread", "unread")
    values = table.values(hidden, NOW_NS)
    assert (values["cpu_requested_millis"], values["free_mem_bytes"]) == (None, None)
    assert values["cpu_allocatable_millis"] == entry.cpu.capacity
    assert not {"price", "held"} & {heading.id for heading in capacity_table("pool", has_prices=False).headings()}


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_sums_without_some_nodes_have_a_plus(grouping: str) -> None:
    result, *rest = (
        replace(entry, all_per_hour=2.0, total=replace(entry.total, per_hour=1.0, priced=1, unpriced=0))
        for entry in capacity_entries(NODES, grouping)
    )
    assert "/h+" not in text_of(capacity_sentence((result, *rest), grouping))
    partly = replace(result, total=replace(result.total, unpriced=1))
    assert text_of(capacity_sentence((partly, *rest), grouping)).count("/h+") in (1, 2)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_a_cluster_with_nodeclaims_but_no_node(grouping: str) -> None:
    claims = [replace(entry, node=None) for entry in NODES if entry.claim is not None][:2]
    entries = capacity_entries(claims, grouping)
    [per_hour] = {entry.all_per_hour for entry in entries}
    money = f", {per_hour_text(per_hour)} together" if per_hour else ""
    text = text_of(capacity_sentence(entries, grouping))
    assert text == f"No node: 2 NodeClaims without one{money}"
    unread = capacity_entries(claims, grouping, sees_nodes=False)
    assert text_of(capacity_sentence(unread, grouping)) == f"Nodes were not read: 2 NodeClaims{money}"
    bare = capacity_entries([replace(claims[0], price=None)], grouping)
    assert text_of(capacity_sentence(bare, grouping)) == "No node: 1 NodeClaim without one"
