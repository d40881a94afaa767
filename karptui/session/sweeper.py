"""Runs sweeps in separate processes, so that neither the screen nor one core is the bottleneck."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from karptui.workers.near import NearWorkers

if TYPE_CHECKING:
    from karptui.whatif.scenario import Replay
    from karptui.whatif.situation import WhatIfBase
    from karptui.whatif.sweep import Sweep, SweepPoint


class Sweeper:
    """A running sweep: yields its points in order of completion."""

    def __init__(self, base: WhatIfBase, sweep: Sweep, mode: Replay, jobs: int) -> None:
        self._values, self._common = sweep.values, (base, sweep, mode)
        self._workers = NearWorkers(min(jobs, len(sweep.values)))
        self._is_cancelled = False

    def cancel(self) -> None:
        """End soon: the points that are not ready are never given. May be called from another thread."""
        self._is_cancelled = True
        self._workers.cancel()

    def points(self) -> Iterator[tuple[int, SweepPoint]]:
        """Yield the position of each value and its result, in order of completion."""
        yield from self._here() if self._workers.count <= 1 else self._elsewhere()

    def _here(self) -> Iterator[tuple[int, SweepPoint]]:
        from karptui.provisioning.reporter import Cancelled  # noqa: PLC0415 - the engines are slow to import

        for position, value in enumerate(self._values):
            try:
                point = point_of(self._common, value, lambda: self._is_cancelled)
            except Cancelled:
                return
            yield position, point

    def _elsewhere(self) -> Iterator[tuple[int, SweepPoint]]:
        if self._is_cancelled:
            return
        yield from self._workers.run(point_of, self._common, self._values)


def point_of(common: Any, value: str, is_stopped: Callable[[], bool]) -> SweepPoint:
    """Return the result of one value; also runs in other processes."""
    from karptui.provisioning.reporter import Cancelled  # noqa: PLC0415 - as above
    from karptui.whatif.sweep import sweep_point  # noqa: PLC0415 - as above

    def stop(done: int, total: int) -> None:  # noqa: ARG001 - as reporters are called
        if is_stopped():
            raise Cancelled

    stop(0, 0)
    base, sweep, mode = common
    return sweep_point(base, sweep, value, mode, stop)
