from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from karptui.clock import LocalZone

pytestmark = pytest.mark.usefixtures("in_berlin")


@pytest.mark.parametrize(
    ("instant", "local", "name", "hours"),
    [
        (datetime(2026, 11, 24, 12, tzinfo=UTC), "13:00", "CET", 1),
        (datetime(2026, 7, 24, 12, tzinfo=UTC), "14:00", "CEST", 2),
        (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), "02:30", "CEST", 2),
        (datetime(2026, 10, 25, 1, 30, tzinfo=UTC), "02:30", "CET", 1),
    ],
)
def test_local_time_follows_summer_time(instant: datetime, local: str, name: str, hours: int) -> None:
    there = instant.astimezone(LocalZone())
    assert (f"{there:%H:%M}", there.tzname(), there.utcoffset()) == (local, name, timedelta(hours=hours))
    assert there.dst() is None


def test_the_present_offset() -> None:
    assert LocalZone().utcoffset(None) in (timedelta(hours=1), timedelta(hours=2))
