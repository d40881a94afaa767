"""One row of the Churn screen, and one of its replacements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from karptui.disruption.churn.life import Life
from karptui.disruption.churn.loops import circles, is_same_kind, is_short
from karptui.disruption.churn.report import Churn, PoolChurn, Window
from karptui.karpenter.nodepool import NodePool
from karptui.session.cluster_view import ClusterView
from karptui.session.controller_counts import usable_metrics

FEWEST_NS = 10 * 60 * 1_000_000_000
"""Over less time no rate per hour is given."""
NO_POOL = "(no NodePool)"


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """What Karpenter itself has counted of a NodePool since its controller began."""

    since_ns: int
    """Nanoseconds since the epoch, 0 where it is not said."""
    created: int
    disrupted: tuple[tuple[str, int], ...]
    """By Karpenter's reason in lower case, the most frequent first."""
    terminated: int


@dataclass(frozen=True, eq=False)
class PoolEntry:
    """The churn of one NodePool."""

    figures: PoolChurn
    window: Window
    pool: NodePool | None = None
    """None where it is not there."""
    counters: Counters | None = None

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return self.figures.pool

    @property
    def name(self) -> str:
        """The NodePool's name."""
        return self.figures.pool or NO_POOL


@dataclass(frozen=True, eq=False)
class Replacement:
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
        return self.back is not None or any(is_same_kind(one, self.life) for one in self.successors)

    @property
    def is_short(self) -> bool:
        """Whether Karpenter chose to take it away soon after its creation."""
        return is_short(self.life)


def per_hour(count: int, window: Window) -> float | None:
    """Return a rate over the window; None where it is too short for one."""
    return count * 3600 * 1_000_000_000 / window.length_ns if window.length_ns >= FEWEST_NS else None


def pool_entries(view: ClusterView, churn: Churn) -> tuple[PoolEntry, ...]:
    """Return a row for every NodePool."""
    return tuple(
        PoolEntry(one, churn.window, view.state.nodepools.get(one.pool), _counters(view, one.pool))
        for one in churn.pools
    )


def _counters(view: ClusterView, name: str) -> Counters | None:
    metrics = usable_metrics(view)
    own = metrics.pools.get(name) if metrics is not None else None
    if metrics is None or own is None:
        return None
    return Counters(
        since_ns=metrics.started_at_ns,
        created=sum(own.nodeclaims_created.values()),
        disrupted=tuple(sorted(own.nodeclaims_disrupted.items(), key=lambda item: (-item[1], item[0]))),
        terminated=own.nodeclaims_terminated,
    )


def replacements(churn: Churn, pool: str | None = None) -> tuple[Replacement, ...]:
    """Return what was removed within the window.

    Args:
        churn: What is known.
        pool: Only of this NodePool; None is all of them.
    """
    by_pool: dict[str, list[Life]] = {}
    for life in churn.removed:
        if pool is None or life.pool == pool:
            by_pool.setdefault(life.pool, []).append(life)
    moves: dict[str, int] = {}
    for move in churn.moves:
        moves[move.node] = moves.get(move.node, 0) + 1
    found: list[Replacement] = []
    for own in by_pool.values():
        found += _of_pool(churn, own, moves)
    return tuple(found)


def _of_pool(churn: Churn, own: Sequence[Life], moves: dict[str, int]) -> list[Replacement]:
    back = circles(own, churn.succession)
    return [
        Replacement(life, churn.succession.of(life), back.get(life.claim), moves.get(life.node, 0) if life.node else 0)
        for life in own
    ]
