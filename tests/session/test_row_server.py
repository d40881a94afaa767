from __future__ import annotations

from itertools import count
from typing import Any

from msgspec.structs import replace

from karptui.config import DEFAULTS
from karptui.decode.kinds import Kind
from karptui.disruption.joint_saving import JointFigures
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.serving.lists import lists_of
from karptui.session.answers import RowQuery, RowSet
from karptui.session.cluster_view import ClusterView
from karptui.session.costs import ClusterTotals
from karptui.session.row_server import HELD_SECONDS, VERDICT_STANDS_NS, VERDICT_STANDS_TYPING_NS, RowServer, overview_of
from karptui.session.throttle import Keyboard
from karptui.views.nodes.columns import nodes_table
from karptui.views.table import Sort, build_rows
from tests.builders import NOW_NS, present
from tests.ui.fleet import a_fleet, view_of
from tests.views.why.test_words import analysed

FLEET = view_of(a_fleet())


def server() -> RowServer:
    return RowServer(lambda: FLEET, lists_of(DEFAULTS))


def rows_of(name: str, asked: RowServer, **given: Any) -> RowSet:
    return asked.rows(RowQuery(list=name, sort="name", now_ns=NOW_NS, **given))


def test_rows_are_filtered_and_in_order() -> None:
    row_set = rows_of("nodes", server(), filter_text="!general")
    items = [entry for entry in FLEET.node_entries if entry.pool != "general"]
    expected = build_rows(nodes_table(), items, sort=Sort("name"), now_ns=NOW_NS)
    assert 0 < row_set.shown < row_set.total == len(FLEET.node_entries)
    assert tuple(row_set.keys) == tuple(expected.keys) == tuple(item.key for item in row_set.items)


def test_rows_are_the_same_object_while_nothing_changes() -> None:
    asked = server()
    row_set = rows_of("pods", asked)
    assert rows_of("pods", asked) is row_set
    assert rows_of("pods", asked, is_descending=True) is not row_set
    timed = rows_of("pods", asked, filter_text="age>1h")
    assert rows_of("pods", asked, filter_text="age>1h") is not timed


def test_rows_keep_their_order_until_the_first_analysis_or_a_timeout() -> None:
    views, seconds = [FLEET], 0.0
    asked = RowServer(lambda: views[-1], lists_of(DEFAULTS), lambda: seconds)
    by_cpu = RowQuery(list="nodes", sort="cpu", now_ns=NOW_NS)
    first = asked.rows(by_cpu).keys
    emptier = a_fleet()
    emptier.objects[Kind.POD] = dict(list(emptier.objects[Kind.POD].items())[::3])
    views.append(view_of(emptier))
    second = asked.rows(by_cpu)
    assert second.keys == first
    by_name = replace(by_cpu, sort="name", is_descending=True)
    fresh = RowServer(lambda: views[-1], lists_of(DEFAULTS))
    assert asked.rows(by_name).keys == fresh.rows(by_name).keys, "the rows ignored the user's sort order"
    seconds = HELD_SECONDS
    late = asked.rows(by_cpu)
    assert late is not second
    assert late.keys == fresh.rows(by_cpu).keys != first


def test_dropped_rows_have_no_totals() -> None:
    asked = server()
    first = rows_of("nodes", asked)
    for text in ("a", "b"):
        rows_of("nodes", asked, filter_text=text)
    assert asked.totals(first.number) == ClusterTotals()


def test_totals_of_all_rows_or_of_a_selection() -> None:
    asked = server()
    row_set = rows_of("nodes", asked)
    every = asked.totals(row_set.number)
    assert (every.nodes, every.claims) == (FLEET.totals.nodes, FLEET.totals.claims)
    assert every.cpu == FLEET.totals.cpu
    totals = asked.totals(row_set.number, frozenset(row_set.keys[:1]))
    assert totals.nodes + totals.claims == 1


