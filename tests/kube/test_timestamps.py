from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.kube.durations import DurationError, format_duration, parse_duration
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp, parse_past, parse_timestamp

from .vector_files import vectors

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(("text", "ns"), [
    ("1970-01-01T00:00:00Z", 0),
    ("1970-01-01T00:00:01Z", 1_000_000_000),
    ("1969-12-31T23:59:59Z", -1_000_000_000),
    ("2026-11-20T12:34:56Z", 1_795_178_096_000_000_000),
    ("2026-11-20t12:34:56z", 1_795_178_096_000_000_000),
    ("2026-11-20T12:34:56.5Z", 1_795_178_096_500_000_000),
    ("2026-11-20T12:34:56.123456Z", 1_795_178_096_123_456_000),
    ("2026-11-20T12:34:56.123456789Z", 1_795_178_096_123_456_789),
    ("2026-11-20T12:34:56.1234567899999Z", 1_795_178_096_123_456_789),
    ("2026-11-20T14:34:56+02:00", 1_795_178_096_000_000_000),
    ("2026-11-20T06:04:56.000-06:30", 1_795_178_096_000_000_000),
    ("2026-11-20T12:34:56+00:00", 1_795_178_096_000_000_000),
    ("2016-12-31T23:59:60Z", 1_483_228_800_000_000_000),
    ("2024-02-29T00:00:00Z", 1_709_164_800_000_000_000),
    ("0001-01-01T00:00:00Z", -62_135_596_800_000_000_000),
    ("9999-12-31T23:59:59Z", 253_402_300_799_000_000_000),
])  # fmt: skip
def test_reads_instants(text: str, ns: int) -> None:
    assert parse_timestamp(text) == ns


@pytest.mark.parametrize("text", [
    *("", "now", "2026-11-20", "2026-11-20 12:34:56Z", "2026-11-20T12:34:56", "2026-11-20T12:34Z"),
    *("2026-13-20T12:34:56Z", "2026-02-30T12:34:56Z", "2026-02-30T12:34:56.5Z", "2025-02-29T00:00:00Z"),
    *("0000-01-01T00:00:00Z", "2026-11-20T24:00:00Z", "2026-11-20T12:60:00Z", "2026-11-20T12:60:00.5Z"),
    *("2026-11-20T12:00:61Z", "2026-11-20T12:00:00+24:00", "2026-11-20T12:00:00+01:60"),
    *("2026-11-20T12:00:00.Z", "2026-1-20T012:00:00Z", "2026-11-20T+1:00:00Z", "2026-11-20T12:+1:00Z"),
    *("2026-11-20T12:00: 1Z", "２０２６-11-20T12:34:56Z", "2026-11-20T12:34:56Z\n"),
])  # fmt: skip
def test_refuses_invalid_timestamps_and_quotes_them(text: str) -> None:
    with pytest.raises(ValueError, match="is not an RFC 3339 timestamp") as caught:
        parse_timestamp(text)
    assert repr(text) in str(caught.value)


@given(
    st.integers(min_value=-62_135_500_000, max_value=253_402_200_000),
    st.integers(min_value=0, max_value=999_999_999),
    st.integers(min_value=-23 * 60, max_value=23 * 60),
)
def test_reads_any_instant_in_any_offset(seconds: int, nanos: int, offset_minutes: int) -> None:
    moment = EPOCH + timedelta(seconds=seconds)
    expected = seconds * 1_000_000_000 + nanos
    hours, minutes = divmod(abs(offset_minutes), 60)
    local = (moment + timedelta(minutes=offset_minutes)).replace(tzinfo=None).isoformat()
    text = f"{local}.{nanos:09d}{'-' if offset_minutes < 0 else '+'}{hours:02d}:{minutes:02d}"
    assert parse_timestamp(text) == expected
    assert parse_timestamp(format_timestamp(expected)) == expected


@pytest.mark.parametrize(("ns", "text"), [
    (0, "1970-01-01T00:00:00Z"),
    (1, "1970-01-01T00:00:00.000000001Z"),
    (1_500_000_000, "1970-01-01T00:00:01.5Z"),
    (-500_000_000, "1969-12-31T23:59:59.5Z"),
])  # fmt: skip
def test_formats_a_fraction_only_if_nonzero(ns: int, text: str) -> None:
    assert format_timestamp(ns) == text


VECTORS = vectors("durations")


@pytest.mark.parametrize(("text", "ns", "canonical"), VECTORS["parse"])
def test_parses_like_go(text: str, ns: int | None, canonical: str) -> None:
    if ns is None:
        with pytest.raises(DurationError) as caught:
            parse_duration(text)
        assert str(caught.value) == canonical
        return
    assert parse_duration(text) == ns
    assert format_duration(ns) == canonical


@pytest.mark.parametrize(("ns", "text"), VECTORS["format"])
def test_formats_like_go(ns: int, text: str) -> None:
    assert format_duration(ns) == text


@given(st.integers(min_value=-(1 << 62), max_value=1 << 62))
def test_printed_text_reads_back(ns: int) -> None:
    # Go reads fractions as floats, so it may lose the last digits of its own text.
    assert abs(parse_duration(format_duration(ns)) - ns) <= 1


@pytest.mark.parametrize("text", ["9" * 100_000 + "s", "\ud800s", "1\ud800"], ids=["long", "surrogate", "unit"])
def test_malicious_text_is_refused_in_plain_ascii(text: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert str(caught.value).isascii()


def test_a_fraction_of_any_length_is_read() -> None:
    assert parse_duration("0." + "9" * 100_000 + "s") == 1_000_000_000


NEWEST = "2026-11-28T14:23:10.5Z"
DAY_NS = 24 * 3600 * NS_PER_SECOND
INSTANTS = st.integers(2 * DAY_NS, 20_000 * DAY_NS)


@pytest.mark.parametrize(("text", "instant"), [
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
])  # fmt: skip
def test_each_form_names_an_instant(text: str, instant: str) -> None:
    assert format_timestamp(parse_past(text)(parse_timestamp(NEWEST))) == instant


@pytest.mark.parametrize("text", [
    *("", "-", "20m", "24:00", "14:60", "14", "14:2", "14:02:60", "--20m", "-+20m", "-20", "-20x", "-1dx"),
    *("yesterday", "1969-12-31T23:00:00Z", "9999-01-01T00:00:00Z", "\u0663:05"),
])  # fmt: skip
def test_anything_else_is_refused_with_the_forms(text: str) -> None:
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
