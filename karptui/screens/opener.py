"""Opens the screen of a destination."""

# ruff: noqa: PLC0415 - screens are imported when they are opened, or ahead of it in a thread

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from textual.app import App

from karptui.decode.kinds import Kind
from karptui.screens.destinations import (
    ToExplanation,
    ToForward,
    ToLedger,
    ToNode,
    ToPending,
    ToPool,
    ToScreen,
    ToStudy,
    ToText,
    ToTypes,
)
from karptui.screens.frame import FrameScreen
from karptui.screens.host import Host
from karptui.views.sanitize import clean

if TYPE_CHECKING:
    from karptui.screens.whatif.controller import WhatIf
    from karptui.whatif.scenario import Opening


def screen_for(to: ToScreen, host: Host) -> FrameScreen | str:
    """Return a new screen, or a message if there is none."""
    match to:
        case ToText(title, fetch, language):
            from karptui.screens.text import TextScreen

            return TextScreen(title, fetch, language)
        case ToNode(key):
            from karptui.screens.node_detail import NodeDetailScreen

            return NodeDetailScreen(key)
        case ToPool(name):
            from karptui.screens.pools import PoolDetailScreen

            return PoolDetailScreen(name)
        case ToPending(pod_key):
            from karptui.screens.pending import PendingDetailScreen

            return PendingDetailScreen(pod_key)
        case ToTypes(pool):
            from karptui.screens.types import TypesOfPoolScreen

            return TypesOfPoolScreen(pool)
        case ToLedger(pool, instance_type, pods):
            from karptui.screens.types import TypeLedgerScreen

            return TypeLedgerScreen(pool, instance_type, pods)
        case ToExplanation(kind, key):
            explained = explanation_of(host, kind, key)
            return explained if isinstance(explained, str) else screen_for(explained, host)
        case ToForward(scenarios, played):
            from karptui.screens.forward import ForwardScreen

            return ForwardScreen(scenarios, played)
        case ToStudy(study):
            from karptui.screens.study import StudyScreen

            return StudyScreen(study)
        case _:
            assert_never(to)


def explanation_of(host: Host, kind: str, key: str) -> ToScreen | str:
    """Return the destination that explains an object, or a message if there is none.

    Args:
        key: ``namespace/name``, or the name alone.
    """
    if kind not in (Kind.POD, Kind.NODE, Kind.NODECLAIM, Kind.NODEPOOL):
        return f"{clean(kind)} is described (d) and shown as YAML (y); pods, nodes and NodePools are explained"
    if not host.session.has_object(kind, key):
        history = host.moments.history()
        if kind in (Kind.NODE, Kind.NODECLAIM) and isinstance(history, Path):
            return _removal(host, history, key)
        names = {Kind.POD: f"pod {clean(key)}", Kind.NODEPOOL: f"NodePool {clean(key)}"}
        return f"{names.get(Kind(kind), clean(key))} no longer exists"
    node_key = host.session.node_key(kind, key)
    if node_key:
        return ToNode(node_key)
    return ToPending(key) if kind == Kind.POD else ToPool(key)


def _removal(host: Host, history: Path, name: str) -> ToText:
    """Return the destination that explains a node that is gone, from the history."""

    async def fetch() -> str:
        from karptui.sources.history.store import HistoryError

        try:
            text = await asyncio.to_thread(host.session.explain_removed, history, name, host.now_ns())
        except HistoryError as error:
            return str(error)
        return text or f"{clean(name)} no longer exists, and its removal is not in the history"

    return ToText(f"Why {clean(name)} was removed", fetch)


def show_whatif(app: App[None], whatif: WhatIf, opening: Opening) -> None:
    """Show the what-if, beginning with some documents and edits."""
    from karptui.screens.whatif.screen import WhatIfScreen

    is_open = any(isinstance(screen, WhatIfScreen) for screen in app.screen_stack)
    while is_open and not isinstance(app.screen, WhatIfScreen):
        app.pop_screen()  # screens opened from the what-if
    if isinstance(app.screen, WhatIfScreen):
        app.screen.use_opening(opening)
    else:
        app.push_screen(WhatIfScreen(whatif, opening))
