"""Everything that is known of churn, over the time of which anything is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from statistics import median_low
from typing import NamedTuple

import msgspec

from karptui.disruption.churn.last_hour import alive
from karptui.disruption.churn.life import Life, Removal, created, lives, removed
from karptui.disruption.churn.loops import Loop, Succession, circles, is_short, pool_loops, workload_loops
from karptui.disruption.churn.moves import EVICTED, Move, Moved, WorkloadNames, moved_workloads, moves_of
from karptui.karpenter.inventory import NO_HISTORY, ClusterHistory, Inventory
from karptui.kube.objects import Event


class ChurnWindow(msgspec.Struct, frozen=True):
    """The time of which anything is known; instants are nanoseconds since the epoch, 0 where not known."""

    now_ns: int
    events_since_ns: int = 0
    """When the oldest event that is left was last said: ends before it have left no event."""
    observed_since_ns: int = 0
    """When somebody began to watch: from then on nothing is missed."""

    @property
    def since_ns(self) -> int:
        """When it begins; now where nothing is known."""
        return min((ns for ns in (self.events_since_ns, self.observed_since_ns) if ns), default=self.now_ns)

    @property
    def length_ns(self) -> int:
        """How long it is."""
        return max(self.now_ns - self.since_ns, 0)


class PoolChurn(msgspec.Struct, frozen=True, kw_only=True):
    """The churn of one NodePool within the window."""

    pool: str
    """Empty for NodeClaims of which no NodePool is known."""
    nodes: int
    """NodeClaims that are there and stay."""
    created: int
    removed: int
    reasons: tuple[tuple[Removal, int], ...] = ()
    """Why they were removed, the most frequent first."""
    median_life_ns: int | None = None
    """Of those removed, from creation until deletion; None where no creation is known."""
    lives_known: int = 0
    """Of how many of those removed the creation is known."""
    short: int = 0
    """How many of them Karpenter chose within half an hour of their creation."""
    again: int = 0
    """How many of them were followed by one of the same type."""
    moves: int = 0
    """Pods known to have left nodes of the pool that were leaving."""
    loops: tuple[Loop, ...] = ()


class Churn(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """Churn of a cluster; rates are over the window."""

    window: ChurnWindow
    pools: tuple[PoolChurn, ...] = ()
    """Every NodePool, and last what has none; by name."""
    lives: tuple[Life, ...] = ()
    """Every NodeClaim that anything tells of, also those from before the window, in order of creation."""
    moves: tuple[Move, ...] = ()
    """Pods that were moved within the window, the oldest first."""
    moved: tuple[Moved, ...] = ()
    """Their workloads, those with the most moves first."""
    loops: tuple[Loop, ...] = ()
    """Of NodePools, then of workloads."""

    @cached_property
    def succession(self) -> Succession:
        """Who took whose place."""
        return Succession(self.lives, self.window.events_since_ns)

    @property
    def created(self) -> tuple[Life, ...]:
        """NodeClaims created within the window, in order."""
        return tuple(created(self.lives, self.window.since_ns))

    @property
    def removed(self) -> tuple[Life, ...]:
        """NodeClaims removed within the window, the oldest first."""
        return tuple(sorted(removed(self.lives, self.window.since_ns), key=lambda life: (life.removed_ns, life.claim)))


def alive_by_pool(churn: Churn) -> Mapping[str, tuple[int | None, ...]]:
    """Return how many NodeClaims each NodePool had at the end of each step of the last hour."""
    by_pool: dict[str, list[Life]] = {}
    for life in churn.lives:
        by_pool.setdefault(life.pool, []).append(life)
    window = churn.window
    return {pool: alive(found, window.since_ns, window.now_ns) for pool, found in by_pool.items()}


def churn_of(inventory: Inventory, now_ns: int, history: ClusterHistory = NO_HISTORY) -> Churn:
    """Return what is known of the churn of a cluster.

    Args:
        inventory: Every object; NodeClaims that it lacks count as gone, so they must all be there.
        now_ns: The instant to look at it from: nanoseconds since the epoch.
        history: What was seen to go.
    """
    events = (*history.events, *inventory.events)
    window = _window(events, now_ns, history)
    pools = {pool.name: pool for pool in inventory.nodepools}
    found = lives(inventory.nodeclaims, history.claims, events, pools)
    succession = Succession(found, window.events_since_ns)
    names = WorkloadNames(_namespaces(events, history), inventory.pods, inventory.workloads)
    moves = tuple(one for one in moves_of(events, history.pods, names) if one.at_ns >= window.since_ns)
    moved = moved_workloads(moves, names)
    by_pool: dict[str, list[Life]] = {name: [] for name in sorted(pools)}
    for life in removed(found, window.since_ns):
        by_pool.setdefault(life.pool, []).append(life)
    loops = tuple(pool_loops(by_pool, succession))
    pool_of_node = {life.node: life.pool for life in found if life.node}
    moves_by_pool = Counter(pool_of_node.get(move.node, "") for move in moves if move.node)
    known = _ChurnFacts(found, by_pool, window, succession, moves_by_pool, loops)
    # Those without a NodePool come last.
    return Churn(
        window=window,
        pools=tuple(_pool(name, known) for name in sorted(by_pool, key=lambda name: (not name, name))),
        lives=found,
        moves=moves,
        moved=moved,
        loops=(*loops, *workload_loops(moved)),
    )


def _window(events: Sequence[Event], now_ns: int, history: ClusterHistory) -> ChurnWindow:
    oldest_ns = min((event.last_ns for event in events if event.last_ns), default=0)
    return ChurnWindow(now_ns, oldest_ns, history.began_ns)


def _namespaces(events: Iterable[Event], history: ClusterHistory) -> frozenset[str]:
    evicted = {event.involved_namespace for event in events if event.reason in EVICTED}
    return frozenset(evicted | {pod.key.partition("/")[0] for pod in history.pods})


class _ChurnFacts(NamedTuple):
    """What the figures of NodePools are made of."""

    lives: Sequence[Life]
    removed: Mapping[str, Sequence[Life]]
    window: ChurnWindow
    succession: Succession
    moves: Mapping[str, int]
    loops: Sequence[Loop]


def _pool(name: str, found: _ChurnFacts) -> PoolChurn:
    own = found.removed[name]
    spans = [life.lived_ns for life in own if life.lived_ns is not None]
    mine = [life for life in found.lives if life.pool == name]
    return PoolChurn(
        pool=name,
        nodes=sum(not life.removed_ns for life in mine),
        created=sum(1 for _ in created(mine, found.window.since_ns)),
        removed=len(own),
        reasons=tuple(Counter(life.why for life in own if life.why is not None).most_common()),
        median_life_ns=median_low(spans) if spans else None,
        lives_known=len(spans),
        short=sum(map(is_short, own)),
        again=len(circles(own, found.succession)),
        moves=found.moves.get(name, 0),
        loops=tuple(loop for loop in found.loops if loop.pool == name),
    )
