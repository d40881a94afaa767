"""Past instants as users write them: ``14:02``, ``14:02:30``, ``-20m``, ``2026-11-28T14:02:00Z``."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.timestamps import NS_PER_SECOND, may_be_now, parse_timestamp

FORMS: Final = "a time of day in UTC (14:02, 14:02:30), a time ago (-20m, -1d2h) or a time such as 2026-11-28T14:02:00Z"
_NS_PER_DAY: Final = 24 * 3600 * NS_PER_SECOND
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
        return newest_ns - (newest_ns - self.of_day_ns) % _NS_PER_DAY


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
            return PastTime(text, ago_ns=int(ago[1] or 0) * _NS_PER_DAY + rest_ns)
    else:
        try:
            instant_ns = parse_timestamp(text)
        except ValueError:
            instant_ns = 0
        if may_be_now(instant_ns):
            return PastTime(text, instant_ns=instant_ns)
    raise ValueError(f"{text!r} is not {FORMS}")
