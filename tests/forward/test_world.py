"""What a cluster notes of what happens in a play."""

from __future__ import annotations

import pytest

from karptui.forward.world import World
from karptui.karpenter.labels import TERMINATION_TIMESTAMP
from karptui.kube.pod import Pod
from karptui.kube.timestamps import format_timestamp
from tests.builders import MINUTE_NS, NOW_NS, SECOND_NS, a_pod, an_owner
from tests.forward.making import a_pair, a_world


def a_world_with(*pods: Pod) -> World:
    return World(a_world(a_pair("node-1"), pods=pods))


def last_event(world: World) -> float:
    """Return when a pod last came or went, as Karpenter has it, in seconds from the beginning."""
    return (world.claims["claim-node-1"].last_pod_event_ns - NOW_NS) / SECOND_NS


def test_pods_that_come_within_ten_seconds_are_one_event() -> None:
    first, second, third = (a_pod(name=name) for name in ("a", "b", "c"))
    world = a_world_with(first, second, third)
    world.bind(first, "node-1", NOW_NS)
    world.bind(second, "node-1", NOW_NS + 9 * SECOND_NS)
    assert last_event(world) == 0
    world.bind(third, "node-1", NOW_NS + 10 * SECOND_NS)
    assert last_event(world) == 10


def test_a_pod_goes_when_its_end_begins_and_not_when_it_has_ended() -> None:
    pod = a_pod(name="a", node="node-1", owner=an_owner())
    world = a_world_with(pod)
    world.evict(pod, NOW_NS, 30 * SECOND_NS)
    world.remove_pod(pod.uid, NOW_NS + 30 * SECOND_NS)
    assert last_event(world) == 0


@pytest.mark.parametrize(
    ("written_minutes", "bound_minutes", "grace_minutes", "ends_minutes"),
    [
        (None, 10, None, 10),
        (60, 10, None, 10),
        (5, 10, None, 5),
        (60, None, 10, 60),
        (None, None, 10, 10),
    ],
)
def test_a_deadline_comes_earlier_but_never_later(
    written_minutes: int | None, bound_minutes: int | None, grace_minutes: int | None, ends_minutes: int
) -> None:
    def at(minutes: int) -> str:
        return format_timestamp(NOW_NS + minutes * MINUTE_NS)

    written = {} if written_minutes is None else {TERMINATION_TIMESTAMP: at(written_minutes)}
    grace_ns = None if grace_minutes is None else grace_minutes * MINUTE_NS
    node, claim = a_pair("node-1", annotations=written, termination_grace_period_ns=grace_ns)
    world = World(a_world((node, claim)))
    bounds_ns = {} if bound_minutes is None else {claim.name: bound_minutes * MINUTE_NS}
    world.delete_claims((claim.name,), NOW_NS, bounds_ns)
    assert world.claims[claim.name].annotations[TERMINATION_TIMESTAMP] == at(ends_minutes)
