"""Numbers of NodeClaims over the last hour."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from karptui.kube.timestamps import NS_PER_SECOND

if TYPE_CHECKING:
    from karptui.disruption.churn.life import Life

BINS: Final = 12
BIN_NS: Final = 300 * NS_PER_SECOND
"""The last hour in steps of five minutes."""


def alive(lives: Iterable[Life], since_ns: int, now_ns: int) -> tuple[int | None, ...]:
    """Return the number of NodeClaims at the end of each step; None for steps before the known period.

    Args:
        since_ns: When removals became known: nanoseconds since the epoch.
        now_ns: The current time, where the last step ends.
    """
    lives = tuple(lives)
    ends = [now_ns - BIN_NS * (BINS - 1 - step) for step in range(BINS)]
    return tuple(
        sum(life.created_ns <= end and not 0 < (life.gone_ns or life.removed_ns) <= end for life in lives)
        if end >= since_ns
        else None
        for end in ends
    )