def test_a_node_is_found_by_its_name() -> None:
    asked = server()
    name = next(iter(FLEET.state.nodes))
    entry = present(FLEET.node_of(name))
    assert (asked.has_object("Node", name), asked.node_key("Node", name)) == (True, entry.key)
    assert (asked.has_object("Node", "gone"), asked.node_key("Node", "gone")) == (False, "")
    pod = next(pod for pod in FLEET.state.pods.values() if pod.node_name == name)
    assert (asked.has_object("Pod", pod.key), asked.node_key("Pod", pod.key)) == (True, entry.key)
    pool = next(iter(FLEET.state.nodepools), "")
    assert asked.has_object("NodePool", pool) is bool(pool)


def test_every_list_has_a_size() -> None:
    assert set(overview_of(FLEET).sizes) == set(lists_of(DEFAULTS))


def with_joint(view: ClusterView, joint: JointFigures | None) -> ClusterView:
    assert view.analysis is not None
    analysis = replace(view.analysis, joint=joint)
    return ClusterView(view.state, view.statuses, view, evidence=view.evidence, analysis=analysis)


def test_a_verdict_is_kept_briefly_while_its_analysis_grows() -> None:
    first, other = analysed(), with_joint(analysed(), None)
    views = [with_joint(first, None)]
    asked = RowServer(lambda: views[-1], lists_of(DEFAULTS), keyboard=Keyboard())
    verdict = asked.verdict(NOW_NS)
    assert verdict
    views.append(with_joint(first, JointFigures()))
    assert asked.verdict(NOW_NS + 1) is verdict
    newer = asked.verdict(NOW_NS + VERDICT_STANDS_NS)
    assert newer is not verdict
    views.append(with_joint(first, None))
    settled = asked.verdict(NOW_NS + VERDICT_STANDS_NS + 1)
    assert settled is not newer, "the verdict was kept although joint removals had been simulated"
    views.append(other)
    of_other = asked.verdict(NOW_NS + VERDICT_STANDS_NS + 2)
    assert of_other is not settled, "the verdict was kept for another analysis"
    views.append(views[0])
    assert asked.verdict(NOW_NS) is not of_other


def test_a_slow_verdict_is_kept_longer_each_time_up_to_a_limit() -> None:
    seconds = count()
    views = [with_joint(analysed(), None)]
    asked = RowServer(
        lambda: views[-1], lists_of(DEFAULTS), keyboard=Keyboard(), worked_ns=lambda: next(seconds) * NS_PER_SECOND
    )
    now_ns, stood = NOW_NS, []
    verdict = asked.verdict(now_ns)
    for _ in range(6):
        views.append(with_joint(views[-1], None))
        began_ns = now_ns
        now_ns += NS_PER_SECOND
        while (latest := asked.verdict(now_ns)) is verdict:
            now_ns += NS_PER_SECOND
        verdict = latest
        stood.append((now_ns - began_ns) // NS_PER_SECOND)
    assert stood == [2, 4, 8, 16, 20, 20]


def test_a_verdict_is_kept_longer_while_the_user_types() -> None:
    class Typing(Keyboard):
        is_over = False

        def is_at_rest(self, now: float, seconds: float) -> bool:
            return self.is_over

    first, keyboard = analysed(), Typing()
    views = [first]
    asked = RowServer(lambda: views[-1], lists_of(DEFAULTS), keyboard=keyboard)
    verdict = asked.verdict(NOW_NS)
    views.append(with_joint(first, None))
    assert asked.verdict(NOW_NS + VERDICT_STANDS_TYPING_NS - 1) is verdict
    keyboard.is_over = True
    rested = asked.verdict(NOW_NS + VERDICT_STANDS_TYPING_NS - 1)
    assert rested is not verdict
    keyboard.is_over = False
    views.append(first)
    assert asked.verdict(NOW_NS + 2 * VERDICT_STANDS_TYPING_NS) is not rested
