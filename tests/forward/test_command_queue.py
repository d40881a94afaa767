from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.forward.command_queue import Running, ends_ns, waiting
from karptui.forward.durations import Durations
from karptui.forward.launching import given_up_ns, is_stuck
from karptui.forward.play import Play
from karptui.forward.result import Failure, StepKind
from karptui.forward.run import premises
from karptui.karpenter.labels import DISRUPTED_TAINT, INITIALIZED
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.settings import Settings
from karptui.kube.objects import Node
from karptui.kube.timestamps import ABSENT_NS, NS_PER_SECOND
from karptui.views.forward.sentences import step_text
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_condition, a_node, a_nodeclaim, a_pod, amounts
from tests.forward.making import TYPES, a_pair, a_world, played, seconds, steps

BEGAN_NS = NOW_NS - 40 * NS_PER_SECOND
DRAINED = 60
"""Seconds from the readiness of the replacement to the end of the node: 30 to drain it, 30 to end its instance."""


def held(name: str, began_ns: int = BEGAN_NS) -> tuple[Node, NodeClaim]:
    """Return a node that a running command has tainted and marked."""
    node, claim = a_pair(name)
    mark = a_condition("DisruptionReason", since_ns=began_ns)
    return replace(node, taints=(DISRUPTED_TAINT,)), replace(claim, conditions=(*claim.conditions, mark))


def a_replacement(name: str, after_seconds: int) -> NodeClaim:
    """Return a NodeClaim created this many seconds after the command began."""
    created_ns = BEGAN_NS + after_seconds * NS_PER_SECOND
    room = amounts({"cpu": "2", "memory": "8Gi", "pods": "29"})
    return a_nodeclaim(name=name, node=name, stage="Launched", created_ns=created_ns, capacity=room, allocatable=room)


def test_a_running_command_drains_its_node_once_its_replacement_is_ready() -> None:
    node, claim = held("goes")
    world = a_world((node, claim), pods=[a_pod(name="moves", node="goes", cpu="500m")])
    world = replace(world, nodeclaims=(*world.nodeclaims, a_replacement("new", 1)))
    forecast = played(world)
    (ready,) = [step for step in steps(forecast, StepKind.READY) if step.nodes == ("new",)]
    (gone,) = [step for step in steps(forecast, StepKind.DRAIN) if "goes" in step.nodes]
    assert seconds(gone) - seconds(ready) == DRAINED
    assert forecast.series[-1].nodes == 1
    assert not [step for step in steps(forecast, StepKind.PROVISION) if step.claims]


def test_a_node_marked_by_no_running_command_is_evaluated_again() -> None:
    (empty,) = steps(played(a_world(held("empty"))), StepKind.DISRUPT)
    assert (empty.method, empty.nodes) == ("Emptiness", ("empty",))


@pytest.mark.parametrize(("after_seconds", "counts"), [(-2, False), (-1, True), (0, True), (10, True), (11, False)])
def test_only_nodeclaims_created_right_after_the_mark_count_as_replacements(after_seconds: int, counts: bool) -> None:
    node, claim = held("goes")
    (result,) = waiting([node], [claim, a_replacement("new", after_seconds)])
    assert result.awaited == (("new",) if counts else ())


def test_a_replacement_belongs_to_the_last_command_before_it() -> None:
    first, second = held("first"), held("second", BEGAN_NS + 4 * NS_PER_SECOND)
    claims = [first[1], second[1], a_replacement("one", 1), a_replacement("two", 5)]
    waitings = waiting([first[0], second[0]], claims)
    assert {item.node_name: item.awaited for item in waitings} == {"first": ("one",), "second": ("two",)}


def test_a_command_fails_after_ten_minutes_and_its_nodes_stay() -> None:
    """Node and NodeClaim lose their marks. The late replacement becomes an additional node."""
    began_ns = NOW_NS - 500 * NS_PER_SECOND
    late = replace(a_replacement("new", 1), created_ns=began_ns + NS_PER_SECOND)
    slow = Durations(start_ns=700 * NS_PER_SECOND, nomination_ns=0)
    world = a_world(held("goes", began_ns), pods=[a_pod(name="stays", node="goes", cpu="1900m")])
    world = replace(world, nodeclaims=(*world.nodeclaims, late))
    play = Play(world, TYPES, Settings(), NOW_NS, until_ns=NOW_NS + 250 * NS_PER_SECOND, durations=slow)
    forecast = play.run()
    (failed,) = steps(forecast, StepKind.REJECT)
    assert (int(seconds(failed)), failed.nodes, failed.because) == (100, ("goes",), Failure.TIMEOUT)
    assert step_text(failed) == "a command: goes fails because its replacement is not ready in time"
    assert not play.world.nodes["goes"].taints
    assert "claim-goes" not in play.world.commanded
    assert [int(seconds(step)) for step in steps(forecast, StepKind.READY)] == [201]


