"""Keeps what Karpenter was started with fresh in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import msgspec

from karptui.aws.region_facts import FactPhase, FactStatus
from karptui.clock import Clock, SystemClock
from karptui.karpenter.controller import ControllerInfo
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.base import SourceError
from karptui.sources.controller.reader import ControllerError, read_controller
from karptui.sources.metrics.controller import ProxyClient

REFRESH_SECONDS: Final = 60.0
"""How soon a Deployment that has changed is noticed."""
REFUSED_SECONDS: Final = 300.0
"""Until what refused is asked again."""


class ControllerNews(msgspec.Struct, frozen=True, eq=False):
    """What is known at a moment; compared by identity to see whether there is anything new."""

    status: FactStatus
    info: ControllerInfo | None = None
    """The last reading, however old: the status has its age."""


class ControllerSource:
    """Reads Karpenter's Deployment once a minute in a thread of its own."""

    def __init__(
        self,
        client: ProxyClient,
        *,
        clock: Clock | None = None,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._client = client
        self._clock = clock or SystemClock()
        self._wait = wait
        self._stopped = threading.Event()
        self._news = ControllerNews(FactStatus(phase=FactPhase.WAITING))

    def start(self) -> None:
        """Begin to read, and return at once."""
        threading.Thread(target=self._run, name="karpenter-settings", daemon=True).start()

    def stop(self) -> None:
        """Read no more; a request under way is left to its time-out in a daemon thread."""
        self._stopped.set()

    def latest(self) -> ControllerNews:
        """Return what is known now; cheap, from any thread; the same object as long as nothing has changed."""
        return self._news

    def _run(self) -> None:
        while not self._stopped.is_set():
            seconds = self._read()
            if self._wait(self._stopped, seconds):
                return

    def _read(self) -> float:
        """Read once and return how long to wait."""
        before, now_ns = self._news, self._clock.now_ns()
        try:
            info = read_controller(self._client)
        except SourceError as error:
            seconds = REFUSED_SECONDS if isinstance(error, ControllerError) else REFRESH_SECONDS
            status = FactStatus(
                phase=FactPhase.CACHED if before.info is not None else FactPhase.UNAVAILABLE,
                sentence=str(error),
                as_of_ns=before.status.as_of_ns,
                retry_at_ns=now_ns + int(seconds * NS_PER_SECOND),
            )
            if (before.status.phase, before.status.sentence) != (status.phase, status.sentence):
                self._news = ControllerNews(status, before.info)
            return seconds
        if info != before.info or before.status.phase is not FactPhase.LIVE:
            # An equal reading stays the same object, so that nothing is worked out anew for it.
            kept = before.info if info == before.info else info
            sentence = "; ".join(info.sentences)
            self._news = ControllerNews(FactStatus(phase=FactPhase.LIVE, sentence=sentence, as_of_ns=now_ns), kept)
        return REFRESH_SECONDS
