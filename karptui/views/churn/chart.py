"""How much came and went when, as one line of blocks for each sort of event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from karptui.disruption.churn.report import Churn, ChurnWindow
from karptui.kube.timestamps import NS_PER_SECOND

MINUTE_NS: Final = 60 * NS_PER_SECOND
STEPS_NS: Final = tuple(minutes * MINUTE_NS for minutes in (1, 2, 5, 10, 15, 30, 60, 120))
"""What a block may stand for."""
NOTHING: Final = "·"
_BLOCKS: Final = "▁▂▃▄▅▆▇█"


class Chart(msgspec.Struct, frozen=True):
    """Counts over the window; the last bin ends now."""

    step_ns: int
    """What a bin stands for."""
    begin_ns: int
    """Where the first bin begins: nanoseconds since the epoch."""
    created: tuple[int, ...]
    """NodeClaims, by bin."""
    removed: tuple[int, ...]
    moved: tuple[int, ...]
    """Pods."""

    @property
    def most(self) -> int:
        """The most NodeClaims that came, or went, in one bin."""
        return max((*self.created, *self.removed), default=0)

    @property
    def most_moved(self) -> int:
        """The most pods that were moved in one bin."""
        return max(self.moved, default=0)

    @property
    def step(self) -> str:
        """What a bin stands for in words: ``5m``, ``1h``."""
        minutes = self.step_ns // MINUTE_NS
        return f"{minutes // 60}h" if minutes % 60 == 0 else f"{minutes}m"


def chart_of(churn: Churn, width: int) -> Chart:
    """Return counts in as many bins as there is room for.

    Bins begin at multiples of what they stand for, so that they keep their counts while time goes on.

    Args:
        churn: What is known.
        width: The most bins.
    """
    window = churn.window
    step_ns = _step(window, width)
    begin_ns = window.since_ns // step_ns * step_ns
    count = (window.now_ns - begin_ns) // step_ns + 1

    def binned(instants: Iterable[int]) -> tuple[int, ...]:
        found = [0] * count
        for at_ns in instants:
            if begin_ns <= at_ns <= window.now_ns:
                found[(at_ns - begin_ns) // step_ns] += 1
        return tuple(found)

    return Chart(
        step_ns,
        begin_ns,
        binned(life.created_ns for life in churn.created),
        binned(life.removed_ns for life in churn.removed),
        binned(move.at_ns for move in churn.moves),
    )


def _step(window: ChurnWindow, width: int) -> int:
    """Return the least step with which the window has room."""
    for step_ns in STEPS_NS:
        if window.now_ns // step_ns - window.since_ns // step_ns + 1 <= width:
            return step_ns
    return STEPS_NS[-1] * (-(-window.length_ns // (STEPS_NS[-1] * width)) + 1)


def blocks(counts: Sequence[int], most: int) -> str:
    """Return a character for each count: a dot for nothing, else a block up to the full one for the most."""
    return "".join(NOTHING if not count else _BLOCKS[(count * len(_BLOCKS) - 1) // max(most, 1)] for count in counts)
