from __future__ import annotations

from typing import Any

import pytest

from karptui.disruption.schedule import ScheduleError, parse_schedule
from karptui.kube.timestamps import format_timestamp, parse_timestamp

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
        ("0 0 1 * 1", "2026-11-23T00:00:00Z"),  # either day will do
        ("0 0 */2 * 1", "2026-11-21T00:00:00Z"),  # a step over a star is no star
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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
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
    ],
)
def test_errors(text: str, problem: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_schedule(text)
    assert problem in str(caught.value)
