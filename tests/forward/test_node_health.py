"""Unhealthy nodes in a play: deleted by force before 1.15, repaired within the policy's bound since."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from karptui.forward.result import StepKind
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import parse_settings
from karptui.kube.objects import Condition
from tests.builders import MINUTE_NS, NOW_NS, a_pdb, a_pod
from tests.forward.making import a_pair, a_world, played, seconds, steps

GATE: Final = {"FEATURE_GATES": "NodeRepair=true"}
BEFORE: Final = parse_settings(GATE, "1.14.1")
KEPT: Final = parse_settings({**GATE, "LEGACY_NODE_REPAIR": "true"}, "1.15.0")
METHOD: Final = parse_settings(GATE, "1.15.0")
STAYS: Final = {"karpenter.sh/do-not-disrupt": "true"}


def _sick(minutes: int, *, spare: int = 4) -> Inventory:
    """Return a node that has not been ready for so long, with pods that nothing may evict, among others that are."""
    node, claim = a_pair("node-1", conditions=())
    ready = Condition("Ready", "False", "KubeletNotReady", "", NOW_NS - minutes * MINUTE_NS)
    others = [a_pair(f"node-{number + 2}", conditions=()) for number in range(spare)]
    labels = {"app": "web"}
    held = [
        a_pod(name="web", node="node-1", labels=labels, annotations=STAYS),
        *(a_pod(name=f"full-{number}", node=f"node-{number + 2}", cpu="1500m") for number in range(spare)),
    ]
    return a_world((replace(node, conditions=(ready,)), claim), *others, pods=held, pdbs=[a_pdb(disruptions_allowed=0)])


def test_the_controller_of_before_deletes_a_node_by_force_once_it_was_tolerated() -> None:
    for settings in (BEFORE, KEPT):
        found = played(_sick(10), settings=settings)
        (deleted,) = steps(found, StepKind.DISRUPT)
        assert (deleted.method, deleted.decision, deleted.nodes) == ("LegacyRepair", "delete", ("node-1",))
        assert (seconds(deleted), deleted.pods) == (20 * 60, ("default/web",))
        (gone,) = steps(found, StepKind.DRAIN)
        assert seconds(gone) < 22 * 60, "its pods are deleted with it, whatever holds them"


def test_more_than_a_fifth_of_the_nodes_is_left_alone() -> None:
    found = played(_sick(40, spare=0), settings=BEFORE)
    assert steps(found, StepKind.DISRUPT)
    world = _sick(40, spare=1)
    ready = world.nodes[0].conditions
    found = played(replace(world, nodes=tuple(replace(one, conditions=ready) for one in world.nodes)), settings=BEFORE)
    assert found.steps == ()


def test_repair_looks_when_a_node_was_tolerated_and_ends_its_drain() -> None:
    found = played(_sick(10), settings=METHOD)
    (repaired,) = steps(found, StepKind.DISRUPT)
    assert (repaired.method, repaired.nodes) == ("Repair", ("node-1",))
    assert 20 * 60 <= seconds(repaired) <= 21 * 60
    (gone,) = steps(found, StepKind.DRAIN)
    assert 10 * 60 <= seconds(gone) - seconds(repaired) <= 13 * 60, "AWS bounds the drain of a repair to ten minutes"


def test_without_the_gate_nobody_looks_at_it() -> None:
    assert played(_sick(10), settings=parse_settings({}, "1.14.1")).steps == ()
