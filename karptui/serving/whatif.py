"""What-ifs: replays in a thread, comparisons, sweeps, and a check of the model."""

# ruff: noqa: PLC0415 - the first rows wait for no engine: each is imported in the thread that asks

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from karptui.session.replays import ReplayServer

if TYPE_CHECKING:
    from karptui.session.packing import Packed
    from karptui.session.sweeper import Sweeper
    from karptui.whatif.run import Answer
    from karptui.whatif.scenario import Replay, Scenario
    from karptui.whatif.sweep import Sweep, SweepPoint

MOST_JOBS: Final = 8
"""Most processes of a sweep; each holds a copy of the cluster."""


class WhatIfs(ReplayServer):
    """Scenarios on the current cluster."""

    _sweep: tuple[int, Sweeper, Iterator[tuple[int, SweepPoint]]] | None = None
    """The running sweep, and its number."""
    _sweep_number = 0
    _lock = threading.Lock()

    def compare(self, scenario: Scenario, now_ns: int) -> Answer:
        from karptui.provisioning.reporter import silent
        from karptui.whatif.run import answer

        with self._shared_base.borrowed(self._view(), now_ns) as base:
            return answer(base, scenario, silent, time.monotonic)

    def packed(self, scenario: Scenario, now_ns: int) -> Packed:
        from karptui.session.packing import packed_sides

        with self._shared_base.borrowed(self._view(), now_ns) as base:
            return packed_sides(base, scenario)

    def self_check(self, now_ns: int) -> str:
        from karptui.views.whatif.compare import self_check_text
        from karptui.whatif.self_check import self_check

        return self_check_text(self_check(self._shared_base.take(self._view(), now_ns)))

    def start_sweep(self, sweep: Sweep, replay: Replay, now_ns: int) -> int:
        from karptui.session.sweeper import Sweeper

        base = self._shared_base.take(self._view(), now_ns)
        sweeper = Sweeper(base, sweep, replay, min(MOST_JOBS, os.cpu_count() or 1), self._shared_base.lock)
        with self._lock:
            if self._sweep is not None:  # a screen that was left before its sweep had begun
                self._sweep[1].cancel()
            self._sweep_number += 1
            self._sweep = self._sweep_number, sweeper, sweeper.points()
            return self._sweep_number

    def next_point(self, number: int) -> tuple[int, SweepPoint] | None:
        sweep = self._sweep
        if sweep is None or sweep[0] != number:
            return None
        return next(sweep[2], None)

    def stop_sweep(self, number: int) -> None:
        with self._lock:
            if self._sweep is not None and self._sweep[0] == number:
                self._sweep[1].cancel()
                self._sweep = None
