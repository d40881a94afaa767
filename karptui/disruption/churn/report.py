"""The churn report: everything known about churn, and the period it covers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from statistics import median_low
from typing import NamedTuple

import msgspec

from karptui.disruption.churn.life import Life, Removal, alive, created, lives, removed
from karptui.disruption.churn.loops import Loop, Succession, is_short, pool_loops, relaunches, workload_loops
from karptui.disruption.churn.moves import Move, Moved, WorkloadNames, is_eviction, moved_workloads, moves_of
from karptui.karpenter.inventory import NO_HISTORY, ClusterHistory, Inventory
from karptui.karpenter.pod_predicates import UNSCHEDULABLE
from karptui.kube.group import group_by
from karptui.kube.objects import Event


class ChurnWindow(msgspec.Struct, frozen=True):
    """The period covered; times are nanoseconds since the epoch, 0 if unknown."""

    now_ns: int
    events_since_ns: int = 0
    """When the oldest remaining event last occurred: earlier removals left no event."""
    observed_since_ns: int = 0
    """When observation began: later removals are all known."""

    @property
    def since_ns(self) -> int:
        """When the period begins; now if nothing is known."""
        return min((ns for ns in (self.events_since_ns, self.observed_since_ns) if ns), default=self.now_ns)

    @property
    def length_ns(self) -> int:
        """Length of the period."""
        return max(self.now_ns - self.since_ns, 0)


class PoolChurn(msgspec.Struct, frozen=True, kw_only=True):
    """A NodePool's churn within the window."""

    pool: str
    """Empty for NodeClaims without a known NodePool."""
    nodes: int
    """Existing NodeClaims that are not being removed."""
    created: int
    removed: int
    reasons: tuple[tuple[Removal, int], ...] = ()
    """The reasons of the removals, most frequent first."""
    median_life_ns: int | None = None
    """Median lifetime of the removed nodes; None if no creation is known."""
    lives_known: int = 0
    """Removed nodes whose creation is known."""
    short: int = 0
    """Removed nodes that Karpenter chose within half an hour of their creation."""
    again: int = 0
    """Removed nodes followed by a launch of the same type."""
    moves: int = 0
    """Pods known to have left nodes of the NodePool that were being removed."""
    loops: tuple[Loop, ...] = ()


class Churn(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """A cluster's churn; rates are over the window."""

    window: ChurnWindow
    pools: tuple[PoolChurn, ...] = ()
    """All NodePools by name, then the NodeClaims without one."""
    lives: tuple[Life, ...] = ()
    """All known NodeClaims, including those from before the window, in order of creation."""
    moves: tuple[Move, ...] = ()
    """Pods moved within the window, oldest first."""
    moved: tuple[Moved, ...] = ()
    """Their workloads, most moves first."""
    loops: tuple[Loop, ...] = ()
    """Loops of NodePools, then of workloads."""

    @cached_property
    def succession(self) -> Succession:
        """Finds which NodeClaims replaced which."""
        return Succession(self.lives, self.window.events_since_ns)

    @property
    def created(self) -> tuple[Life, ...]:
        """NodeClaims created within the window, in order."""
        return tuple(created(self.lives, self.window.since_ns))

    @property
    def removed(self) -> tuple[Life, ...]:
        """NodeClaims removed within the window, oldest first."""
        return tuple(sorted(removed(self.lives, self.window.since_ns), key=lambda life: (life.removed_ns, life.claim)))


def alive_by_pool(churn: Churn) -> Mapping[str, tuple[int | None, ...]]:
    """Return each NodePool's number of NodeClaims at the end of each step of the last hour."""
    by_pool = group_by(churn.lives, lambda life: life.pool)
    window = churn.window
    return {pool: alive(pool_lives, window.since_ns, window.now_ns) for pool, pool_lives in by_pool.items()}


def churn_of(inventory: Inventory, now_ns: int, history: ClusterHistory = NO_HISTORY) -> Churn:
    """Return the churn of a cluster.

    Args:
        inventory: All objects; NodeClaims that it lacks count as removed.
    """
    events = (*history.events, *inventory.events)
    window = _window(events, now_ns, history)
    pools = {pool.name: pool for pool in inventory.nodepools}
    all_lives = lives(inventory.nodeclaims, history.claims, events, pools)
    succession = Succession(all_lives, window.events_since_ns)
    names = WorkloadNames(_namespaces(events, history), inventory.pods, inventory.workloads)
    moves = tuple(move for move in moves_of(events, history.pods, names) if move.at_ns >= window.since_ns)
    moved = moved_workloads(moves, names)
    by_pool: dict[str, list[Life]] = {name: [] for name in sorted(pools)}
    for life in removed(all_lives, window.since_ns):
        by_pool.setdefault(life.pool, []).append(life)
    are_pods_pending = any(pod.scheduled_reason == UNSCHEDULABLE and pod.is_active for pod in inventory.pods)
    loops = tuple(pool_loops(by_pool, succession, now_ns, are_pods_pending=are_pods_pending))
    pool_of_node = {life.node: life.pool for life in all_lives if life.node}
    moves_by_pool = Counter(pool_of_node.get(move.node, "") for move in moves if move.node)
    facts = _ChurnFacts(all_lives, by_pool, window, succession, moves_by_pool, loops)
    # NodeClaims without a NodePool come last.
    return Churn(
        window=window,
        pools=tuple(_pool(name, facts) for name in sorted(by_pool, key=lambda name: (not name, name))),
        lives=all_lives,
        moves=moves,
        moved=moved,
        loops=(*loops, *workload_loops(moved)),
    )


def _window(events: Sequence[Event], now_ns: int, history: ClusterHistory) -> ChurnWindow:
    oldest_ns = min((event.last_ns for event in events if event.last_ns), default=0)
    return ChurnWindow(now_ns, oldest_ns, history.began_ns)


def _namespaces(events: Iterable[Event], history: ClusterHistory) -> frozenset[str]:
    evicted = {event.involved_namespace for event in events if is_eviction(event)}
    return frozenset(evicted | {pod.key.partition("/")[0] for pod in history.pods})


class _ChurnFacts(NamedTuple):
    """The inputs of NodePools' figures."""

    lives: Sequence[Life]
    removed: Mapping[str, Sequence[Life]]
    window: ChurnWindow
    succession: Succession
    moves: Mapping[str, int]
    loops: Sequence[Loop]


def _pool(name: str, facts: _ChurnFacts) -> PoolChurn:
    removals = facts.removed[name]
    spans = [life.lived_ns for life in removals if life.lived_ns is not None]
    pool_lives = [life for life in facts.lives if life.pool == name]
    return PoolChurn(
        pool=name,
        nodes=sum(not life.removed_ns for life in pool_lives),
        created=sum(1 for _ in created(pool_lives, facts.window.since_ns)),
        removed=len(removals),
        reasons=tuple(Counter(life.why for life in removals if life.why is not None).most_common()),
        median_life_ns=median_low(spans) if spans else None,
        lives_known=len(spans),
        short=sum(map(is_short, removals)),
        again=len(relaunches(removals, facts.succession)),
        moves=facts.moves.get(name, 0),
        loops=tuple(loop for loop in facts.loops if loop.pool == name),
    )
