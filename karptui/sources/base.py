"""What sources say of themselves: how they stand with each kind, and what cannot be done."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from karptui.decode.kinds import Kind, kind_named


class SourceError(Exception):
    """A source cannot do what was asked; the text is a sentence for the user.

    Its kinds for live clusters are drawn in sources.cluster.errors.
    """


def kept_as(api_kind: str) -> Kind:
    """Return what objects of a kind are kept as.

    Raises:
        SourceError: when karptui does not read such objects.
    """
    kind = kind_named(api_kind)
    if kind is None:
        raise SourceError(f"karptui does not read objects of kind {api_kind}")
    return kind


class Phase(StrEnum):
    """How far a source has come with a kind; best first, so that the last of several is the one to show."""

    OFFLINE = "offline"
    """Complete, and never to change: a snapshot."""
    LIVE = "live"
    """Complete, and following."""
    NOT_INSTALLED = "not installed"
    """The server does not know the kind; asked again now and then."""
    CONNECTING = "connecting"
    """Nothing has arrived yet."""
    SYNCING = "syncing"
    """Arriving: what is there is true, but not all."""
    STALE = "stale"
    """Complete, but nothing says that it still holds."""
    FORBIDDEN = "forbidden"
    """The user may not see this kind; asked again now and then."""
    DISCONNECTED = "disconnected"
    """Waiting to try again."""


COMPLETE: Final = frozenset({Phase.OFFLINE, Phase.LIVE, Phase.NOT_INSTALLED, Phase.STALE})
"""Phases in which a kind has been listed to its end."""


class SourceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a source stands with one kind."""

    kind: Kind
    phase: Phase
    since_ns: int
    """When the phase began: nanoseconds since the epoch."""
    last_error: str = ""
    """A sentence: why it is not live, or what could not be read. Empty when all is well."""
    count: int = 0
    """Objects held."""
    total_estimate: int | None = None
    """About how many there will be, while syncing; None where the server does not say."""
    last_contact_ns: int = 0
    """When the server last said anything about this kind: nanoseconds since the epoch, 0 for never."""
    retry_at_ns: int = 0
    """When it will be tried again: nanoseconds since the epoch, 0 where it is not waiting."""
    is_left_out: bool = False
    """Whether nobody asked for the kind when a file was made: that it holds none says nothing."""

    @property
    def is_unread(self) -> bool:
        """Whether nothing can be known of the kind."""
        return self.is_left_out or self.phase is Phase.FORBIDDEN
