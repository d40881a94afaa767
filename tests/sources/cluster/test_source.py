from __future__ import annotations

import sys
import threading
import time

import pytest

from karptui.decode.kinds import Kind
from karptui.session.follower import ClusterFollower
from karptui.sources.cluster import source as sources
from karptui.sources.cluster.connection import Connection
from karptui.sources.cluster.errors import ApiError, UnreachableError
from karptui.sources.cluster.resources import NODES
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.source import Phase, Source, SourceError
from tests.fake_api_server import Call, LoopbackServer, named

from .live import Serve, WatchedMailbox
from .test_reflectors import EC2, karpenter


def started(server: LoopbackServer, **options: float) -> tuple[ClusterSource, WatchedMailbox]:
    source = ClusterSource(Connection(server=server.url, context="production"), **options)
    mailbox = WatchedMailbox()
    source.start(mailbox)
    return source, mailbox


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


def answering(serve: Serve, path: str, body: str, code: int = 200) -> tuple[ClusterSource, WatchedMailbox]:
    """Return a source on a server with Karpenter that answers one path in its own way."""
    api = karpenter()
    api.install("karpenter.kwok.sh", "v1alpha1", "kwoknodeclasses", "KWOKNodeClass")
    server = serve(lambda call: call.text(body, code) if call.path == path else api(call))
    source, mailbox = started(server)
    mailbox.until(lambda: mailbox.statuses.get(Kind.POD) is not None and mailbox.statuses[Kind.POD].phase is Phase.LIVE)
    return source, mailbox


def test_one_object_without_managed_fields(serve: Serve) -> None:
    body = '{"metadata": {"name": "a", "managedFields": [1]}, "spec": {"x": 1}}'
    source, _ = answering(serve, "/api/v1/namespaces/web/pods/a", body)
    assert source.fetch_object("Pod", "web/a") == {"metadata": {"name": "a"}, "spec": {"x": 1}}
    with pytest.raises(ApiError, match="404"):
        source.fetch_object("Pod", "web/b")
    with pytest.raises(SourceError, match=r"^Service x: the API server has no such kind$"):
        source.fetch_object("Service", "x")
    source.stop()


def test_node_class_of_the_provider_that_is_named(serve: Serve) -> None:
    source, _ = answering(serve, "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses/default", '{"spec": 1}')
    assert source.fetch_object("KWOKNodeClass", "default") == {"spec": 1}
    with pytest.raises(ApiError, match="404"):
        source.fetch_object("EC2NodeClass", "default")
    with pytest.raises(SourceError, match=r"^AKSNodeClass default: the API server has no such kind$"):
        source.fetch_object("AKSNodeClass", "default")
    with pytest.raises(SourceError, match="karptui does not read objects of kind Gadget"):
        source.fetch_object("Gadget", "x")
    source.stop()


def test_object_that_is_none_or_forbidden(serve: Serve) -> None:
    source, _ = answering(serve, "/api/v1/nodes/a", "<html>")
    with pytest.raises(UnreachableError, match="did not answer with an object"):
        source.fetch_object("Node", "a")
    source.stop()
    source, _ = answering(serve, f"{EC2}/default", '{"message": "no", "reason": "Forbidden"}', 403)
    with pytest.raises(ApiError, match="403 Forbidden: no"):
        source.fetch_object("EC2NodeClass", "default")
    source.stop()


@pytest.mark.crashes
def test_a_broken_installation_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
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
