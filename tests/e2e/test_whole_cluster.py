"""Parts of the code for whole clusters, tested without a cluster."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.follow_release import kwok_sources

from .control_plane import Client
from .fleets import make_fleet
from .karpenter import Karpenter
from .whole_cluster import WholeCluster


class _RecordingClient(Client):
    """Fake client: accepts every request and passes it to ``hear``."""

    def __init__(self, hear: Callable[[str], None]) -> None:
        self._hear = hear

    def request(
        self, method: str, path: str, document: Any = None, *, patch: str = "merge", expect: int | None = 300
    ) -> Any:
        self._hear(f"{method} {path.rpartition('/')[2]}")
        return {}


@pytest.mark.parametrize("is_refused", [False, True], ids=["taken", "refused"])
def test_karpenter_is_suspended_while_budgets_are_changed(is_refused: bool) -> None:
    told: list[str] = []

    def hear(text: str) -> None:
        told.append(text)
        if is_refused:
            raise AssertionError(text)

    stopping = threading.Event()
    stopping.set()  # waits end at once
    karpenter = Karpenter(lambda number: told.append(signal.Signals(number).name), Path())
    fleet = make_fleet(4, 40)
    with pytest.raises(AssertionError if is_refused else RuntimeError):
        WholeCluster(_RecordingClient(hear), karpenter, "1.15.0", stopping).open_budgets(fleet)
    opened = [f"PATCH {pool.name}" for pool in fleet.pools]
    assert told == ["SIGSTOP", *(opened[:1] if is_refused else opened), "SIGCONT"]


@pytest.mark.parametrize(("version", "text"), [("1.14.1", "v114.go"), ("1.15.0", "v115.go"), ("1.16.2", "v115.go")])
def test_the_build_uses_the_modules_of_the_version(version: str, text: str) -> None:
    sources = kwok_sources(version)
    assert [path.name for path in sources] == ["main.go", text]
    assert all("package main" in path.read_text() for path in sources)
