from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.kube.durations import format_duration
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp, parse_past, parse_timestamp

NEWEST = "2026-11-28T14:23:10.5Z"
DAY_NS = 24 * 3600 * NS_PER_SECOND
INSTANTS = st.integers(2 * DAY_NS, 20_000 * DAY_NS)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("14:02", "2026-11-28T14:02:00Z"),
        ("14:02:30", "2026-11-28T14:02:30Z"),
        ("9:05", "2026-11-28T09:05:00Z"),
        ("14:24", "2026-11-27T14:24:00Z"),
        ("00:00", "2026-11-28T00:00:00Z"),
        ("-20m", "2026-11-28T14:03:10.5Z"),
        ("-1h30m", "2026-11-28T12:53:10.5Z"),
        ("-90s", "2026-11-28T14:21:40.5Z"),
        ("-2d", "2026-11-26T14:23:10.5Z"),
        ("-1d2h", "2026-11-27T12:23:10.5Z"),
        (" 2026-11-28T14:02:00Z ", "2026-11-28T14:02:00Z"),
        ("2026-11-28T15:02:00+01:00", "2026-11-28T14:02:00Z"),
    ],
)
def test_each_form_names_an_instant(text: str, instant: str) -> None:
    assert format_timestamp(parse_past(text)(parse_timestamp(NEWEST))) == instant


@pytest.mark.parametrize(
    "text",
    ["", "-", "20m", "24:00", "14:60", "14", "14:2", "14:02:60", "--20m", "-+20m", "-20", "-20x", "yesterday", "-1dx"],
)
def test_anything_else_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a time of day in UTC \(14:02, 14:02:30\), a time ago"):
        parse_past(text)


@pytest.mark.parametrize("text", ["1969-12-31T23:00:00Z", "9999-01-01T00:00:00Z", "\u0663:05"])
def test_times_that_no_clock_shows_and_other_digits_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time of day"):
        parse_past(text)


@given(INSTANTS, st.integers(0, DAY_NS // NS_PER_SECOND - 1))
def test_a_time_of_day_is_the_latest_one_that_is_not_in_the_future(newest_ns: int, second: int) -> None:
    text = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    instant_ns = parse_past(text)(newest_ns)
    assert newest_ns - DAY_NS < instant_ns <= newest_ns
    assert format_timestamp(instant_ns)[11:19] == text


@given(INSTANTS, st.integers(1, DAY_NS))
def test_a_time_ago_is_that_long_before_the_end(newest_ns: int, ago_ns: int) -> None:
    assert parse_past(f"-{format_duration(ago_ns)}")(newest_ns) == newest_ns - ago_ns


@given(INSTANTS, INSTANTS)
def test_a_complete_time_does_not_depend_on_the_end(newest_ns: int, instant_ns: int) -> None:
    assert parse_past(format_timestamp(instant_ns))(newest_ns) == instant_ns


@given(st.text(max_size=12))
def test_every_text_is_an_instant_or_refused(text: str) -> None:
    instant = None
    with suppress(ValueError):
        instant = parse_past(text)
    assert instant is None or isinstance(instant(parse_timestamp(NEWEST)), int)
