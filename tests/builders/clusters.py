"""Whole clusters."""

from __future__ import annotations

from typing import Any

from karptui.karpenter.inventory import Inventory
from karptui.state.cluster import EMPTY, ClusterState, objects_of
from karptui.state.reducer import Batch, KindDelta, reduce
from tests.builders.nodes import a_node, a_nodeclaim, a_nodepool
from tests.builders.parts import an_owner
from tests.builders.pods import a_pod, a_pod_template


def an_inventory(*, nodes: int = 3, pods_per_node: int = 2, **others: Any) -> Inventory:
    """Return a pool's nodes with their claims and evenly spread pods; ``others`` replace fields of ``Inventory``."""
    names = [f"node-{number}" for number in range(1, nodes + 1)]
    template = a_pod_template(owners=(an_owner(),))
    manifest: dict[str, Any] = {
        "nodepools": (a_nodepool(),),
        "nodes": tuple(a_node(name=name) for name in names),
        "nodeclaims": tuple(a_nodeclaim(name=f"general-{name}", node=name) for name in names),
        "pods": tuple(
            a_pod(name=f"web-{name}-{number}", node=name, template=template)
            for name in names
            for number in range(1, pods_per_node + 1)
        ),
    }
    return Inventory(**{**manifest, **others})


def a_cluster(*, nodes: int = 3, pods_per_node: int = 2, **others: Any) -> ClusterState:
    """Return the state of a cluster; the arguments are those of ``an_inventory``."""
    return state_of(an_inventory(nodes=nodes, pods_per_node=pods_per_node, **others))


def state_of(inventory: Inventory) -> ClusterState:
    """Return the first generation of a cluster with the objects of an inventory."""
    deltas = {kind: KindDelta(objects, replaces=True) for kind, objects in objects_of(inventory).items()}
    return reduce(EMPTY, Batch(deltas, inventory.unread))
