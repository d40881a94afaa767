"""A cluster's churn, recomputed only if relevant objects have changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from karptui.decode.kinds import Kind, KindStatus
from karptui.disruption.churn.life import Life
from karptui.disruption.churn.loops import is_same_kind, is_short, relaunches
from karptui.disruption.churn.report import Churn, ChurnWindow, PoolChurn, churn_of
from karptui.karpenter.metrics import ControllerMetrics
from karptui.karpenter.nodepool import NodePool
from karptui.kube.group import group_by
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.cluster_view import ClusterView
from karptui.session.status import ON_THE_WAY
from karptui.state.cluster import inventory_of

NO_POOL: Final = "(no NodePool)"
_FRESH_NS: Final = 15 * NS_PER_SECOND
"""Longest time that rates stay unchanged without events."""
BUSY_FROM: Final = 3_000
"""From this many events and NodeClaims on, computing it takes a tenth of a second and more."""
_REST_NS: Final = 2 * NS_PER_SECOND
"""Shortest time between two computations then."""


def unknown_because(statuses: Mapping[str, KindStatus]) -> str:
    """Return the reason if churn is unknown, else an empty string."""
    status = statuses.get(Kind.NODECLAIM)
    if status is None:
        return ""
    if status.phase in ON_THE_WAY or (status.phase == "disconnected" and not status.count):
        return "NodeClaims are still loading"
    if status.is_unread:
        return "NodeClaims may not be listed, so replacements are unknown"
    if status.phase == "not installed":
        return "the cluster does not know NodeClaims: Karpenter is not installed"
    return ""


def events_hidden(statuses: Mapping[str, KindStatus]) -> bool:
    """Whether Karpenter's events may not be listed."""
    status = statuses.get(Kind.EVENT)
    return status is not None and status.is_unread


class ChurnBook:
    """Keeps the last answer."""

    def __init__(self) -> None:
        self._made_of: tuple[object, ...] = ()
        self._made_ns = 0
        self._churn: Churn | None = None

    @property
    def latest(self) -> Churn | None:
        """The last answer; None before the first, and if churn is unknown."""
        return self._churn

    def churn(self, view: ClusterView, now_ns: int) -> Churn | None:
        """Return the churn of a cluster; None if it is unknown."""
        if unknown_because(view.statuses):
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


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """What Karpenter itself has counted of a NodePool since its controller began."""

    since_ns: int
    """Nanoseconds since the epoch, 0 if unknown."""
    created: int
    disrupted: tuple[tuple[str, int], ...]
    """By Karpenter's reason in lower case, the most frequent first."""
    terminated: int


class ChurnEntry(msgspec.Struct, frozen=True, eq=False):
    """The churn of one NodePool."""

    figures: PoolChurn
    window: ChurnWindow
    pool: NodePool | None = None
    """None if there is no such NodePool."""
    counters: Counters | None = None
    is_moves_partial: bool = False
    """Whether pods moved from nodes that are unknown: they may have been this pool's."""

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return self.figures.pool

    @property
    def name(self) -> str:
        """The NodePool's name."""
        return self.figures.pool or NO_POOL


class ReplacedClaim(msgspec.Struct, frozen=True, eq=False):
    """A NodeClaim that was removed, and what came in its place."""

    life: Life
    successors: tuple[Life, ...] = ()
    back: Life | None = None
    """What took the removal back: one of the same type for a node that was not needed."""
    moves: int = 0
    """Pods known to have left it while it was leaving."""

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return self.life.claim

    @property
    def is_same_type(self) -> bool:
        """Whether one of the same type and capacity type came."""
        return self.back is not None or any(is_same_kind(successor, self.life) for successor in self.successors)

    @property
    def is_short(self) -> bool:
        """Whether Karpenter chose to take it away soon after its creation."""
        return is_short(self.life)


def churn_entries(view: ClusterView, churn: Churn) -> tuple[ChurnEntry, ...]:
    """Return a row for every NodePool."""
    is_partial = not all(move.node for move in churn.moves)
    return tuple(
        ChurnEntry(
            pool,
            churn.window,
            view.state.nodepools.get(pool.pool),
            _counters(view, pool.pool),
            is_moves_partial=is_partial and pool.removed > 0,
        )
        for pool in churn.pools
    )


