"""RFC 3339 instants as integers: nanoseconds since the epoch."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

NS_PER_SECOND: Final = 1_000_000_000
ABSENT_NS: Final = 0
"""Stands for a timestamp that an object does not carry."""

_INSTANT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:[Zz]|([+-])(\d\d):(\d\d))"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=65_536)
def parse_timestamp(text: str) -> int:
    """Parse an RFC 3339 instant to nanoseconds since the epoch.

    Raises:
        ValueError: when the text is not such an instant.
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an RFC 3339 timestamp")
    year, month, day, hour, minute, second, fraction, sign, offset_hours, offset_minutes = match.groups()
    offset = timedelta(hours=int(offset_hours or 0), minutes=int(offset_minutes or 0))
    zone = timezone(-offset if sign == "-" else offset)
    # RFC 3339 allows a leap second; the calendar does not.
    moment = datetime(int(year), int(month), int(day), int(hour), int(minute), min(int(second), 59), tzinfo=zone)
    delta = moment - _EPOCH
    seconds = delta.days * 86_400 + delta.seconds + (int(second) == 60)
    return seconds * NS_PER_SECOND + int((fraction or "").ljust(9, "0"))


def format_timestamp(instant_ns: int) -> str:
    """Return the RFC 3339 text of an instant in UTC, with a fraction only where there is one."""
    seconds, fraction = divmod(instant_ns, NS_PER_SECOND)
    moment = _EPOCH + timedelta(seconds=seconds)
    tail = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{tail}Z"
