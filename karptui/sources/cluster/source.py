"""A live cluster as a source. Cheap to import: what takes time is imported by its own threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from karptui import crash
from karptui.decode.kinds import Kind
from karptui.decode.reader import without_managed_fields
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.cluster.backoff import Backoff, Bell, Waits
from karptui.sources.cluster.body import decoded
from karptui.sources.cluster.connection import Connection
from karptui.sources.source import Mailbox, Phase, SourceError, SourceStatus, kept_as

if TYPE_CHECKING:
    from karptui.sources.cluster.reflectors import Reflectors

JSON: Final = "application/json"
STOP_SECONDS: Final = 1.0
START_SECONDS: Final = 10.0

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class ClusterSource:
    """Lists and watches everything that karptui shows, and answers questions about single objects.

    ``start``, ``stop`` and ``refresh`` return at once or within a second. ``get`` and ``fetch_object`` block for as
    long as the server takes, and belong in a thread worker.
    """

    def __init__(self, connection: Connection, *, request_seconds: float | None = None) -> None:
        """Set up without connecting.

        Args:
            request_seconds: ``--request-timeout``: timeout of answers, except watches.
        """
        self.connection: Final = connection
        self._request_seconds = request_seconds
        self._reflectors: Reflectors | None = None
        self._ready = threading.Event()
        self._bell = Bell()
        self._stopped = False
        self._thread: threading.Thread | None = None

    @property
    def title(self) -> str:
        """The context's name."""
        return self.connection.context

    @property
    def caution(self) -> str:
        """Warning that the server's certificate is not verified, if the kubeconfig disables that."""
        return "TLS not verified" if self.connection.skip_tls_verify else ""

    @property
    def last_contact_ns(self) -> int:
        """When the server was last heard of: nanoseconds since the epoch, 0 for never."""
        return self._reflectors.transport.last_contact_ns if self._reflectors is not None else 0

    def start(self, mailbox: Mailbox) -> None:
        """Begin to fill the mailbox."""
        self._thread = threading.Thread(target=self._run, args=(mailbox,), name="karptui cluster", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close every connection and stop the threads; hanging ones die with the process."""
        self._stopped = True
        self._bell.ring()
        if self._reflectors is not None:
            self._reflectors.stop(STOP_SECONDS)

    def refresh(self) -> None:
        """Try everything again now, whatever it waits for."""
        self._bell.ring()
        if self._reflectors is not None:
            self._reflectors.refresh()

    def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        read_seconds: float | None = None,
    ) -> bytes:
        """Return the body of the answer to a GET request that the user may make."""
        return self._await_reflectors().transport.get(path, query, accept=accept, read_seconds=read_seconds)

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return one object as the API server has it, without managedFields."""
        reflectors = self._await_reflectors()
        resource = next((r for r in reflectors.resources_of(kept_as(kind)) if r.api_kind == kind), None)
        if resource is None:
            raise SourceError(f"{kind} {key}: the API server has no such kind")
        namespace, _, name = key.rpartition("/")
        fetched = _document(reflectors, resource.object_path(namespace, name))
        return without_managed_fields(fetched)

    def crds(self) -> tuple[dict[str, Any], ...]:
        """Return the CustomResourceDefinitions of Karpenter's kinds and of the followed NodeClasses."""
        reflectors = self._await_reflectors()
        kinds = (Kind.NODEPOOL, Kind.NODECLAIM, Kind.NODEOVERLAY, Kind.NODECLASS)
        names = [f"{resource.plural}.{resource.group}" for kind in kinds for resource in reflectors.resources_of(kind)]
        return tuple(_document(reflectors, f"{CRDS}/{name}") for name in names)

    def _run(self, mailbox: Mailbox) -> None:
        backoff = Backoff(Waits(pause=self._bell.wait))
        while not self._stopped:
            try:
                self._follow(mailbox)
            except Exception as error:  # noqa: BLE001  a thread that dies would leave a screen that waits for ever
                self._broke(mailbox, error, backoff.next_seconds())
            else:
                return

    def _broke(self, mailbox: Mailbox, error: Exception, seconds: float) -> None:
        crash.record(error, "connecting")
        if self._reflectors is not None:
            self._reflectors.stop(0.0)
        now_ns = time.time_ns()
        for kind in Kind:
            status = SourceStatus(
                kind=kind,
                phase=Phase.DISCONNECTED,
                since_ns=now_ns,
                last_error=f"internal error while connecting: {crash.sentence(error)}",
                retry_at_ns=now_ns + int(seconds * NS_PER_SECOND),
            )
            mailbox.report(status)
        self._bell.wait(seconds)

    def _follow(self, mailbox: Mailbox) -> None:
        from karptui.sources.cluster.reflectors import connect  # noqa: PLC0415  slower than the first frame

        self._reflectors = connect(self.connection, mailbox, request_seconds=self._request_seconds)
        self._ready.set()
        if self._stopped:
            self._reflectors.stop(0.0)
        self._reflectors.run()

    def _await_reflectors(self) -> Reflectors:
        if not self._ready.wait(START_SECONDS) or self._reflectors is None:
            raise SourceError(f"{self.title} is not connected yet")
        return self._reflectors


def _document(reflectors: Reflectors, path: str) -> dict[str, Any]:
    server = reflectors.transport.server
    return decoded(reflectors.transport.get(path), dict[str, Any], f"{server} did not answer with an object")
