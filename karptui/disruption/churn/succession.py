"""Which NodeClaims took the place of which: Karpenter does not write it down, so it is told from times and reasons.

Order of a command: ``pkg/controllers/disruption/queue.go`` — taint and condition, then replacements, then, once those
are initialised, the deletion. Forceful disruption deletes first, and the provisioner answers the pods that wait then.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from karptui.disruption.churn.life import Life
from karptui.disruption.churn.removal import FAILED, VOLUNTARY, Removal
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
