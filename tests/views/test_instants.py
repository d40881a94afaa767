from __future__ import annotations

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

import pytest

from karptui.views.instants import range_text, weekday_text
from tests.ui.fleet import HOUR, NOW_NS

BERLIN, TOKYO = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Tokyo")
TUESDAY_NOON = NOW_NS - 7_000_000_000


@pytest.mark.parametrize(("hours", "local", "text"), [
    (0, None, "Tue 12:00Z"),
    (0, UTC, "Tue 12:00Z"),
    (0, BERLIN, "Tue 12:00Z (13:00 CET)"),
    (6, TOKYO, "Tue 18:00Z (Wed 03:00 JST)"),
])  # fmt: skip
def test_a_time_with_its_weekday(hours: int, local: tzinfo | None, text: str) -> None:
    assert weekday_text(TUESDAY_NOON + hours * HOUR, local) == text


@pytest.mark.parametrize(("start", "end", "local", "text"), [
    (0, 8, None, "Tue 12:00–20:00Z"),
    (0, 8, BERLIN, "Tue 12:00–20:00Z (13:00–21:00 CET)"),
    (0, 14, BERLIN, "Tue 12:00–Wed 02:00Z (13:00–Wed 03:00 CET)"),
    (6, 8, TOKYO, "Tue 18:00–20:00Z (Wed 03:00–05:00 JST)"),
    (None, 8, BERLIN, "until Tue 20:00Z (21:00 CET)"),
    (0, None, None, "from Tue 12:00Z"),
    (None, None, None, ""),
])  # fmt: skip
def test_a_time_range_as_text(start: int | None, end: int | None, local: tzinfo | None, text: str) -> None:
    at = [None if hours is None else TUESDAY_NOON + hours * HOUR for hours in (start, end)]
    assert range_text(at[0], at[1], local) == text
