from __future__ import annotations

import functools
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from karptui.disruption.budget_calendar import open_spans
from karptui.disruption.budgets import Window
from karptui.disruption.cron import ScheduleError, parse_schedule
from karptui.kube.timestamps import format_timestamp, parse_timestamp
from tests.builders import DAY_NS, MINUTE_NS, NOW_NS

# A Friday.
NOON = "2026-11-20T12:00:00Z"


def _next(text: str, after: Any = NOON) -> str | None:
    hit = parse_schedule(text).next_after(parse_timestamp(after))
    return None if hit is None else format_timestamp(hit)


@pytest.mark.parametrize(
    ("text", "hit"),
    [
        ("0 9 * * mon-fri", "2026-11-23T09:00:00Z"),
        ("0 9 * * MON-FRI", "2026-11-23T09:00:00Z"),
        ("*/15 * * * *", "2026-11-20T12:15:00Z"),
        ("0 12 * * *", "2026-11-21T12:00:00Z"),
        ("1 12 * * *", "2026-11-20T12:01:00Z"),
        ("30 11 * * *", "2026-11-21T11:30:00Z"),
        ("0 0 1 * *", "2026-12-01T00:00:00Z"),
        ("0 0 1 jan *", "2027-01-01T00:00:00Z"),
        ("0 0 31 * *", "2026-12-31T00:00:00Z"),
        ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
        ("0 0 30 2 *", None),
        ("0 0 1 * 1", "2026-11-23T00:00:00Z"),  # either day matches
        ("0 0 */2 * 1", "2026-11-21T00:00:00Z"),  # a step over a star does not count as a star
        ("0 0 ?/1 * 1", "2026-11-23T00:00:00Z"),
        ("0 0 * * 0", "2026-11-22T00:00:00Z"),
        ("5/20 * * * *", "2026-11-20T12:05:00Z"),
        ("10-30/10,50 * * * *", "2026-11-20T12:10:00Z"),
        ("007 1 1 1 *", "2027-01-01T01:07:00Z"),
        ("? ? ? ? ?", "2026-11-20T12:01:00Z"),
        (", * * * *", None),
        ("* , * * *", None),
        ("0 0 * , *", None),
        ("@yearly", "2027-01-01T00:00:00Z"),
        ("@monthly", "2026-12-01T00:00:00Z"),
        ("@weekly", "2026-11-22T00:00:00Z"),
        ("@daily", "2026-11-21T00:00:00Z"),
        ("@hourly", "2026-11-20T13:00:00Z"),
        ("@every 90m", "2026-11-20T13:30:00Z"),
        ("@every 1ms", "2026-11-20T12:00:01Z"),
    ],
)
def test_next_hit(text: str, hit: str | None) -> None:
    assert _next(text) == hit


def test_hits_are_strictly_later_and_on_the_minute() -> None:
    assert _next("* * * * *", "2026-11-20T11:59:59.5Z") == NOON
    assert _next("* * * * *", "2026-11-20T12:00:30Z") == "2026-11-20T12:01:00Z"
    assert _next("0 0 1 1 *", "2026-12-31T23:59:59Z") == "2027-01-01T00:00:00Z"


@pytest.mark.parametrize(("text", "problem"), [
    ("", "expected exactly 5 fields, found 0: []"),
    ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
    ("TZ=UTC 0 0 * * *", "expected exactly 5 fields, found 6"),
    ("0 0 0 * * *", "expected exactly 5 fields, found 6"),
    ("0 0 * * 7", "end of range (7) above maximum (6): 7"),
    ("0 0 0 * *", "beginning of range (0) below minimum (1): 0"),
    ("0 22-6 * * *", "beginning of range (22) beyond end of range (6): 22-6"),
    ("0 0 * * sat-sun", "beginning of range (6) beyond end of range (0): sat-sun"),
    ("0 1-2-3 * * *", "too many hyphens: 1-2-3"),
    ("*/1/2 * * * *", "too many slashes: */1/2"),
    ("*/0 * * * *", "step of range should be a positive number: */0"),
    ("x * * * *", "failed to parse int from x"),
    ("0 0 * * */mon", "failed to parse int from mon"),
    (f"{'9' * 5000} * * * *", "value out of range"),
    ("-1 * * * *", "failed to parse int from"),
    ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
    ("@noon", "unrecognized descriptor: @noon"),
    ("@every soon", "failed to parse duration @every soon"),
])  # fmt: skip
def test_invalid_schedules_are_errors(text: str, problem: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_schedule(text)
    assert problem in str(caught.value)


START = datetime.fromtimestamp(NOW_NS // 10**9, UTC)


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    numbers = st.integers(low, high)
    spans = st.tuples(numbers, numbers).map(lambda pair: f"{min(pair)}-{max(pair)}")
    steps = st.integers(1, high).map(lambda step: f"*/{step}")
    return st.one_of(st.just("*"), numbers.map(str), spans, steps)


LINES = st.tuples(fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(0, 6)).map(" ".join)


@functools.cache
def _values(text: str, low: int, high: int) -> frozenset[int]:
    if text.startswith("*"):
        return frozenset(range(low, high + 1, int(text[2:] or 1)))
    first, _, last = text.partition("-")
    return frozenset(range(int(first), int(last or first) + 1))


def _hits(line: str, moment: datetime) -> bool:
    minute, hour, day, month, weekday = line.split()
    by_month = moment.day in _values(day, 1, 31)
    by_week = moment.isoweekday() % 7 in _values(weekday, 0, 6)
    is_star = day in ("*", "*/1") or weekday in ("*", "*/1")
    return (
        moment.minute in _values(minute, 0, 59)
        and moment.hour in _values(hour, 0, 23)
        and moment.month in _values(month, 1, 12)
        and (by_month and by_week if is_star else by_month or by_week)
    )


@given(LINES)
def test_the_next_hit_is_the_first_matching_minute(line: str) -> None:
    hit = parse_schedule(line).next_after(NOW_NS)
    assume(hit is not None and hit - NOW_NS < 30 * DAY_NS)
    moment = START + timedelta(minutes=1)
    while not _hits(line, moment):
        moment += timedelta(minutes=1)
    assert int(moment.timestamp()) * 10**9 == hit


@given(LINES, st.integers(1, 3000), st.lists(st.integers(0, 2879), min_size=1, max_size=20))
def test_a_window_is_open_only_within_its_spans(line: str, minutes: int, moments: list[int]) -> None:
    window = Window(parse_schedule(line), minutes * MINUTE_NS)
    spans = list(open_spans(window, NOW_NS, NOW_NS + 2 * DAY_NS))
    assert all(before.end_ns < after.start_ns for before, after in itertools.pairwise(spans))
    for offset in moments:
        at_ns = NOW_NS + offset * MINUTE_NS
        assert window.is_open(at_ns) is any(span.start_ns <= at_ns < span.end_ns for span in spans)
