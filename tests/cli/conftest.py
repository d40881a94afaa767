"""Commands run without the configuration, the credentials, the kubeconfig and the clock of whoever runs the tests."""

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
def _alone(monkeypatch: pytest.MonkeyPatch, _state_of_its_own: Path) -> None:
    monkeypatch.setenv("KARPTUI_CONFIG", str(_state_of_its_own / "no-config.toml"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(_state_of_its_own / "cache"))
    monkeypatch.setenv("KUBECONFIG", str(_state_of_its_own / "no-kubeconfig"))
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two commands of one test see one instant."""
    monkeypatch.setattr(SystemClock, "now_ns", lambda _: NOON_NS)


@pytest.fixture(autouse=True)
def _told_and_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
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
        """Run a command, which must end with a status, and return what it prints."""
        self._capsys.readouterr()
        ended = main([*words])
        printed = Printed(*self._capsys.readouterr())
        assert ended == status, printed.err
        return printed

    def json(self, *words: str, status: int = 0) -> Any:
        """Return what a command prints as JSON."""
        return json.loads(self(*words, "-o", "json", status=status).out)

    def csv(self, *words: str, status: int = 0) -> list[dict[str, str]]:
        """Return the rows that a command prints as comma-separated values."""
        return list(csv.DictReader(io.StringIO(self(*words, "-o", "csv", status=status).out)))

    def json_lines(self, *words: str, status: int = 0) -> list[Any]:
        """Return what a command prints as a line of JSON for each cluster or scenario."""
        return [json.loads(line) for line in self(*words, "-o", "json", status=status).out.splitlines()]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs commands."""
    return Run(capsys)


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the snapshot of stories B and D: the same file for all, so that it is read and analysed once."""
    return str(written(tmp_path_factory.mktemp("story") / "story-d.json", story_document()))
