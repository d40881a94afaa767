from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from karptui.disruption.command import Method
from karptui.disruption.methods import NextPass
from karptui.forward.durations import Durations
from karptui.forward.play import Play
from karptui.forward.result import StepKind
from karptui.forward.run import RECKONED, forward
from karptui.karpenter.instance_type import UNFULFILLABLE
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import INSTANCE_TYPE, REGISTERED
from karptui.karpenter.nodepool import DisruptionBudget
from karptui.karpenter.settings import Settings
from karptui.kube.pod import SCHEDULING_GATED, PodVolume
from karptui.kube.selectors import NodeSelectorTerm
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import duration_text
from karptui.kube.volumes import PersistentVolumeClaim, StorageClass
from karptui.provisioning.reporter import Cancelled
from karptui.views.column import plain
from karptui.views.forward.columns import PLAYED
from karptui.views.forward.sentences import headline, longest_waits, step_text, waits_text
from tests.builders import (
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    SECOND_NS,
    a_node,
    a_nodepool,
    a_pdb,
    a_pod,
    a_pod_template,
    a_requirement,
    an_owner,
)
from tests.forward.making import TYPES, a_pair, a_world, played, seconds, steps

MOVING = (("a", "node-1", "500m"), ("b", "node-2", "900m"))
STAYS = {"karpenter.sh/do-not-disrupt": "true"}


def test_a_forecast_without_anything_to_do_is_quiescent() -> None:
    full = a_pod(name="full", node="node-1", cpu="1900m")
    forecast = played(a_world(a_pair("node-1"), pods=[full]))
    assert forecast.steps == ()
    assert forecast.is_quiescent
    assert [(moment.nodes, moment.price_per_hour, moment.pending) for moment in forecast.series] == [(1, 0.1, 0)]


def test_an_empty_node_is_deleted_after_its_validation_and_only_named_nodes_if_limited() -> None:
    forecast = played(a_world(a_pair("node-1"), a_pair("node-2"), pods=[a_pod(node="node-2", cpu="1900m")]))
    (deleted,) = steps(forecast, StepKind.DISRUPT)
    assert (deleted.method, deleted.decision, deleted.nodes) == ("Emptiness", "delete", ("node-1",))
    assert seconds(deleted) == 15
    (gone,) = steps(forecast, StepKind.DRAIN)
    assert seconds(gone) == 50, "a drain takes at least five seconds, then the instance ends"
    assert (forecast.end.nodes, forecast.end.price_per_hour) == (1, 0.1)
    forecast = played(a_world(a_pair("node-1"), a_pair("node-2"), pods=[]), only={"node-2"})
    assert [step.nodes for step in steps(forecast, StepKind.DISRUPT)] == [("node-2",)]
    assert (forecast.end.nodes, forecast.is_quiescent) == (1, True)


@pytest.mark.parametrize(
    ("operator", "values"), [("Lt", ("2",)), ("Gt", ("3",)), ("Exists", ()), ("NotIn", ("0",)), ("In", ("b", "a"))]
)
def test_a_new_node_has_a_label_for_each_requirement(operator: str, values: tuple[str, ...]) -> None:
    pool = a_nodepool(budgets=(), requirements=(a_requirement("tier", operator, *values),))
    pod = a_pod(name="tiered", required_node_terms=(NodeSelectorTerm((a_requirement("tier", "Exists"),)),))
    forecast = played(a_world(nodepools=[pool], pods=[pod]))
    assert len(steps(forecast, StepKind.PROVISION)) == 1, (
        "kube-scheduler accepts the node, so no second one is launched"
    )
    assert forecast.end.pending == 0


def a_static_world(*capacity_types: str) -> Inventory:
    """Return a static NodePool of one node, which is drifted."""
    wanted = a_requirement("karpenter.sh/capacity-type", "In", *capacity_types)
    pool = a_nodepool(budgets=(), replicas=1, requirements=(wanted,))
    pods = [a_pod(name="a", node="node-1", cpu="500m")]
    return a_world(a_pair("node-1", conditions=("Drifted",)), nodepools=[pool], pods=pods)


STATIC = Settings(gates={"StaticCapacity": True})


def test_reckoned_savings_of_a_static_replacement_are_not_on_the_screen() -> None:
    forecast = played(a_static_world("on-demand"), settings=STATIC)
    replaced = steps(forecast, StepKind.DISRUPT)[0]
    assert (replaced.method, replaced.decision, replaced.reckoned_savings) == ("StaticDrift", "replace", 0.1)
    assert replaced.savings_per_hour is None
    assert "$" not in step_text(replaced)


