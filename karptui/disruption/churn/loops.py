"""Which NodeClaims took the place of which, and where that goes round in circles: one decision makes, the next takes.

Karpenter does not write successions down, so they are inferred from times and reasons. Order of a command:
``pkg/controllers/disruption/queue.go`` — taint and condition, then replacements, then, once those are initialised, the
deletion. Forceful disruption deletes first, and the provisioner answers the pods that wait then.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from statistics import median_low
from typing import Final

import msgspec

from karptui.disruption.churn.life import FAILED, VOLUNTARY, Life, Removal
from karptui.disruption.churn.moves import Moved
from karptui.kube.timestamps import NS_PER_SECOND

_SLACK_NS: Final = 2 * NS_PER_SECOND
LONGEST_COMMAND_NS: Final = 15 * 60 * NS_PER_SECOND
"""How long before a deletion its command may have begun, where its beginning is not known."""
AFTERWARDS_NS: Final = 5 * 60 * NS_PER_SECOND
"""How soon after a forceful deletion the provisioner answers."""


class _Births:
    """Lives in the order of their creation."""

    def __init__(self) -> None:
        self._lives: list[Life] = []
        self._at: list[int] = []

    def add(self, life: Life) -> None:
        """Add a life that was created after all others."""
        self._lives.append(life)
        self._at.append(life.created_ns)

    def between(self, begin_ns: int, end_ns: int) -> list[Life]:
        """Return those created within a time."""
        return self._lives[bisect_left(self._at, begin_ns) : bisect_right(self._at, end_ns)]


class Succession:
    """Finds successors among some lives.

    Args:
        lives: Every life that is known.
        events_since_ns: Since when events tell which claims are replacements; 0 where they tell nothing.
    """

    def __init__(self, lives: Sequence[Life], events_since_ns: int) -> None:
        self._events_since_ns = events_since_ns
        self._by_pool: defaultdict[str, _Births] = defaultdict(_Births)
        self._by_reason: defaultdict[Removal | None, _Births] = defaultdict(_Births)
        self._by_kind: defaultdict[tuple[str, str, str], _Births] = defaultdict(_Births)
        for life in sorted(lives, key=lambda one: one.created_ns):
            if life.created_ns:
                self._by_pool[life.pool].add(life)
                self._by_reason[life.made_for].add(life)
                self._by_kind[_kind(life)].add(life)

    def of(self, life: Life) -> tuple[Life, ...]:
        """Return the lives that took the place of one that was removed; none for one that was empty, or never ran."""
        if life.why is None or life.why in FAILED or life.why in (Removal.EMPTY, Removal.SCALED_DOWN):
            return ()
        if life.why not in VOLUNTARY:
            return self._of_pool(life, life.removed_ns - _SLACK_NS, life.removed_ns + AFTERWARDS_NS)
        begin_ns = (life.commanded_ns - _SLACK_NS) if life.commanded_ns else life.removed_ns - LONGEST_COMMAND_NS
        found = self._by_reason[life.why].between(begin_ns, life.removed_ns)
        meant = tuple(one for one in found if one.claim != life.claim)
        if meant or (self._events_since_ns and begin_ns >= self._events_since_ns):
            return meant
        return self._of_pool(life, begin_ns, life.removed_ns)

    def again(self, life: Life, within_ns: int) -> tuple[Life, ...]:
        """Return what was launched in the same NodePool soon after a removal, of the same type and capacity type."""
        if not life.instance_type:
            return ()
        return tuple(self._by_kind[_kind(life)].between(life.removed_ns, life.removed_ns + within_ns))

    def _of_pool(self, life: Life, begin_ns: int, end_ns: int) -> tuple[Life, ...]:
        return tuple(one for one in self._by_pool[life.pool].between(begin_ns, end_ns) if one.claim != life.claim)


def _kind(life: Life) -> tuple[str, str, str]:
    return life.pool, life.instance_type, life.capacity_type


def is_same_kind(one: Life, other: Life) -> bool:
    """Whether two lives are of one instance type and capacity type, both known."""
    return bool(one.instance_type) and (one.instance_type, one.capacity_type) == (
        other.instance_type,
        other.capacity_type,
    )


SHORT_NS: Final = 30 * 60 * NS_PER_SECOND
"""A node that Karpenter takes away within this time of its creation was hardly worth launching."""
AGAIN_NS: Final = 15 * 60 * NS_PER_SECOND
"""A launch within this time of the removal of the same type takes it back."""
FEWEST: Final = 3
"""From so many times on it is called a loop."""
MOVES_PER_POD: Final = 2
"""And a workload from so many moves of each of its pods."""


class LoopKind(StrEnum):
    """How it goes round."""

    SHORT_LIVED = "short-lived"
    """Nodes are disrupted within half an hour of their creation, by Karpenter's own choice."""
    SAME_TYPE = "same-type"
    """A node goes as underutilized or empty, and one of the same type is launched in its place or right after it."""
    NEVER_JOINED = "never-joined"
    """NodeClaims are created, and deleted without ever becoming nodes."""
    MOVED = "moved"
    """The pods of a workload are moved again and again."""


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """One circle."""

    kind: LoopKind
    pool: str = ""
    """Empty for workloads."""
    workload: str = ""
    """``Kind/namespace/name``; empty for NodePools."""
    times: int
    first_ns: int
    last_ns: int
    claims: tuple[str, ...] = ()
    """NodeClaims that were removed, the latest first."""
    nodes: tuple[str, ...] = ()
    """Their nodes, as far as they are known."""
    reasons: tuple[tuple[Removal, int], ...] = ()
    """Why they were removed, the most frequent first."""
    instance_type: str = ""
    """Of a loop of one type, the most frequent."""
    median_life_ns: int | None = None
    pods: int = 0
    """Of a workload: how many pods it has now."""


