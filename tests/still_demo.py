"""The demo standing still: what it says first at an instant is worked out once for all tests of a process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from karptui.clock import Clock, FrozenClock
from karptui.sources.demo.source import Answer, DemoSource
from karptui.sources.demo.world import DemoPlay
from karptui.sources.source import Mail, Mailbox, Phase


class StillDemo(DemoSource):
    """The demo without a thread; the world behind what it says is made only for who asks for it."""

    mails: ClassVar[dict[tuple[int, Phase], Mail]] = {}

    def __init__(self, clock: Clock | None = None, *, phase: Phase = Phase.LIVE, is_stepped: bool = True) -> None:
        """Set up without loading anything.

        Args:
            clock: the time that the demo lives in; the machine's by default.
            phase: what it says of itself.
            is_stepped: passed over: it always is.
        """
        super().__init__(clock=clock, is_stepped=True, phase=phase)
        self._opening = threading.Lock()

    def start(self, mailbox: Mailbox) -> None:
        """Say what there is."""
        self._since_ns = self.clock.now_ns()
        instant = self._since_ns, self._phase
        if instant not in self.mails:
            first = Mailbox()
            super().start(first)
            self.mails[instant] = first.drain()
        self._mailbox = mailbox
        mail = self.mails[instant]
        for kind, delta in mail.batch.deltas.items():
            mailbox.put(kind, delta.objects)
        for status in mail.statuses.values():
            mailbox.report(status)

    def step(self) -> None:
        """Let everything happen that is due."""
        self._open_once()
        super().step()

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return one object as an API server would give it."""
        self._open_once()
        return super().fetch_object(kind, key)

    def manifests(self) -> list[dict[str, Any]]:
        """Return every object as an API server would give it."""
        self._open_once()
        return super().manifests()

    def act(self, change: Callable[[DemoPlay], Answer]) -> Answer:
        """Let a function read or change the world now."""
        self._open_once()
        return super().act(change)

    def _open_once(self) -> None:
        """Make the world behind what has been said, as it was then: most tests never ask for it."""
        with self._opening:
            if self._play is None:
                clock, mailbox = self.clock, self._mailbox
                self.clock, self._mailbox = FrozenClock(self._since_ns), Mailbox()
                self._open()
                self.clock, self._mailbox = clock, mailbox


def tell_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every command on the demo hear what another one has heard at the same instant."""
    monkeypatch.setattr("karptui.sources.demo.source.DemoSource", StillDemo)
