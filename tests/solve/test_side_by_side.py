from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from karptui.provisioning.reporter import Ask, Reporter, silent
from karptui.solve.run import edited_base, solve_goal
from karptui.whatif.edits import AnyEdit, EditError, ObjectRef, RemoveNode, SetField, TakeOut
from karptui.whatif.edits.apply import apply
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import WhatIfBase
from karptui.workers.workers import packed, unpacked
from tests.builders import a_pod, a_requirement, an_instance_type
from tests.forward.making import a_pair
from tests.solve.test_goals import FAMILY, a_type
from tests.whatif.edits.test_apply import POOL
from tests.whatif.remedies.asking import a_base, a_pool
from tests.whatif.snapshots import base

MOST_AHEAD = 4


def elsewhere(ask: Ask, common: object, items: Iterable[object], _reporter: Reporter) -> Iterator[Any]:
    """Answer as worker processes do: take some items before answering the first, and pickle everything."""
    ahead = deque[bytes]()

    def answered() -> Any:
        return unpacked(packed(ask(common, unpacked(ahead.popleft()), silent)))

    for item in items:
        ahead.append(packed(item))
        if len(ahead) > MOST_AHEAD:
            yield answered()
    while ahead:
        yield answered()


def fleet() -> WhatIfBase:
    types = (a_type("m5.large", "2", 0.1), a_type("c5.4xlarge", "16", 0.7), a_type("r5.4xlarge", "16", 1.0))
    first = a_pool(name="first", weight=10, requirements=(a_requirement(FAMILY, "In", "m5"),))
    second = a_pool(name="second", weight=5, requirements=(a_requirement(FAMILY, "In", "r5"),))
    pods = (a_pod(name="gold", cpu="1", node_selector={"tier": "gold"}), a_pod(name="web", cpu="1"))
    return a_base(*pods, a_pod(name="large", cpu="8"), pools=(first, second, a_pool(name="third")), types=types)


@pytest.mark.parametrize(("goal", "given"), [
    ("pending", {}),
    ("pending", {"tries": "3"}),
    ("weight", {"pods": "default/w*", "nodepool": "third"}),
    ("families", {"nodepool": "first", "replay": "pending"}),
])  # fmt: skip
def test_other_processes_give_the_same_answer(goal: str, given: dict[str, str]) -> None:
    here = solve_goal(fleet(), goal, given)
    there = solve_goal(fleet(), goal, given, each=elsewhere)
    assert here.effort.tried > 1
    assert there == here


TYPES = (
    an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1}),
    an_instance_type(name="m5.xlarge", cpu="4", memory="16Gi", prices={"on-demand": 0.2}),
)
GENERAL = ObjectRef("NodePool", "general")


def cluster() -> WhatIfBase:
    nodes, claims = zip(*(a_pair(name) for name in ("a", "b")), strict=True)
    pods = (a_pod(name="x", node="a", cpu="1"), a_pod(name="y", node="b", cpu="1500m"), a_pod(name="z", cpu="1500m"))
    return base(POOL, types=TYPES, nodes=tuple(nodes), nodeclaims=tuple(claims), pods=pods)


@pytest.mark.parametrize("edits", [
    (),
    (RemoveNode("a"),),
    (TakeOut(instance_type="m5.large"),),
    (SetField(GENERAL, ("spec", "limits"), {"cpu": "4"}), RemoveNode("b")),
])  # fmt: skip
@pytest.mark.parametrize("mode", [Replay.PENDING, Replay.SCRATCH])
def test_an_edited_base_gives_the_same_result_as_the_edits(edits: tuple[AnyEdit, ...], mode: Replay) -> None:
    on = cluster()
    there, here = replay(edited_base(on, edits), mode), replay(apply(on, edits), mode)
    assert {pod.key for pod in there.unplaced} == {pod.key for pod in here.unplaced}
    assert there.pools == here.pools


def test_nodes_that_the_edits_drift_are_drifted_in_the_edited_base() -> None:
    edit = SetField(GENERAL, ("spec", "template", "metadata", "labels"), {"team": "a"})
    assert not any(claim.is_true("Drifted") for claim in cluster().inventory.nodeclaims)
    drifted = edited_base(cluster(), (edit,)).inventory.nodeclaims
    assert [claim.is_true("Drifted") for claim in drifted] == [True, True]


def test_an_edit_of_a_missing_object_is_an_error() -> None:
    with pytest.raises(EditError, match="none-such"):
        edited_base(cluster(), (SetField(ObjectRef("NodePool", "none-such"), ("spec", "weight"), 1),))