def is_short(life: Life) -> bool:
    """Whether Karpenter chose to take a node away soon after its creation."""
    return life.why in VOLUNTARY and life.lived_ns is not None and life.lived_ns < SHORT_NS


def circles(removed: Iterable[Life], succession: Succession) -> dict[str, Life]:
    """Return by NodeClaim what took back its removal: one of the same type, launched in its place or soon after.

    Only nodes count that were not needed, or not worth their price; each launch takes back one removal at most.

    Args:
        removed: Of one NodePool.
        succession: Finds what came after.
    """
    found: dict[str, Life] = {}
    used: set[str] = set()
    known = (life for life in removed if life.instance_type)
    for life in sorted(known, key=lambda one: (one.removed_ns, one.claim)):
        if life.why is Removal.UNDERUTILIZED:
            came = (*(one for one in succession.of(life) if is_same_kind(one, life)), *succession.again(life, AGAIN_NS))
        elif life.why is Removal.EMPTY:
            came = succession.again(life, AGAIN_NS)
        else:
            continue
        back = next((one for one in came if one.claim not in used), None)
        if back is not None:
            used.add(back.claim)
            found[life.claim] = back
    return found


def pool_loops(removed: Mapping[str, Sequence[Life]], succession: Succession) -> Iterator[Loop]:
    """Yield the loops of NodePools.

    Args:
        removed: By NodePool, what was removed in the time that is looked at.
        succession: Finds what came after.
    """
    for pool, own in removed.items():
        short = [life for life in own if is_short(life)]
        if len(short) >= FEWEST:
            yield _loop(LoopKind.SHORT_LIVED, pool, short)
        back = circles(own, succession)
        again = [life for life in own if life.claim in back]
        if len(again) >= FEWEST:
            yield _loop(LoopKind.SAME_TYPE, pool, again)
        failed = [life for life in own if life.why in FAILED]
        if len(failed) >= FEWEST:
            yield _loop(LoopKind.NEVER_JOINED, pool, failed)


def _loop(kind: LoopKind, pool: str, own: Sequence[Life]) -> Loop:
    latest = sorted(own, key=lambda life: (-life.removed_ns, life.claim))
    types = Counter(life.instance_type for life in latest if life.instance_type)
    spans = [life.lived_ns for life in latest if life.lived_ns is not None]
    return Loop(
        kind=kind,
        pool=pool,
        times=len(latest),
        first_ns=latest[-1].removed_ns,
        last_ns=latest[0].removed_ns,
        claims=tuple(life.claim for life in latest),
        nodes=tuple(life.node for life in latest if life.node),
        reasons=tuple(Counter(life.why for life in latest if life.why is not None).most_common()),
        instance_type=types.most_common(1)[0][0] if types else "",
        median_life_ns=median_low(spans) if spans else None,
    )


def workload_loops(moved: Iterable[Moved]) -> Iterator[Loop]:
    """Yield the workloads of which every pod was moved several times, on average."""
    for one in moved:
        if one.moves >= FEWEST and one.per_pod >= MOVES_PER_POD:
            yield Loop(
                kind=LoopKind.MOVED,
                workload=one.workload,
                times=one.moves,
                first_ns=one.first_ns,
                last_ns=one.last_ns,
                pods=one.pods,
            )
