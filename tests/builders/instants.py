"""The instants that tests use: all are close to noon of one day."""

from __future__ import annotations

from typing import Final

from karptui.kube.timestamps import parse_timestamp

NOW: Final = "2026-11-20T12:00:00Z"
NOW_NS: Final = parse_timestamp(NOW)
SECOND_NS: Final = 1_000_000_000
MINUTE_NS: Final = 60 * SECOND_NS
HOUR_NS: Final = 60 * MINUTE_NS
DAY_NS: Final = 24 * HOUR_NS


class Ticks:
    """Fake ``time`` module: time passes only in ``sleep``."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
