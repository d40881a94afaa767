"""Commands run without the developer's own configuration, credentials, kubeconfig and clock."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from karptui.cli.main import main
from karptui.clock import SystemClock
from tests.builders.files import written
from tests.shared_analyses import look_once
from tests.still_demo import tell_once
from tests.story_d import story_document

NOON_NS = 1_795_003_200_000_000_000
"""2026-11-18T12:00:00Z, in nanoseconds since the epoch."""


@pytest.fixture(autouse=True)
def _isolated(monkeypatch: pytest.MonkeyPatch, _state_of_its_own: Path) -> None:
    monkeypatch.setenv("KARPTUI_CONFIG", str(_state_of_its_own / "no-config.toml"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(_state_of_its_own / "cache"))
    monkeypatch.setenv("KUBECONFIG", str(_state_of_its_own / "no-kubeconfig"))
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freeze the clock, so that two commands of one test run at the same time."""
    monkeypatch.setattr(SystemClock, "now_ns", lambda _: NOON_NS)


@pytest.fixture(autouse=True)
def _cached_analyses(monkeypatch: pytest.MonkeyPatch) -> None:
    tell_once(monkeypatch)
    look_once(monkeypatch)


class Printed(NamedTuple):
    """Standard output and standard error of a command."""

    out: str
    err: str


class Run:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str, status: int = 0) -> Printed:
        """Run a command, check its exit status, and return its output."""
        self._capsys.readouterr()
        ended = main([*words])
        printed = Printed(*self._capsys.readouterr())
        assert ended == status, printed.err
        return printed

    def json(self, *words: str, status: int = 0) -> Any:
        """Return a command's parsed JSON output."""
        return json.loads(self(*words, "-o", "json", status=status).out)

    def csv(self, *words: str, status: int = 0) -> list[dict[str, str]]:
        """Return the rows of a command's CSV output."""
        return list(csv.DictReader(io.StringIO(self(*words, "-o", "csv", status=status).out)))

    def json_lines(self, *words: str, status: int = 0) -> list[Any]:
        """Return a command's output with one JSON document per line (one for each cluster or scenario)."""
        return [json.loads(line) for line in self(*words, "-o", "json", status=status).out.splitlines()]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return the function that runs a command."""
    return Run(capsys)


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the snapshot of stories B and D; all tests share the file, so that it is read and analysed once."""
    return str(written(tmp_path_factory.mktemp("story") / "story-d.json", story_document()))
