"""Whether a cluster is read far enough to show blockers."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from karptui.decode.kinds import VOLUME_KINDS, Kind, KindStatus
from karptui.kube.units import first_of
from karptui.session.cluster_view import ClusterView
from karptui.session.nodeclasses import lacks_nodeclasses
from karptui.session.nodes import NEEDED_FOR_WHY
from karptui.session.status import ON_THE_WAY, plural

OPTIONAL: Final = (Kind.PDB, Kind.DAEMONSET, Kind.NODECLASS)
"""Kinds that may be missing without permission; a note names them."""
_AWAITED: Final = (*OPTIONAL, *VOLUME_KINDS, Kind.NODEOVERLAY, Kind.NAMESPACE)
"""Kinds that are awaited while loading, and may be missing if they may not be listed."""
ASKED_BY_ENGINES: Final = (*NEEDED_FOR_WHY, *_AWAITED)
"""All that answers about nodes and pods rest on."""


def unready_because(view: ClusterView) -> str:
    """Return the reason if blockers cannot be shown, else an empty string."""
    return out_of_reach(view.statuses) or _on_the_way(view)


def is_out_of_reach(view: ClusterView) -> bool:
    """Whether blockers cannot be shown until a permission is granted or Karpenter is installed."""
    return bool(out_of_reach(view.statuses))


def out_of_reach(statuses: Mapping[str, KindStatus]) -> str:
    """Return the reason that blockers cannot be shown (a permission, no Karpenter); empty if they can."""
    for kind in NEEDED_FOR_WHY:
        status = statuses.get(str(kind))
        if status is not None and status.is_unread:
            return f"{plural(kind)} {'may not be listed' if status.phase == 'forbidden' else 'were not read'}"
        if status is not None and status.phase == "not installed":
            return f"the cluster does not know {plural(kind)}: Karpenter is not installed"
    return ""


def _on_the_way(view: ClusterView) -> str:
    for kind in NEEDED_FOR_WHY:
        status = view.statuses.get(str(kind))
        if status is None or status.phase in ON_THE_WAY or (status.phase == "disconnected" and not status.count):
            return f"{plural(kind)} are loading"
    for kind in _AWAITED:
        if is_on_the_way(view, kind):
            return f"{plural(kind)} are loading"
    return ""


def is_on_the_way(view: ClusterView, kind: Kind) -> bool:
    """Whether objects of a kind are still being listed."""
    status = view.statuses.get(str(kind))
    return status is not None and status.phase in ON_THE_WAY


def unsimulated_because(unread: Container[str]) -> str:
    """Return unread kinds that every simulation needs: without pods every node would look empty."""
    missing = [plural(kind) for kind in NEEDED_FOR_WHY if kind in unread]
    return f"nothing can be simulated: {first_of(missing, len(missing))} were not read" if missing else ""


def left_out(view: ClusterView) -> tuple[str, ...]:
    """Return the kinds that answers ignore because they may not be listed or were not read, as messages."""
    unread = {*view.hidden, *view.state.unread}
    return ignored(unread if lacks_nodeclasses(view) else unread - {Kind.NODECLASS}, view.hidden)


def ignored(unread: Container[str], hidden: Container[str] = ()) -> tuple[str, ...]:
    """Return the optional kinds among unread ones, as messages.

    Args:
        hidden: Kinds that may not be listed.
    """
    return tuple(
        f"{plural(kind)} {'may not be listed' if kind in hidden else 'were not read'} and count as none"
        for kind in OPTIONAL
        if kind in unread
    )


def may_list_events(view: ClusterView) -> bool:
    """Whether events may be listed."""
    status = view.statuses.get(str(Kind.EVENT))
    return status is None or not (status.is_unread or status.phase == "not installed")
