"""Commands wait for the kinds they need; garbage collection is paused while a cluster is read."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from karptui.cli import loading
from karptui.cli.loading import Following, collector_at_rest
from karptui.cli.main import main
from karptui.decode.kinds import Kind
from karptui.session.readiness import ASKED_BY_ENGINES
from karptui.sources.source import Mailbox, Phase, SourceStatus
from tests.builders import a_manifest
from tests.cli.files import kubeconfig
from tests.fake_api_server import LoopbackServer
from tests.sources.cluster.test_reflectors import karpenter

if TYPE_CHECKING:
    from karptui.sources.source import Source


@pytest.fixture(autouse=True)
def restored_collector() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


LITTERING = """
import weakref
from karptui.cli import loading
loading._COLLECTED_EVERY = 4
class Cycle:
    def __init__(self):
        self.other = self
garbage = []
for _ in range(7):
    with loading.collector_at_rest():
        garbage.append(weakref.ref(Cycle()))
print(sum(reference() is not None for reference in garbage))
"""
"""Script for a separate process, because a collection in this one scans all modules and tests."""


def test_garbage_of_earlier_clusters_is_collected() -> None:
    assert int(subprocess.check_output([sys.executable, "-c", LITTERING])) <= 4


def test_the_collector_pauses_while_a_cluster_is_read_and_then_ignores_its_objects() -> None:
    with collector_at_rest():
        assert not gc.isenabled()
        read: list[list[object]] = [[] for _ in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() > len(read)
    with collector_at_rest():
        assert gc.get_freeze_count() == 0, "objects of the previous cluster can be collected"
    with pytest.raises(ValueError, match="no snapshot"), collector_at_rest():
        raise ValueError("no snapshot")
    assert gc.isenabled()


class Slow:
    """A source that delivers some kinds only once a command waits for them."""

    title = "a cluster"

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *later: Kind) -> None:
        self._later = list(later)
        monkeypatch.setattr(Mailbox, "wait_for_news", lambda mailbox, _: self._bring(mailbox))

    def start(self, mailbox: Mailbox) -> None:
        for kind in ASKED_BY_ENGINES:
            phase = Phase.CONNECTING if kind in self._later else Phase.LIVE
            mailbox.report(SourceStatus(kind=kind, phase=phase, since_ns=0))

    def _bring(self, mailbox: Mailbox) -> None:
        if self._later:
            kind = self._later.pop()
            mailbox.replace(kind, {"x": kind})
            mailbox.report(SourceStatus(kind=kind, phase=Phase.LIVE, since_ns=0))

    def stop(self) -> None:
        pass


def test_commands_wait_for_all_kinds_that_the_answers_need(monkeypatch: pytest.MonkeyPatch) -> None:
    later = (Kind.PVC, Kind.PDB, Kind.STORAGE_CLASS)
    source = cast("Source", Slow(monkeypatch, *later))
    following = Following(source)
    following.settle((Kind.POD,), 60, awaited=ASKED_BY_ENGINES)
    state, statuses = following.state, following.statuses
    assert [len(state.of(kind)) for kind in later] == [1, 1, 1]
    assert {statuses[kind].phase for kind in later} == {Phase.LIVE}
    assert not state.unread


def test_a_kind_that_does_not_arrive_is_reported_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loading, "_GRACE_SECONDS", 0.0)
    cluster = karpenter()
    cluster.put("/api/v1/nodes", a_manifest("Node", "n1"))
    cluster.answer_at("/persistentvolumes", lambda call: call.error(500, "etcd is away"))
    with LoopbackServer(cluster) as server:
        assert main(["nodes", "--kubeconfig", kubeconfig(tmp_path, server.url), "--no-aws", "-o", "json"]) == 1
        output, error = capsys.readouterr()
        assert '"n1"' in output
        assert "karptui nodes: PersistentVolumes did not arrive within 0 s" in error
        assert main(["pods", "--kubeconfig", kubeconfig(tmp_path, server.url)]) == 0
