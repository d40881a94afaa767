"""RFC 3339 instants as integers: nanoseconds since the epoch."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

NS_PER_SECOND: Final = 1_000_000_000
ABSENT_NS: Final = 0
"""Stands for a timestamp that an object does not carry."""

_INSTANT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:)([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_HOUR: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TWO_DIGITS: Final = {f"{number:02d}": number for number in range(60)}
_PLAIN_LENGTH: Final = len("2006-01-02T15:04:05Z")
_MAX_OFFSET_HOURS: Final = 23


@lru_cache(maxsize=8_192)
def parse_timestamp(text: str) -> int:
    """Parse an RFC 3339 instant to nanoseconds since the epoch; finer digits are dropped.

    Raises:
        ValueError: when the text is not such an instant.
    """
    # The form API servers write, without the cost of a regular expression.
    if len(text) == _PLAIN_LENGTH and text[16] == ":" and text[19] == "Z":
        minute, second = _TWO_DIGITS.get(text[14:16]), _TWO_DIGITS.get(text[17:19])
        if minute is not None and second is not None:
            try:
                return _hour_ns(text[:14]) + (minute * 60 + second) * NS_PER_SECOND
            except ValueError:
                raise _not_an_instant(text) from None
    return _parse_any(text)


def _parse_any(text: str) -> int:
    match = _INSTANT.fullmatch(text.upper())
    if match is None:
        raise _not_an_instant(text)
    hour, minute, second, fraction, sign, offset_hours, offset_minutes = match.groups()
    # RFC 3339 allows a leap second; the calendar does not.
    is_valid = minute < "60" and second <= "60" and (offset_minutes or "") < "60"
    if not is_valid or int(offset_hours or 0) > _MAX_OFFSET_HOURS:
        raise _not_an_instant(text)
    offset = int(offset_hours or 0) * 60 + int(offset_minutes or 0)
    minutes = int(minute) - (-offset if sign == "-" else offset)
    try:
        hour_ns = _hour_ns(hour)
    except ValueError:
        raise _not_an_instant(text) from None
    return hour_ns + (minutes * 60 + int(second)) * NS_PER_SECOND + int((fraction or "")[:9].ljust(9, "0"))


@lru_cache(maxsize=4_096)
def _hour_ns(text: str) -> int:
    """Return the instant an hour begins, from text such as ``2006-01-02T15:``."""
    match = _HOUR.fullmatch(text)
    if match is None:
        raise ValueError(text)
    year, month, day, hour = map(int, match.groups())
    moment = datetime(year, month, day, hour, tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(seconds=1) * NS_PER_SECOND


def _not_an_instant(text: str) -> ValueError:
    return ValueError(f"{text!r} is not an RFC 3339 timestamp")


def format_timestamp(instant_ns: int) -> str:
    """Return the RFC 3339 text of an instant in UTC, with a fraction only where there is one."""
    seconds, fraction = divmod(instant_ns, NS_PER_SECOND)
    moment = _EPOCH.replace(tzinfo=None) + timedelta(seconds=seconds)
    tail = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{moment.isoformat()}{tail}Z"
