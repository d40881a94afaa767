from __future__ import annotations

from typing import Any

import pytest

from karptui.forward.durations import Durations
from karptui.forward.journal import Journal
from karptui.forward.play import Play
from karptui.forward.result import StepKind
from karptui.forward.world import World
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import TERMINATION_TIMESTAMP
from karptui.karpenter.settings import Settings
from karptui.kube.pod import Pod, PodVolume
from karptui.kube.timestamps import format_timestamp
from karptui.kube.volumes import PersistentVolumeClaim, StorageClass
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, SECOND_NS, a_pdb, a_pod, an_owner
from tests.forward.making import TYPES, a_pair, a_world


def a_world_with(*pods: Pod) -> World:
    return World(a_world(a_pair("node-1"), pods=pods))


def last_event(world: World) -> float:
    """Return lastPodEventTime of node-1, in seconds after the start."""
    return (world.claims["claim-node-1"].last_pod_event_ns - NOW_NS) / SECOND_NS


def test_pod_events_are_deduplicated_and_an_evicted_pod_counts_once() -> None:
    first, second, third = (a_pod(name=name) for name in ("a", "b", "c"))
    world = a_world_with(first, second, third)
    world.bind(first, "node-1", NOW_NS)
    world.bind(second, "node-1", NOW_NS + 9 * SECOND_NS)
    assert last_event(world) == 0
    world.bind(third, "node-1", NOW_NS + 10 * SECOND_NS)
    assert last_event(world) == 10
    pod = a_pod(name="a", node="node-1", owner=an_owner())
    world = a_world_with(pod)
    world.evict(pod, NOW_NS, 30 * SECOND_NS)
    world.remove_pod(pod.uid, NOW_NS + 30 * SECOND_NS)
    assert last_event(world) == 0


@pytest.mark.parametrize(
    ("written_minutes", "bound_minutes", "grace_minutes", "ends_minutes"),
    [(None, 10, None, 10), (60, 10, None, 10), (5, 10, None, 5), (60, None, 10, 60), (None, None, 10, 10)],
)
def test_a_termination_deadline_is_moved_earlier_but_never_later(
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


@pytest.mark.parametrize(("binding", "volume"), [("WaitForFirstConsumer", ""), ("Immediate", "pv-1")])
def test_a_recreated_pod_gets_new_claims_for_its_ephemeral_volumes(binding: str, volume: str) -> None:
    volumes = (PodVolume("scratch", is_ephemeral=True), PodVolume("shared", "shared"))
    pod = a_pod(name="a", node="node-1", volumes=volumes)
    claims = tuple(
        PersistentVolumeClaim(name=name, namespace="default", storage_class_name="gp3", volume_name="pv-1")
        for name in ("a-scratch", "shared")
    )
    classes = (StorageClass(name="gp3", volume_binding_mode=binding),)
    journal = Journal()
    beginning = a_world(a_pair("node-1"), pods=[pod], claims=claims, storage_classes=classes)
    world = World(beginning, journal)
    world.evict(pod, NOW_NS, 30 * SECOND_NS)
    journal.close(NOW_NS)
    (again,) = world.without_node
    bound_to = {claim.name: claim.volume_name for claim in world.inventory.claims}
    assert bound_to == {"a-scratch": "pv-1", "shared": "pv-1", f"{again.name}-scratch": volume}
    assert journal.at(beginning, NOW_NS).claims == world.inventory.claims


class CopyingPlay(Play):
    """A forecast that keeps a copy of the cluster after every instant."""

    copies: dict[int, Inventory]

    def _note_moment(self) -> None:
        super()._note_moment()
        self.copies = {**vars(self).get("copies", {}), self.now_ns: self.world.inventory}


def by_key(inventory: Inventory) -> dict[str, dict[str, Any]]:
    fields = ("pods", "nodes", "nodeclaims", "pdbs")
    return {
        field: {getattr(item, "uid", "") + item.key: item for item in getattr(inventory, field)} for field in fields
    }


def test_the_journal_returns_the_cluster_of_any_instant() -> None:
    owner = an_owner()
    pods = [a_pod(name=f"a{i}", node="node-1", cpu="400m", owner=owner) for i in range(3)]
    pods.append(a_pod(name="b", node="node-2", cpu="900m", labels={"app": "other"}))
    inventory = a_world(a_pair("node-1", is_large=True), a_pair("node-2"), pods=pods, pdbs=[a_pdb(allowed=1)])
    journal = Journal()
    until_ns = NOW_NS + HOUR_NS
    play = CopyingPlay(inventory, TYPES, Settings(), NOW_NS, until_ns=until_ns, durations=Durations(), journal=journal)
    played = play.run()
    assert {StepKind.READY, StepKind.BIND, StepKind.DRAIN} <= {step.kind for step in played.steps}
    for at_ns, then in play.copies.items():
        assert by_key(journal.at(inventory, at_ns)) == by_key(then)
    assert journal.at(inventory, NOW_NS - 1) is inventory