def test_a_static_nodepool_launches_only_types_of_its_template_and_refused_offerings_later() -> None:
    pool = a_nodepool(budgets=(), replicas=1, requirements=(a_requirement(INSTANCE_TYPE, "In", "m5.2xlarge"),))
    small, large = TYPES
    refused = replace(
        large,
        offerings=tuple(replace(o, is_available=False, error_code=UNFULFILLABLE) for o in large.offerings),
    )
    until_ns = NOW_NS + 2 * MINUTE_NS
    forecast = forward(a_world(nodepools=[pool]), (small, refused), STATIC, NOW_NS, refused_until_ns=until_ns)
    assert [step.at_ns for step in steps(forecast, StepKind.PROVISION)] == [until_ns]
    assert (forecast.end.nodes, forecast.end.price_per_hour) == (1, 0.4)


def test_unknown_prices_are_null_in_json_and_not_among_the_assumptions() -> None:
    objects = a_world(a_pair("node-1", conditions=("Consolidatable",)))
    free = tuple(
        replace(item, offerings=tuple(replace(each, price_per_hour=0.0) for each in item.offerings)) for item in TYPES
    )
    for types, saved, end in ((TYPES, 0.1, 0.0), (free, None, 0.0)):
        forecast = forward(objects, types, Settings(), NOW_NS, is_instant=True)
        document = plain(PLAYED, forecast)
        deleted = next(step for step in document["steps"] if step["kind"] == "disrupt")
        assert (deleted["savings"], document["end"]["pricePerHour"]) == (saved, end)
        assert document["series"][0]["pricePerHour"] == saved
        assert any(RECKONED in assumption for assumption in forecast.assumptions) == (saved is not None)


def test_a_drifted_node_stays_if_no_offering_can_replace_it() -> None:
    forecast = played(a_static_world("spot"), settings=STATIC)
    assert steps(forecast, StepKind.DISRUPT) == []
    rejected = steps(forecast, StepKind.REJECT)
    assert {(step.method, step.decision, step.nodes) for step in rejected} == {("StaticDrift", "replace", ("node-1",))}
    assert steps(forecast, StepKind.DRAIN) == []
    assert forecast.end.nodes == 1


def test_pods_of_a_deleted_node_are_recreated_and_scheduled() -> None:
    pods = [a_pod(name="a", node="node-1", cpu="500m"), a_pod(name="b", node="node-2", cpu="900m")]
    forecast = played(a_world(a_pair("node-1"), a_pair("node-2"), pods=pods))
    (deleted,) = steps(forecast, StepKind.DISRUPT)
    assert deleted.decision == "delete"
    assert deleted.evictions == 1
    (bound,) = steps(forecast, StepKind.BIND)
    assert len(bound.pods) == 1
    assert forecast.end.nodes == 1
    assert forecast.end.pending == 0


def test_pods_without_an_owner_are_lost_with_their_node() -> None:
    alone = a_pod_template(namespace="tools")
    pods = [
        a_pod(name="psql", node="node-1", template=alone),
        a_pod(name="a", node="node-1", cpu="500m"),
        *(a_pod(name=name, node="node-2", cpu="300m") for name in "bcd"),
    ]
    forecast = played(a_world(a_pair("node-1"), a_pair("node-2"), pods=pods))
    (deleted,) = steps(forecast, StepKind.DISRUPT)
    assert (deleted.evictions, deleted.lost) == (2, ("tools/psql",))
    assert step_text(deleted).endswith("2 evictions (1 lost)")
    (bound,) = steps(forecast, StepKind.BIND)
    assert len(bound.pods) == 1
    assert forecast.lost == ("tools/psql",)
    assert headline(forecast).endswith("1 pod is lost (no owner): tools/psql")
    assert forecast.end.pending == 0


def test_a_replacement_is_ready_before_the_old_node_is_drained() -> None:
    pods = [a_pod(name="a", node="node-1", cpu="500m")]
    forecast = played(a_world(a_pair("node-1", is_large=True), pods=pods))
    kinds = [step.kind for step in forecast.steps]
    assert kinds == [StepKind.DISRUPT, StepKind.READY, StepKind.BIND, StepKind.DRAIN]
    replaced, ready, bound, gone = forecast.steps
    assert replaced.decision == "replace"
    assert replaced.savings_per_hour == pytest.approx(0.3)
    assert seconds(ready) - seconds(replaced) == 60
    assert seconds(bound) == seconds(ready)
    assert seconds(gone) - seconds(bound) == 30 + 30, "the grace period of its pod, then the end of the instance"
    assert forecast.end.price_per_hour == pytest.approx(0.1)


