"""A demo whose time is moved by hand, and the state it makes."""

from __future__ import annotations

from karptui.clock import FrozenClock
from karptui.sources.demo.source import DemoSource
from karptui.sources.source import Mailbox
from karptui.state.cluster import EMPTY, ClusterState
from karptui.state.reducer import reduce
from tests.builders import NOW_NS, SECOND_NS


class Watched:
    """A demo that has been opened, and its state."""

    def __init__(self, *, seed: int = 1) -> None:
        self.clock = FrozenClock(NOW_NS)
        self.source = DemoSource(seed=seed, clock=self.clock, is_stepped=True)
        self.mailbox = Mailbox()
        self.source.start(self.mailbox)
        mail = self.mailbox.drain()
        self.state: ClusterState = reduce(EMPTY, mail.batch)
        self.statuses = dict(mail.statuses)

    def watch(self, seconds: int, *, step_seconds: int = 1) -> list[ClusterState]:
        """Let time go by and return the state after every step."""
        states = []
        for _ in range(0, seconds, step_seconds):
            self.clock.instant_ns += step_seconds * SECOND_NS
            self.source.step()
            mail = self.mailbox.drain()
            self.statuses |= mail.statuses
            self.state = reduce(self.state, mail.batch)
            states.append(self.state)
        return states
