"""What is known of a cluster's churn, worked out again only where something bears on it has changed."""

from __future__ import annotations

from typing import Final

from karptui.decode.kinds import Kind
from karptui.disruption.churn.report import Churn, churn_of
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.cluster_view import ClusterView
from karptui.state.inventory import inventory_of

_FRESH_NS: Final = 15 * NS_PER_SECOND
"""For how long rates may stand while nothing happens."""
BUSY_FROM: Final = 3_000
"""From so many events and NodeClaims on working it out takes a tenth of a second and more."""
_REST_NS: Final = 2 * NS_PER_SECOND
"""For how long the answer then stands while things happen."""
_ON_THE_WAY: Final = ("connecting", "syncing")


def unknown_because(view: ClusterView) -> str:
    """Return why nothing can be said of churn, or not yet; empty where it can."""
    status = view.statuses.get(Kind.NODECLAIM)
    if status is None:
        return ""
    if status.phase in _ON_THE_WAY or (status.phase == "disconnected" and not status.count):
        return "NodeClaims are on their way"
    if status.phase == "forbidden":
        return "NodeClaims may not be listed: what comes and goes cannot be told"
    if status.phase == "not installed":
        return "the cluster does not know NodeClaims: Karpenter is not installed"
    return ""


def events_hidden(view: ClusterView) -> bool:
    """Whether Karpenter's events may not be listed."""
    status = view.statuses.get(Kind.EVENT)
    return status is not None and status.phase == "forbidden"


class ChurnBook:
    """Keeps the last answer."""

    def __init__(self) -> None:
        self._made_of: tuple[object, ...] = ()
        self._made_ns = 0
        self._churn: Churn | None = None

    @property
    def latest(self) -> Churn | None:
        """The last answer; None before there is one, and where nothing can be said."""
        return self._churn

    def churn(self, view: ClusterView, now_ns: int) -> Churn | None:
        """Return the churn of a cluster; None where nothing can be said of it.

        Args:
            view: The cluster.
            now_ns: The present instant: nanoseconds since the epoch.
        """
        if unknown_because(view):
            self._churn = None
            return None
        state = view.state
        made_of = (state.nodeclaims, state.nodepools, state.events, state.history)
        is_same = len(self._made_of) == len(made_of) and all(map(lambda a, b: a is b, made_of, self._made_of))
        is_busy = len(state.events) + len(state.nodeclaims) > BUSY_FROM
        stands_ns = _FRESH_NS if is_same else _REST_NS if is_busy else 0
        if self._churn is None or not 0 <= now_ns - self._made_ns < stands_ns:
            self._made_of, self._made_ns = made_of, now_ns
            self._churn = churn_of(inventory_of(state), now_ns, state.history)
        return self._churn
