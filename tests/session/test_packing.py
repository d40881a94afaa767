from __future__ import annotations

from collections import Counter

import pytest

from karptui.session.packing import Packed, packed
from karptui.whatif.edits import AnyEdit, RemoveNode, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import WhatIfBase
from tests.builders import a_pod
from tests.whatif.edits.test_apply import GENERAL
from tests.whatif.test_difference import another, fleet, running


def both(start: WhatIfBase, *edits: AnyEdit, mode: Replay = Replay.PENDING) -> Packed:
    return packed(replay(start, mode), replay(apply(start, edits), mode))


@pytest.mark.parametrize("mode", list(Replay))
def test_the_drawing_has_as_many_nodes_as_the_replay(mode: Replay) -> None:
    pods = (*running(3, "node-1", cpu="100m"), *running(2, "node-2", cpu="200m"), a_pod(name="big", cpu="10"))
    start = fleet(*pods, nodes=3)
    edits = (RemoveNode("node-2"),)
    result = both(start, *edits, mode=mode)
    for side, outcome in (("before", replay(start, mode)), ("after", replay(apply(start, edits), mode))):
        bins = [answer for node in result.nodes if (answer := getattr(node, side)) is not None]
        assert Counter(item.pool for item in bins) == {
            name: figures.nodes for name, figures in outcome.pools.items() if figures.nodes
        }
    assert not result.left_out


def test_pods_of_a_removed_node_are_drawn_on_their_new_node() -> None:
    start = fleet(*running(3, "node-1", cpu="100m"), *running(1, "node-2", cpu="300m"))
    result = both(start, RemoveNode("node-2"), mode=Replay.REMOVE)
    [stays, goes] = sorted(result.nodes, key=lambda node: node.after is None)
    assert stays.before is not None
    assert stays.after is not None
    assert goes.before is not None
    assert [pod.cpu for pod in stays.before.pods] == [100, 100, 100]
    assert [pod.cpu for pod in stays.after.pods] == [300, 100, 100, 100]
    assert [pod.cpu for pod in goes.before.pods] == [300]


def test_a_new_node_is_drawn_as_its_cheapest_type_and_matched_before_and_after() -> None:
    big = a_pod(name="big", cpu="10")
    start = fleet(big, nodes=1, manifests=(another("general", limits={"cpu": "2"}),))
    result = both(start, SetField(GENERAL, ("spec", "limits"), None))
    [new] = [node for node in result.nodes if node.is_launched]
    assert new.before is None
    assert new.after is not None
    assert (new.after.name, new.after.pool) == ("m5.4xlarge", "general")
    assert [pod.cpu for pod in new.after.pods] == [10_000]
    [same] = [node for node in both(fleet(big, nodes=0)).nodes if node.is_launched]
    assert same.before is not None
    assert same.before == same.after
