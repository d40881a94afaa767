"""From any object to the screen that explains it: why a pod waits, why a node is here, what a NodePool does."""

from __future__ import annotations

from karptui.decode.kinds import Kind
from karptui.screens.frame import FrameScreen
from karptui.screens.host import Host
from karptui.views.sanitize import clean


def explanation_of(host: Host, kind: str, key: str) -> FrameScreen | str:
    """Return the screen that explains an object, or a sentence that says why there is none.

    Args:
        host: The app.
        kind: As the API writes it.
        key: ``namespace/name``, or the name alone.
    """
    state = host.view.state
    match kind:
        case Kind.POD:
            pod = state.pods.get(key)
            if pod is None:
                return f"pod {clean(key)} is not there any more"
            return _node(host, pod.node_name) if pod.node_name in state.nodes else _pending(key)
        case Kind.NODE:
            return _node(host, key)
        case Kind.NODECLAIM:
            node = state.node_of(key)
            return _node(host, node.name) if node is not None else _node(host, key)
        case Kind.NODEPOOL:
            if key not in state.nodepools:
                return f"NodePool {clean(key)} is not there any more"
            from karptui.screens.pool_detail import PoolDetailScreen  # noqa: PLC0415 - only when asked for

            return PoolDetailScreen(key)
        case _:
            return f"{clean(kind)} is described (d) and shown as YAML (y); pods, nodes and NodePools are explained"


def _pending(key: str) -> FrameScreen:
    from karptui.screens.pending_detail import PendingDetailScreen  # noqa: PLC0415 - only when asked for

    return PendingDetailScreen(key)


def _node(host: Host, name: str) -> FrameScreen | str:
    entry = host.view.node_of(name) or host.view.node_entry(f"NodeClaim/{name}")
    if entry is None:
        return f"{clean(name)} is not there any more"
    from karptui.screens.node_detail import NodeDetailScreen  # noqa: PLC0415 - only when asked for

    return NodeDetailScreen(entry.key)
