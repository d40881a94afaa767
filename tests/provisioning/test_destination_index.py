from __future__ import annotations

import random
from collections.abc import Sequence

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO
from karptui.provisioning import Prepared, prepare
from tests.builders import NOW_NS, a_node, a_nodepool, a_pod

NODES = 6
MOMENTS = 30


def cluster(pods: Sequence[Pod], nodes: int = NODES) -> Prepared:
    inventory = Inventory(
        nodes=tuple(a_node(name=f"node-{i}", pool="", cpu="4") for i in range(nodes)),
        pods=tuple(pods),
        nodepools=(a_nodepool(),),
    )
    return prepare(inventory, (), Settings(), NOW_NS)


def test_updated_room_equals_a_new_index() -> None:
    rng = random.Random(7)
    index = cluster([a_pod(name="first", node="node-0", cpu="1")]).destination_index
    for moment in range(MOMENTS):
        pods = [
            a_pod(name=f"pod-{moment}-{i}", node=f"node-{rng.randrange(NODES)}", cpu=f"{rng.randrange(1, 3)}")
            for i in range(rng.randrange(1, 8))
        ]
        anew = cluster(pods)
        later = index.later(anew.destinations)
        assert later is not None
        index = later
        assert index.kinds == anew.destination_index.kinds
        for cpu in range(6):
            need = tuple(cpu * NANO if name == "cpu" else 0 for name in anew.columns.names)
            assert index.roomy(need) == anew.destination_index.roomy(need)


def test_added_or_reordered_nodes_need_a_new_index() -> None:
    few, many = cluster([a_pod(name="a")]), cluster([a_pod(name="a")], NODES + 1)
    assert few.destination_index.later(many.destinations) is None
    assert few.destination_index.later(many.destinations[1:]) is None
