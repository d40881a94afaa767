from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.forward.durations import INSTANT, Durations, joined_since, observed, simulation_ns
from karptui.forward.launching import LaunchOrder, launch, ready
from karptui.forward.observation import NodeEquivalence
from karptui.forward.result import Moment, Played, Spread, Step, StepKind, likeliest, shown_of
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.labels import CAPACITY_TYPE, INITIALIZED, INSTANCE_TYPE, NODEPOOL, SPOT, ZONE
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.requirements import IN, Requirement, Requirements
from karptui.karpenter.rules import NEWEST
from karptui.kube.timestamps import ABSENT_NS
from karptui.views.column import plain
from karptui.views.forward.columns import PLAYED
from karptui.views.forward.sentences import headline
from tests.builders import (
    NOW_NS,
    SECOND_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pod,
    a_requirement,
    amounts,
    an_instance_type,
    an_owner,
    present,
)
from tests.forward.making import a_pair, a_world, played, seconds, steps

BOTH = an_instance_type(name="m5.large", prices={"on-demand": 0.1, "spot": 0.04}, reserved={"cpu": "70m"})
DEAR = an_instance_type(name="m5.xlarge", cpu="4", prices={"on-demand": 0.2})


def an_order(*types: InstanceType, **allowed: tuple[str, ...]) -> LaunchOrder:
    keys = {"capacity": CAPACITY_TYPE, "zone": ZONE}
    requirements = Requirements(Requirement.of(keys[key], IN, values) for key, values in allowed.items())
    return LaunchOrder(a_nodepool(), types, requirements, {})


@pytest.mark.parametrize(
    ("allowed", "capacity_type", "zone"),
    [({}, SPOT, "us-east-1a"), ({"capacity": ("on-demand",), "zone": ("us-east-1b",)}, "on-demand", "us-east-1b")],
    ids=["spot first, in the first zone of equal price", "requirements hold"],
)
def test_the_cheapest_offering_allowed_is_launched(
    allowed: dict[str, tuple[str, ...]], capacity_type: str, zone: str
) -> None:
    labels = present(launch(an_order(BOTH, DEAR, **allowed), NEWEST, name="new", now_ns=NOW_NS)).labels
    expected = {CAPACITY_TYPE: capacity_type, INSTANCE_TYPE: "m5.large", ZONE: zone, NODEPOOL: "general"}
    assert {key: labels[key] for key in expected} == expected


def test_a_node_that_has_already_joined_keeps_its_name() -> None:
    result = launch(an_order(BOTH), NEWEST, name="new", now_ns=NOW_NS)
    assert result is not None
    claim, fresh = ready(result, None, NOW_NS)
    assert (fresh.name, claim.node_name, fresh.labels[INITIALIZED]) == ("new", "new", "true")
    claim, joined = ready(result, a_node(name="ip-10", is_initialized=False), NOW_NS)
    assert (joined.name, claim.node_name, joined.labels[INITIALIZED]) == ("ip-10", "ip-10", "true")
    assert claim.is_true("Initialized")


def test_a_node_that_gets_ready_reports_the_devices_that_its_nodeclaim_promises() -> None:
    promised, reported = amounts({"nvidia.com/gpu": "1", "cpu": "2"}), {"nvidia.com/gpu": "0", "cpu": "1900m"}
    claim = a_nodeclaim(stage="Registered", capacity=promised, allocatable=promised)
    _, node = ready(claim, a_node(is_initialized=False, capacity=reported, allocatable=reported), NOW_NS)
    assert node.capacity["nvidia.com/gpu"] == node.allocatable["nvidia.com/gpu"] == promised["nvidia.com/gpu"]
    assert node.allocatable["cpu"] == amounts(reported)["cpu"], "a reported amount stays"


def starting(*, refused: str = "", cpu: str = "1500m", seconds_ago: int = 20) -> NodeClaim:
    """Return a NodeClaim without an instance: its launch fails with a reason, or has not been tried."""
    made_ns = NOW_NS - seconds_ago * SECOND_NS
    launched = a_condition("Launched", status="Unknown", reason=refused or "AwaitingReconciliation", since_ns=made_ns)
    return a_nodeclaim(
        name="young",
        stage="",
        created_ns=made_ns,
        conditions=(launched,),
        requirements=(a_requirement(CAPACITY_TYPE, "In", "on-demand"),),
        requests=amounts({"cpu": cpu}),
    )