@pytest.mark.parametrize("is_instant", [False, True])
def test_pods_that_fit_on_a_ready_node_are_bound_at_once(is_instant: bool) -> None:
    node = a_node(name="mng-1", pool="", cpu="8", memory="16Gi")
    closed = replace(node, name="mng-0", provider_id="aws:///x", is_unschedulable=True)
    new = [a_pod(name=f"a{number}", cpu="1", scheduled_reason="") for number in range(3)]
    left = [
        a_pod(name="gated", scheduled_reason=SCHEDULING_GATED),
        a_pod(name="theirs", scheduled_reason="", scheduler_name="volcano"),
    ]
    cluster = Inventory(nodepools=(a_nodepool(),), nodes=(closed, node), pods=(*new, *left))
    forecast = played(cluster, is_instant=is_instant)
    (bound,) = forecast.steps
    assert (bound.kind, bound.nodes, bound.pods, seconds(bound)) == (
        StepKind.BIND,
        ("mng-1",),
        ("default/a0", "default/a1", "default/a2"),
        0,
    )
    assert forecast.end.pending == 2
    assert any("other schedulers (volcano)" in assumption for assumption in forecast.assumptions)


def test_a_pod_that_kube_scheduler_refused_is_bound_if_it_fits_and_the_assumptions_name_it() -> None:
    node = a_node(name="mng-1", pool="", cpu="8", memory="16Gi")
    pods = (a_pod(name="a", cpu="1", scheduled_message="0/1 nodes are available"), a_pod(name="b", cpu="1"))
    forecast = played(Inventory(nodepools=(a_nodepool(),), nodes=(node,), pods=pods))
    assert forecast.end.pending == 0
    fits = "fits on a ready node by kube-scheduler's filters and is bound at once"
    text = f"default/a {fits}, although reported unschedulable"
    assert text in forecast.assumptions


def test_evicted_pods_of_another_scheduler_are_bound_again() -> None:
    pods = [a_pod(name=name, node=node, cpu=cpu, scheduler_name="volcano") for name, node, cpu in MOVING]
    forecast = played(a_world(a_pair("node-1"), a_pair("node-2"), pods=pods))
    assert steps(forecast, StepKind.DISRUPT)
    assert forecast.end.pending == 0


def test_a_preempting_pod_is_bound_when_its_victim_has_ended() -> None:
    """Karpenter launches nothing for a pod that kube-scheduler has nominated for a node."""
    node = a_node(name="mng-1", pool="", cpu="2", memory="8Gi")
    victim = a_pod(name="low", node="mng-1", cpu="1900m", deletion_ns=NOW_NS + 60 * SECOND_NS)
    preempting = a_pod(name="high", cpu="1", priority=1000, nominated_node="mng-1")
    forecast = played(Inventory(nodepools=(a_nodepool(),), nodes=(node,), pods=(victim, preempting)))
    (bound,) = steps(forecast, StepKind.BIND)
    assert (bound.pods, seconds(bound)) == (("default/high",), 60)
    assert steps(forecast, StepKind.PROVISION) == []


def test_offerings_that_ec2_refused_are_tried_again_later() -> None:
    refused = [
        replace(item, offerings=tuple(replace(o, is_available=False, error_code=UNFULFILLABLE) for o in item.offerings))
        for item in TYPES
    ]
    world = a_world(pods=[a_pod(name="a", cpu="500m")])
    until_ns = NOW_NS + 2 * MINUTE_NS
    forecast = forward(world, refused, Settings(), NOW_NS, refused_until_ns=until_ns)
    (launched,) = steps(forecast, StepKind.PROVISION)
    assert until_ns <= launched.at_ns < until_ns + MINUTE_NS
    assert (forecast.end.nodes, forecast.end.pending) == (1, 0)
    assert forecast.not_modelled[0].startswith("whether EC2 refuses launches again")
    for_good = forward(world, refused, Settings(), NOW_NS)
    assert (for_good.end.nodes, for_good.end.pending) == (0, 1)


