"""Helpers for tests of the live source: certificates, loopback connections, a mailbox to wait on."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from karptui.decode.kinds import Kind
from karptui.sources.cluster.connection import Connection, Pem
from karptui.sources.cluster.credentials import Credentials, credentials_for
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.cluster.transport import Transport
from karptui.sources.source import Mailbox, Phase, SourceStatus, Tap
from tests.fake_api_server import Answer, LoopbackServer

TLS = Path(__file__).resolve().parents[2] / "data" / "tls"

Serve = Callable[..., LoopbackServer]


def pem(name: str) -> Pem:
    """Return the path of a test certificate or key."""
    return Pem(name, path=TLS / name)


def server_tls(*, asks_client: bool = False) -> ssl.SSLContext:
    """Return the TLS context of a loopback server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.pem", TLS / "server.key")
    if asks_client:
        context.load_verify_locations(TLS / "authority.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def transport_to(
    server: LoopbackServer | str, *, credentials: Credentials | None = None, read_seconds: float = 10.0, **fields: Any
) -> Transport:
    url = server if isinstance(server, str) else server.url
    connection = Connection(server=url, context="test", **fields)
    return Transport(connection, credentials or credentials_for(connection), read_seconds=read_seconds)


@contextmanager
def transport_that_hears(answer: Answer) -> Iterator[Transport]:
    """Yield a transport to a new server."""
    with LoopbackServer(answer) as server:
        transport = transport_to(server)
        yield transport
        transport.close()


class WatchedMailbox(Mailbox):
    """A mailbox that keeps everything put into it; ``until`` waits for a condition."""

    def __init__(self, *, shows_nodes_first: bool = False, tap: Tap | None = None) -> None:
        super().__init__(shows_nodes_first=shows_nodes_first, tap=tap)
        self.objects: dict[Kind, dict[str, Any]] = {}
        self.statuses: dict[Kind, SourceStatus] = {}
        self.history: list[SourceStatus] = []
        self.changes: list[tuple[Kind, str, Any]] = []
        self._news = threading.Condition()

    def put(self, kind: Kind, changes: Mapping[str, Any]) -> None:
        super().put(kind, changes)
        with self._news:
            held = self.objects.setdefault(kind, {})
            for key, item in changes.items():
                self.changes.append((kind, key, item))
                if item is None:
                    held.pop(key, None)
                else:
                    held[key] = item
            self._news.notify_all()

    def report(self, status: SourceStatus) -> None:
        super().report(status)
        with self._news:
            self.statuses[status.kind] = status
            self.history.append(status)
            self._news.notify_all()

    def keys(self, kind: Kind) -> set[str]:
        return set(self.objects.get(kind, {}))

    def phases(self, kind: Kind) -> list[Phase]:
        """Return the successive phases of a kind, without repetitions."""
        phases = [status.phase for status in self.history if status.kind is kind]
        return [phase for i, phase in enumerate(phases) if i == 0 or phases[i - 1] is not phase]

    def until(self, holds: Callable[[], bool], seconds: float = 20.0) -> None:
        """Wait until a condition holds; fail if it does not in time."""
        deadline = time.monotonic() + seconds
        with self._news:
            while not holds():
                left = deadline - time.monotonic()
                assert left > 0, f"not within {seconds} s; {self.summary()}"
                # Conditions may depend on more than the mailbox, so poll too.
                self._news.wait(min(left, 0.05))

    def summary(self) -> list[tuple[str, str, int, str]]:
        """Return name, phase, count and error of every kind."""
        return [(item.kind.value, item.phase.value, item.count, item.last_error) for item in self.statuses.values()]


def started(server: LoopbackServer, **options: float) -> tuple[ClusterSource, WatchedMailbox]:
    source = ClusterSource(Connection(server=server.url, context="production"), **options)
    mailbox = WatchedMailbox()
    source.start(mailbox)
    return source, mailbox
