"""Finds replacements of NodeClaims, and loops among them: one decision creates a node, the next removes it.

Karpenter does not record replacements, so they are inferred from times and reasons. A command's order, in
``pkg/controllers/disruption/queue.go``: taint and condition, then replacements, then, once they are initialized,
deletion. Forceful disruption deletes first; then the provisioner handles the pending pods.
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
from karptui.kube.timestamps import MINUTE_NS, NS_PER_SECOND

_SLACK_NS: Final = 2 * NS_PER_SECOND
LONGEST_COMMAND_NS: Final = 15 * MINUTE_NS
"""How long before a deletion its command may have started, if its start is unknown."""
AFTERWARDS_NS: Final = 5 * MINUTE_NS
"""How soon after a forceful deletion the provisioner replaces the node."""


class _Births:
    def __init__(self) -> None:
        self._lives: list[Life] = []
        self._at: list[int] = []

    def add(self, life: Life) -> None:
        """Add a life; it must begin after all others."""
        self._lives.append(life)
        self._at.append(life.created_ns)

    def between(self, begin_ns: int, end_ns: int) -> list[Life]:
        """Return the lives that began within a period."""
        return self._lives[bisect_left(self._at, begin_ns) : bisect_right(self._at, end_ns)]


class Succession:
    """Finds the NodeClaims that replaced others.

    Args:
        events_since_ns: Since when events identify replacements; 0 if they do not.
    """

    def __init__(self, lives: Sequence[Life], events_since_ns: int) -> None:
        self._events_since_ns = events_since_ns
        self._by_pool: defaultdict[str, _Births] = defaultdict(_Births)
        self._by_reason: defaultdict[Removal | None, _Births] = defaultdict(_Births)
        self._by_kind: defaultdict[tuple[str, str, str], _Births] = defaultdict(_Births)
        self.joined_ns: dict[str, int] = {}
        """When the latest NodeClaim that became a node was created, by NodePool."""
        for life in sorted(lives, key=lambda life: life.created_ns):
            if life.created_ns:
                self._by_pool[life.pool].add(life)
                self._by_reason[life.made_for].add(life)
                self._by_kind[_kind(life)].add(life)
            if life.node and life.why not in FAILED:
                self.joined_ns[life.pool] = life.created_ns

    def of(self, life: Life) -> tuple[Life, ...]:
        """Return the lives that replaced a removed one; none for an empty node or a node that never ran."""
        if life.why is None or life.why in FAILED or life.why in (Removal.EMPTY, Removal.SCALED_DOWN):
            return ()
        if life.why not in VOLUNTARY:
            return self._of_pool(life, life.removed_ns - _SLACK_NS, life.removed_ns + AFTERWARDS_NS)
        begin_ns = (life.commanded_ns - _SLACK_NS) if life.commanded_ns else life.removed_ns - LONGEST_COMMAND_NS
        births = self._by_reason[life.why].between(begin_ns, life.removed_ns)
        replacements = tuple(birth for birth in births if birth.claim != life.claim)
        if replacements or (self._events_since_ns and begin_ns >= self._events_since_ns):
            return replacements
        return self._of_pool(life, begin_ns, life.removed_ns)

    def again(self, life: Life, within_ns: int) -> tuple[Life, ...]:
        """Return launches in the same NodePool soon after a removal, of the same instance type and capacity type."""
        if not life.instance_type:
            return ()
        return tuple(self._by_kind[_kind(life)].between(life.removed_ns, life.removed_ns + within_ns))

    def _of_pool(self, life: Life, begin_ns: int, end_ns: int) -> tuple[Life, ...]:
        return tuple(birth for birth in self._by_pool[life.pool].between(begin_ns, end_ns) if birth.claim != life.claim)


def _kind(life: Life) -> tuple[str, str, str]:
    return life.pool, life.instance_type, life.capacity_type


def is_same_kind(life: Life, other: Life) -> bool:
    """Whether two lives have the same instance type, which must be known, and capacity type."""
    return bool(life.instance_type) and (life.instance_type, life.capacity_type) == (
        other.instance_type,
        other.capacity_type,
    )


SHORT_NS: Final = 30 * MINUTE_NS
"""A node that Karpenter disrupts within this time after its creation was hardly worth launching."""
SHORT_USE_NS: Final = 10 * MINUTE_NS
"""A node that is empty and removed within this time was hardly used."""
AGAIN_NS: Final = 15 * MINUTE_NS
"""A launch within this time after the removal of a node of the same type undoes the removal."""
FEWEST: Final = 3
"""Repetitions that make a loop."""
MOVES_PER_POD: Final = 2
"""Moves of each pod, on average, that make a workload's loop."""
QUIET_NS: Final = 30 * MINUTE_NS
"""After this time without another failed launch nothing repeats: a node has 15 minutes to register."""
ONE_DRAIN_NS: Final = 5 * MINUTE_NS
"""Moves within this time may be one drain of several nodes, and no loop."""