def test_a_pod_whose_volume_claim_is_missing_stays_pending() -> None:
    waits = a_pod(name="db-2", volumes=(PodVolume("data", "missing"),))
    pods = [a_pod(name="a", node="node-1", cpu="500m"), a_pod(name="b", node="node-2", cpu="900m"), waits]
    forecast = played(a_world(a_pair("node-1"), a_pair("node-2"), pods=pods))
    (bound,) = steps(forecast, StepKind.BIND)
    assert "default/db-2" not in bound.pods
    assert forecast.end.pending == 1


def test_a_pod_with_an_ephemeral_volume_is_recreated_and_scheduled() -> None:
    claim = PersistentVolumeClaim(name="a-scratch", namespace="default", storage_class_name="gp3")
    classes = (StorageClass(name="gp3", volume_binding_mode="WaitForFirstConsumer"),)
    pod = a_pod(name="a", node="node-1", cpu="500m", volumes=(PodVolume("scratch", is_ephemeral=True),))
    for nodes in (("node-1",), ("node-1", "node-2")):
        pairs = [a_pair(name, is_large=len(nodes) == 1) for name in nodes]
        pods = [pod, *(a_pod(name="b", node=name, cpu="900m") for name in nodes[1:])]
        forecast = played(a_world(*pairs, pods=pods, claims=(claim,), storage_classes=classes))
        assert steps(forecast, StepKind.DISRUPT)
        assert forecast.end.pending == 0


def test_consolidation_moves_pods_only_to_nodes_whose_consolidate_after_has_passed() -> None:
    pool = a_nodepool(budgets=(), consolidate_after_ns=5 * MINUTE_NS)
    pods = [a_pod(name="a", node="node-1", cpu="500m"), a_pod(name="b", node="node-2", cpu="900m")]
    pairs = a_pair("node-1", conditions=()), a_pair("node-2", conditions=(), last_pod_event_ns=NOW_NS)
    forecast = played(a_world(*pairs, nodepools=[pool], pods=pods), is_instant=True)
    (deleted,) = steps(forecast, StepKind.DISRUPT)
    assert deleted.nodes == ("node-1",)
    assert seconds(deleted) == 300, "node-2 receives pods only after its own consolidateAfter"
    assert forecast.end.nodes == 1


def test_nodes_are_deleted_when_the_window_of_a_closed_budget_ends() -> None:
    closed = DisruptionBudget(nodes="0", schedule="0 0 * * *", duration="12h30m")
    pool = a_nodepool(budgets=(closed,))
    forecast = played(a_world(a_pair("node-1"), nodepools=[pool]))
    (deleted,) = steps(forecast, StepKind.DISRUPT)
    assert NOW_NS + 30 * MINUTE_NS <= deleted.at_ns <= NOW_NS + 31 * MINUTE_NS


def test_a_pdb_allows_one_eviction_at_a_time() -> None:
    owner = an_owner()
    pods = [a_pod(name=f"a{i}", node="node-1", cpu="400m", owner=owner) for i in range(2)]
    pods.append(a_pod(name="b", node="node-2", cpu="900m", labels={"app": "other"}, annotations=STAYS))
    pairs = a_pair("node-1"), a_pair("node-2")
    forecast = played(a_world(*pairs, pods=pods, pdbs=[a_pdb(allowed=1)]))
    first, second = steps(forecast, StepKind.BIND)
    assert len(first.pods) == len(second.pods) == 1
    assert seconds(second) - seconds(first) == 12.7, (
        "the first pod is ready elsewhere after 10 s, and then the eviction is retried"
    )


def test_do_not_disrupt_blocks_a_node_until_its_duration_ends() -> None:
    annotations = {"karpenter.sh/do-not-disrupt": "2h"}
    guarded = a_pod(name="a", node="node-1", cpu="100m", annotations=annotations, created_ns=NOW_NS - HOUR_NS)
    other = a_pod(name="b", node="node-2", cpu="900m")
    forecast = played(a_world(a_pair("node-1"), a_pair("node-2"), pods=[guarded, other]))
    (deleted,) = steps(forecast, StepKind.DISRUPT)
    assert deleted.nodes == ("node-2",), "the node without do-not-disrupt is deleted first"
    assert forecast.end.nodes == 1
    guarded = a_pod(name="a", node="node-1", cpu="100m", annotations=STAYS)
    forecast = played(a_world(a_pair("node-1"), pods=[guarded]))
    assert [(node.node, node.code, node.object) for node in forecast.kept] == [("node-1", "POD_DND", "Pod/default/a")]


