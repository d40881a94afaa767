"""Instants as nanoseconds since the epoch, from RFC 3339 and as users write past ones: ``14:02``, ``-20m``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from karptui.kube.durations import DurationError, parse_duration

NS_PER_SECOND: Final = 1_000_000_000
MINUTE_NS: Final = 60 * NS_PER_SECOND
HOUR_NS: Final = 60 * MINUTE_NS
DAY_NS: Final = 24 * HOUR_NS
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
_FIRST_NOW_NS: Final = DAY_NS
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


FORMS: Final = "a time of day in UTC (14:02, 14:02:30), a time ago (-20m, -1d2h) or a time such as 2026-11-28T14:02:00Z"
_TIME_OF_DAY: Final = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?", re.ASCII)
_AGO: Final = re.compile(r"-(?:([0-9]{1,4})d)?(.*)", re.ASCII)


class PastTime(msgspec.Struct, frozen=True):
    """An instant, relative to the end of a history if it is no complete time; called with that end."""

    text: str
    """As the user wrote it."""
    instant_ns: int | None = None
    ago_ns: int | None = None
    of_day_ns: int = 0

    def __call__(self, newest_ns: int) -> int:
        """Return the instant in nanoseconds since the epoch; a time of day is the latest one that is not later."""
        if self.instant_ns is not None:
            return self.instant_ns
        if self.ago_ns is not None:
            return newest_ns - self.ago_ns
        return newest_ns - (newest_ns - self.of_day_ns) % DAY_NS


def parse_past(text: str) -> PastTime:
    """Return the instant that a text names.

    Raises:
        ValueError: If the text is none of the forms, with a message for the user.
    """
    text = text.strip()
    if of_day := _TIME_OF_DAY.fullmatch(text):
        hours, minutes, seconds = (int(part or 0) for part in of_day.groups())
        if hours < 24 and minutes < 60 and seconds < 60:
            return PastTime(text, of_day_ns=(hours * 3600 + minutes * 60 + seconds) * NS_PER_SECOND)
    elif (ago := _AGO.fullmatch(text)) is not None and text != "-":
        try:
            rest_ns = parse_duration(ago[2]) if ago[2] else 0
        except DurationError:
            rest_ns = -1
        if rest_ns >= 0 and ago[2][:1] not in ("+", "-"):
            return PastTime(text, ago_ns=int(ago[1] or 0) * DAY_NS + rest_ns)
    else:
        try:
            instant_ns = parse_timestamp(text)
        except ValueError:
            instant_ns = 0
        if may_be_now(instant_ns):
            return PastTime(text, instant_ns=instant_ns)
    raise ValueError(f"{text!r} is not {FORMS}")
