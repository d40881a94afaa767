"""Source of cluster data: starts, fills a mailbox, reports the state of each kind, and stops."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any, Final, Protocol

import msgspec

from karptui.decode.kinds import Kind, KindStatus, kind_named
from karptui.errors import RequestError
from karptui.state.reducer import Batch, KindDelta


class SourceError(RequestError):
    """A source cannot answer; the message is for the user.

    Subclasses for live clusters are in sources.cluster.errors.
    """


def kept_as(api_kind: str) -> Kind:
    """Return the kind for objects of an API kind.

    Raises:
        SourceError: if karptui does not read such objects.
    """
    kind = kind_named(api_kind)
    if kind is None:
        raise SourceError(f"karptui does not read objects of kind {api_kind}")
    return kind


class Phase(StrEnum):
    """State of a source for a kind; best first, so that the maximum of several is shown."""

    OFFLINE = "offline"
    """Complete, and never to change: a snapshot."""
    LIVE = "live"
    """Complete, and following."""
    NOT_INSTALLED = "not installed"
    """The server does not know the kind; asked again now and then."""
    CONNECTING = "connecting"
    """Nothing has arrived yet."""
    SYNCING = "syncing"
    """Loading: the present objects are correct, but incomplete."""
    STALE = "stale"
    """Complete, but nothing says that it still holds."""
    FORBIDDEN = "forbidden"
    """The user may not see this kind; asked again now and then."""
    DISCONNECTED = "disconnected"
    """Waiting to try again."""


COMPLETE: Final = frozenset({Phase.OFFLINE, Phase.LIVE, Phase.NOT_INSTALLED, Phase.STALE})
"""Phases with a complete list of the kind."""


class SourceStatus(KindStatus, frozen=True, kw_only=True):
    """State of a source for one kind."""

    kind: Kind
    phase: Phase


class Source(Protocol):
    """Where objects come from: a live API server, a snapshot, the demo recording."""

    @property
    def title(self) -> str:
        """Title in the top bar: the context, the file, ``demo``."""
        ...

    @property
    def caution(self) -> str:
        """A short warning for the banner about its data; usually empty."""
        ...

    def start(self, mailbox: Mailbox) -> None:
        """Begin to fill the mailbox and return at once."""
        ...

    def stop(self) -> None:
        """End every thread and connection; returns within about a second, and does nothing the second time."""
        ...

    def refresh(self) -> None:
        """Try everything again now, whatever it waits for; return at once."""
        ...

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return an object of the API server, without managedFields; may take as long as a request.

        Args:
            kind: Kind as in the API, such as ``EC2NodeClass``.
            key: ``namespace/name``, or the name of a cluster-scoped object.

        Raises:
            SourceError: if it is unavailable, with a message.
        """
        ...

    def crds(self) -> tuple[dict[str, Any], ...]:
        """Return the CustomResourceDefinitions of Karpenter's kinds, if there are any.

        May take as long as a few requests.

        Raises:
            SourceError: if they are unavailable, with a message.
        """
        ...


class LocalSource:
    """Base of sources without an API server, such as a file."""

    title: str
    caution: str = ""

    def stop(self) -> None:
        """Do nothing: nothing runs."""

    def refresh(self) -> None:
        """Do nothing: nothing waits."""

    def crds(self) -> tuple[dict[str, Any], ...]:
        """Return nothing: there is no API server."""
        return ()


