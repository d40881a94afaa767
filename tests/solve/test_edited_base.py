from __future__ import annotations

import pytest

from karptui.solve.run import edited_base
from karptui.whatif.edits import AnyEdit, EditError, ObjectRef, RemoveNode, SetField, TakeOut
from karptui.whatif.edits.apply import apply
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import WhatIfBase
from tests.builders import a_pod, an_instance_type
from tests.forward.making import a_pair
from tests.whatif.edits.test_apply import POOL
from tests.whatif.snapshots import base

TYPES = (
    an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1}),
    an_instance_type(name="m5.xlarge", cpu="4", memory="16Gi", prices={"on-demand": 0.2}),
)
GENERAL = ObjectRef("NodePool", "general")


def cluster() -> WhatIfBase:
    nodes, claims = zip(*(a_pair(name) for name in ("a", "b")), strict=True)
    pods = (a_pod(name="x", node="a", cpu="1"), a_pod(name="y", node="b", cpu="1500m"), a_pod(name="z", cpu="1500m"))
    return base(POOL, types=TYPES, nodes=tuple(nodes), nodeclaims=tuple(claims), pods=pods)


@pytest.mark.parametrize(
    "edits",
    [
        (),
        (RemoveNode("a"),),
        (TakeOut(instance_type="m5.large"),),
        (SetField(GENERAL, ("spec", "limits"), {"cpu": "4"}), RemoveNode("b")),
    ],
)
@pytest.mark.parametrize("mode", [Replay.PENDING, Replay.SCRATCH])
def test_it_comes_to_what_the_edits_come_to(edits: tuple[AnyEdit, ...], mode: Replay) -> None:
    on = cluster()
    there, here = replay(edited_base(on, edits), mode), replay(apply(on, edits), mode)
    assert {pod.key for pod in there.unplaced} == {pod.key for pod in here.unplaced}
    assert there.pools == here.pools


def test_what_the_edits_drift_is_drifted() -> None:
    edit = SetField(GENERAL, ("spec", "template", "metadata", "labels"), {"team": "a"})
    assert not any(claim.is_true("Drifted") for claim in cluster().inventory.nodeclaims)
    drifted = edited_base(cluster(), (edit,)).inventory.nodeclaims
    assert [claim.is_true("Drifted") for claim in drifted] == [True, True]


def test_an_edit_that_cannot_be_made_is_said() -> None:
    with pytest.raises(EditError, match="none-such"):
        edited_base(cluster(), (SetField(ObjectRef("NodePool", "none-such"), ("spec", "weight"), 1),))
