from __future__ import annotations

import sys
import threading
import time

import pytest

from karptui.decode.kinds import Kind
from karptui.session.follower import ClusterFollower
from karptui.sources.cluster import source as sources
from karptui.sources.cluster.connection import Connection
from karptui.sources.cluster.errors import UnreachableError
from karptui.sources.cluster.resources import NODES
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.source import Phase, Source, SourceError
from tests.fake_api_server import Call, named

from .live import Serve, WatchedMailbox, started
from .test_reflectors import karpenter


def test_life_of_a_source(serve: Serve) -> None:
    api = karpenter()
    api.put(NODES.path, named("n1"))
    others = set(threading.enumerate())
    source, mailbox = started(serve(api))
    checked: Source = source
    assert checked.title == "production"
    mailbox.until(lambda: mailbox.keys(Kind.NODE) == {"n1"})
    assert source.last_contact_ns > 0
    api.put(NODES.path, named("n2"))
    mailbox.until(lambda: mailbox.keys(Kind.NODE) == {"n1", "n2"})
    source.refresh()
    threads = [thread for thread in threading.enumerate() if thread not in others and thread.name.startswith("karptui")]
    assert threads
    assert all(thread.daemon for thread in threads)
    began = time.monotonic()
    source.stop()
    assert time.monotonic() - began < 5
    mailbox.until(lambda: not any(thread.is_alive() for thread in threads))
    assert not any(status.phase is Phase.DISCONNECTED for status in mailbox.history)
    history = len(mailbox.history)
    source.stop()
    assert len(mailbox.history) == history


def test_questions_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "START_SECONDS", 0.01)
    source = ClusterSource(Connection(server="http://127.0.0.1:1", context="c"))
    with pytest.raises(SourceError, match=r"^c is not connected yet$"):
        source.get("/version")


def test_stopped_while_starting(serve: Serve) -> None:
    server = serve(karpenter())
    source = ClusterSource(Connection(server=server.url, context="c"))
    source.stop()
    source.start(WatchedMailbox())
    assert source._thread is not None
    source._thread.join(10)
    assert server.calls == []


def test_request_timeout(serve: Serve) -> None:
    source, _ = started(serve(Call.stall), request_seconds=0.05)
    with pytest.raises(UnreachableError, match="stopped sending data"):
        source.get("/version")
    source.stop()


@pytest.mark.crashes
def test_a_broken_installation_is_told(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "karptui.sources.cluster.reflectors", None)
    source = ClusterSource(Connection(server="http://127.0.0.1:1", context="c"))
    mailbox = WatchedMailbox()
    source.start(mailbox)
    mailbox.until(lambda: set(mailbox.statuses) == set(Kind))
    assert mailbox.statuses[Kind.NODE].phase is Phase.DISCONNECTED
    assert mailbox.statuses[Kind.NODE].last_error.startswith("internal error while connecting: ModuleNotFoundError: ")
    source.stop()
    assert capfd.readouterr().err == ""


def test_terminal_stays_clean_when_the_server_misbehaves(serve: Serve, capfd: pytest.CaptureFixture[str]) -> None:
    source, mailbox = started(serve(lambda call: call.text(b"\x1b[2Jboom", 500)))
    mailbox.until(lambda: mailbox.statuses.get(Kind.NODE) is not None and bool(mailbox.statuses[Kind.NODE].last_error))
    source.stop()
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.parametrize(("skips", "text"), [(True, "TLS not verified"), (False, "")])
def test_the_banner_says_that_nobody_checks_the_server(skips: bool, text: str) -> None:
    source = ClusterSource(Connection(server="https://api.test", context="x", skip_tls_verify=skips))
    assert ClusterFollower(source).caution == text
