"""Cron schedules of disruption budgets, in UTC.

The dialect is that of ``robfig/cron`` v3's standard parser, which Karpenter uses: Sunday is only 0, ranges may not
wrap, a star with a step does not count as a star, and day of month or day of week suffices unless one is a star.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

import msgspec

from karptui.karpenter.requirements import parse_integer
from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.timestamps import NS_PER_SECOND

_MONTH_NAMES: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS: Final = {name: i for i, name in enumerate(_MONTH_NAMES, start=1)}
_DAYS: Final = {name: i for i, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_YEARS_SEARCHED: Final = 5
_EVERY: Final = "@every "
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class ScheduleError(ValueError):
    """Raised for a schedule that Karpenter cannot parse; the NodePool then allows no disruption."""


class CronField(msgspec.Struct, frozen=True, gc=False):
    """A field of a cron schedule."""

    values: frozenset[int]
    is_star: bool = False


class CronSchedule(msgspec.Struct, frozen=True, gc=False):
    """A schedule of five fields."""

    minute: CronField
    hour: CronField
    day: CronField
    month: CronField
    weekday: CronField

    def next_after(self, instant_ns: int) -> int | None:
        """Return the first match strictly later, in nanoseconds since the epoch; None without one in five years."""
        moment = _minute_after(instant_ns)
        # The library determines the years to search from the second after the time.
        last_year = datetime.fromtimestamp(instant_ns // NS_PER_SECOND + 1, UTC).year + _YEARS_SEARCHED
        hours, minutes = sorted(self.hour.values), sorted(self.minute.values)
        if not hours or not minutes:
            return None
        day = moment.replace(hour=0, minute=0)
        while day.year <= last_year:
            if day.month not in self.month.values:
                day = _first_of_next_month(day)
                continue
            if self._is_day(day):
                match = self._first_within(moment, day, hours, minutes)
                if match is not None:
                    return int(match.timestamp()) * NS_PER_SECOND
            day += timedelta(days=1)
        return None

    def _is_day(self, day: datetime) -> bool:
        by_month = day.day in self.day.values
        by_week = (day.weekday() + 1) % 7 in self.weekday.values
        if self.day.is_star or self.weekday.is_star:
            return by_month and by_week
        return by_month or by_week

    @staticmethod
    def _first_within(moment: datetime, day: datetime, hours: list[int], minutes: list[int]) -> datetime | None:
        same_day = moment.date() == day.date()
        for hour in hours:
            if same_day and hour < moment.hour:
                continue
            for minute in minutes:
                if not (same_day and hour == moment.hour and minute < moment.minute):
                    return day.replace(hour=hour, minute=minute)
        return None


class IntervalSchedule(msgspec.Struct, frozen=True, gc=False):
    """``@every``: a constant delay from any time, so a window as long as the delay is always open."""

    delay_ns: int

    def next_after(self, instant_ns: int) -> int | None:
        """Return the time one delay later, to the second."""
        return instant_ns - instant_ns % NS_PER_SECOND + self.delay_ns


Schedule = CronSchedule | IntervalSchedule


@lru_cache(maxsize=1024)
def parse_schedule(text: str) -> Schedule:
    """Parse a schedule.

    Raises:
        ScheduleError: With the library's message.
    """
    line = text.strip()
    if line.startswith(_EVERY):
        return _every(line)
    if line.startswith("@"):
        standard = _DESCRIPTORS.get(line)
        if standard is None:
            raise ScheduleError(f"unrecognized descriptor: {line}")
        line = standard
    fields = line.split()
    if len(fields) != 5:
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    return CronSchedule(
        minute=_field(fields[0], 0, 59, {}),
        hour=_field(fields[1], 0, 23, {}),
        day=_field(fields[2], 1, 31, {}),
        month=_field(fields[3], 1, 12, _MONTHS),
        weekday=_field(fields[4], 0, 6, _DAYS),
    )


def _every(line: str) -> IntervalSchedule:
    text = line.removeprefix(_EVERY)
    try:
        delay_ns = max(parse_duration(text), NS_PER_SECOND)
    except DurationError as error:
        raise ScheduleError(f"failed to parse duration {line}: {error}") from None
    return IntervalSchedule(delay_ns - delay_ns % NS_PER_SECOND)


def _field(text: str, low: int, high: int, names: dict[str, int]) -> CronField:
    values: set[int] = set()
    is_star = False
    for expression in filter(None, text.split(",")):
        field_values, star = _range(expression, low, high, names)
        values |= field_values
        is_star |= star
    return CronField(frozenset(values), is_star)


def _range(expression: str, low: int, high: int, names: dict[str, int]) -> tuple[set[int], bool]:
    span, *steps = expression.split("/")
    bounds = span.split("-")
    is_star = bounds[0] in ("*", "?")
    if is_star:
        start, end = low, high
    elif len(bounds) > 2:
        raise ScheduleError(f"too many hyphens: {expression}")
    else:
        start = _value(bounds[0], names)
        end = _value(bounds[1], names) if len(bounds) == 2 else start
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {expression}")
    step = 1
    if steps:
        step = _value(steps[0], {})
        if len(bounds) == 1:
            end = high
        is_star = is_star and step <= 1
    if start < low:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({low}): {expression}")
    if end > high:
        raise ScheduleError(f"end of range ({end}) above maximum ({high}): {expression}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {expression}")
    return set(range(start, end + 1, step)), is_star


def _value(text: str, names: dict[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    value = parse_integer(text)
    if value is None:
        reason = "value out of range" if _INTEGER.fullmatch(text) else "invalid syntax"
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": {reason}')
    if value < 0:
        raise ScheduleError(f"negative number ({value}) not allowed: {text}")
    return value


def _minute_after(instant_ns: int) -> datetime:
    """Return the first full minute strictly later."""
    seconds = instant_ns // NS_PER_SECOND
    return datetime.fromtimestamp(seconds - seconds % 60 + 60, UTC)


def _first_of_next_month(day: datetime) -> datetime:
    return (
        day.replace(year=day.year + 1, month=1, day=1) if day.month == 12 else day.replace(month=day.month + 1, day=1)
    )
