"""What comes before the recorder is there is not lost, and a history that cannot be written disturbs nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karptui.aws.evidence import NO_EVIDENCE
from karptui.clock import SystemClock
from karptui.decode.kinds import Kind
from karptui.kube.live_usage import NO_LIVE_USAGE
from karptui.sources.history.recorder import Limits, Recorder
from karptui.sources.history.store import History
from karptui.sources.history.tap import HistoryTap
from karptui.sources.history.writer import HistoryWriter
from karptui.sources.source import Phase, SourceStatus
from tests.builders import a_manifest


def tap_to(path: Path) -> HistoryTap:
    return HistoryTap(path, "prod", SystemClock(), Limits)


def start(tap: HistoryTap) -> None:
    """Start recording, and wait until the recorder is there or has failed."""
    tap.start(lambda: (NO_EVIDENCE, NO_LIVE_USAGE))
    for _ in range(1_000):
        if tap.is_recording or tap.trouble:
            return
        assert tap._thread is not None
        tap._thread.join(0.01)


def put(tap: HistoryTap, *names: str) -> None:
    tap.put_manifests(Kind.POD, {name: a_manifest("Pod", name, spec={}) for name in names})


def keys(path: Path) -> set[str]:
    history = History(path)
    return {key for _, key in history.objects_at(1 << 62)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "prod.karptui"


def test_what_comes_before_the_recorder_is_recorded(path: Path) -> None:
    tap = tap_to(path)
    tap.report(SourceStatus(kind=Kind.POD, phase=Phase.LIVE, since_ns=0))
    put(tap, "early")
    assert not path.exists()
    start(tap)
    assert tap.is_recording
    put(tap, "late")
    tap.stop()
    assert keys(path) == {"early", "late"}


def test_stopping_writes_what_is_left_and_starting_twice_does_nothing(path: Path) -> None:
    tap = tap_to(path)
    tap.report(SourceStatus(kind=Kind.POD, phase=Phase.LIVE, since_ns=0))
    start(tap)
    start(tap)
    put(tap, "last")
    tap.stop()
    assert keys(path) == {"last"}
    HistoryWriter(path, "prod").close()


def test_a_large_list_waits_compressed_and_the_recorder_pauses_for_each_object(path: Path) -> None:
    tap = tap_to(path)
    texts = {f"shop/web-{number}": a_text(f"web-{number}") for number in range(2_000)}
    tap.put(Kind.POD, "v1", "Pod", texts)
    tap.put(Kind.POD, "v1", "Pod", {"shop/web-0": None})
    tap.report(SourceStatus(kind=Kind.POD, phase=Phase.LIVE, since_ns=0))
    paused: list[None] = []
    tap.start(lambda: (NO_EVIDENCE, NO_LIVE_USAGE), lambda: paused.append(None))
    tap.stop(30)
    assert keys(path) == texts.keys() - {"shop/web-0"}
    assert len(paused) == 2_001


def a_text(name: str) -> bytes:
    return json.dumps(a_manifest("Pod", name, namespace="shop", spec={"containers": [{"name": "c" * 99}]})).encode()


def test_a_history_that_another_process_writes_keeps_nothing_in_memory(path: Path) -> None:
    other = HistoryWriter(path, "prod")
    tap = tap_to(path)
    put(tap, "a")
    start(tap)
    put(tap, "b")
    assert tap.trouble == "another karptui records this cluster"
    assert not tap.is_recording
    assert not tap._queue
    tap.stop()
    other.close()


def test_a_tap_that_is_stopped_before_it_starts_records_nothing(path: Path) -> None:
    tap = tap_to(path)
    put(tap, "a")
    tap.stop()
    put(tap, "b")
    assert not tap._queue
    assert not path.exists()


@pytest.mark.crashes
def test_an_error_in_the_recorder_is_told_and_not_raised(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(recorder: Recorder) -> Any:
        raise ValueError("no such luck")

    monkeypatch.setattr(Recorder, "open", fail)
    tap = tap_to(path)
    put(tap, "a")
    start(tap)
    assert "opening the history" in tap.trouble
    assert "no such luck" in tap.trouble
    tap.stop()
