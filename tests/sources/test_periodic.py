from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import ClassVar

import pytest

from karptui.aws.region import FactPhase, FactStatus
from karptui.sources.base import SourceError
from karptui.sources.periodic import PeriodicSource, failed_status
from tests.sources.turns import Turns

NOW = 1_795_259_891_000_000_000


class CountingSource(PeriodicSource[int]):
    """Reads how often it has read, and rests for as many seconds."""

    thread_name: ClassVar[str] = "counts"
    reads_in: str = ""

    def read(self) -> float:
        self.reads_in = threading.current_thread().name
        self._news += 1
        return float(self._news)


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def source(turns: Turns) -> Iterator[CountingSource]:
    made = CountingSource(0, wait=turns.wait)
    yield made
    turns.end(made)


def test_it_reads_and_rests_by_turns(source: CountingSource, turns: Turns) -> None:
    assert source.latest() == 0
    assert [turns.read(source), turns.read(source)] == [1, 2]
    assert turns.seconds == [1.0, 2.0]
    assert source.reads_in == "counts"


def test_it_reads_no_more_once_it_is_stopped() -> None:
    rests: list[float] = []

    def stops_meanwhile(stopped: threading.Event, seconds: float) -> bool:
        rests.append(seconds)
        stopped.set()
        return True

    source = CountingSource(0, wait=stops_meanwhile)
    source._run()
    assert (source.latest(), rests) == (1, [1.0])
    source._run()
    assert source.latest() == 1


@pytest.mark.parametrize(
    ("before", "phase"),
    [
        (FactStatus(phase=FactPhase.WAITING), FactPhase.UNAVAILABLE),
        (FactStatus(phase=FactPhase.LIVE, as_of_ns=NOW - 5), FactPhase.CACHED),
    ],
)
def test_what_was_read_before_keeps_its_age(before: FactStatus, phase: FactPhase) -> None:
    assert failed_status(before, SourceError("no route"), now_ns=NOW, rest_seconds=1.5) == FactStatus(
        phase=phase, sentence="no route", as_of_ns=before.as_of_ns, retry_at_ns=NOW + 1_500_000_000
    )