class LoopKind(StrEnum):
    """What repeats in a loop."""

    SHORT_LIVED = "short-lived"
    """Karpenter chooses to disrupt or repair nodes within half an hour of their creation, empty ones within minutes."""
    SAME_TYPE = "same-type"
    """An underutilized or empty node is removed, and a node of the same type is launched instead or soon after."""
    NEVER_JOINED = "never-joined"
    """NodeClaims are created and deleted without becoming nodes."""
    MOVED = "moved"
    """A workload's pods are moved repeatedly."""


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """A loop of a NodePool or a workload."""

    kind: LoopKind
    pool: str = ""
    """Empty for workloads."""
    workload: str = ""
    """``Kind/namespace/name``; empty for a NodePool."""
    times: int
    first_ns: int
    last_ns: int
    claims: tuple[str, ...] = ()
    """The removed NodeClaims, latest first."""
    reasons: tuple[tuple[Removal, int], ...] = ()
    """The reasons of the removals, most frequent first."""
    instance_type: str = ""
    """The most frequent type."""
    median_life_ns: int | None = None
    pods: int = 0
    """A workload's current number of pods."""
    moved_for: tuple[str, ...] = ()
    """The reasons of a workload's moves, most frequent first."""


def is_short(life: Life) -> bool:
    """Whether Karpenter chose to disrupt or repair a node soon after its creation."""
    is_chosen = life.why in VOLUNTARY or life.why is Removal.REPAIRED
    return is_chosen and life.lived_ns is not None and life.lived_ns < SHORT_NS


def relaunches(removed: Iterable[Life], succession: Succession) -> dict[str, Life]:
    """Return, by removed NodeClaim, the launch of the same type that undid the removal.

    Only removals of underutilized and empty nodes count; each launch undoes at most one removal.
    """
    by_claim: dict[str, Life] = {}
    used: set[str] = set()
    typed = (life for life in removed if life.instance_type)
    for life in sorted(typed, key=lambda life: (life.removed_ns, life.claim)):
        if life.why is Removal.UNDERUTILIZED:
            launches = (
                *(replacement for replacement in succession.of(life) if is_same_kind(replacement, life)),
                *succession.again(life, AGAIN_NS),
            )
        elif life.why is Removal.EMPTY:
            launches = succession.again(life, AGAIN_NS)
        else:
            continue
        relaunch = next((launch for launch in launches if launch.claim not in used), None)
        if relaunch is not None:
            used.add(relaunch.claim)
            by_claim[life.claim] = relaunch
    return by_claim


def pool_loops(
    removed: Mapping[str, Sequence[Life]], succession: Succession, now_ns: int, *, are_pods_pending: bool
) -> Iterator[Loop]:
    """Yield the loops of NodePools; failed launches are none once a later one succeeded or no pod needs a node."""
    for pool, members in removed.items():
        short = _but_one_rollout([life for life in members if is_short(life) and not _was_used(life)])
        if len(short) >= FEWEST and not _is_one_surge(short):
            yield _loop(LoopKind.SHORT_LIVED, pool, short)
        relaunched = relaunches(members, succession)
        again = [life for life in members if life.claim in relaunched]
        if len(again) >= FEWEST:
            yield _loop(LoopKind.SAME_TYPE, pool, again)
        failed = [life for life in members if life.why in FAILED]
        last_ns = max((life.removed_ns for life in failed), default=0)
        is_needed = are_pods_pending or any(life.made_for is not None for life in failed)
        is_over = succession.joined_ns.get(pool, 0) >= last_ns or now_ns - last_ns >= QUIET_NS
        if len(failed) >= FEWEST and is_needed and not is_over:
            yield _loop(LoopKind.NEVER_JOINED, pool, failed)


def _was_used(life: Life) -> bool:
    """Return whether a node was removed as empty after a life long enough for the Jobs it was launched for."""
    return life.why is Removal.EMPTY and life.lived_ns is not None and life.lived_ns >= SHORT_USE_NS


def _is_one_surge(short: Sequence[Life]) -> bool:
    """Return whether all nodes were there before the first was removed: a surge that came once, and no loop."""
    first_ns = min(life.commanded_ns or life.removed_ns for life in short)
    return all(life.made_for is None and life.created_ns <= first_ns for life in short)


def _but_one_rollout(short: list[Life]) -> list[Life]:
    """Return lives without those that drifted if none of them had replaced another: one change, and no loop."""
    drifted = [life for life in short if life.why is Removal.DRIFTED]
    first_ns = min((life.commanded_ns or life.removed_ns for life in drifted), default=0)
    is_loop = any(life.made_for is Removal.DRIFTED or life.created_ns > first_ns for life in drifted)
    return short if is_loop else [life for life in short if life.why is not Removal.DRIFTED]


def _loop(kind: LoopKind, pool: str, members: Sequence[Life]) -> Loop:
    latest = sorted(members, key=lambda life: (-life.removed_ns, life.claim))
    types = Counter(life.instance_type for life in latest if life.instance_type)
    spans = [life.lived_ns for life in latest if life.lived_ns is not None]
    return Loop(
        kind=kind,
        pool=pool,
        times=len(latest),
        first_ns=latest[-1].removed_ns,
        last_ns=latest[0].removed_ns,
        claims=tuple(life.claim for life in latest),
        reasons=tuple(Counter(life.why for life in latest if life.why is not None).most_common()),
        instance_type=types.most_common(1)[0][0] if types else "",
        median_life_ns=median_low(spans) if spans else None,
    )


def workload_loops(moved: Iterable[Moved]) -> Iterator[Loop]:
    """Yield loops of workloads whose pods were each moved several times on average."""
    for workload in moved:
        is_one_drain = workload.last_ns - workload.first_ns < ONE_DRAIN_NS
        if workload.moves >= FEWEST and workload.per_pod >= MOVES_PER_POD and not is_one_drain:
            yield Loop(
                kind=LoopKind.MOVED,
                workload=workload.workload,
                times=workload.moves,
                first_ns=workload.first_ns,
                last_ns=workload.last_ns,
                pods=workload.pods,
                moved_for=workload.reasons,
            )
