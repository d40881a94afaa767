"""Mailbox between source threads and the screen."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karptui.decode.kinds import Kind
from karptui.sources.source import COMPLETE, Phase, SourceStatus
from karptui.state.reducer import Batch, KindDelta


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

    def __init__(self, *, shows_nodes_first: bool = False) -> None:
        """Create an empty mailbox.

        Args:
            shows_nodes_first: Whether the reader draws the nodes before it needs other kinds, and says so.
        """
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
