"""The permit, without which no request that changes a cluster can be sent."""

from __future__ import annotations

from typing import Final

from karptui.sources.source import SourceError

GUARD: Final = object()
"""Shown by the guard, which alone may make permits."""


class NotAllowedError(SourceError):
    """Actions are not allowed here; the message has the reason and the remedy."""


class Permit:
    """Permission to change objects of one cluster; only the guard makes one."""

    __slots__ = ("most_objects", "server")

    def __init__(self, guard: object, server: str, most_objects: int) -> None:
        """Make a permit.

        Raises:
            NotAllowedError: anything but the guard made it.
        """
        if guard is not GUARD:
            raise NotAllowedError("only the guard makes a permit")
        self.server: Final = server
        self.most_objects: Final = most_objects


def covers(permit: object, server: str) -> bool:
    """Return whether something is a permit for a server."""
    return isinstance(permit, Permit) and permit.server == server
