"""Churn as text, cells, values and charts."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.evidence import Evidence
from karptui.disruption.churn.life import Life, Removal
from karptui.disruption.churn.loops import Loop, LoopKind
from karptui.disruption.churn.moves import Move, Moved
from karptui.disruption.churn.report import Churn, ChurnWindow, PoolChurn
from karptui.karpenter.metrics import ControllerMetrics, PoolMetrics
from karptui.session.churn import ChurnEntry, Counters, ReplacedClaim, churn_entries, replacements
from karptui.session.cluster_view import ClusterView
from karptui.views.churn.columns import TABLE
from karptui.views.churn.replacements import TABLE as REPLACEMENTS
from karptui.views.churn.sentences import (
    chart_of,
    chart_values,
    loop_values,
    per_hour,
    pool_sentences,
    rate_text,
    replacement_sentences,
    since_text,
    summary_lines,
    window_limits,
    window_text,
    window_values,
    workload_values,
)
from karptui.views.filters import parse_query
from karptui.views.row import Tone
from karptui.views.table import build_rows
from tests.builders import DAY_NS, HOUR_NS, MINUTE_NS, NOW_NS, SECOND_NS, a_cluster, a_nodepool
from tests.disruption.churn.lives import a_life, ago
from tests.stories import plain_text

HOUR = ChurnWindow(NOW_NS, ago(60), ago(12))
UNDERUTILIZED = ((Removal.UNDERUTILIZED, 3), (Removal.DRIFTED, 1))


def a_loop(kind: LoopKind = LoopKind.SHORT_LIVED, **fields: Any) -> Loop:
    usual: dict[str, Any] = {"pool": "general", "times": 3, "first_ns": ago(50), "last_ns": ago(5)}
    return Loop(kind=kind, **{**usual, "reasons": UNDERUTILIZED, **fields})


def a_churn(*lives: Life, window: ChurnWindow = HOUR, **fields: Any) -> Churn:
    return Churn(window=window, lives=lives, **fields)


@pytest.mark.parametrize(("window", "text", "limits"), [
    (HOUR, "events since 11:00Z · observed 12m", "earlier history is unknown, and so are removals without an event"),
    (ChurnWindow(NOW_NS, 0, ago(2)), "no events · observed 2m", "earlier history is unknown"),
    (ChurnWindow(NOW_NS, ago(60 * 30)), "events since 2026-11-19 06:00Z", "earlier history is unknown"),
    (ChurnWindow(NOW_NS), "no events", "no record of NodeClaims deleted before"),
])  # fmt: skip
def test_the_text_says_what_is_known(window: ChurnWindow, text: str, limits: str) -> None:
    assert window_text(window) == text
    assert window_limits(window).startswith(limits)


def test_missing_permission_for_events_is_shown() -> None:
    assert window_text(ChurnWindow(NOW_NS, 0, ago(2)), are_events_hidden=True) == "events unread · observed 2m"
    (line,) = summary_lines(a_churn(window=ChurnWindow(NOW_NS)), 80, are_events_hidden=True)
    assert line[1] == ("events unread", Tone.WARNING)


def test_rates_are_unknown_for_a_short_observation() -> None:
    assert (rate_text(3, HOUR), rate_text(500, HOUR), rate_text(0, HOUR)) == ("3", "500", "0")
    assert per_hour(3, ChurnWindow(NOW_NS, ago(9))) is None
    assert rate_text(3, ChurnWindow(NOW_NS, ago(9))) == "n/a"
    assert rate_text(1, ChurnWindow(NOW_NS, ago(90))) == "0.7"
    assert since_text(NOW_NS - DAY_NS, NOW_NS) == "2026-11-19 12:00Z"


def test_loops_as_long_and_short_text() -> None:
    loops = (
        a_loop(), a_loop(LoopKind.SAME_TYPE), a_loop(LoopKind.NEVER_JOINED),
        a_loop(LoopKind.MOVED, pool="", workload="Deployment/web/front"),
    )  # fmt: skip
    wide = plain_text(summary_lines(a_churn(loops=loops), 160))
    assert "⟳ Karpenter removed 3 nodes of general" in wide
    assert "and 1 more loop: see the rows, and Advice" in wide
    narrow = plain_text(summary_lines(a_churn(loops=loops), 80))
    assert "⟳ loops: general short-lived 3×, general same type 3× and 2 more" in narrow
    three = plain_text(summary_lines(a_churn(loops=loops[:3]), 160))
    assert "more" not in three.partition("⟳")[2]
    alone = plain_text(summary_lines(a_churn(loops=loops[3:]), 80))
    assert "⟳ loops: Deployment/web/front moved 3×" in alone
    assert "more" not in alone.rpartition("⟳")[2]


def figures(**fields: Any) -> PoolChurn:
    return PoolChurn(**{"pool": "general", "nodes": 4, "created": 5, "removed": 0, **fields})


RESTLESS = figures(
    removed=4, reasons=UNDERUTILIZED, median_life_ns=9 * MINUTE_NS, lives_known=3, short=3, again=2, moves=7,
    loops=(a_loop(), a_loop(LoopKind.SAME_TYPE)),
)  # fmt: skip
COUNTERS = Counters(since_ns=NOW_NS - HOUR_NS, created=40, disrupted=(("drifted", 3), ("expired", 1)), terminated=38)
ENTRY = ChurnEntry(RESTLESS, HOUR, a_nodepool(labels={"team": "web"}), COUNTERS)
QUIET = ChurnEntry(figures(pool=""), ChurnWindow(NOW_NS, ago(5)))


def test_a_pool_as_text() -> None:
    moved = Moved(workload="Deployment/web/front", moves=4, pods=2, first_ns=ago(5), last_ns=ago(1))
    text = plain_text(pool_sentences(ENTRY, a_churn(moved=(moved,)), NOW_NS))
    assert text.startswith("general · WhenEmptyOrUnderutilized, consolidateAfter 0s · 4 removed: Underutilized 3, Dri")
    assert "half of 3 lived at most 9m" in text
    assert "⟳ Raise consolidateAfter (now 0s)" in text
    assert "since 11:00Z: 40 created, 38 terminated; disrupted: drifted 3, expired 1" in text
    assert "moved most, from all NodePools: Deployment/web/front 4× (2 pods)" in text
    assert plain_text(pool_sentences(QUIET, a_churn(), NOW_NS)) == "(no NodePool)"
    never = ChurnEntry(figures(), HOUR, a_nodepool(consolidate_after_ns=None))
    assert "consolidateAfter Never" in plain_text(pool_sentences(never, a_churn(), NOW_NS))


def cells(entry: Any, spec: Any) -> dict[str, str]:
    (row,) = build_rows(spec, (entry,), now_ns=NOW_NS)
    return {heading.id: cell.text for heading, cell in zip(spec.headings(), row.cells, strict=True)}


def test_cells_of_pools() -> None:
    assert cells(ENTRY, TABLE) == {
        "name": "general", "nodes": "4", "created": "5", "removed": "4", "rate": "4",
        "why": "Underutilized 3, Drifted 1", "life": "9m", "short": "3", "again": "2", "moved": "7",
        "loop": "⟳ short-lived, same type", "counters": "40 created, 38 terminated",
    }  # fmt: skip
    quiet = cells(QUIET, TABLE)
    assert (quiet["name"], quiet["rate"], quiet["life"], quiet["loop"]) == ("(no NodePool)", "n/a", "-", "-")
    assert (quiet["why"], quiet["counters"]) == ("-", "n/a")
    assert cells(ChurnEntry(figures(removed=1), HOUR), TABLE)["life"] == "n/a"
    assert cells(ChurnEntry(figures(), HOUR), TABLE)["rate"] == "0"


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("removed>3", 1), ("created=5", 2), ("why=Drifted", 1), ("short>=3", 1), ("again>1", 1), ("life<10m", 1),
        ("loop=same-type", 1), ("-l team=web", 1), ("name=general", 1), ("drifted", 1),
    ],
)  # fmt: skip
def test_filters_of_pools(query: str, number: int) -> None:
    rows = build_rows(TABLE, (ENTRY, QUIET), query=parse_query(query, TABLE.subject), now_ns=NOW_NS)
    assert len(rows) == number


def test_rows_with_karpenters_own_counters() -> None:
    metrics = ControllerMetrics(
        read_at_ns=NOW_NS,
        endpoint="pod karpenter/karpenter-1",
        started_at_ns=ago(600),
        pools={
            "general": PoolMetrics(
                nodeclaims_created={"provisioned": 7, "drifted": 2},
                nodeclaims_disrupted={"drifted": 2, "empty": 5},
                nodeclaims_terminated=6,
            )
        },
    )
    churn = a_churn(pools=(figures(), figures(pool="other")))
    view = ClusterView(a_cluster(), {}, evidence=Evidence(metrics=metrics))
    general, other = churn_entries(view, churn)
    assert general.pool is not None
    assert general.counters == Counters(
        since_ns=ago(600), created=9, disrupted=(("empty", 5), ("drifted", 2)), terminated=6
    )
    assert (other.pool, other.counters) == (None, None)
    assert churn_entries(ClusterView(a_cluster(), {}), churn)[0].counters is None


LEFT = a_life("left", born=40, left=30, commanded_ns=ago(32), zone="us-east-1a")
FOR_LEFT = a_life("for-left", born=31, made_for=Removal.UNDERUTILIZED)
EMPTY = a_life("empty", born=300, left=20, why=Removal.EMPTY, instance_type="c5.large")
BACK = a_life("back", born=15, instance_type="c5.large")
TOLD = Life(claim="told", removed_ns=ago(50), why=Removal.INTERRUPTED, is_by_events=True)
CAME = a_life("came", born=49, pool="")
MOVES = (
    Move(pod="web/a", workload="Deployment/web/a", node="node-left", at_ns=ago(29)),
    Move(pod="web/b", workload="Deployment/web/a", at_ns=ago(29)),
)
CHURN = a_churn(LEFT, FOR_LEFT, EMPTY, BACK, TOLD, CAME, moves=MOVES)


def claim(name: str) -> ReplacedClaim:
    return next(item for item in replacements(CHURN) if item.key == name)


def test_replacements_are_listed_by_pool_with_their_cause() -> None:
    assert {item.key for item in replacements(CHURN)} == {"left", "empty", "told"}
    assert {item.key for item in replacements(CHURN, "general")} == {"left", "empty"}
    assert [item.key for item in replacements(CHURN, "")] == ["told"]
    assert (claim("left").is_same_type, claim("left").is_short, claim("left").moves) == (True, True, 1)
    assert (claim("empty").is_same_type, claim("empty").is_short, claim("told").is_same_type) == (True, False, False)
    left = plain_text(replacement_sentences(claim("left"), NOW_NS))
    assert left == (
        "NodeClaim left, node node-left · Underutilized 11:30:00Z, 30m ago · lived 10m\nreplaced by (inferred from "
        "time and reason): for-left m5.large (same type)\n1 pod seen to move off it"
    )
    assert "not replaced, but followed soon by back c5.large (same type)" in plain_text(
        replacement_sentences(claim("empty"), NOW_NS)
    )
    told = plain_text(replacement_sentences(claim("told"), NOW_NS))
    assert told.startswith("NodeClaim told · Interrupted 11:10:00Z, 50m ago · known only from events")
    assert "replaced by (inferred from time and reason): came m5.large" in told


def test_cells_of_replacements() -> None:
    assert cells(claim("left"), REPLACEMENTS) == {
        "age": "30m", "time": "11:30:00Z", "name": "left", "node": "node-left", "pool": "general", "type": "m5.large",
        "cap": "spot", "zone": "us-east-1a", "status": "Underutilized", "lived": "10m", "moved": "1",
        "by": "for-left m5.large (same type)",
    }  # fmt: skip
    told = cells(claim("told"), REPLACEMENTS)
    assert {name for name, text in told.items() if text == "n/a"} == {
        "node", "pool", "type", "cap", "zone", "lived", "moved",
    }  # fmt: skip
    alone = ReplacedClaim(a_life("a", born=90, left=5, why=Removal.EXPIRED))
    assert cells(alone, REPLACEMENTS)["by"] == "-"
    assert plain_text(replacement_sentences(alone, NOW_NS)).count("\n") == 0
    unknown = ReplacedClaim(LEFT, (Life(claim="x"),))
    assert cells(unknown, REPLACEMENTS)["by"] == "x of unknown type"


def test_parts_of_the_document() -> None:
    window = ChurnWindow(NOW_NS + 5, ago(60), ago(12) + 7)
    assert window_values(window)["observed_since"] == "2026-11-20T11:48:00Z"
    assert window_values(window)["seconds"] == HOUR_NS // SECOND_NS
    empty = window_values(ChurnWindow(NOW_NS))
    assert (empty["events_since"], empty["observed_since"], empty["seconds"]) == (None, None, 0)
    chart = chart_values(CHURN)
    assert (sum(chart["removed"]), chart["step_seconds"]) == (3, 300)
    loop = loop_values(a_loop(median_life_ns=9 * MINUTE_NS, claims=("a",)))
    assert (loop["median_life_seconds"], loop["workload"], loop["nodeclaims"]) == (540, None, ["a"])
    moved = loop_values(a_loop(LoopKind.MOVED, pool="", workload="Deployment/web/a"))
    assert (moved["pool"], moved["median_life_seconds"]) == (None, None)
    workload = Moved(workload="W", moves=2, pods=1, first_ns=ago(5), last_ns=ago(4), reasons=("Drifted",))
    assert workload_values(workload)["reasons"] == ["Drifted"]


@pytest.mark.parametrize(("node", "text"), [("node-1", "0"), ("", "0+")], ids=["node known", "node unknown"])
def test_moves_from_unknown_nodes_leave_a_lower_bound(node: str, text: str) -> None:
    pool = PoolChurn(pool="general", nodes=1, created=0, removed=1)
    move = Move(at_ns=ago(5), pod="web/a", workload="Deployment/web/a", node=node)
    (entry,) = churn_entries(ClusterView(a_cluster(), {}, evidence=Evidence()), a_churn(pools=(pool,), moves=(move,)))
    assert cells(entry, TABLE)["moved"] == text


def a_charted_churn(*lives: Life, since: float = 60, moves: tuple[Move, ...] = ()) -> Churn:
    return Churn(window=ChurnWindow(NOW_NS, ago(since)), lives=lives, moves=moves)


def test_counts_by_bin() -> None:
    move = Move(pod="web/a", workload="Deployment/web/a", at_ns=ago(12))
    chart = chart_of(a_charted_churn(a_life(born=200, left=5), a_life(born=30), a_life(born=29), moves=(move,)), 13)
    assert (chart.step, chart.begin_ns, len(chart.created)) == ("5m", ago(60), 13)
    assert chart.created == (0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0)
    assert chart.removed == (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0)
    assert chart.moved[9] == 1
    assert (chart.most, chart.most_moved) == (2, 1)
    ahead = replace(a_life(), created_ns=NOW_NS + MINUTE_NS)
    assert sum(chart_of(a_charted_churn(ahead), 60).created) == 0