def test_a_recreated_pod_is_protected_until_its_duration_ends() -> None:
    annotations = {"karpenter.sh/do-not-disrupt": "2h"}
    starts = a_pod(name="a", cpu="100m", annotations=annotations, owner=an_owner())
    forecast = played(a_world(a_pair("node-1", is_large=True), pods=[starts]))
    (replaced,) = steps(forecast, StepKind.DISRUPT)
    assert 7200 <= seconds(replaced) <= 7260
    assert forecast.end.price_per_hour == 0.1


def test_a_node_expires_despite_do_not_disrupt() -> None:
    guarded = a_pod(name="a", node="node-1", cpu="1900m", annotations=STAYS)
    pair = a_pair("node-1", expire_after_ns=2 * HOUR_NS, termination_grace_period_ns=600 * NS_PER_SECOND)
    forecast = played(a_world(pair, pods=[guarded]))
    (expired,) = steps(forecast, StepKind.EXPIRE)
    assert seconds(expired) == 3600
    assert expired.pods == ("default/a",)
    (gone,) = steps(forecast, StepKind.DRAIN)
    assert seconds(gone) >= 3600 + 570, "do-not-disrupt delays the drain until the terminationGracePeriod"
    assert forecast.end.pending == 0
    assert forecast.end.nodes == 1


def test_a_node_that_the_user_removes_is_replaced() -> None:
    forecast = played(a_world(a_pair("node-1"), pods=[a_pod(name="a", node="node-1", cpu="1900m")]), removed=["node-1"])
    assert [step.kind for step in forecast.steps].count(StepKind.PROVISION) == 1
    assert (forecast.end.nodes, forecast.end.pending) == (1, 0)


def test_a_forecast_can_be_cancelled() -> None:
    def cancel(done: int, total: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        played(a_world(a_pair("node-1")), reporter=cancel)


def until(inventory: Inventory, moment: float) -> Play:
    """Run a forecast for ``moment`` seconds, and return it with its state at that time."""
    until_ns = NOW_NS + int(moment * NS_PER_SECOND)
    play = Play(inventory, TYPES, Settings(), NOW_NS, until_ns=until_ns, durations=Durations())
    play.run()
    return play


def a_world_of_one_replacement() -> Inventory:
    """Return a large node whose pods fit on a smaller new one and on node-2, which must stay."""
    pods = [
        a_pod(name="a", node="node-1", cpu="1700m"),
        a_pod(name="b", node="node-1", cpu="700m"),
        a_pod(name="c", node="node-2", cpu="900m", annotations=STAYS),
    ]
    return a_world(a_pair("node-1", is_large=True), a_pair("node-2"), pods=pods)


@pytest.mark.parametrize("moment", [16, 45, 74])
def test_nodes_of_a_running_command_are_marked_or_nominated(moment: int) -> None:
    fleet = until(a_world_of_one_replacement(), moment).observation.fleet()
    marked = {node.name for node in fleet.nodes if node.is_marked_for_deletion}
    assert marked == {"node-1"}, "its pods are being rescheduled while the replacement starts"
    assert fleet.nominated["node-2"] > fleet.now_ns


def test_nodes_are_not_nominated_after_the_command() -> None:
    play = until(a_world_of_one_replacement(), 600)
    assert "node-1" not in play.world.nodes
    assert play.observation.fleet().nominated == {}


def test_the_times_of_commands_that_follow_each_other() -> None:
    pods = [a_pod(name="a", node="node-2", cpu="1900m")]
    forecast = played(a_world(a_pair("node-1"), a_pair("node-2", conditions=("Drifted",)), pods=pods))
    told = [(seconds(step), step.method) for step in steps(forecast, StepKind.DISRUPT)]
    assert told[:2] == [(15, "Emptiness"), (15, "Drift")]
    pool = a_nodepool(budgets=(DisruptionBudget(nodes="1"),))
    forecast = played(a_world(a_pair("node-1"), a_pair("node-2"), nodepools=[pool]))
    assert [seconds(step) for step in steps(forecast, StepKind.DISRUPT)] == [15, 40]
    assert [seconds(step) for step in steps(forecast, StepKind.DRAIN)] == [50, 75]


def test_if_validation_fails_the_following_methods_are_tried() -> None:
    pods = [
        a_pod(name="a", node="node-2", cpu="1900m"),
        a_pod(name="b", node="node-3", cpu="1000m", annotations=STAYS),
        a_pod(
            name="c", node="node-3", cpu="500m", owner=an_owner(kind="StatefulSet"), deletion_ns=NOW_NS + 5 * SECOND_NS
        ),
    ]
    pairs = a_pair("node-1"), a_pair("node-2", conditions=("Drifted",)), a_pair("node-3", conditions=())
    forecast = played(a_world(*pairs, pods=pods))
    told = [(seconds(step), step.kind, step.method) for step in forecast.steps if step.method]
    assert told[:2] == [(15, StepKind.REJECT, "Emptiness"), (15, StepKind.DISRUPT, "Drift")]


def recorded_passes(play: Play, monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, int]]:
    """Return a list that gets the time of each disruption pass and the number of non-terminating pods on node-1."""
    find, passes = play.disruption.find, list[tuple[float, int]]()

    def noted(after: Method | None = None) -> NextPass:
        staying = [pod for pod in play.world.pods_on("node-1") if not pod.is_terminating]
        passes.append(((play.now_ns - NOW_NS) / SECOND_NS, len(staying)))
        return find(after)

    monkeypatch.setattr(play.disruption, "find", noted)
    return passes


