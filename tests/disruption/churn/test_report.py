from __future__ import annotations

from msgspec.structs import replace

from karptui.disruption.churn.life import Removal
from karptui.disruption.churn.loops import LoopKind
from karptui.disruption.churn.report import ChurnWindow, churn_of
from karptui.karpenter.inventory import ClusterHistory, GonePod, Inventory
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_nodeclaim, a_nodepool
from tests.disruption.churn.lives import a_leaver, ago, event_at, gone


def test_the_window_begins_at_the_oldest_information() -> None:
    assert ChurnWindow(NOW_NS).since_ns == NOW_NS
    assert ChurnWindow(NOW_NS).length_ns == 0
    assert ChurnWindow(NOW_NS, ago(60)).length_ns == HOUR_NS
    assert ChurnWindow(NOW_NS, ago(60), ago(90)).since_ns == ago(90)
    assert ChurnWindow(NOW_NS, NOW_NS + 1).length_ns == 0


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
    # One was created before the window; each comes as the one before it goes.
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
