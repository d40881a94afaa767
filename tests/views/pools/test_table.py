"""The table of NodePools: filters, order, values, overlap, counts and costs (story A)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from karptui.aws.evidence import Evidence
from karptui.aws.region import FactPhase, FactStatus
from karptui.decode.kinds import Kind
from karptui.disruption.churn.life import Life
from karptui.disruption.churn.report import Churn, ChurnWindow
from karptui.karpenter.inventory import Inventory
from karptui.provisioning.overlap import PoolOverlap
from karptui.session.cluster_view import ClusterView
from karptui.session.pools import pool_rows, pools_around, with_last_hour
from karptui.sources.source import Phase, SourceStatus
from karptui.views.filters import compile_query, parse_query
from karptui.views.pools.columns import pools_table
from karptui.views.pools.detail import detail_lines
from karptui.views.pools.overlap import cost_text
from karptui.views.pools.sentences import limit_line, order_line, overlap_line, pool_sentences, weight_lines
from karptui.views.row import Tone
from tests import builders, story_a
from tests.builders import MINUTE_NS, NOW_NS, text_of
from tests.stories import plain_text
from tests.views.pools.rows import COUNTED, ROWS, VIEW, cells, check_of, lines_of, overlap_of, rows_of


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
def test_filters_match_pools(query: str, names: list[str]) -> None:
    table = pools_table()
    test = compile_query(parse_query(query, table.subject), table.subject, NOW_NS)
    assert [row.name for row in pool_rows(VIEW) if test(row)] == names


def test_limits_may_be_fractions_of_cores() -> None:
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


def test_the_last_hour_is_shown_for_each_pool_or_a_dash_if_unknown() -> None:
    name = next(iter(ROWS))
    lives = tuple(Life(claim=f"c{n}", pool=name, created_ns=NOW_NS - n * 20 * MINUTE_NS) for n in range(3))
    watched = with_last_hour(
        tuple(ROWS.values()), Churn(window=ChurnWindow(NOW_NS, 0, NOW_NS - 60 * MINUTE_NS), lives=lives)
    )
    assert {row.name: cells(row)["hour"] for row in watched if row.alive} == {name: "▁▁▁▃▃▃▃▅▅▅▅█ +3"}
    assert all(cells(row)["hour"] == "-" for row in with_last_hour(tuple(ROWS.values()), None))


def test_story_a_ties_and_near_weights() -> None:
    assert plain_text(weight_lines(ROWS["spare"])).splitlines() == [
        "= same weight as secondary: the name that sorts last is tried first; pods are not shared out",
        "≈ 50 is within 10 of extra 45: still a strict order",
    ]
    assert "within 10 of spare 50, secondary 50: " in plain_text(weight_lines(ROWS["extra"]))
    assert weight_lines(ROWS["primary"]) == ()
    assert weight_lines(ROWS["gpu"]) == ()


def test_unmet_min_values_are_shown_next_to_the_order() -> None:
    asks = builders.a_requirement("node.kubernetes.io/instance-type", "Exists", min_values=9)
    (row,) = rows_of(builders.a_nodepool(requirements=(asks,))).values()
    assert "minValues of node.kubernetes.io/instance-type is not met" in text_of(order_line(row))


def test_story_a_limits() -> None:
    assert text_of(limit_line(ROWS["primary"].types, ROWS["primary"].limits)) == (
        "limits: 12 cpu left, the smallest allowed type needs 2000m (m5.large) · 640Gi left, the smallest "
        "allowed type needs 512Mi (t3.nano) · 1 of 4 types is too large for the rest of the limit"
    )
    closed = limit_line(ROWS["spare"].types, ROWS["spare"].limits)
    assert "no new node: smallest allowed type needs 2000m, 1000m cpu left (m5.large)" in text_of(closed)
    assert closed[1][1] is Tone.FAULT
    assert text_of(limit_line(ROWS["secondary"].types, ROWS["secondary"].limits)).endswith("· 4 nodes left of 4 nodes")
    assert limit_line(ROWS["rest"].types, ROWS["rest"].limits) == ()
    assert cells(ROWS["primary"])["cpu"] == "96/108"
    assert cells(ROWS["primary"])["memory"] == "384/1,024Gi"
    assert cells(ROWS["rest"])["cpu"] == "0/-"
    assert cells(ROWS["spare"])["types"] == "✘ 4/4"


def test_story_a_overlap() -> None:
    assert text_of(overlap_line(ROWS["primary"])) == (
        "matches 64 pods, all of which also match others (spare 64, secondary 64, extra 64 and 1 more); "
        "new nodes for all of them would come from this pool"
    )
    assert text_of(overlap_line(ROWS["rest"])) == (
        "matches 65 pods, 64 of which also match others (primary 64, spare 64, secondary 64 and 1 more); "
        "primary 64 would get them first; new nodes for 1 of them would come from this pool"
    )
    assert text_of(overlap_line(ROWS["extra"])).endswith("new nodes for none of them would come from this pool")
    assert overlap_line(ROWS["gpu"]) == ()
    unmatched = msgspec.structs.replace(ROWS["rest"], overlap=PoolOverlap())
    assert text_of(overlap_line(unmatched)) == "no pod of the cluster matches it"
    typeless = msgspec.structs.replace(unmatched, types=msgspec.structs.replace(unmatched.types, allowed=0))
    assert text_of(overlap_line(typeless)) == "no pod fits: it has no instance type"
    lines = plain_text(overlap_of(VIEW)).splitlines()
    assert (
        lines[0] == "overlap: 64 of 66 pods (96%) match several pools · new nodes from: primary 64 · 1 matches no pool"
    )
    assert "Q tries it as a what-if" in lines[1]
    assert len(overlap_of(VIEW, is_short=True)) == 1
    assert plain_text(lines_of(VIEW, is_short=True)).splitlines() == [
        "overlap: 64 of 66 pods match several pools · new nodes from: primary 64 · 1 matches no pool",
        "NodeClaims created in the last 24 h: primary 2",
    ]
    short = plain_text(lines_of(COUNTED, is_short=True))
    assert short.endswith("NodeClaims created: primary 43, spare 1")


def test_pods_pending_because_of_limits_are_counted() -> None:
    pools = [builders.a_nodepool(name=name, limits=builders.amounts({"cpu": "1"})) for name in "abcde"]
    held = Inventory(nodepools=tuple(pools), pods=(builders.a_pod(),))
    view = story_a.story_view(held)
    assert plain_text(overlap_of(view, is_short=True)) == (
        "overlap: 1 of 1 pods match several pools · 1 matches pools whose limits are used up"
    )


def test_a_single_pool_has_no_overlap() -> None:
    pool = builders.a_nodepool(name="only")

    def lines(*pods: Any, **fields: Any) -> list[str]:
        held = Inventory(nodepools=(msgspec.structs.replace(pool, **fields),), pods=pods)
        return plain_text(overlap_of(story_a.story_view(held))).splitlines()

    arm = builders.a_pod(name="arm", node_selector={"kubernetes.io/arch": "riscv"})
    assert lines(builders.a_pod()) == []
    assert lines(builders.a_pod(), arm) == ["1 of 2 pods matches no NodePool"]
    full = builders.amounts({"cpu": "1"})
    assert lines(builders.a_pod(), limits=full) == ["1 of 1 pod matches a NodePool whose limits are used up"]
    assert lines(builders.a_pod(), arm, limits=full) == [
        "1 of 2 pods matches a NodePool whose limits are used up · 1 matches no NodePool"
    ]


def test_story_a_counts_by_nodeclaims() -> None:
    assert text_of(check_of(VIEW)) == "NodeClaims created in the last 24 h that still exist: primary 2"
    refused = FactStatus(phase=FactPhase.UNAVAILABLE, sentence="Karpenter's metrics need permission")
    view = story_a.story_view(read_evidence=story_a.evidence(metrics_status=refused))
    assert text_of(check_of(view)).endswith(" · Karpenter's metrics need permission")
    values = pools_table().values(ROWS["primary"], NOW_NS)
    assert (values["nodeclaims_created"], values["nodeclaims_created_by"]) == (2, "nodeclaims of the last 24 h")
    assert (values["pods"], values["pods_by"]) == (52, "pods")


def test_nodeclaims_created_since_karptui_started_are_counted() -> None:
    before = msgspec.structs.replace(story_a.METRICS, read_at_ns=NOW_NS - 12 * MINUTE_NS, started_at_ns=0)
    pools = {**before.pools, "extra": msgspec.structs.replace(before.pools["spare"])}
    now = msgspec.structs.replace(story_a.METRICS, pools=pools, started_at_ns=0, pods_by_pool={})
    view = story_a.story_view(read_evidence=Evidence(instance_types=story_a.TYPES, metrics=now, metrics_before=before))
    line = text_of(check_of(view))
    assert "created, by Karpenter's own counters" in line
    assert line.endswith(" · since 12m ago: extra 1")
    detail = plain_text(detail_lines(next(row for row in pool_rows(view) if row.name == "extra")))
    assert "1 NodeClaims created, by Karpenter's own counters: 1 for pending pods" in detail
    assert "1 since karptui started" in detail
    assert "0 pods on its nodes" in detail
    assert pools_table().values(pool_rows(view)[0], NOW_NS)["pods_by"] == "pods"
    same = msgspec.structs.replace(now, pools=before.pools)
    view = story_a.story_view(read_evidence=Evidence(instance_types=story_a.TYPES, metrics=same, metrics_before=before))
    assert text_of(check_of(view)).endswith(" · since 12m ago: none")
    alone = story_a.story_view(read_evidence=Evidence(instance_types=story_a.TYPES, metrics=now))
    assert "since 12m" not in text_of(check_of(alone))


def test_rows_are_the_same_object_until_something_changes() -> None:
    assert pool_rows(VIEW) is pool_rows(VIEW)
    again = ClusterView(VIEW.state, VIEW.statuses, VIEW, evidence=VIEW.evidence, analysis=VIEW.analysis)
    assert pool_rows(again) is pool_rows(VIEW)
    assert pool_rows(COUNTED) is not pool_rows(VIEW)


def test_the_cost_of_a_pool_is_the_cost_of_its_nodes() -> None:
    assert cells(ROWS["primary"])["cost"] == "4.61"
    assert cells(ROWS["rest"])["cost"] == "0"
    assert cost_text(pools_around(VIEW, NOW_NS)) == "$5.38/h · $3,924/mo"
    assert cost_text(pools_around(story_a.story_view(Inventory(nodepools=(builders.a_nodepool(),))), NOW_NS)) == ""
    around = replace(pools_around(VIEW, NOW_NS), strays=1)
    assert cost_text(around) == "$5.38/h · $3,924/mo, with 1 node whose NodePool is gone"
    gone = builders.a_node(pool="gone", instance_type="m5.large")
    general = builders.a_nodepool()
    stray = story_a.story_view(Inventory(nodepools=(general,), nodes=(gone,)))
    assert pools_around(stray, NOW_NS).strays == 1
    node = builders.a_node(pool="general", instance_type="x9.huge")
    (row,) = rows_of(builders.a_nodepool(), nodes=(node,)).values()
    assert cells(row)["cost"] == "n/a"
    both = (node, builders.a_node(name="other", pool="general", instance_type="m5.large"))
    (row,) = rows_of(builders.a_nodepool(), nodes=both).values()
    assert cells(row)["cost"] == "0.10+"
    assert pools_table().values(row, NOW_NS)["nodes_without_price"] == 1
