"""Keeps live usage fresh in the background while somebody looks at it."""

from __future__ import annotations

import threading
from typing import ClassVar, Final

import msgspec

from karptui.clock import Clock
from karptui.kube.live_usage import LiveUsage, merged
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.base import SourceError
from karptui.sources.metrics.controller import ProxyClient
from karptui.sources.periodic import REFRESH_SECONDS, REFUSED_SECONDS, PeriodicSource, Wait
from karptui.sources.usage.reader import UsageError, read_nodes, read_pods

LEAST_SECONDS: Final = 15.0
"""metrics-server's usual resolution: asking more often gives the same measurements again."""
WANTED_SECONDS: Final = 60.0
"""For how long somebody who has looked is taken to look on."""
IDLE_SECONDS: Final = 1.0
"""How soon it is noticed that somebody looks."""


class UsageSource(PeriodicSource[LiveUsage]):
    """Asks metrics-server as often as it measures, and only while somebody wants to know."""

    thread_name: ClassVar[str] = "live-usage"

    def __init__(self, client: ProxyClient, *, clock: Clock | None = None, wait: Wait = threading.Event.wait) -> None:
        super().__init__(LiveUsage(is_asked=True), clock=clock, wait=wait)
        self._client = client
        self._wanted_until_ns = 0

    def want(self) -> None:
        """Say that somebody looks; cheap, from any thread."""
        self._wanted_until_ns = self._clock.now_ns() + int(WANTED_SECONDS * NS_PER_SECOND)

    def read(self) -> float:
        """Read nodes and pods once, where somebody looks; what was read before stays when that fails."""
        if self._clock.now_ns() > self._wanted_until_ns:
            return IDLE_SECONDS
        before = self._news
        try:
            nodes, pods = read_nodes(self._client), read_pods(self._client)
        except SourceError as error:
            seconds = REFUSED_SECONDS if isinstance(error, UsageError) else REFRESH_SECONDS
            retry_at_ns = self._clock.now_ns() + int(seconds * NS_PER_SECOND)
            self._news = msgspec.structs.replace(before, sentence=str(error), retry_at_ns=retry_at_ns)
            return seconds
        window_ns = max(nodes.window_ns, pods.window_ns)
        self._news = LiveUsage(
            nodes=merged(before.nodes, nodes.samples),
            pods=merged(before.pods, pods.samples),
            read_at_ns=self._clock.now_ns(),
            window_ns=window_ns,
            is_asked=True,
        )
        return min(max(window_ns / NS_PER_SECOND, LEAST_SECONDS), REFRESH_SECONDS)
