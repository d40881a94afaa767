from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.decode.kinds import Kind
from karptui.session.follower import ClusterFollower
from karptui.sources.cluster import source as sources
from karptui.sources.cluster.connection import Connection
from karptui.sources.cluster.errors import UnreachableError
from karptui.sources.cluster.resource_versions import SeenKeys
from karptui.sources.cluster.resources import LATER, NODES
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.source import Phase, Source, SourceError
from tests.fake_api_server import Call, LoopbackServer, named

from .live import Serve, WatchedMailbox, started
from .test_reflectors import karpenter

ANSWERS = {
    "/api/v1/namespaces/web/pods/a": '{"metadata": {"name": "a", "managedFields": [1]}, "spec": {"x": 1}}',
    "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses/default": '{"spec": 1}',
    "/api/v1/nodes/a": "<html>",
}
KEYS = st.sampled_from(["a", "b", "c", "d"])


def test_a_source_starts_reads_and_stops(serve: Serve) -> None:
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


def test_requests_before_the_start_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "START_SECONDS", 0.01)
    source = ClusterSource(Connection(server="http://127.0.0.1:1", context="c"))
    with pytest.raises(SourceError, match=r"^c is not connected yet$"):
        source.get("/version")


def test_a_source_stopped_before_its_start_sends_nothing(serve: Serve) -> None:
    server = serve(karpenter())
    source = ClusterSource(Connection(server=server.url, context="c"))
    source.stop()
    source.start(WatchedMailbox())
    assert source._thread is not None
    source._thread.join(10)
    assert server.calls == []


def test_requests_time_out(serve: Serve) -> None:
    source, _ = started(serve(Call.stall), request_seconds=0.05)
    with pytest.raises(UnreachableError, match="stopped sending data"):
        source.get("/version")
    source.stop()


@pytest.mark.crashes
def test_a_broken_installation_is_reported(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "karptui.sources.cluster.reflectors", None)
    source = ClusterSource(Connection(server="http://127.0.0.1:1", context="c"))
    mailbox = WatchedMailbox()
    source.start(mailbox)
    mailbox.until(lambda: set(mailbox.statuses) == set(Kind))
    assert mailbox.statuses[Kind.NODE].phase is Phase.DISCONNECTED
    assert mailbox.statuses[Kind.NODE].last_error.startswith("internal error while connecting: ModuleNotFoundError: ")
    source.stop()
    assert capfd.readouterr().err == ""


def test_nothing_is_printed_if_the_server_misbehaves(serve: Serve, capfd: pytest.CaptureFixture[str]) -> None:
    source, mailbox = started(serve(lambda call: call.text(b"\x1b[2Jboom", 500)))
    mailbox.until(lambda: mailbox.statuses.get(Kind.NODE) is not None and bool(mailbox.statuses[Kind.NODE].last_error))
    source.stop()
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.parametrize(("skips", "text"), [(True, "TLS not verified"), (False, "")])
def test_the_banner_warns_if_tls_is_not_verified(skips: bool, text: str) -> None:
    source = ClusterSource(Connection(server="https://api.test", context="x", skip_tls_verify=skips))
    assert ClusterFollower(source).caution == text


@pytest.fixture(scope="module")
def live() -> Iterator[ClusterSource]:
    """Yield a source that has read a server with Karpenter and kwok."""
    api = karpenter()
    api.install("karpenter.kwok.sh", "v1alpha1", "kwoknodeclasses", "KWOKNodeClass")
    with LoopbackServer(lambda call: call.text(ANSWERS[call.path]) if call.path in ANSWERS else api(call)) as server:
        source, mailbox = started(server)
        # No thread of this source may start later: other tests check the threads of their own source.
        mailbox.until(lambda: all(mailbox.phases(item.kind)[-1:] == [Phase.LIVE] for item in LATER))
        yield source
        source.stop()


@pytest.mark.parametrize(("kind", "key", "fetched"), [
    ("Pod", "web/a", {"metadata": {"name": "a"}, "spec": {"x": 1}}),
    ("KWOKNodeClass", "default", {"spec": 1}),
    ("Pod", "web/b", "404"),
    ("EC2NodeClass", "default", "404"),
    ("Service", "x", "^Service x: the API server has no such kind$"),
    ("AKSNodeClass", "default", "^AKSNodeClass default: the API server has no such kind$"),
    ("Gadget", "x", "karptui does not read objects of kind Gadget"),
    ("Node", "a", "did not answer with an object"),
])  # fmt: skip
def test_single_objects_are_fetched_without_managed_fields(
    live: ClusterSource, kind: str, key: str, fetched: dict[str, Any] | str
) -> None:
    if isinstance(fetched, str):
        with pytest.raises(SourceError, match=fetched):
            live.fetch_object(kind, key)
    else:
        assert live.fetch_object(kind, key) == fetched


def listed(*keys: str) -> SeenKeys:
    inventory = SeenKeys()
    inventory.begin()
    inventory.change(dict.fromkeys(keys, "object"))
    inventory.finish()
    return inventory


def test_an_interrupted_list_forgets_nothing() -> None:
    inventory = listed("a", "b")
    inventory.begin()
    inventory.change({"c": "object"})
    inventory.abandon()
    assert inventory.count == 3
    inventory.begin()
    assert inventory.finish() == {"a", "b", "c"}


def test_a_restarted_list_keeps_the_keys_of_the_first_try() -> None:
    inventory = SeenKeys()
    inventory.begin()
    inventory.change({"a": "object"})
    inventory.begin()
    assert inventory.finish() == {"a"}


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), KEYS),
        st.tuples(st.just("remove"), KEYS),
        st.tuples(st.sampled_from(["begin", "finish", "abandon", "forget"]), st.just("")),
    )
)


@given(OPERATIONS)
def test_consumers_hold_exactly_the_known_keys(operations: list[tuple[str, str]]) -> None:
    """A consumer that applies every change and every ``finish`` holds the inventory's keys when no list is running."""
    inventory, held = SeenKeys(), set[str]()
    for operation, key in operations:
        match operation:
            case "add":
                inventory.change({key: "object"})
                held.add(key)
            case "remove":
                inventory.change({key: None})
                held.discard(key)
            case "begin":
                inventory.begin()
            case "finish":
                held -= inventory.finish()
            case "abandon":
                inventory.abandon()
            case _:
                held -= inventory.forget()
    inventory.abandon()
    assert inventory.count == len(held)
    assert inventory.forget() == held