class Tap(Protocol):
    """Records everything put into a mailbox; may be called from any thread."""

    def put(self, kind: Kind, head: Mapping[str, str], lines: Mapping[str, bytes | None]) -> None:
        """Take changed objects as lines of a watch, and None for deleted ones.

        Args:
            head: ``apiVersion`` and ``kind``, which the items of a list lack.
        """
        ...

    def put_page(self, kind: Kind, head: Mapping[str, str], page: bytes, keys: Collection[str]) -> None:
        """Take the objects with some keys from a page of a list, as the API server sent it."""
        ...

    def put_manifests(self, kind: Kind, manifests: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Take changed objects that are decoded already, and None for deleted ones."""
        ...

    def report(self, status: SourceStatus) -> None:
        """Take the state of a kind."""
        ...


class Mail(msgspec.Struct, frozen=True):
    """Changes since the mailbox was last emptied."""

    batch: Batch
    statuses: Mapping[Kind, SourceStatus]
    """The latest status of each kind that has reported."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing has come."""
        return not self.batch.deltas and not self.statuses


class _Pending(msgspec.Struct):
    """Changes to one kind; the last word on a key counts."""

    objects: dict[str, Any] = msgspec.field(default_factory=dict)
    replaces: bool = False


NOTHING: Final = Mail(Batch({}), {})


class Mailbox:
    """Coalesces changes by kind and key; safe to use from several threads.

    However many events arrive, emptying it yields at most one change per object.
    """

    def __init__(self, *, shows_nodes_first: bool = False, tap: Tap | None = None) -> None:
        """Create an empty mailbox.

        Args:
            shows_nodes_first: Whether the reader draws the nodes before it needs other kinds, and says so.
            tap: Records the history; sources give it the objects as the API server sent them.
        """
        self.tap: Final = tap
        self._lock = threading.Lock()
        self._pending: dict[Kind, _Pending] = {}
        self._statuses: dict[Kind, SourceStatus] = {}
        self._phases: dict[Kind, Phase] = {}
        """Of the latest status of each kind, taken out or not."""
        self._unread: set[Kind] = set()
        """Kinds that cannot be read, or have not been listed to their end since they could."""
        self._known_unread: frozenset[str] = frozenset()
        """Unread kinds that the reader already knows."""
        self._news_come = threading.Event()
        self._nodes_shown = threading.Event()
        if not shows_nodes_first:
            self._nodes_shown.set()

    def nodes_shown(self) -> None:
        """Say that the first nodes are drawn."""
        self._nodes_shown.set()

    def wait_until_nodes_shown(self, seconds: float) -> None:
        """Wait, up to a time limit, until the first nodes are drawn; not at all for a reader that draws none."""
        self._nodes_shown.wait(seconds)

    def put(self, kind: Kind, changes: Mapping[str, Any]) -> None:
        """Add changes to a kind: objects by key, None for a deleted object."""
        with self._lock:
            self._pending.setdefault(kind, _Pending()).objects.update(changes)

    def replace(self, kind: Kind, objects: Mapping[str, Any]) -> None:
        """Say that these objects are all there are of a kind."""
        with self._lock:
            self._pending[kind] = _Pending(dict(objects), replaces=True)

    def report(self, status: SourceStatus) -> None:
        """Add the status of a kind."""
        if self.tap is not None:
            self.tap.report(status)
        with self._lock:
            self._statuses[status.kind] = status
            if status.is_unread or (status.kind not in self._phases and status.phase not in COMPLETE):
                self._unread.add(status.kind)
            elif status.phase in COMPLETE:
                self._unread.discard(status.kind)
            if self._phases.get(status.kind) is not status.phase:
                self._phases[status.kind] = status.phase
                self._news_come.set()

    @property
    def has_news(self) -> bool:
        """Whether a kind has become complete or was lost since the mailbox was last emptied."""
        return self._news_come.is_set()

    def wait_for_news(self, seconds: float) -> None:
        """Wait for news about a kind, up to a time limit."""
        self._news_come.wait(seconds)

    @property
    def waiting(self) -> int:
        """How many changes there are to take out."""
        with self._lock:
            return sum(len(changes.objects) for changes in self._pending.values())

    def drain(self) -> Mail:
        """Take everything out."""
        with self._lock:
            if not self._pending and not self._statuses:
                return NOTHING
            pending, self._pending = self._pending, {}
            statuses, self._statuses = self._statuses, {}
            self._news_come.clear()
            unread = frozenset(self._unread) if self._unread != self._known_unread else None
            self._known_unread = self._known_unread if unread is None else unread
        return Mail(Batch({kind: _delta(changes) for kind, changes in pending.items()}, unread), statuses)


def _delta(changes: _Pending) -> KindDelta:
    if not changes.replaces:
        return KindDelta(changes.objects)
    return KindDelta({key: item for key, item in changes.objects.items() if item is not None}, replaces=True)
