"""A history of the demo, recorded second by second."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from karptui.clock import FrozenClock
from karptui.kube.timestamps import NS_PER_SECOND, parse_timestamp
from karptui.kube.usage import UsagePeriod
from karptui.sources.demo.source import DemoSource
from karptui.sources.history.recorder import Recorder
from karptui.sources.history.store import Mark
from karptui.sources.history.writer import HistoryWriter
from karptui.sources.source import Mailbox

BEGIN_NS = parse_timestamp("2026-11-28T14:00:00Z")


def record_demo(path: Path, seconds: int, *, begin_ns: int = BEGIN_NS, cluster: str = "demo") -> DemoSource:
    """Record the demo from an instant on, and return it as it is at the end."""
    clock, passed = FrozenClock(begin_ns), [0.0]
    recorder = Recorder(path, cluster, clock, monotonic=lambda: passed[0])
    assert recorder.open()
    demo = DemoSource(clock=clock, is_stepped=True)
    demo.start(Mailbox(tap=recorder))
    recorder.step()
    for _ in range(seconds):
        passed[0] += 1.0
        clock.instant_ns += NS_PER_SECOND
        demo.step()
        recorder.step()
    assert not recorder.trouble
    recorder.close()
    return demo


def demo_history(folders: pytest.TempPathFactory, seconds: int) -> Path:
    """Return the file of a history of the demo, in a new folder."""
    path = folders.mktemp("history") / "demo.karptui"
    record_demo(path, seconds)
    return path


def write_marks(path: Path, marks: Sequence[Mark]) -> None:
    """Add marks to a history that no other process writes."""
    writer = HistoryWriter(path, "")
    writer.write_marks(marks)
    writer.close()


def write_usage(path: Path, *periods: UsagePeriod) -> None:
    """Add the usage of containers to a history that no other process writes."""
    writer = HistoryWriter(path, "")
    for period in periods:
        writer.write_usage(period)
    writer.close()
