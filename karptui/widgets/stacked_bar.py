"""The three-part bar: ▓ DaemonSets, █ workload, ░ free."""

from __future__ import annotations

from typing import Final

from karptui.views.row import Bar

DAEMON: Final = "▓"
WORKLOAD: Final = "█"
FREE: Final = "░"


def bar_parts(bar: Bar, width: int) -> tuple[int, int, int]:
    """Return the cells of each part, together ``width``.

    Anything requested shows as one cell at least, and both parts show as soon as there are two; what is requested
    beyond the capacity fills the bar and no more.

    Args:
        bar: the amounts; a capacity of 0 draws no bar.
        width: cells to fill.
    """
    if bar.capacity <= 0 or width <= 0:
        return 0, 0, 0
    requested = bar.daemons + bar.workload
    if requested <= 0:
        return 0, 0, width
    used = min(max(_rounded(requested * width, bar.capacity), 1), width)
    daemons = _rounded(bar.daemons * used, requested)
    if used > 1:
        daemons = min(max(daemons, 1 if bar.daemons > 0 else 0), used - (1 if bar.workload > 0 else 0))
    return daemons, used - daemons, width - used


def _rounded(amount: int, whole: int) -> int:
    return (2 * amount + whole) // (2 * whole)