def _counters(view: ClusterView, name: str) -> Counters | None:
    metrics = _usable_metrics(view)
    pool_metrics = metrics.pools.get(name) if metrics is not None else None
    if metrics is None or pool_metrics is None:
        return None
    return Counters(
        since_ns=metrics.started_at_ns,
        created=sum(pool_metrics.nodeclaims_created.values()),
        disrupted=tuple(sorted(pool_metrics.nodeclaims_disrupted.items(), key=lambda item: (-item[1], item[0]))),
        terminated=pool_metrics.nodeclaims_terminated,
    )


def replacements(churn: Churn, pool: str | None = None) -> tuple[ReplacedClaim, ...]:
    """Return the NodeClaims removed within the window.

    Args:
        pool: Only of this NodePool; None is all of them.
    """
    by_pool = group_by((life for life in churn.removed if pool is None or life.pool == pool), lambda life: life.pool)
    moves: dict[str, int] = {}
    for move in churn.moves:
        moves[move.node] = moves.get(move.node, 0) + 1
    claims: list[ReplacedClaim] = []
    for lives in by_pool.values():
        claims += _of_pool(churn, lives, moves)
    return tuple(claims)


def _of_pool(churn: Churn, lives: Sequence[Life], moves: dict[str, int]) -> list[ReplacedClaim]:
    back = relaunches(lives, churn.succession)
    return [
        ReplacedClaim(
            life, churn.succession.of(life), back.get(life.claim), moves.get(life.node, 0) if life.node else 0
        )
        for life in lives
    ]


LATELY_SECONDS: Final = 24 * 3600
"""How far back NodeClaims are counted where Karpenter's own counters cannot be read."""
PROVISIONED: Final = "provisioned"
"""Karpenter's reason for NodeClaims that pending pods needed; the other reasons are replacements."""


class ControllerCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Karpenter's own counters for one NodePool."""

    created: int
    """NodeClaims created since the counters began."""
    provisioned: int
    """Those created for pending pods."""
    created_since_look: int | None = None
    """NodeClaims created since karptui first read the counters; None before the second reading."""
    pods: int | None = None
    """Pods on its nodes, including those of DaemonSets; None if the counters lack them."""


class CountSource(msgspec.Struct, frozen=True, kw_only=True):
    """Who counts."""

    is_by_controller: bool
    endpoint: str = ""
    since_ns: int = 0
    """When the counters started at zero, nanoseconds since the epoch; 0 if unknown."""
    first_read_ns: int = 0
    """When karptui first read them: nanoseconds since the epoch."""
    why_not: str = ""
    """Why Karpenter's own counters are not used."""


def count_source(view: ClusterView) -> CountSource:
    """Return the source of the counts, and why it is not Karpenter itself."""
    evidence = view.evidence
    if (metrics := _usable_metrics(view)) is not None:
        before = evidence.metrics_before
        return CountSource(
            is_by_controller=True,
            endpoint=metrics.endpoint,
            since_ns=metrics.started_at_ns,
            first_read_ns=before.read_at_ns if before is not None else 0,
        )
    status = evidence.metrics_status
    return CountSource(is_by_controller=False, why_not=status.sentence if status is not None else "")


def _usable_metrics(view: ClusterView) -> ControllerMetrics | None:
    """Return Karpenter's metrics if they cover NodePools."""
    metrics = view.evidence.metrics
    return metrics if metrics is not None and metrics.is_leader and metrics.pools else None


def controller_counts(view: ClusterView, name: str) -> ControllerCounts | None:
    """Return Karpenter's own counters for a NodePool; None if they cannot be read."""
    metrics = _usable_metrics(view)
    if metrics is None:
        return None
    pool_metrics, before = metrics.pools.get(name), view.evidence.metrics_before
    created_by = pool_metrics.nodeclaims_created if pool_metrics is not None else {}
    created = sum(created_by.values())
    since_look = None
    if before is not None and before.read_at_ns < metrics.read_at_ns:
        pool = before.pools.get(name)
        since_look = created - (sum(pool.nodeclaims_created.values()) if pool is not None else 0)
    return ControllerCounts(
        created=created,
        provisioned=created_by.get(PROVISIONED, 0),
        created_since_look=since_look,
        pods=metrics.pods_by_pool.get(name, 0) if metrics.pods_by_pool else None,
    )


def created_lately(created_ns: Iterable[int], now_ns: int) -> int:
    """Return the number of creation times within ``LATELY_SECONDS``."""
    since_ns = now_ns - LATELY_SECONDS * NS_PER_SECOND
    return sum(instant_ns >= since_ns for instant_ns in created_ns)
