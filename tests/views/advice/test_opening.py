from __future__ import annotations

import pytest

from karptui.advice.finding import Finding, Severity
from karptui.views.advice import opening_of
from karptui.whatif.edits import AnyEdit, CordonNode, DeleteObject, ObjectRef, RemoveNode, SetField
from karptui.whatif.scenario import Replay

POOL, PDB = ObjectRef("NodePool", "general"), ObjectRef("PodDisruptionBudget", "db", "data")
NODE = ObjectRef("Node", "n1")
OTHERS = tuple(ObjectRef("Deployment", name, "web") for name in "abcd")


def a_finding(rule: str, *objects: ObjectRef, edits: tuple[AnyEdit, ...] = ()) -> Finding:
    return Finding(rule=rule, severity=Severity.INFO, objects=objects, fact="so", remedy="do", edits=edits)


def test_opening_a_finding_adds_the_objects_that_the_remedy_edits() -> None:
    edits = (SetField(POOL, ("spec", "weight"), 5), RemoveNode("n1"), DeleteObject(PDB))
    opening = opening_of(a_finding("pool-weight-tie", NODE, *OTHERS, edits=edits))
    assert (opening.name, opening.documents, opening.edits) == ("pool-weight-tie", (*OTHERS[:3], POOL, PDB), edits)


@pytest.mark.parametrize(("rule", "edits", "replay"), [
    ("x", (CordonNode("n1"),), Replay.NEXT),
    ("x", (SetField(PDB, ("spec", "maxUnavailable"), 1),), Replay.NEXT),
    ("x", (SetField(POOL, ("spec", "disruption", "consolidateAfter"), "1m"),), Replay.NEXT),
    ("pool-weight-tie", (SetField(POOL, ("spec", "weight"), 1),), Replay.SCRATCH),
    ("budget-eaten", (), Replay.NEXT),
    ("pod-no-requests", (), Replay.PENDING),
])  # fmt: skip
def test_each_rule_opens_with_the_replay_that_shows_its_effect(
    rule: str, edits: tuple[AnyEdit, ...], replay: Replay
) -> None:
    assert opening_of(a_finding(rule, POOL, edits=edits)).replay is replay
