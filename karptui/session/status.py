"""Status of a source for each kind of object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karptui.decode.kinds import KindStatus

ON_THE_WAY: Final = ("connecting", "syncing")
"""Phases of a kind that is being listed."""


def plural(kind: str) -> str:
    """Return the plural of a kind: ``pods``, ``NodeClaims``."""
    name = kind.lower() if kind in ("Node", "Pod", "Namespace", "Event") else kind
    return f"{name}es" if name.endswith(("s", "ss")) else f"{name}s"


def seen_ns(status: KindStatus | None, now_ns: int) -> int:
    """Return the newest instant at which a kind's objects are known to be current: now while they are followed."""
    if status is None or status.phase == "live" or not status.last_contact_ns:
        return now_ns
    return min(status.last_contact_ns, now_ns)


def is_file(statuses: Mapping[str, KindStatus]) -> bool:
    """Return whether all kinds were read from a file."""
    return {status.phase for status in statuses.values()} == {"offline"}


def age_ns(status: KindStatus, merged_ns: int, now_ns: int) -> int | None:
    """Return the age of a kind's data; None if there is none.

    Data that is followed is as old as the last merge, because the source checks its connection every few seconds.

    Args:
        merged_ns: when the source's changes were merged last.
    """
    is_followed = status.phase in ("live", "offline")
    read_ns = max(status.last_contact_ns, merged_ns) if is_followed else status.last_contact_ns
    return max(now_ns - read_ns, 0) if read_ns else None