def test_the_next_command_is_searched_before_pods_of_the_first_are_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    pods = [a_pod(name="a", node="node-1", cpu="500m"), a_pod(name="b", node="node-2", cpu="900m")]
    world = a_world(a_pair("node-1"), a_pair("node-2"), pods=pods)
    play = Play(world, TYPES, Settings(), NOW_NS, until_ns=NOW_NS + HOUR_NS, durations=Durations())
    passes = recorded_passes(play, monkeypatch)
    play.run()
    assert passes[:3] == [(0, 1), (15, 1), (25, 0)]


def test_a_pass_takes_as_long_as_its_simulations() -> None:
    pods = [a_pod(name="a", node="node-1", cpu="500m")]
    world = a_world(a_pair("node-1", is_large=True), pods=pods)
    at = [seconds(steps(played(world, simulation_seconds=number), StepKind.DISRUPT)[0]) for number in (None, 2.0)]
    assert at == [15, 17], "one node is simulated alone"
    pods = [a_pod(name=name, node=f"node-{name}", cpu="1900m") for name in "ab"]
    pairs = [a_pair(f"node-{name}", conditions=("Drifted",)) for name in "ab"]
    forecast = played(a_world(*pairs, pods=pods), simulation_seconds=0.2)
    assert [seconds(step) for step in steps(forecast, StepKind.DISRUPT)] == [0.2, 0.4]
    forecast = played(a_world(*pairs, pods=pods), simulation_seconds=3.0)
    assert [seconds(step) for step in steps(forecast, StepKind.DISRUPT)] == [3, 6]


def test_the_pause_between_passes_starts_when_a_long_pass_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    pods = [a_pod(name=name, node=f"node-{name}", cpu="1800m") for name in "ab"]
    pods.append(a_pod(name="done", node="node-a", cpu="10m", owner=None, deletion_ns=NOW_NS + SECOND_NS))
    world = a_world(a_pair("node-a"), a_pair("node-b"), pods=pods)
    durations = Durations(simulation_ns=4 * SECOND_NS)
    play = Play(world, TYPES, Settings(), NOW_NS, until_ns=NOW_NS + HOUR_NS, durations=durations)
    passes = recorded_passes(play, monkeypatch)
    play.run()
    assert [at for at, _ in passes] == [0, 22], "both together, each alone (4 s each), and a pause of ten seconds"


def test_the_seed_decides_which_of_equal_nodes_is_deleted_first() -> None:
    pool = a_nodepool(budgets=(DisruptionBudget("1"),))
    fleet = a_world(a_pair("node-2"), a_pair("node-1"), nodepools=[pool])
    first = [steps(played(fleet, seed=seed), StepKind.DISRUPT)[0].nodes for seed in range(12)]
    assert first[0] == ("node-1",)
    assert set(first) == {("node-1",), ("node-2",)}
    assert first == [steps(played(fleet, seed=seed), StepKind.DISRUPT)[0].nodes for seed in range(12)]


