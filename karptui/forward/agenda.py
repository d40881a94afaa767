"""Time in a forecast: scheduled events in order, and past steps."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any

from karptui.forward.result import Step, StepKind
from karptui.kube.pod import Pod, lost_pods


class Turn(IntEnum):
    """Who comes first at one instant: each sees what those before it have left."""

    CALENDAR = 0
    """Turn of calendar events, which do not depend on decisions: expiry, budget windows, the end of a protection."""
    EVENT = 1
    PROVISIONING = 2
    DISRUPTION = 3


class Agenda:
    """Scheduled events; of two at one instant, the one scheduled first comes first."""

    def __init__(self, now_ns: int) -> None:
        """Begin at an instant."""
        self.now_ns = now_ns
        self.steps: list[Step] = []
        self.is_woken = False
        """Whether disruption is to look again although no object has changed."""
        self._entries: list[tuple[int, Turn, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, at_ns: int, action: Callable[[], None], turn: Turn = Turn.EVENT) -> None:
        """Schedule an event; at the present instant if its time has passed."""
        self._number += 1
        heapq.heappush(self._entries, (max(at_ns, self.now_ns), turn, self._number, action))

    def come_to(self, at_ns: int) -> None:
        """Make the forecast stop at an instant, so that all controllers run there."""
        self.at(at_ns, _nothing)

    @property
    def next_ns(self) -> int | None:
        """Time of the next event, None without any."""
        return self._entries[0][0] if self._entries else None

    @property
    def has_only_dates(self) -> bool:
        """Whether only calendar events are left."""
        return all(turn is Turn.CALENDAR for _, turn, _, _ in self._entries)

    def advance(self) -> None:
        """Go to the next instant and run the events of its first turn."""
        self.now_ns, turn = self._entries[0][:2]
        while self._entries and self._entries[0][:2] == (self.now_ns, turn):
            heapq.heappop(self._entries)[3]()

    def wake(self) -> None:
        """Have disruption look again although no object has changed."""
        self.is_woken = True

    def note(self, kind: StepKind, *, evicted: Iterable[Pod] | None = None, **facts: Any) -> None:
        """Write down what happens now.

        Args:
            evicted: Pods that have to leave their nodes because of it; None if that is not its subject.
        """
        if evicted is not None:
            pods = tuple(evicted)
            facts |= {"evictions": len(pods), "pods": tuple(sorted(pod.key for pod in pods)), "lost": lost_pods(pods)}
        self.steps.append(Step(at_ns=self.now_ns, kind=kind, **facts))


def _nothing() -> None:
    """Do nothing."""
