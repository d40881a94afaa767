from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.kube.timestamps import format_timestamp, parse_timestamp

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
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
    ],
)
def test_reads_instants(text: str, ns: int) -> None:
    assert parse_timestamp(text) == ns


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-11-20",
        "2026-11-20 12:34:56Z",
        "2026-11-20T12:34:56",
        "2026-11-20T12:34Z",
        "2026-13-20T12:34:56Z",
        "2026-02-30T12:34:56Z",
        "2026-02-30T12:34:56.5Z",
        "2025-02-29T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T12:60:00Z",
        "2026-11-20T12:60:00.5Z",
        "2026-11-20T12:00:61Z",
        "2026-11-20T12:00:00+24:00",
        "2026-11-20T12:00:00+01:60",
        "2026-11-20T12:00:00.Z",
        "2026-1-20T012:00:00Z",
        "2026-11-20T+1:00:00Z",
        "2026-11-20T12:+1:00Z",
        "2026-11-20T12:00: 1Z",
        "２０２６-11-20T12:34:56Z",
        "2026-11-20T12:34:56Z\n",
    ],
)
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


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.000000001Z"),
        (1_500_000_000, "1970-01-01T00:00:01.5Z"),
        (-500_000_000, "1969-12-31T23:59:59.5Z"),
    ],
)
def test_formats_a_fraction_only_if_nonzero(ns: int, text: str) -> None:
    assert format_timestamp(ns) == text
