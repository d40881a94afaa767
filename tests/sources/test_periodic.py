from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from karptui.aws.region import FactPhase, FactStatus
from karptui.sources.periodic import PeriodicSource, failed_status
from karptui.sources.source import SourceError
from tests.sources.conftest import NOW_NS
from tests.sources.turns import Turns


class CountingSource(PeriodicSource[int]):
    """Counts its readings, and rests for as many seconds."""

    thread_name: ClassVar[str] = "counts"
    reads_in: str = ""
    fault: Exception | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.failures: list[tuple[str, float]] = []

    def read(self) -> float:
        self.reads_in = threading.current_thread().name
        self._news += 1
        if self.fault is not None:
            raise self.fault
        return float(self._news)

    def failed(self, error: SourceError, seconds: float) -> None:
        self.failures.append((str(error), seconds))


@pytest.fixture
def source(turns: Turns) -> Iterator[CountingSource]:
    countingsource = CountingSource(0, wait=turns.wait)
    yield countingsource
    turns.end(countingsource)


def test_the_source_reads_and_rests_alternately(source: CountingSource, turns: Turns) -> None:
    assert source.latest() == 0
    assert [turns.read(source), turns.read(source)] == [1, 2]
    assert turns.seconds == [1.0, 2.0]
    assert source.reads_in == "counts"


@pytest.mark.crashes
def test_an_internal_error_is_reported_and_reading_continues_with_back_off(
    source: CountingSource, turns: Turns
) -> None:
    source.fault = ZeroDivisionError("division by zero")
    turns.read(source)
    turns.read(source)
    text = "internal error while reading counts: ZeroDivisionError: division by zero"
    assert [sentence for sentence, _ in source.failures] == [text, text]
    assert 0.5 <= turns.seconds[0] <= 1.0 <= turns.seconds[1] <= 2.0
    source.fault = None
    assert turns.read(source) == 3
    assert turns.seconds[2] == 3.0


def test_refresh_ends_the_rest(source: CountingSource) -> None:
    waited = CountingSource(0)
    waited.start()
    waited.refresh()
    deadline = time.monotonic() + 10
    while waited.latest() < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert waited.latest() >= 2
    waited.stop()


def test_a_stopped_source_does_not_read() -> None:
    rests: list[float] = []

    def stops_meanwhile(_: threading.Event, seconds: float) -> bool:
        rests.append(seconds)
        stopped.stop()
        return True

    stopped = CountingSource(0, wait=stops_meanwhile)
    stopped._run()
    assert (stopped.latest(), rests) == (1, [1.0])
    stopped._run()
    assert stopped.latest() == 1


@pytest.mark.parametrize(("before", "phase"), [
    (FactStatus(phase=FactPhase.WAITING), FactPhase.UNAVAILABLE),
    (FactStatus(phase=FactPhase.LIVE, as_of_ns=NOW_NS - 5), FactPhase.CACHED),
])  # fmt: skip
def test_a_failure_keeps_the_age_of_the_last_reading(before: FactStatus, phase: FactPhase) -> None:
    assert failed_status(before, SourceError("no route"), now_ns=NOW_NS, rest_seconds=1.5) == FactStatus(
        phase=phase, sentence="no route", as_of_ns=before.as_of_ns, retry_at_ns=NOW_NS + 1_500_000_000
    )
