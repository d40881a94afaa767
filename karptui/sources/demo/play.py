"""A queue of the demo's scheduled actions; the outcome is independent of the step size."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Final

from karptui.sources.demo.world import DemoWorld

SECOND_NS: Final = 1_000_000_000
Act = Callable[["DemoPlay"], None]


class DemoPlay:
    """A world with scheduled actions; deterministic from the world's seed and the times it is advanced to."""

    def __init__(self, world: DemoWorld, now_ns: int) -> None:
        self.world = world
        self.rng = world.rng
        self.now_ns = now_ns
        """The instant of the act that takes place: nanoseconds since the epoch."""
        self._queue: list[tuple[int, int, Act]] = []
        self._count = 0

    def after(self, seconds: float, act: Act) -> None:
        """Let an act take place some seconds from now."""
        self._count += 1
        heapq.heappush(self._queue, (self.now_ns + int(seconds * SECOND_NS), self._count, act))

    def every(self, low_seconds: float, high_seconds: float, act: Act) -> None:
        """Let an act take place again and again, with uneven breaks."""

        def again(play: DemoPlay) -> None:
            act(play)
            play.every(low_seconds, high_seconds, act)

        self.after(self.rng.uniform(low_seconds, high_seconds), again)

    def advance(self, now_ns: int) -> None:
        """Let everything take place that is due, in order."""
        while self._queue and self._queue[0][0] <= now_ns:
            at_ns, _, act = heapq.heappop(self._queue)
            self.now_ns = at_ns
            act(self)
        self.now_ns = max(self.now_ns, now_ns)
