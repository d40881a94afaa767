"""The three-part bar: ▓ DaemonSets, █ workload, ░ free."""

from __future__ import annotations

from typing import Final

from karptui.views.row import Bar

DAEMON: Final = "▓"
WORKLOAD: Final = "█"
FREE: Final = "░"


def bar_parts(bar: Bar, width: int) -> tuple[int, int, int]:
    """Return the cells of each part, together ``width``.

    A part that is not nothing gets at least one cell while there is one to give, so that a lone DaemonSet pod still
    shows; what is requested beyond the capacity fills the bar and no more.

    Args:
        bar: the amounts; a capacity of 0 draws no bar.
        width: cells to fill.
    """
    if bar.capacity <= 0 or width <= 0:
        return 0, 0, 0
    used = min(_cells(bar.daemons + bar.workload, bar.capacity, width), width)
    daemons = min(_cells(bar.daemons, bar.capacity, width), used)
    if bar.workload > 0 and daemons == used and used > 1:
        daemons = used - 1
    elif bar.workload > 0 and daemons == used and width > used:
        used += 1
    return daemons, used - daemons, width - used


def _cells(amount: int, capacity: int, width: int) -> int:
    if amount <= 0:
        return 0
    return max((2 * amount * width + capacity) // (2 * capacity), 1)
