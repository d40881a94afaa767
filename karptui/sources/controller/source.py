"""Keeps what Karpenter was started with fresh in the background."""

from __future__ import annotations

import threading
from typing import ClassVar

import msgspec

from karptui.aws.region import FactPhase, FactStatus
from karptui.clock import Clock
from karptui.karpenter.controller import ControllerInfo
from karptui.sources.base import SourceError
from karptui.sources.controller.reader import ControllerError, read_controller
from karptui.sources.metrics.controller import ProxyClient
from karptui.sources.periodic import REFRESH_SECONDS, REFUSED_SECONDS, PeriodicSource, Wait, failed_status


class ControllerNews(msgspec.Struct, frozen=True, eq=False):
    """What is known at a moment; compared by identity to see whether there is anything new."""

    status: FactStatus
    info: ControllerInfo | None = None
    """The last reading, however old: the status has its age."""


class ControllerSource(PeriodicSource[ControllerNews]):
    """Reads Karpenter's Deployment once a minute: how soon one that has changed is noticed."""

    thread_name: ClassVar[str] = "karpenter-settings"

    def __init__(self, client: ProxyClient, *, clock: Clock | None = None, wait: Wait = threading.Event.wait) -> None:
        super().__init__(ControllerNews(FactStatus(phase=FactPhase.WAITING)), clock=clock, wait=wait)
        self._client = client

    def read(self) -> float:
        """Read the Deployment; an equal reading, or the same failure again, is no news."""
        before, now_ns = self._news, self._clock.now_ns()
        try:
            info = read_controller(self._client)
        except SourceError as error:
            seconds = REFUSED_SECONDS if isinstance(error, ControllerError) else REFRESH_SECONDS
            status = failed_status(before.status, error, now_ns=now_ns, rest_seconds=seconds)
            if (before.status.phase, before.status.sentence) != (status.phase, status.sentence):
                self._news = ControllerNews(status, before.info)
            return seconds
        if info != before.info or before.status.phase is not FactPhase.LIVE:
            # An equal reading stays the same object, so that nothing is worked out anew for it.
            kept = before.info if info == before.info else info
            sentence = "; ".join(info.sentences)
            self._news = ControllerNews(FactStatus(phase=FactPhase.LIVE, sentence=sentence, as_of_ns=now_ns), kept)
        return REFRESH_SECONDS
