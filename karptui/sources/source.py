"""Source of cluster data: starts, fills a mailbox, reports the state of each kind, and stops."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, Protocol

import msgspec

from karptui.decode.kinds import Kind, kind_named
from karptui.sources.mailbox import Mailbox


class SourceError(Exception):
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


class SourceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """State of a source for one kind."""

    kind: Kind
    phase: Phase
    since_ns: int
    """When the phase began: nanoseconds since the epoch."""
    last_error: str = ""
    """Why it is not live, or which object could not be read; empty without an error."""
    count: int = 0
    total_estimate: int | None = None
    """Estimated number of objects while syncing; None if the server does not tell."""
    last_contact_ns: int = 0
    """When the server last said anything about this kind: nanoseconds since the epoch, 0 for never."""
    retry_at_ns: int = 0
    """Time of the next attempt in nanoseconds since the epoch; 0 if none is planned."""
    is_left_out: bool = False
    """Whether the kind was not requested when a file was made, so that its absence means nothing."""

    @property
    def is_unread(self) -> bool:
        """Whether nothing can be known of the kind."""
        return self.is_left_out or self.phase is Phase.FORBIDDEN


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
