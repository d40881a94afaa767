"""Whether enough is known of a cluster to say why nodes are still here."""

from __future__ import annotations

from typing import Final

from karptui.decode.kinds import Kind
from karptui.views.cluster_view import ClusterView

NEEDED: Final = (Kind.NODE, Kind.NODECLAIM, Kind.NODEPOOL, Kind.POD)
"""Without one of these nothing can be said."""
HEEDED: Final = (Kind.PDB, Kind.DAEMONSET, Kind.NODECLASS)
"""Waited for where they are on their way, and done without where they may not be listed."""
_ON_THE_WAY: Final = ("connecting", "syncing")


def plural(kind: Kind) -> str:
    """Return the plural of a kind's name."""
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"


def unready_because(view: ClusterView) -> str:
    """Return why nothing can be said yet, or at all; empty where enough is known."""
    for kind in NEEDED:
        status = view.statuses.get(str(kind))
        if status is None or status.phase in _ON_THE_WAY or (status.phase == "disconnected" and not status.count):
            return f"{plural(kind)} are on their way"
        if status.phase == "forbidden":
            return f"{plural(kind)} may not be listed: why nodes are still here cannot be told"
        if status.phase == "not installed":
            return f"the cluster does not know {plural(kind)}: Karpenter is not installed"
    for kind in HEEDED:
        status = view.statuses.get(str(kind))
        if status is not None and status.phase in _ON_THE_WAY:
            return f"{plural(kind)} are on their way"
    return ""


def unheeded(view: ClusterView) -> tuple[str, ...]:
    """Return what the answers leave out of account because it may not be listed, in sentences."""
    return tuple(
        f"{plural(kind)} may not be listed and count as none"
        for kind in HEEDED
        if (status := view.statuses.get(str(kind))) is not None and status.phase == "forbidden"
    )
