from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.disruption.churn.life import Life, Removal
from karptui.disruption.churn.loops import (
    LoopKind,
    Succession,
    is_same_kind,
    is_short,
    pool_loops,
    relaunches,
    workload_loops,
)
from karptui.disruption.churn.moves import Moved
from karptui.disruption.churn.report import ChurnWindow, churn_of
from karptui.karpenter.inventory import ClusterHistory, GonePod, Inventory
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_nodeclaim, a_nodepool
from tests.disruption.churn.lives import a_leaver, a_life, ago, event_at, gone


def names(lives: tuple[Life, ...]) -> list[str]:
    return [life.claim for life in lives]


LEFT = a_life("left", left=10, commanded_ns=ago(12))
MEANT = a_life("meant", born=11.9, made_for=Removal.UNDERUTILIZED)
ELSEWHERE = a_life("elsewhere", born=11.8, pool="spare", made_for=Removal.UNDERUTILIZED)
BYSTANDER = a_life("bystander", born=11.5)
LATE = a_life("late", born=8)


@pytest.mark.parametrize(
    ("life", "others", "events_since", "texts"),
    [
        # Events name the replacements, of any NodePool.
        (LEFT, (MEANT, ELSEWHERE, BYSTANDER, LATE), 60, ["meant", "elsewhere"]),
        # Events would have named replacements.
        (LEFT, (BYSTANDER, LATE), 60, []),
        # The command is older than the remaining events, or there are none.
        (LEFT, (BYSTANDER, LATE), 5, ["bystander"]),
        (LEFT, (BYSTANDER, LATE), 0, ["bystander"]),
        # The start of the command is unknown.
        (a_life("left", left=10), (a_life("made", born=20), a_life("older", born=30)), 0, ["made"]),
        # Forceful: the pods are pending first, then nodes are provisioned.
        (a_life("left", left=10, why=Removal.EXPIRED), (BYSTANDER, LATE, a_life("much-later", born=2)), 60, ["late"]),
        (a_life("left", left=10, why=Removal.EXPIRED), (a_life("late", born=8, pool="spare"),), 60, []),
        # Empty, never launched and existing nodes have no successors.
        (a_life("left", left=10, why=Removal.EMPTY), (BYSTANDER, LATE), 0, []),
        (a_life("left", left=10, why=Removal.SCALED_DOWN), (LATE,), 0, []),
        (a_life("left", left=10, why=Removal.LAUNCH_FAILED), (LATE,), 0, []),
        (a_life("stays"), (LATE,), 0, []),
    ],
)
def test_successors(life: Life, others: tuple[Life, ...], events_since: int, texts: list[str]) -> None:
    since_ns = ago(events_since) if events_since else 0
    assert names(Succession((life, *others), since_ns).of(life)) == texts


def test_only_an_equal_node_counts_as_relaunched() -> None:
    life = a_life("left", left=10)
    others = (
        a_life("again", born=5),
        a_life("other-type", born=5, instance_type="c5.large"),
        a_life("other-price", born=5, capacity_type="on-demand"),
        a_life("other-pool", born=5, pool="spare"),
        a_life("before", born=11),
        Life(claim="unknown", pool="general", removed_ns=ago(1)),
    )
    assert names(Succession((life, *others), 0).again(life, 6 * MINUTE_NS)) == ["again"]
    assert names(Succession((life, *others), 0).again(life, 4 * MINUTE_NS)) == []
    assert not is_same_kind(a_life(instance_type=""), a_life(instance_type=""))
    life = a_life("left", left=10, instance_type="")
    assert Succession((life, a_life("late", born=5, instance_type="")), 0).again(life, 6 * MINUTE_NS) == ()


def loops_of(*result: Life) -> list[LoopKind]:
    by_pool = {"general": [life for life in result if life.removed_ns]}
    return [loop.kind for loop in pool_loops(by_pool, Succession(result, 0), NOW_NS, are_pods_pending=True)]


def test_short_lives() -> None:
    assert is_short(a_life(born=40, left=11))
    assert not is_short(a_life(born=40, left=10))
    assert not is_short(a_life(born=20, left=10, why=Removal.INTERRUPTED))
    assert not is_short(a_life(left=10, instance_type="", why=Removal.EMPTY, born=NOW_NS / MINUTE_NS))


