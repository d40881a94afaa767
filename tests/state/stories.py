"""Short ways to write batches and apply them."""

from __future__ import annotations

from typing import Any

import msgspec

from karptui.decode.kinds import Kind
from karptui.kube.pod import Pod
from karptui.state.cluster import EMPTY, ClusterState
from karptui.state.reducer import Batch, KindDelta, reduce


def told(kind: Kind, *objects: Any, gone: tuple[str, ...] = (), replaces: bool = False) -> Batch:
    """Return a batch that adds or changes objects of one kind, and deletes those named in ``gone``."""
    return Batch({kind: KindDelta({**{item.key: item for item in objects}, **dict.fromkeys(gone)}, replaces=replaces)})


def after(*batches: Batch, begin: ClusterState = EMPTY) -> ClusterState:
    for batch in batches:
        begin = reduce(begin, batch)
    return begin


def content(state: ClusterState) -> dict[str, Any]:
    """Return the contents of a state, without its generation number and the order of its changes."""
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
    """Return a comparable form of an object: pods do not define equality."""
    return msgspec.structs.astuple(item) if isinstance(item, Pod) else item