def test_the_pending_time_of_each_pod_is_reported() -> None:
    early = a_pod(name="early", cpu="100m", created_ns=NOW_NS - 60 * NS_PER_SECOND)
    never = a_pod(name="never", cpu="900", created_ns=NOW_NS)
    forecast = played(a_world(pods=[early, never]))
    first, last = forecast.waits
    (start,) = steps(forecast, StepKind.READY)
    assert (first.pod, first.from_ns, first.until_ns) == ("default/early", NOW_NS - 60 * NS_PER_SECOND, start.at_ns)
    assert (last.pod, last.from_ns, last.until_ns) == ("default/never", NOW_NS, None)
    lines = waits_text(forecast).splitlines()
    assert [line.split()[0] for line in lines] == ["to", duration_text((start.at_ns - first.from_ns) / 1e9)]
    assert lines[0].strip().startswith("to the end")
    assert longest_waits(forecast, 1) == "default/never to the end and 1 more"
    assert plain(PLAYED, forecast)["waits"][-1]["until"] is None


def test_a_forecast_ends_after_the_requested_number_of_commands_even_within_one_pass() -> None:
    pairs = [a_pair(f"node-{number}", conditions=("Drifted",)) for number in (1, 2, 3)]
    pods = [a_pod(name=f"pod-{number}", node=f"node-{number}", cpu="1900m") for number in (1, 2, 3)]
    world = a_world(*pairs, pods=pods)
    assert len({step.at_ns for step in steps(played(world), StepKind.DISRUPT)[:3]}) == 1
    forecast = played(world, most_commands=2)
    assert len(steps(forecast, StepKind.DISRUPT)) == 2
    assert forecast.problem == "it ends after 2 commands, as asked"


def test_a_node_that_has_not_registered_is_named_by_its_nodeclaim() -> None:
    node, claim = a_pair("node-1", conditions=("Drifted",))
    labels = {key: value for key, value in node.labels.items() if key != REGISTERED}
    forecast = played(a_world((msgspec.structs.replace(node, labels=labels), claim)))
    assert [(step.method, step.nodes) for step in steps(forecast, StepKind.DISRUPT)] == [("Emptiness", (claim.name,))]


def test_the_assumptions_count_nodes_without_a_price() -> None:
    text = "1 node not managed by Karpenter counts in the number of nodes, but not in $/h"
    world = a_world(a_pair("node-1"))
    assert text in played(replace(world, nodes=(*world.nodes, a_node(name="foreign")))).assumptions
    assert text not in played(world).assumptions
    joined, claim = a_pair("joins")
    starting = a_world(a_pair("node-1"), (joined, replace(claim, provider_id="")))
    foreign = replace(a_node(name="foreign"), provider_id="")
    assert text in played(replace(world, nodes=(*world.nodes, foreign), nodeclaims=starting.nodeclaims)).assumptions
    pair, (node, claim) = a_pair("node-1"), a_pair("node-2")
    labels = {**claim.labels, INSTANCE_TYPE: "m9.unheard-of"}
    text = "1 node counts as $0/h: the price of its NodeClaim is not known"
    for result, expected in ((claim, 0), (replace(claim, labels=labels), 1), (replace(claim, labels={}), 1)):
        forecast = played(a_world(pair, (node, result)))
        assert forecast.series[0].unpriced == expected
        assert (text in forecast.assumptions) is bool(expected)


def test_a_quiescent_forecast_knows_when_something_may_happen_next() -> None:
    pool = a_nodepool(budgets=(DisruptionBudget("0", schedule="0 20 * * *", duration="2h"),))  # now is noon
    full = a_pod(name="full", node="node-1", cpu="1900m")
    forecast = played(a_world(a_pair("node-1"), pods=[full], nodepools=(pool,)), horizon_ns=6 * HOUR_NS)
    assert (forecast.is_quiescent, forecast.next_date_ns) == (True, NOW_NS + 8 * HOUR_NS)
    assert headline(forecast).startswith("nothing is disrupted and nothing launched before 20:00:00Z: 1 node")
    expiring = a_world(a_pair("node-1", expire_after_ns=8 * HOUR_NS), pods=[full])
    assert played(expiring, horizon_ns=6 * HOUR_NS).next_date_ns == NOW_NS + 7 * HOUR_NS
    tomorrow = played(a_world(a_pair("node-1", expire_after_ns=24 * HOUR_NS), pods=[full]), horizon_ns=6 * HOUR_NS)
    assert " before Sat 11:00Z: 1 node" in headline(tomorrow)
    assert played(a_world(a_pair("node-1"), pods=[full])).next_date_ns is None