def test_a_nodeclaim_without_an_instance_is_launched_with_a_type_that_fits_its_requests() -> None:
    pod = a_pod(name="waits", cpu="1500m")
    world = a_world(pods=[pod])
    forecast = played(replace(world, nodeclaims=(starting(),)))
    ready_step, bound = forecast.steps
    assert (ready_step.kind, ready_step.nodes, seconds(ready_step)) == (StepKind.READY, ("young",), 40)
    assert (bound.kind, bound.pods) == (StepKind.BIND, ("default/waits",)), "no second node is launched for the pod"
    assert (forecast.end.nodes, forecast.end.price_per_hour, forecast.end.unpriced) == (1, 0.1, 0)
    larger = played(replace(world, nodeclaims=(starting(cpu="3"),)))
    assert [moment.price_per_hour for moment in larger.series[:2]] == [0.0, 0.4]
    assert headline(forecast).startswith("nothing is disrupted and 1 node that was starting gets ready: 0 → 1 node, ")


def test_a_nodeclaim_without_a_compatible_type_blocks_launches_until_it_is_given_up() -> None:
    pod = a_pod(name="waits", cpu="1500m")
    forecast = played(replace(a_world(pods=[pod]), nodeclaims=(starting(cpu="100"),)))
    (launched,) = steps(forecast, StepKind.PROVISION)
    assert launched.pods == ("default/waits",)
    assert seconds(launched) == 281, "Karpenter launches nothing while a NodeClaim has no instance"


def test_a_nodeclaim_whose_launch_fails_never_becomes_a_node() -> None:
    pod = a_pod(name="waits", cpu="1500m")
    play_of = replace(a_world(pods=[pod]), nodeclaims=(starting(refused="LaunchFailed", seconds_ago=360),))
    result = played(play_of)
    assert result.assumptions[0] == (
        "young, without an instance, is assumed never to launch: Karpenter deletes a NodeClaim that does not launch"
        " within five minutes, and the next launch succeeds"
    )
    launched = steps(result, StepKind.PROVISION)
    assert [step.pods for step in launched] == [("default/waits",)]
    assert [step.nodes for step in steps(result, StepKind.READY)] != [("young",)]
    assert result.end.nodes == 1
    lasting = a_condition("Launched", status="Unknown", reason="LaunchFailed", since_ns=0)
    undated = replace(starting(seconds_ago=60), conditions=(lasting,))
    (later,) = steps(played(replace(play_of, nodeclaims=(undated,))), StepKind.PROVISION)
    assert (later.pods, seconds(later)) == (("default/waits",), 241), "without a date of the failure, its age decides"


def test_an_old_nodeclaim_without_an_instance_is_assumed_never_to_launch() -> None:
    old = replace(starting(seconds_ago=840), conditions=())
    result = played(replace(a_world(pods=[a_pod(name="waits", cpu="1500m")]), nodeclaims=(old,)))
    assert (result.end.nodes, result.end.pending) == (0, 1)
    assert result.assumptions[0] == (
        "young, without an instance, is assumed never to launch: "
        "while it exists, Karpenter launches and disrupts nothing"
    )


def test_the_assumptions_name_a_node_with_a_foreign_finalizer() -> None:
    node, claim = a_pair(name="held")
    held = replace(node, deletion_ns=NOW_NS, finalizers=("karpenter.sh/termination", "example.com/hold"))
    result = played(replace(a_world(), nodes=(held,), nodeclaims=(replace(claim, deletion_ns=NOW_NS),)))
    assert result.assumptions[0] == (
        "held is deleted once it is drained, although it has the finalizer example.com/hold"
    )


@pytest.mark.parametrize("minutes", [14, 16])
def test_pods_whose_containers_are_not_created_for_long_never_start_and_their_node_is_named(minutes: int) -> None:
    made_ns, names = NOW_NS - minutes * 60 * SECOND_NS, ("a", "b")
    pods = [a_pod(name=name, node="node-1", phase="Pending", created_ns=made_ns) for name in names]
    creating = [replace(pod, waiting_reason="ContainerCreating") for pod in pods]
    assumed = played(a_world(a_pair("node-1"), pods=creating)).assumptions[:2]
    told = (
        "default/a, default/b, which cannot start now, are assumed never to start",
        "node-1 starts other pods, although several pods on it cannot start now",
    )
    assert (assumed == told) is (minutes == 16)


def a_play(nodes: int, *keys_of_nodes: str) -> Played:
    steps = tuple(
        Step(
            at_ns=NOW_NS,
            kind=StepKind.DISRUPT,
            method="Drift",
            decision="delete",
            equivalence_keys=(look,),
            evictions=2,
        )
        for look in keys_of_nodes
    )
    return Played(from_ns=NOW_NS, until_ns=NOW_NS, is_quiescent=True,
                  steps=(*steps, Step(at_ns=NOW_NS, kind=StepKind.BIND, nodes=(f"node-{nodes}",))),
                  series=(Moment(NOW_NS, nodes, nodes / 2, 0),), kept=(), assumptions=(), not_modelled=())  # fmt: skip