def test_three_short_lives_are_a_loop() -> None:
    short = [
        a_life("a", born=90, left=80, instance_type="c5.large"),
        a_life("b", born=60, left=48),
        a_life("c", born=24, left=15, why=Removal.EMPTY),
    ]
    assert loops_of(*short[:2]) == []
    assert loops_of(*short[:2], a_life("c", born=25, left=15, why=Removal.EMPTY)) == []
    (loop,) = pool_loops({"general": short}, Succession((), 0), NOW_NS, are_pods_pending=True)
    assert (loop.kind, loop.pool, loop.times) == (LoopKind.SHORT_LIVED, "general", 3)
    assert (loop.first_ns, loop.last_ns, loop.median_life_ns) == (ago(80), ago(15), 10 * MINUTE_NS)
    assert loop.claims == ("c", "b", "a")
    assert loop.reasons == ((Removal.UNDERUTILIZED, 2), (Removal.EMPTY, 1))
    assert loop.instance_type == "m5.large"


@pytest.mark.parametrize(("born", "kinds"), [((40, 40, 39), []), ((40, 40, 24), [LoopKind.SHORT_LIVED])])
def test_short_lives_of_one_burst_are_no_loop(born: tuple[int, ...], kinds: list[LoopKind]) -> None:
    assert loops_of(*(a_life(f"a{n}", born=minutes, left=25 - n) for n, minutes in enumerate(born))) == kinds


def test_each_launch_counts_as_one_relaunch_of_a_type() -> None:
    left = [a_life(name, born=900, left=minutes) for name, minutes in (("a", 90), ("b", 60), ("c", 30))]
    back = [a_life(f"back-{name}", born=minutes) for name, minutes in (("a", 85), ("b", 50), ("c", 20))]
    assert loops_of(*left, *back) == [LoopKind.SAME_TYPE]
    assert loops_of(*left, *back[:2]) == []
    # The command itself replaced them with the same type.
    replaced = [a_life(f"for-{life.claim}", born=minutes) for life, minutes in zip(left, (92, 62, 32), strict=True)]
    assert loops_of(*left, *replaced) == [LoopKind.SAME_TYPE]
    left = [a_life(name, born=900, left=30, why=Removal.EMPTY) for name in "abc"]
    lives = relaunches(left, Succession((*left, a_life("back", born=25)), 0))
    assert {name: life.claim for name, life in lives.items()} == {"a": "back"}


def test_a_drift_rollout_is_no_loop_unless_new_nodes_drift_again() -> None:
    left = [a_life(name, born=900, left=30, why=Removal.DRIFTED) for name in "abc"]
    assert loops_of(*left, *(a_life(f"new-{name}", born=31) for name in "abc")) == []
    rollout = [a_life(name, born=20, left=left, why=Removal.DRIFTED) for name, left in (("a", 15), ("b", 12), ("c", 9))]
    assert loops_of(*rollout) == []
    for name, born, fields in (("new-a", 16, {"made_for": Removal.DRIFTED}), ("new-b", 13, {})):
        again = a_life(name, born=born, left=5, why=Removal.DRIFTED, **fields)
        assert loops_of(*rollout, again) == [LoopKind.SHORT_LIVED]


def test_claims_that_never_join_are_a_loop() -> None:
    failed = [a_life(n, born=9, left=8, why=Removal.LAUNCH_FAILED, instance_type="") for n in "abd"]
    never = a_life("c", born=40, left=25, why=Removal.NEVER_REGISTERED)
    assert loops_of(*failed[:2], never) == [LoopKind.NEVER_JOINED]
    (loop,) = pool_loops({"general": failed}, Succession((), 0), NOW_NS, are_pods_pending=True)
    assert (loop.instance_type, loop.median_life_ns) == ("", MINUTE_NS)
    assert not list(pool_loops({"general": failed}, Succession((), 0), NOW_NS, are_pods_pending=False))
    for left, joined in ((8, 7), (31, 60)):  # a later launch succeeded, or none failed any more
        over = [a_life(n, born=left + 1, left=left, why=Removal.LAUNCH_FAILED) for n in "abd"]
        assert loops_of(*over, a_life("e", born=joined)) == []
    assert loops_of(*failed, a_life("e", born=7, pool="other")) == [LoopKind.NEVER_JOINED]
    undated = [Life(claim=n, pool="general", removed_ns=ago(5), why=Removal.LAUNCH_FAILED) for n in "abc"]
    (loop,) = pool_loops({"general": undated}, Succession((), 0), NOW_NS, are_pods_pending=True)
    assert loop.median_life_ns is None


