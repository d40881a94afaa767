"""RFC 3339 timestamps as integers: nanoseconds since the epoch."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

NS_PER_SECOND: Final = 1_000_000_000
ABSENT_NS: Final = 0
"""Placeholder for a missing timestamp."""

_INSTANT: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR_LENGTH: Final = len("2006-01-02T15:")
_PLAIN_LENGTH: Final = len("2006-01-02T15:04:05Z")
_MAX_OFFSET_HOURS: Final = 23
_FIRST_NOW_NS: Final = 24 * 3600 * NS_PER_SECOND
_LAST_NOW_NS: Final = 9_214_646_400 * NS_PER_SECOND
"""The beginning of 2262."""
_MOST_HOURS: Final = 16_384
_hours_ns: Final[dict[str, int]] = {}
"""Start of the hour by text such as ``2006-01-02T15:``; most timestamps of a cluster share their hour."""
_rests_ns: Final[dict[str, int]] = {}
"""Offset within the hour by text such as ``04:05Z``; at most 3,600 entries."""


def parse_timestamp(text: str) -> int:
    """Return an RFC 3339 timestamp in nanoseconds since the epoch; finer digits are dropped.

    Raises:
        ValueError: If the text is not an RFC 3339 timestamp.
    """
    # Fast path without a regular expression for the format API servers write.
    if len(text) == _PLAIN_LENGTH:
        hour_ns, rest_ns = _hours_ns.get(text[:_HOUR_LENGTH]), _rests_ns.get(text[_HOUR_LENGTH:])
        if hour_ns is not None and rest_ns is not None:
            return hour_ns + rest_ns
    instant_ns = _parse_any(text)
    if len(text) == _PLAIN_LENGTH and text[-1] == "Z":
        rest_ns = (int(text[14:16]) * 60 + int(text[17:19])) * NS_PER_SECOND
        if len(_hours_ns) >= _MOST_HOURS:
            _hours_ns.clear()
        _rests_ns[text[_HOUR_LENGTH:]] = rest_ns
        _hours_ns[text[:_HOUR_LENGTH]] = instant_ns - rest_ns
    return instant_ns


def parse_now(text: str) -> int:
    """Parse a timestamp to be used as the current time, within the range of Karpenter's clock.

    Raises:
        ValueError: If the text is not an RFC 3339 timestamp, or out of range.
    """
    instant_ns = parse_timestamp(text)
    if not may_be_now(instant_ns):
        raise ValueError(f"{text!r} is out of range: 1970-01-02 to 2261-12-31")
    return instant_ns


def may_be_now(instant_ns: int) -> bool:
    """Return whether a 64-bit nanosecond clock can show an instant, with a day to spare."""
    return _FIRST_NOW_NS <= instant_ns < _LAST_NOW_NS


def _parse_any(text: str) -> int:
    match = _INSTANT.fullmatch(text.upper())
    if match is None:
        raise _not_an_instant(text)
    year, month, day, hour, minute, second, fraction, sign, offset_hours, offset_minutes = match.groups()
    # RFC 3339 allows a leap second, datetime does not.
    is_valid = minute < "60" and second <= "60" and (offset_minutes or "") < "60"
    if not is_valid or int(offset_hours or 0) > _MAX_OFFSET_HOURS:
        raise _not_an_instant(text)
    offset = int(offset_hours or 0) * 60 + int(offset_minutes or 0)
    minutes = int(minute) - (-offset if sign == "-" else offset)
    try:
        moment = datetime(int(year), int(month), int(day), int(hour), tzinfo=UTC)
    except ValueError:
        raise _not_an_instant(text) from None
    hour_ns = (moment - _EPOCH) // timedelta(seconds=1) * NS_PER_SECOND
    return hour_ns + (minutes * 60 + int(second)) * NS_PER_SECOND + int((fraction or "")[:9].ljust(9, "0"))


def _not_an_instant(text: str) -> ValueError:
    return ValueError(f"{text!r} is not an RFC 3339 timestamp")


def format_timestamp(instant_ns: int) -> str:
    """Return an instant as RFC 3339 text in UTC, with a fraction only if it is not zero."""
    seconds, fraction = divmod(instant_ns, NS_PER_SECOND)
    moment = _EPOCH.replace(tzinfo=None) + timedelta(seconds=seconds)
    tail = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{moment.isoformat()}{tail}Z"


def format_second(instant_ns: int) -> str:
    """Return the second of an instant as RFC 3339 text in UTC."""
    return format_timestamp(instant_ns // NS_PER_SECOND * NS_PER_SECOND)
