from __future__ import annotations

import functools
import itertools
from datetime import UTC, datetime, timedelta

from hypothesis import assume, given
from hypothesis import strategies as st

from karptui.disruption.budget_calendar import open_spans
from karptui.disruption.budgets import Window
from karptui.disruption.schedule import parse_schedule
from tests.builders import DAY_NS, HOUR_NS, MINUTE_NS, NOW_NS

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
def test_the_next_hit_is_the_first_minute_that_fits(line: str) -> None:
    hit = parse_schedule(line).next_after(NOW_NS)
    assume(hit is not None and hit - NOW_NS < 30 * DAY_NS)
    moment = START + timedelta(minutes=1)
    while not _hits(line, moment):
        moment += timedelta(minutes=1)
    assert int(moment.timestamp()) * 10**9 == hit


@given(LINES, st.integers(1, 3000), st.lists(st.integers(0, 2879), min_size=1, max_size=20))
def test_a_window_is_open_within_its_spans_and_nowhere_else(line: str, minutes: int, moments: list[int]) -> None:
    window = Window(parse_schedule(line), minutes * MINUTE_NS)
    spans = list(open_spans(window, NOW_NS, NOW_NS + 2 * DAY_NS))
    assert all(before.end_ns < after.start_ns for before, after in itertools.pairwise(spans))
    for offset in moments:
        at_ns = NOW_NS + offset * MINUTE_NS
        assert window.is_open(at_ns) is any(span.start_ns <= at_ns < span.end_ns for span in spans)


@given(LINES, st.integers(0, 48))
def test_a_longer_window_is_open_whenever_a_shorter_one_is(line: str, hours: int) -> None:
    schedule = parse_schedule(line)
    if Window(schedule, hours * HOUR_NS).is_open(NOW_NS):
        assert Window(schedule, (hours + 5) * HOUR_NS).is_open(NOW_NS)
