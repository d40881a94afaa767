"""Batches written as short stories."""

from __future__ import annotations

from typing import Any

import msgspec

from karptui.decode.kinds import Kind
from karptui.kube.pod import Pod
from karptui.state.cluster import EMPTY, ClusterState
from karptui.state.reducer import Batch, KindDelta, reduce


def told(kind: Kind, *objects: Any, gone: tuple[str, ...] = (), replaces: bool = False) -> Batch:
    """Return a batch in which objects of one kind come, and others go."""
    return Batch({kind: KindDelta({**{item.key: item for item in objects}, **dict.fromkeys(gone)}, replaces=replaces)})


def after(*batches: Batch, begin: ClusterState = EMPTY) -> ClusterState:
    for batch in batches:
        begin = reduce(begin, batch)
    return begin


def content(state: ClusterState) -> dict[str, Any]:
    """Return what a state says, without the order and the count of its changes."""
    return {
        "objects": {
            kind: {key: _fields(item) for key, item in items.items()} for kind, items in state.objects.items() if items
        },
        "pods_by_node": {
            name: {key: _fields(pod) for key, pod in pods.items()} for name, pods in state.pods_by_node.items()
        },
        "node_usage": dict(state.node_usage),
        "links": state.links,
    }


def _fields(item: Any) -> Any:
    """Return what to compare an object by; pods have no equality of their own."""
    return msgspec.structs.astuple(item) if isinstance(item, Pod) else item