def test_the_likeliest_forecast_is_shown_with_the_range_of_all_seeds() -> None:
    told = shown_of([a_play(3, "a", "b", "c"), a_play(5, "a", "b"), a_play(4, "a", "b")], 7)
    assert told.end.nodes == 5
    assert told.spread == Spread(
        seeds=3,
        seed=8,
        nodes=(3, 5),
        price_per_hour=(1.5, 2.5),
        evictions=(4, 6),
        pending=(0, 0),
        commands=(2, 3),
        same_commands=2,
    )
    assert plain(PLAYED, told)["spread"]["nodes"] == {"least": 3, "greatest": 5}


@pytest.mark.parametrize(
    ("plays", "expected"),
    [
        (("x", "ab", "ac", "ac"), 2),  # three begin with a, and two of them continue with c
        (("x", "y", "ab", "ac"), 2),
        (("x", "y"), 0),  # a tie: the first wins
        (("ab", "a", "a"), 1),  # two of three end after a
        (("", "", "a"), 0),
    ],
)
def test_the_likeliest_forecast_follows_the_majority_at_each_command(plays: tuple[str, ...], expected: int) -> None:
    assert likeliest([a_play(1, *keys_of_nodes) for keys_of_nodes in plays]) == expected


def a_start(number: int, seconds: int) -> NodeClaim:
    ready = a_condition("Initialized", since_ns=NOW_NS + seconds * SECOND_NS)
    return a_nodeclaim(name=f"c{number}", created_ns=NOW_NS, conditions=(ready,))


def test_durations_are_medians_and_vary_by_seed() -> None:
    assert observed([a_start(i, taken) for i, taken in enumerate((40, 50, 300))]).start_of("general") == 50 * SECOND_NS
    few = [simulation_ns(None, seed, 60) for seed in range(6)]
    assert few == [0, 15_000_000, 30_000_000, 60_000_000, 0, 15_000_000]
    assert [simulation_ns(None, seed, 1_000) for seed in range(4)] == [0, 450_000_000, 900_000_000, 1_800_000_000]
    measured = [simulation_ns(0.3, seed, 1_000) for seed in range(5)]
    assert measured == [300_000_000, 150_000_000, 300_000_000, 600_000_000, 0]


def test_a_reboot_restarts_the_time_since_a_node_joined() -> None:
    joined = a_condition("Registered", since_ns=NOW_NS)
    claim = a_nodeclaim(name="c", conditions=(joined,))
    assert joined_since(claim) == NOW_NS
    for status, since_ns in (("True", ABSENT_NS), ("False", NOW_NS + 60 * SECOND_NS)):
        reboot = a_condition("Rebooting", status=status, since_ns=NOW_NS + 60 * SECOND_NS)
        assert joined_since(replace(claim, conditions=(joined, reboot))) == since_ns
    assert joined_since(a_nodeclaim(name="c", conditions=())) == ABSENT_NS


def test_a_refused_eviction_is_retried_with_growing_delays() -> None:
    tries, now_ns = [], NOW_NS
    while now_ns < NOW_NS + 45 * SECOND_NS:
        now_ns = Durations().next_eviction(NOW_NS, now_ns)
        tries.append((now_ns - NOW_NS) / SECOND_NS)
    assert tries == [0.1, 0.3, 0.7, 1.5, 3.1, 6.3, 12.7, 22.7, 32.7, 42.7, 52.7]
    assert Durations().next_eviction(NOW_NS, NOW_NS + 10 * SECOND_NS) == NOW_NS + 12_700_000_000
    assert INSTANT.next_eviction(NOW_NS, NOW_NS + 5) == NOW_NS + 5


def test_nodes_are_equivalent_by_nodepool_type_zone_and_pod_owners() -> None:
    pairs = [a_pair(name, is_large=name == "large") for name in ("one", "two", "other", "empty", "large")]
    web, db = an_owner(name="web"), an_owner(name="db")
    pods = [
        a_pod(name=f"{name}-{number}", node=name, owner=owner)
        for name, owners in (("one", (web, db)), ("two", (db, web)), ("other", (web, web)))
        for number, owner in enumerate(owners)
    ]
    likeness = NodeEquivalence(a_world(*pairs, pods=pods))
    keys_of_nodes = {node.name: likeness.of(node.name, node.labels) for node, _ in pairs}
    assert keys_of_nodes["one"] == keys_of_nodes["two"]
    assert len({keys_of_nodes[name] for name in ("one", "other", "empty", "large")}) == 4
    late = a_node(name="late", instance_type="m5.large")
    assert NodeEquivalence(a_world()).of(late.name, late.labels) == "general m5.large"
