"""Periodic readings in a separate thread, with the last reading kept."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar

from karptui import crash
from karptui.aws.region import FactPhase, FactStatus
from karptui.clock import Clock, SystemClock
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.cluster.backoff import Backoff, Waits
from karptui.sources.source import SourceError

REFRESH_SECONDS: Final = 60.0
"""Interval of readings, also after a temporary failure."""
REFUSED_SECONDS: Final = 300.0
"""Interval after a refusal: a missing permission or a security group is rarely fixed within a minute."""

Wait: TypeAlias = Callable[[threading.Event, float], bool]
"""Waits for a time in seconds, or until the event is set; returns whether it is."""

NewsT = TypeVar("NewsT")


class PeriodicSource(ABC, Generic[NewsT]):
    """Reads in a daemon thread until it is stopped; results are available from any thread."""

    thread_name: ClassVar[str]
    lasting: ClassVar[type[SourceError]]
    """Errors that are rarely gone within a minute."""

    def __init__(self, news: NewsT, *, clock: Clock | None = None, wait: Wait = threading.Event.wait) -> None:
        self._news = news
        self._clock = clock or SystemClock()
        self._wait = wait
        self._stopped = threading.Event()
        self._roused = threading.Event()
        self._backoff = Backoff(Waits())

    @abstractmethod
    def read(self) -> float:
        """Read once, keep new facts as ``_news``, and return the seconds until the next reading."""

    @abstractmethod
    def failed(self, error: SourceError, seconds: float) -> None:
        """Record in ``_news`` that a reading failed, and the time of the next; earlier results are kept."""

    def step(self) -> float:
        """Read once, record a failure, and return the seconds until the next reading."""
        try:
            return self.read()
        except SourceError as error:
            seconds = REFUSED_SECONDS if isinstance(error, self.lasting) else REFRESH_SECONDS
            self.failed(error, seconds)
            return seconds

    def start(self) -> None:
        """Begin to read, and return at once."""
        threading.Thread(target=self._run, name=self.thread_name, daemon=True).start()

    def stop(self) -> None:
        """Read no more; a request under way is left to its time-out in a daemon thread."""
        self._stopped.set()
        self._roused.set()

    def refresh(self) -> None:
        """Read at once, whatever is waited for."""
        self._roused.set()

    def latest(self) -> NewsT:
        """Return the latest results; cheap, from any thread; the same object as long as nothing changes."""
        return self._news

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                seconds = self.step()
            except Exception as error:  # noqa: BLE001  a dead thread would silently leave its results to age
                during = f"reading {self.thread_name}"
                crash.record(error, during)
                seconds = self._backoff.next_seconds()
                self.failed(SourceError(f"internal error while {during}: {crash.sentence(error)}"), seconds)
            else:
                self._backoff.reset()
            if self._wait(self._roused, seconds):
                self._roused.clear()


def failed_status(before: FactStatus, error: SourceError, *, now_ns: int, rest_seconds: float) -> FactStatus:
    """Return the status after a failed reading: earlier results are kept, with their age."""
    return FactStatus(
        phase=FactPhase.CACHED if before.as_of_ns else FactPhase.UNAVAILABLE,
        sentence=str(error),
        as_of_ns=before.as_of_ns,
        retry_at_ns=now_ns + int(rest_seconds * NS_PER_SECOND),
    )
