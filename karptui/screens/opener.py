"""The screen that stands at a destination."""

# ruff: noqa: PLC0415 - screens are imported when they are opened, or ahead of it in a thread

from __future__ import annotations

from typing import assert_never

from karptui.decode.kinds import Kind
from karptui.screens.destinations import (
    Destination,
    ToExplanation,
    ToLedger,
    ToNode,
    ToPending,
    ToPool,
    ToText,
    ToTypes,
)
from karptui.screens.frame import FrameScreen
from karptui.screens.host import Host
from karptui.views.sanitize import clean


def screen_for(route: Destination, host: Host) -> FrameScreen | str:
    """Return a new screen, or a sentence that says why there is none."""
    match route:
        case ToText(title, fetch, language):
            from karptui.screens.text import TextScreen

            return TextScreen(title, fetch, language)
        case ToNode(key):
            from karptui.screens.node_detail import NodeDetailScreen

            return NodeDetailScreen(key)
        case ToPool(name):
            from karptui.screens.pool_detail import PoolDetailScreen

            return PoolDetailScreen(name)
        case ToPending(pod_key):
            from karptui.screens.pending_detail import PendingDetailScreen

            return PendingDetailScreen(pod_key)
        case ToTypes(pool):
            from karptui.screens.types import TypesOfPoolScreen

            return TypesOfPoolScreen(pool)
        case ToLedger(pool, instance_type, pods):
            from karptui.screens.type_ledger import TypeLedgerScreen

            return TypeLedgerScreen(pool, instance_type, pods)
        case ToExplanation(kind, key):
            explained = explanation_of(host, kind, key)
            return explained if isinstance(explained, str) else screen_for(explained, host)
        case _:
            assert_never(route)


def explanation_of(host: Host, kind: str, key: str) -> Destination | str:
    """Return where an object is explained, or a sentence that says why nowhere.

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
            return _node(host, pod.node_name) if pod.node_name in state.nodes else ToPending(key)
        case Kind.NODE:
            return _node(host, key)
        case Kind.NODECLAIM:
            node = state.node_of(key)
            return _node(host, node.name if node is not None else key)
        case Kind.NODEPOOL:
            return ToPool(key) if key in state.nodepools else f"NodePool {clean(key)} is not there any more"
        case _:
            return f"{clean(kind)} is described (d) and shown as YAML (y); pods, nodes and NodePools are explained"


def _node(host: Host, name: str) -> Destination | str:
    entry = host.view.node_of(name) or host.view.node_entry(f"claim/{name}")
    return ToNode(entry.key) if entry is not None else f"{clean(name)} is not there any more"
