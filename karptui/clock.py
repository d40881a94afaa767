"""The clock, replaceable for tests and recordings."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol

import msgspec


class Clock(Protocol):
    """Tells the time."""

    def now_ns(self) -> int:
        """Return nanoseconds since the epoch."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ns(self) -> int:
        """Return nanoseconds since the epoch."""
        return time.time_ns()


class FrozenClock(msgspec.Struct):
    """A clock with a fixed time, for tests and snapshots of other machines."""

    instant_ns: int
    """Nanoseconds since the epoch."""

    def now_ns(self) -> int:
        """Return the fixed time."""
        return self.instant_ns


class LocalZone(tzinfo):
    """The machine's own time zone, with its summer time at each instant."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        """Return the offset of local time from UTC."""
        return self._there(moment).utcoffset()

    def tzname(self, moment: datetime | None) -> str | None:
        """Return the zone's name at a local time."""
        return self._there(moment).tzname()

    def dst(self, moment: datetime | None) -> timedelta | None:  # noqa: ARG002 - the machine does not tell it apart
        """Return None: the offset holds it already."""
        return None

    def fromutc(self, moment: datetime) -> datetime:
        """Return the local time of an instant in UTC."""
        there = moment.replace(tzinfo=UTC).astimezone()
        local = there.replace(tzinfo=self)
        # The fold distinguishes the repeated hour at the end of summer time.
        return local if local.utcoffset() == there.utcoffset() else local.replace(fold=1)

    @staticmethod
    def _there(moment: datetime | None) -> datetime:
        return (moment or datetime.now(UTC)).replace(tzinfo=None).astimezone()