def test_repeatedly_moved_workloads() -> None:
    def moved(moves: int, pods: int) -> Moved:
        return Moved(workload=f"Deployment/web/{moves}-{pods}", moves=moves, pods=pods, first_ns=ago(50),
                     last_ns=ago(5))  # fmt: skip

    loops = list(workload_loops((moved(4, 2), moved(3, 2), moved(2, 1), moved(3, 0))))
    assert [(loop.workload, loop.times, loop.pods) for loop in loops] == [
        ("Deployment/web/4-2", 4, 2),
        ("Deployment/web/3-0", 3, 0),
    ]
    assert loops[0].kind is LoopKind.MOVED
    drained = Moved(workload="Deployment/web/one-drain", moves=3, pods=0, first_ns=ago(5), last_ns=ago(4))
    assert not list(workload_loops((drained,)))


def test_the_window_starts_at_the_oldest_information() -> None:
    windows = [ChurnWindow(NOW_NS), ChurnWindow(NOW_NS, ago(60)), ChurnWindow(NOW_NS, ago(60), ago(90))]
    assert [window.since_ns for window in windows] == [NOW_NS, ago(60), ago(90)]
    assert [window.length_ns for window in (*windows[:2], ChurnWindow(NOW_NS, NOW_NS + 1))] == [0, HOUR_NS, 0]


def test_report_of_a_pool_with_a_churn_loop() -> None:
    left = [a_leaver(f"general-{n}", born=n + 20, left=n, why="Underutilized") for n in (90, 70, 50, 30)]
    inventory = Inventory(
        nodepools=(a_nodepool(), a_nodepool(name="quiet")),
        nodeclaims=(a_nodeclaim(created_ns=ago(28)), a_nodeclaim(name="lost", pool="", created_ns=ago(500)), left[-1]),
        events=(
            event_at("gone-pool-xxxxx", "DisruptionBlocked", at=40),
            replace(
                event_at("Pod/web/front-5d4f9-bcdfg", "Evicted", "Evicted pod: Underutilized", at=100), involved_uid="z"
            ),
        ),
    )
    history = ClusterHistory(
        began_ns=ago(95),
        claims=tuple(gone(claim, 5) for claim in left[:-1]),
        pods=(
            GonePod(key="web/front-5d4f9-cdfgh", uid="b", node_name="node-general-90", at_ns=ago(89)),
            GonePod(key="web/front-5d4f9-dfghj", uid="c", node_name="never-seen", at_ns=ago(88)),
        ),
    )
    churn = churn_of(inventory, NOW_NS, history)
    assert (churn.window.events_since_ns, churn.window.observed_since_ns) == (ago(100), ago(95))
    general, quiet, unknown = churn.pools
    assert (general.pool, quiet.pool, unknown.pool) == ("general", "quiet", "")
    # One was created before the window; each starts as the previous one ends.
    assert (general.nodes, general.created, general.removed) == (1, 4, 4)
    assert general.reasons == ((Removal.UNDERUTILIZED, 4),)
    assert (general.median_life_ns, general.lives_known, general.short) == (20 * MINUTE_NS, 4, 4)
    assert (general.again, general.moves, quiet.moves) == (4, 1, 0)
    assert [loop.kind for loop in general.loops] == [LoopKind.SHORT_LIVED, LoopKind.SAME_TYPE]
    assert (unknown.nodes, unknown.removed, unknown.reasons) == (1, 1, ((Removal.UNKNOWN, 1),))
    assert [life.claim for life in churn.removed][:2] == ["general-90", "general-70"]
    assert [life.claim for life in churn.created][-1] == "general-abcde"
    assert [loop.kind for loop in churn.loops] == [LoopKind.SHORT_LIVED, LoopKind.SAME_TYPE, LoopKind.MOVED]
    assert churn.loops[2].workload == "Pod/web/front"