def test_a_command_fails_if_its_replacement_is_deleted_for_not_registering() -> None:
    """EC2 refuses the launch for five minutes, so Karpenter deletes the NodeClaim. The node stays."""
    began_ns = NOW_NS - 290 * NS_PER_SECOND
    refused = a_condition("Launched", status="False", since_ns=began_ns)
    waits = a_condition("Registered", status="Unknown", since_ns=began_ns)
    lost = replace(a_replacement("new", 1), created_ns=began_ns, conditions=(refused, waits))
    assert given_up_ns(lost) == began_ns + 300 * NS_PER_SECOND
    world = a_world(held("goes", began_ns), pods=[a_pod(name="stays", node="goes", cpu="1900m")])
    slow = Durations(start_ns=700 * NS_PER_SECOND, nomination_ns=0)
    world = replace(world, nodeclaims=(*world.nodeclaims, lost))
    play = Play(world, TYPES, Settings(), NOW_NS, until_ns=NOW_NS + 250 * NS_PER_SECOND, durations=slow)
    (failed,) = steps(play.run(), StepKind.REJECT)
    assert (failed.nodes, failed.because) == (("goes",), Failure.REPLACEMENT_GONE)
    assert "new" not in play.world.claims
    assert "claim-goes" in play.world.claims


def test_the_timeout_of_a_command_grows_with_the_number_of_nodes_in_commands() -> None:
    running = Running(["a"], ["b"], NOW_NS)
    many = Running(map(str, range(9000)), ["c"], NOW_NS)
    most = Running(map(str, range(90000)), ["d"], NOW_NS)
    told = [
        (ends_ns(running, others) - NOW_NS) // NS_PER_SECOND for others in ([running], [running, many], [running, most])
    ]
    assert told == [600, 720, 3600]


@pytest.mark.parametrize(("minutes", "usual_minutes", "expected"), [(14, 1, 0), (16, 1, 1), (16, 4, 0), (21, 4, 1)])
def test_a_node_that_is_uninitialized_for_too_long_is_assumed_to_stay_so(
    minutes: int, usual_minutes: int, expected: int
) -> None:
    made_ns = NOW_NS - minutes * MINUTE_NS
    joined = tuple(a_condition(item, since_ns=made_ns) for item in ("Launched", "Registered"))
    node, claim = a_pair("waits")
    node = replace(node, labels={key: value for key, value in node.labels.items() if key != INITIALIZED})
    claim = replace(claim, created_ns=made_ns, conditions=joined)
    usual = Durations(start_ns=usual_minutes * MINUTE_NS)
    forecast = Play(a_world((node, claim)), TYPES, Settings(), NOW_NS, until_ns=NOW_NS + HOUR_NS, durations=usual).run()
    assert len(steps(forecast, StepKind.READY)) == 1 - expected
    (result,) = premises(a_world((node, claim)), Settings(), usual, NOW_NS)[0][:1]
    stays = "assumed to stay so: Karpenter does not delete such nodes"
    text = f"waits is not initialized {minutes}m after it joined, and {stays}"
    assert (result == text) is bool(expected)


def test_a_node_that_starts_slowly_counts_as_ready_now_and_the_assumptions_name_it() -> None:
    made_ns = NOW_NS - 14 * MINUTE_NS
    joined = tuple(a_condition(item, since_ns=made_ns) for item in ("Launched", "Registered"))
    node, claim = a_pair("slow")
    node = replace(a_node(name="slow", is_ready=False, is_initialized=False), provider_id=node.provider_id)
    claim = replace(claim, created_ns=made_ns, conditions=joined)
    pod = a_pod(name="a", cpu="100m", scheduled_message="0/1 nodes are available")
    forecast = played(a_world((node, claim), pods=[pod]))
    (ready, bound) = forecast.steps
    assert (ready.nodes, bound.pods, seconds(bound)) == (("slow",), ("default/a",), 0)
    assert forecast.assumptions[0] == (
        "slow counts as ready now, although it has been starting for 14m and 1m0s is usual"
    )
    assert not any("fits on a ready node" in assumption for assumption in forecast.assumptions)


def test_the_time_before_a_node_joined_does_not_count_as_uninitialized() -> None:
    made_ns, joined_ns = NOW_NS - 20 * MINUTE_NS, NOW_NS - MINUTE_NS
    _, claim = a_pair("late")
    launched = a_condition("Launched", since_ns=made_ns)
    claim = replace(claim, created_ns=made_ns, conditions=(launched, a_condition("Registered", since_ns=joined_ns)))
    assert not is_stuck(claim, Durations(), NOW_NS)
    assert is_stuck(claim, Durations(), joined_ns + 15 * MINUTE_NS + 1)
    undated = a_condition("Registered", since_ns=ABSENT_NS)
    assert not is_stuck(replace(claim, conditions=(launched, undated)), Durations(), NOW_NS)


def test_only_nodeclaims_that_have_not_registered_are_given_up() -> None:
    _, claim = a_pair("there")
    assert given_up_ns(claim) is None
    launched = a_condition("Launched", since_ns=BEGAN_NS)
    waits = a_condition("Registered", status="Unknown", since_ns=BEGAN_NS)
    assert given_up_ns(replace(claim, conditions=(launched, waits))) == BEGAN_NS + 900 * NS_PER_SECOND
