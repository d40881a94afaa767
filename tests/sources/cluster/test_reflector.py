from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Container, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.decode.stream import line_object, page_objects
from karptui.sources.cluster import reflector
from karptui.sources.cluster.backoff import Waits
from karptui.sources.cluster.collection import Collection
from karptui.sources.cluster.reflector import Reflector
from karptui.sources.cluster.resources import LATER, NODES, PODS, UNFINISHED_PODS, Resource
from karptui.sources.cluster.status_board import Board
from karptui.sources.cluster.stream import LineStream
from karptui.sources.source import Phase, SourceStatus, Tap
from tests.fake_api_server import (
    Answer,
    Answered,
    Call,
    FakeApi,
    LoopbackServer,
    Script,
    bookmark,
    event,
    expired,
    failure,
    listing,
    named,
)

from .live import Serve, WatchedMailbox, transport_to

NOW_NS = 1_800_000_000_000_000_000
REPLICASETS = next(resource for resource in LATER if resource.kind is Kind.REPLICASET)


def noticed_soon(monkeypatch: pytest.MonkeyPatch, *, streams: int) -> list[float]:
    """Have the silence of the first streams be noticed soon once they are open; return what silence is allowed."""
    allowed: list[float] = []
    seen: list[LineStream] = []
    allow = LineStream.allow_silence

    def allow_briefly(stream: LineStream, seconds: float) -> None:
        allowed.append(seconds)
        if stream not in seen:
            seen.append(stream)
        allow(stream, 0.05 if seen.index(stream) < streams else seconds)

    monkeypatch.setattr(LineStream, "allow_silence", allow_briefly)
    return allowed


class Bench:
    """A reflector against a server, with time in the test's hands; each ``step`` is one list or watch."""

    def __init__(
        self,
        server: LoopbackServer | str,
        resource: Resource = NODES,
        *,
        chance: float = 1.0,
        tap: Tap | None = None,
        **options: Any,
    ) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self.mailbox = WatchedMailbox(tap=tap)
        self.recoveries = 0
        self.kind = resource.kind
        waits = Waits(
            pause=self.waits.append,
            now_ns=lambda: NOW_NS + int(self.now * 1e9),
            monotonic=lambda: self.now,
            chance=lambda: chance,
        )
        transport = transport_to(server, **options)
        self.restores = 0
        self.reflector = Reflector(
            resource, transport, Board(self.mailbox), waits, recovered=self.recovered, restored=self.restored
        )
        self._attempts = self.reflector.attempts(threading.Event())

    def step(self) -> float:
        """List or watch once; return the seconds to wait before the next time."""
        return next(self._attempts)

    def recovered(self) -> None:
        self.recoveries += 1

    def restored(self) -> None:
        self.restores += 1

    @property
    def status(self) -> SourceStatus:
        return self.mailbox.statuses[self.kind]

    @property
    def keys(self) -> set[str]:
        return self.mailbox.keys(self.kind)


def streamed(*names: str, version: str = "10") -> tuple[dict[str, Any], ...]:
    return (*(event("ADDED", named(name)) for name in names), bookmark(version, ends_list=True))


def answer(*lines: Any, then: Callable[[Call], None] = Call.end) -> Answer:
    """Return an answer that sends lines and then ends, is cut or stalls."""

    def send(call: Call) -> None:
        call.lines(*lines)
        then(call)

    return send


def error(code: int, message: str = "no", reason: str = "", **headers: str) -> Answer:
    return lambda call: call.error(code, message, reason, **headers)


def page(*names: str, **options: Any) -> Answer:
    return lambda call: call.json(listing((named(name) for name in names), **options))


NO_STREAMING = error(
    422, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled", "Invalid"
)


class Taken:
    """A tap that keeps what it is given, in order."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str, str]] = []

    def put(self, kind: Kind, head: Mapping[str, str], lines: Mapping[str, bytes | None]) -> None:
        assert (kind, head) == (Kind.POD, {"apiVersion": "v1", "kind": "Pod"})
        for key, line in lines.items():
            self._keep(key, None if line is None else line_object(line))

    def put_page(self, kind: Kind, head: Mapping[str, str], page: bytes, keys: Container[str]) -> None:
        assert (kind, head) == (Kind.POD, {"apiVersion": "v1", "kind": "Pod"})
        for key, text in page_objects(page, kind, "Pod"):
            if key in keys:
                self._keep(key, text)

    def _keep(self, key: str, text: bytes | None) -> None:
        version = json.loads(text)["metadata"]["resourceVersion"] if text is not None else "deleted"
        self.texts.append((key, version, "" if text is None else json.loads(text)["spec"]["nodeName"]))

    def put_manifests(self, kind: Kind, manifests: Mapping[str, Mapping[str, Any] | None]) -> None:
        raise AssertionError

    def report(self, status: SourceStatus) -> None:
        self.status = status


@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_tap_gets_each_object_as_it_was_sent(serve: Serve, *, is_streamed: bool) -> None:
    def a_pod(name: str, version: int, node: str = "n1") -> dict[str, Any]:
        metadata = {"name": name, "namespace": "web", "resourceVersion": str(version)}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node, "containers": []}}

    both = [a_pod("a", 3), a_pod("b", 4)]
    changes = [
        event("MODIFIED", a_pod("a", 11, "n2")),
        event("DELETED", a_pod("b", 12)),
    ]
    streamed_list = answer(*(event("ADDED", pod) for pod in both), bookmark("10", ends_list=True), *changes)
    in_pages = (NO_STREAMING, lambda call: call.json(listing(both, version="10")), answer(*changes))
    count = page()
    tap = Taken()
    bench = Bench(serve(Script(count, streamed_list) if is_streamed else Script(count, *in_pages)), PODS, tap=tap)
    while bench.keys != {"web/a"}:
        assert bench.step() == 0
    assert tap.texts == [("web/a", "3", "n1"), ("web/b", "4", "n1"), ("web/a", "11", "n2"), ("web/b", "deleted", "")]
    assert tap.status.kind is Kind.POD


# Streaming lists


def test_streaming_list_goes_on_as_a_watch(serve: Serve) -> None:
    server = serve(
        Script(
            answer(
                *streamed("a", "b"),
                event("MODIFIED", named("a", version="11")),
                event("DELETED", named("b", version="12")),
                event("ADDED", named("c", version="13")),
            ),
            answer(bookmark(20)),
            answer(event("ADDED", named("d", version="21"))),
        )
    )
    bench = Bench(server)
    assert bench.step() == 0
    assert bench.keys == {"a", "c"}
    assert (bench.status.phase, bench.status.count) == (Phase.LIVE, 2)
    assert bench.step() == 0
    assert bench.step() == 0
    assert bench.keys == {"a", "c", "d"}
    first, second, third = (call.query for call in server.calls)
    assert first == {
        "watch": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "600",
    }
    assert second["resourceVersion"] == "13"
    assert "sendInitialEvents" not in second
    assert third["resourceVersion"] == "20"


def test_streaming_list_that_breaks_off_is_begun_again_in_spite_of_a_bookmark(serve: Serve) -> None:
    first = answer(event("ADDED", named("a")), event("ADDED", named("gone")), bookmark(99), then=Call.cut)
    server = serve(Script(first, answer(*streamed("a", "b"))))
    bench = Bench(server)
    assert bench.step() == 1.0
    assert (bench.status.phase, bench.status.count) == (Phase.DISCONNECTED, 2)
    assert bench.status.retry_at_ns == NOW_NS + 10**9
    assert bench.step() == 0
    assert server.calls[1].is_stream_list
    assert bench.keys == {"a", "b"}
    assert bench.recoveries > 0


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (answer(event("ADDED", named("a"))), "ended the list of nodes before it was complete"),
        (answer(then=Call.stall), "stopped sending data"),
        (answer(event("ADDED", named("a")), b"not json"), "is not a watch event"),
    ],
    ids=["ends early", "stays silent", "sends no event"],
)
def test_nodes_are_listed_in_pages_after_two_broken_streaming_lists(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, broken: Answer, problem: str
) -> None:
    noticed_soon(monkeypatch, streams=2)
    server = serve(Script(broken, broken, page("a", "b", version="7")))
    bench = Bench(server)
    bench.step()
    assert problem in bench.status.last_error
    bench.step()
    assert bench.step() == 0
    assert bench.keys == {"a", "b"}
    assert bench.status.phase is Phase.LIVE
    assert [call.is_stream_list for call in server.calls] == [True, True, False]


def test_unreachable_server_does_not_count_against_streaming_lists(serve: Serve) -> None:
    server = serve(Script())
    server.close()
    bench = Bench(server.url)
    for _ in range(4):
        bench.step()
    assert "refuses connections" in bench.status.last_error
    assert bench.reflector._uses_watch_list


# Pages


@pytest.mark.parametrize("code", [400, 403, 405, 406, 415, 422])
def test_pages_where_streaming_is_refused(serve: Serve, code: int) -> None:
    server = serve(
        Script(
            error(code),
            page("a", "b", version="7", token="more", remaining=1),
            page("c", version="7"),
            answer(event("ADDED", named("d", version="8"))),
            error(410, "Expired"),
            page("d", version="9"),
        )
    )
    bench = Bench(server)
    assert bench.step() == 0
    assert bench.keys == {"a", "b", "c"}
    syncing = [status for status in bench.mailbox.history if status.phase is Phase.SYNCING]
    assert [(status.count, status.total_estimate) for status in syncing] == [(2, 3)]
    assert bench.status.phase is Phase.LIVE
    assert bench.step() == 0
    assert bench.keys == {"a", "b", "c", "d"}
    assert [call.query.get("limit") for call in server.calls] == [None, "500", "500", None]
    assert server.calls[2].query["continue"] == "more"
    assert all("resourceVersion" not in call.query for call in server.calls[:3])
    assert server.calls[3].query["resourceVersion"] == "7"
    bench.step()
    bench.step()
    assert not server.calls[-1].is_watch
    assert bench.keys == {"d"}


def test_list_that_outlives_its_pages_is_done_again_with_larger_ones(serve: Serve) -> None:
    server = serve(
        Script(
            NO_STREAMING,
            page("a", token="x"),
            error(410, "The provided continue parameter is too old", "Expired"),
            page("a", version="3"),
        )
    )
    bench = Bench(server)
    assert bench.step() == 1.0
    assert bench.status.phase is Phase.SYNCING
    assert "no longer knows what changed in nodes; listing again" in bench.status.last_error
    assert bench.step() == 0
    assert bench.keys == {"a"}
    assert server.calls[-1].query["limit"] == "1000"


def test_large_kinds_are_counted_first(serve: Serve) -> None:
    def count(call: Call) -> None:
        call.json(listing([named("a", "x")], remaining=41))

    server = serve(Script(count, answer(event("ADDED", named("a", "x")), bookmark(3, ends_list=True))))
    bench = Bench(server, PODS)
    assert bench.step() == 0
    assert server.calls[0].query == {"limit": "1"}
    assert "PartialObjectMetadataList" in server.calls[0].headers["Accept"]
    assert server.calls[1].query["fieldSelector"] == "status.phase!=Succeeded,status.phase!=Failed"
    syncing = [status for status in bench.mailbox.history if status.phase is Phase.SYNCING]
    assert [(status.count, status.total_estimate) for status in syncing] == [(0, 42)]
    assert bench.keys == {"x/a"}


def test_many_objects_from_afar_come_in_compressed_pages(serve: Serve) -> None:
    bench: Bench

    def slow_count(call: Call) -> None:
        bench.now += 0.2
        call.json(listing([named("a", "x")], remaining=10_000))

    server = serve(Script(slow_count, lambda call: call.json(listing([named("a", "x")]))))
    bench = Bench(server, PODS)
    assert bench.step() == 0
    assert not server.calls[1].is_watch
    assert server.calls[1].headers["Accept-Encoding"] == "gzip"


def test_owners_come_as_metadata_alone(serve: Serve) -> None:
    partial = named("a", "x", kind="PartialObjectMetadata", apiVersion="meta.k8s.io/v1")
    script = Script(NO_STREAMING, lambda call: call.json(listing([partial])), answer())
    server = serve(script)
    bench = Bench(server, REPLICASETS)
    bench.step()
    bench.step()
    accepts = [call.headers["Accept"] for call in server.calls]
    assert "as=PartialObjectMetadata;" in accepts[0]
    assert "as=PartialObjectMetadataList;" in accepts[1]
    assert "as=PartialObjectMetadata;" in accepts[2]
    assert bench.keys == {"x/a"}
    (owner,) = bench.mailbox.objects[Kind.REPLICASET].values()
    assert (owner.api_version, owner.kind) == ("apps/v1", "ReplicaSet")


# What ends a watch


def live(
    serve: Serve, *answers: Answer, names: tuple[str, ...] = ("a",), **options: Any
) -> tuple[Bench, LoopbackServer]:
    """Return a bench that has listed, and whose watches get the answers."""
    server = serve(Script(answer(*streamed(*names)), *answers))
    bench = Bench(server, **options)
    assert bench.step() == 0
    assert bench.keys == set(names)
    return bench, server


@pytest.mark.parametrize("gone", [error(410, "too old resource version", "Expired"), answer(expired())])
def test_410_lists_again_and_finds_what_is_gone(serve: Serve, gone: Answer) -> None:
    bench, server = live(serve, gone, answer(*streamed("b", "c")), names=("a", "b"))
    assert bench.step() == 1.0
    assert bench.status.phase is Phase.SYNCING
    assert bench.keys == {"a", "b"}
    assert bench.step() == 0
    assert bench.keys == {"b", "c"}
    assert bench.mailbox.phases(Kind.NODE)[-1] is Phase.LIVE
    assert server.calls[-1].is_stream_list


def test_changes_before_an_error_event_count(serve: Serve) -> None:
    bench, server = live(
        serve,
        answer(event("ADDED", named("b", version="11")), event("ERROR", failure(500, "etcd leader changed"))),
        answer(),
    )
    assert bench.step() == 1.0
    assert bench.keys == {"a", "b"}
    assert "500: etcd leader changed" in bench.status.last_error
    bench.step()
    assert server.calls[-1].query["resourceVersion"] == "11"


def test_cut_watch_goes_on_where_it_was(serve: Serve) -> None:
    bench, server = live(
        serve,
        answer(event("ADDED", named("b", version="11")), then=Call.cut),
        page("a", version="11"),
        answer(event("DELETED", named("a", version="12"))),
    )
    assert bench.step() == 1.0
    assert bench.status.phase is Phase.DISCONNECTED
    assert "cut the connection" in bench.status.last_error
    assert bench.step() == 0
    assert server.calls[-1].query["resourceVersion"] == "11"
    assert bench.keys == {"b"}
    assert bench.status.phase is Phase.LIVE
    assert bench.recoveries == 1


def test_half_open_connection_is_noticed(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, server = live(serve, answer(bookmark(11), then=Call.stall), page(version="11"), answer(bookmark(12)))
    noticed_soon(monkeypatch, streams=1)
    assert bench.step() == 1.0
    assert "stopped sending data" in bench.status.last_error
    bench.step()
    assert server.calls[-1].query["resourceVersion"] == "11"
    assert bench.status.phase is Phase.LIVE


def test_streaming_list_may_be_silent_for_longer_once_complete(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = noticed_soon(monkeypatch, streams=0)

    def late(call: Call) -> None:
        call.lines(*streamed("a"))
        call.lines(event("ADDED", named("b", version="11")))
        call.end()

    bench = Bench(serve(Script(late)))
    assert bench.step() == 0
    assert bench.keys == {"a", "b"}
    assert allowed == [reflector.INITIAL_SILENCE_SECONDS, reflector.SILENCE_SECONDS]


def test_watches_that_end_at_once_back_off(serve: Serve) -> None:
    how_far = page(version="10")
    ends = [answer(), how_far, answer(), how_far, answer(), how_far]
    bench, _ = live(serve, *ends, answer(bookmark(11)), answer())
    assert [bench.step() for _ in range(3)] == [1.0, 2.0, 4.0]
    assert bench.status.phase is Phase.STALE, "nothing is followed meanwhile"
    assert bench.status.last_error.endswith("ends the watch of nodes at once")
    assert bench.step() == 0
    assert bench.status.phase is Phase.LIVE
    assert bench.step() == 1.0


def quiet_for(seconds: float, then: Callable[[Call], None], serve: Serve, *before: Answer) -> Bench:
    """Return a bench whose watch ends after a quiet while."""
    bench: Bench

    def after_a_while(call: Call) -> None:
        call.lines()
        bench.mailbox.until(lambda: bench.reflector._opened_at is not None)
        bench.now += seconds
        then(call)

    bench, _ = live(serve, *before, after_a_while)
    return bench


def test_quiet_watch_that_ends_in_time_is_no_failure(serve: Serve) -> None:
    assert quiet_for(400, Call.end, serve).step() == 0


def test_quiet_watch_that_is_cut_after_a_while_starts_the_back_off_anew(serve: Serve) -> None:
    bench = quiet_for(60, Call.cut, serve, error(500), error(500))
    assert [bench.step() for _ in range(3)] == [1.0, 2.0, 1.0]


@pytest.mark.parametrize("code", [429, 503])
def test_retry_after_is_honoured(serve: Serve, code: int) -> None:
    bench, server = live(
        serve, error(code, "too many requests", Retry_After="17"), error(code, "x", Retry_After="9999"), answer()
    )
    assert bench.step() == 17.0
    assert bench.status.phase is Phase.DISCONNECTED
    assert str(code) in bench.status.last_error
    assert bench.step() == 300.0
    bench.step()
    assert server.calls[-1].query["resourceVersion"] == "10"


def test_retry_after_in_an_error_event(serve: Serve) -> None:
    busy = {**failure(429, "slow down"), "details": {"retryAfterSeconds": 12}}
    bench, _ = live(serve, answer(event("ERROR", busy)))
    assert bench.step() == 12.0
    assert bench.status.last_error.startswith("the API server is busy and asks to come back later (429): slow down")


@pytest.mark.parametrize(
    "failures",
    [[error(500, "broken")] * 4, [error(504, "Too large resource version: 10, current: 3", "Timeout")]],
    ids=["errors in a row", "restored from a backup"],
)
def test_watch_is_given_up_for_a_new_list_after(serve: Serve, failures: list[Answer]) -> None:
    bench, server = live(serve, *failures, answer(*streamed("b")))
    for _ in range(len(failures) + 1):
        bench.step()
    assert server.calls[-1].is_stream_list
    assert bench.keys == {"b"}


# Permissions and absent kinds


def test_401_runs_for_new_credentials(serve: Serve) -> None:
    bench, _ = live(serve, error(401, "Unauthorized"), answer(bookmark(11)), token="old")
    assert bench.step() == 1.0
    assert bench.status.phase is Phase.DISCONNECTED
    assert bench.status.last_error == "the API server does not accept the credentials (401): Unauthorized"
    assert bench.step() == 0
    assert bench.status.phase is Phase.LIVE


def test_403_switches_the_kind_off_with_a_sentence(serve: Serve) -> None:
    words = 'nodes is forbidden: User "dev" cannot list resource "nodes" in API group "" at the cluster scope'
    bench, _ = live(
        serve,
        error(403, words),
        error(403, words),
        error(403, words),
        page("a", version="12"),
        names=("a", "b"),
        chance=0.0,
    )
    assert bench.step() == 5.0
    assert bench.status.phase is Phase.FORBIDDEN
    assert bench.status.count == 0
    assert bench.status.last_error == f"no permission to watch nodes (cluster-scoped): {words}"
    assert bench.keys == set()
    since_ns = bench.status.since_ns
    bench.now += 5
    assert bench.step() == 5.0
    assert bench.status.last_error == f"no permission to list nodes (cluster-scoped): {words}"
    assert bench.status.since_ns == since_ns
    assert bench.step() == 0
    assert bench.keys == {"a"}
    assert bench.status.phase is Phase.LIVE


@pytest.mark.parametrize("code", [403, 404])
def test_server_that_has_just_come_back_is_not_believed_at_once(serve: Serve, code: int) -> None:
    """While kube-apiserver starts it refuses everybody but its administrators, and knows no custom resources."""
    refusals = error(code, "RBAC: not read"), error(code)
    bench, _ = live(serve, Call.cut, *refusals, page(version="10"), answer(bookmark(11)), names=("a",))
    bench.step()
    assert bench.recoveries == 0
    bench.step()
    assert bench.recoveries == 1, "a refusal is the first sign of a server that is back"
    bench.step()
    assert bench.recoveries == 1
    assert bench.status.phase is Phase.DISCONNECTED
    assert bench.status.last_error == f"the API server is back but still starting ({code}): no"
    assert bench.keys == {"a"}
    assert bench.step() == 0
    assert bench.status.phase is Phase.LIVE


def test_refusals_that_last_after_an_outage_are_believed(serve: Serve) -> None:
    bench, _ = live(serve, Call.cut, *[error(403)] * 7, names=("a",))
    waits = [bench.step() for _ in range(7)]
    assert waits[:6] == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0]
    assert waits[6] >= 5.0
    assert bench.status.phase is Phase.FORBIDDEN
    assert bench.keys == set()


def test_permission_to_list_without_permission_to_watch(serve: Serve) -> None:
    server = serve(
        Script(
            error(403, "w"),
            page("a"),
            error(403, "cannot watch"),
            page("b"),
            error(403, "cannot watch"),
            error(403, "l"),
        )
    )
    bench = Bench(server, chance=0.0)
    assert bench.step() == 0
    assert bench.step() == 60.0
    status = bench.status
    assert status.phase is Phase.STALE
    assert status.last_error == (
        "no permission to watch nodes (cluster-scoped): cannot watch; listed every 60 s instead"
    )
    assert bench.step() == 0
    assert bench.keys == {"b"}
    bench.step()
    assert bench.step() == 5.0
    assert bench.keys == set()


def test_404_means_not_installed(serve: Serve) -> None:
    bench, _ = live(serve, error(404, "404 page not found"), error(404), answer(*streamed("b")), chance=0.0)
    assert bench.step() == 60.0
    assert bench.status.phase is Phase.NOT_INSTALLED
    assert bench.status.last_error == "the API server has no nodes in version v1"
    assert bench.keys == set()
    assert bench.step() == 60.0
    assert bench.step() == 0
    assert bench.keys == {"b"}


# Lines that cannot be read


@pytest.mark.parametrize("line", [b"not json", b'{"type": 3}', b'{"type":"ADDED","object":{}}', b"[" * 100_000])
def test_line_that_is_no_event_is_asked_for_again(serve: Serve, line: bytes) -> None:
    again = answer(event("ADDED", named("c", version="12")))
    bench, server = live(serve, answer(event("ADDED", named("b", version="11")), line), again)
    assert bench.step() == 1.0
    assert bench.keys == {"a", "b"}
    assert bench.status.phase is Phase.STALE
    assert "sent a line about nodes that is not a watch event (" in bench.status.last_error
    assert bench.status.last_error.endswith("; asking again")
    assert len(bench.status.last_error) < 300
    assert bench.step() == 0
    assert server.calls[-1].query["resourceVersion"] == "11"
    assert bench.keys == {"a", "b", "c"}
    assert bench.status.phase is Phase.LIVE


def test_line_that_is_no_event_twice_leads_to_a_new_list(serve: Serve) -> None:
    bench, server = live(serve, answer(b"not json"), answer(b"not json"), answer(*streamed("b", version="12")))
    bench.step()
    bench.step()
    assert bench.status.last_error.endswith("; listing again")
    assert bench.step() == 0
    assert server.calls[-1].is_stream_list
    assert bench.keys == {"b"}


def test_deletion_that_cannot_be_read_leads_to_a_new_list(serve: Serve) -> None:
    nameless = event("DELETED", {"metadata": {"name": ["a"], "resourceVersion": "11"}})
    bench, server = live(serve, answer(nameless), answer(*streamed("b", version="12")), names=("a", "b"))
    bench.step()
    assert bench.status.phase is Phase.STALE
    assert "DELETED of an object without a name" in bench.status.last_error
    bench.step()
    assert server.calls[-1].is_stream_list
    assert bench.keys == {"b"}


# After a restore


@pytest.mark.parametrize(
    "sign", [answer(bookmark(5)), answer(event("ADDED", named("new", version="5")))], ids=["bookmark", "event"]
)
def test_restore_is_noticed_by_what_a_watch_says(serve: Serve, sign: Answer) -> None:
    bench, server = live(serve, sign, page("a", version="6"), answer(event("ADDED", named("c", version="7"))))
    assert bench.step() > 0
    assert bench.status.phase is Phase.STALE
    assert "has older nodes than before, as after a restore from a backup; listing again" in bench.status.last_error
    assert bench.step() == 0
    assert not server.calls[-1].is_watch
    assert bench.keys == {"a"}
    assert bench.status.phase is Phase.LIVE
    assert bench.step() == 0
    assert server.calls[-1].query["resourceVersion"] == "6"
    assert bench.keys == {"a", "c"}


def test_restore_during_an_outage_is_noticed_before_anything_is_live(serve: Serve) -> None:
    bench, _ = live(serve, Call.cut, page("a", version="5"), page("a", version="6"), names=("a", "phantom"))
    bench.step()
    bench.step()
    assert bench.status.phase is Phase.STALE
    bench.step()
    assert bench.keys == {"a"}
    assert bench.status.phase is Phase.LIVE
    assert Phase.LIVE not in [status.phase for status in bench.mailbox.history[-2:-1]]


def then(*items: dict[str, Any]) -> Answer:
    """Answer what was there at a moment; which moment is asked for is checked."""

    def tell(call: Call) -> None:
        assert (call.query["resourceVersion"], call.query["resourceVersionMatch"]) == ("15", "Exact")
        call.json(listing(items, version="15"))

    return tell


MOVED = answer(event("MODIFIED", named("a", version="12")), bookmark(15))
GONE = answer(event("DELETED", named("b", version="13")), bookmark(15))
OLD = named("a", version="4")


@pytest.mark.parametrize(
    ("before", "answers"),
    [(MOVED, [then(OLD)]), (MOVED, [then()]), (GONE, [then(named("a")), then(named("b", version="3"))])],
    ids=["another version", "nothing", "what was gone"],
)
def test_restore_is_noticed_though_the_storage_has_written_more(
    serve: Serve, before: Answer, answers: list[Answer]
) -> None:
    """At our last moment the restored storage held something else than what is known."""
    again = listing([OLD, named("new", version="14")], version="22")
    script = [before, Call.cut, page("a", version="20"), *answers, lambda call: call.json(again), answer()]
    bench, server = live(serve, *script, names=("a",))
    assert bench.step() == 0
    bench.step()
    assert bench.step() > 0
    assert bench.status.phase is Phase.STALE
    assert "has another history of nodes than before, as after a restore from a backup" in bench.status.last_error
    assert bench.restores == 1
    bench.step()
    assert bench.keys == {"a", "new"}
    assert bench.status.phase is Phase.LIVE
    bench.step()
    assert server.calls[-1].query["resourceVersion"] == "22"
    assert bench.reflector._seen.newest() == ("new", 14), "an older version of an object replaced a newer one"


@pytest.mark.parametrize(
    "answers",
    [
        [MOVED, then(named("a", version="12"))],
        [GONE, then(named("a")), then()],
        [MOVED, error(410, "The provided resource version is too old", "Expired")],
        [MOVED, error(400, "resourceVersionMatch is forbidden")],
        [MOVED, then(named("a", version=""))],
    ],
    ids=["the same", "gone", "forgotten", "not understood", "no version"],
)
def test_the_same_past_is_gone_on_with(serve: Serve, answers: list[Answer]) -> None:
    before, *told = answers
    bench, server = live(serve, before, Call.cut, page("a", version="20"), *told, answer(bookmark(21)))
    for _ in range(3):
        bench.step()
    assert (bench.restores, bench.status.phase) == (0, Phase.LIVE)
    assert server.calls[-1].is_watch
    assert server.calls[-1].query["resourceVersion"] == "15"


def test_another_kind_may_find_that_the_past_is_another(serve: Serve) -> None:
    bench, server = live(serve, page("a", "b", version="22"), answer())
    bench.reflector.doubt_the_past()
    assert bench.step() > 0
    assert bench.status.phase is Phase.STALE
    bench.step()
    assert (bench.keys, bench.status.phase) == ({"a", "b"}, Phase.LIVE)
    bench.step()
    assert server.calls[-1].query["resourceVersion"] == "22"


def test_what_is_asked_of_the_past_is_one_object(serve: Serve) -> None:
    asked: list[tuple[str, str]] = []

    def tell(call: Call) -> None:
        asked.append((call.path, call.query["fieldSelector"]))
        call.json(listing([]))

    server = serve(tell)
    nodeclasses = replace(NODES, kind=Kind.NODECLASS, group="karpenter.k8s.aws", plural="ec2nodeclasses")
    for resource, key in ((PODS, "web/x-1"), (NODES, "n"), (nodeclasses, "EC2NodeClass/default")):
        assert Collection(resource, transport_to(server)).version_then(key, "5") == ""
    assert asked == [
        ("/api/v1/namespaces/web/pods", f"metadata.name=x-1,{UNFINISHED_PODS}"),
        ("/api/v1/nodes", "metadata.name=n"),
        ("/apis/karpenter.k8s.aws/v1/ec2nodeclasses", "metadata.name=default"),
    ]


def test_list_that_is_out_of_date_replaces_nothing(serve: Serve) -> None:
    def old(call: Call) -> None:
        call.lines(event("ADDED", named("a", version="3", spec={"unschedulable": True})), bookmark(5, ends_list=True))
        call.end()

    new = listing([named("a", version="11"), named("b", version="10")], version="12")
    newest = answer(event("MODIFIED", named("a", version="11")), expired())
    bench, _ = live(serve, newest, old, lambda call: call.json(new), names=("a", "b"))
    bench.step()
    a = bench.mailbox.objects[Kind.NODE]["a"]
    bench.step()
    assert bench.status.phase is Phase.STALE
    assert bench.keys == {"a", "b"}
    assert bench.mailbox.objects[Kind.NODE]["a"] is a
    bench.step()
    assert bench.keys == {"a", "b"}
    assert not bench.mailbox.objects[Kind.NODE]["a"].is_unschedulable
    assert bench.status.phase is Phase.LIVE


# However a server answers


ENDLESS: dict[str, Answer] = {
    "list without a version": lambda call: call.error(400) if call.is_watch else call.json(listing([], version="")),
    "streaming list without a version": answer(bookmark("", ends_list=True)),
    "list that goes on for ever": lambda call: (
        call.error(400) if call.is_watch else call.json(listing([], token="again"))
    ),
    "list that goes on with the same": lambda call: (
        call.error(400) if call.is_watch else call.json(listing([named("a")], token="again"))
    ),
    "watch that ends after one event": lambda call: (
        answer(*streamed("a"))(call) if call.is_stream_list else answer(bookmark(11))(call)
    ),
    "watch that knows less every time": lambda call: (
        answer(bookmark(5))(call)
        if call.is_watch and not call.is_stream_list
        else answer(*streamed("a"))(call)
        if call.is_watch
        else call.json(listing([named("a")], version="9"))
    ),
    "lines that are no events": answer(b"not json"),
    "expired for ever": answer(expired()),
    "nothing": answer(),
    "not a list": lambda call: call.text("<html>"),
    "cut": Call.cut,
    "busy": error(429, Retry_After="0"),
    "forbidden": error(403),
    "gone": error(410),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_there_is_a_ceiling_on_requests(serve: Serve, name: str) -> None:
    server = serve(ENDLESS[name])
    bench = Bench(server)
    for _ in range(100):
        bench.now += bench.step() + sum(bench.waits)
        bench.waits.clear()
        if bench.now > 60:
            break
    assert bench.now > 60, "so many attempts took no time"
    assert len(server.calls) <= 3 * (10 + bench.now), name


def test_list_without_a_version_is_shown_and_said(serve: Serve) -> None:
    bench = Bench(serve(ENDLESS["list without a version"]), chance=0.0)
    assert bench.step() == 60.0
    assert bench.status.phase is Phase.STALE
    assert "lists nodes without a resourceVersion, so that changes cannot be followed" in bench.status.last_error


def test_endless_list_of_ever_new_objects_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "MOST_OBJECTS", 50)
    numbers = itertools.count()

    def more(call: Call) -> None:
        call.error(400) if call.is_watch else call.json(listing([named(f"node-{next(numbers)}")], token="more"))

    server = serve(more)
    bench = Bench(server)
    assert bench.step() > 0
    assert bench.status.phase is Phase.DISCONNECTED
    assert "'s list of nodes has not ended after 51 objects" in bench.status.last_error
    assert len(server.calls) == 52


def test_pages_come_no_faster_than_any_cluster_needs_them(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "PAGES", (20.0, 5.0))
    numbers = itertools.count()

    def more(call: Call) -> None:
        number = next(numbers)
        call.error(400) if call.is_watch else call.json(
            listing([named(f"node-{number}")], token="more" if number < 40 else "")
        )

    bench = Bench(serve(more))
    bench.step()
    assert len(bench.keys) == 40
    assert sum(wait > 0 for wait in bench.waits) == 20


# What cannot be read


def test_a_page_that_is_no_list_is_an_error_and_unreadable_objects_of_one_are_said(serve: Serve) -> None:
    bad = {"metadata": {"name": "bad"}, "spec": {"taints": "none"}}
    answers = lambda call: call.text("<html>"), lambda call: call.json(listing([named("a"), bad, bad]))
    bench = Bench(serve(Script(NO_STREAMING, *answers)))
    assert bench.step() == 1.0
    assert "did not answer with a list of nodes: " in bench.status.last_error
    assert bench.step() == 0
    assert bench.keys == {"a"}
    assert bench.status.phase is Phase.LIVE
    assert bench.status.last_error.startswith("could not be read (and 1 more): Node bad: spec.taints")


def test_object_that_becomes_unreadable_is_not_shown(serve: Serve) -> None:
    bad = {**named("a", version="11"), "spec": {"taints": "none"}}
    bench, server = live(serve, answer(event("MODIFIED", bad), bookmark(12)), answer(bookmark(13)), names=("a", "b"))
    bench.step()
    bench.step()
    assert (bench.keys, bench.status.count) == ({"b"}, 1)
    assert bench.status.last_error.startswith("could not be read: Node a: spec.taints")
    assert server.calls[-1].query["resourceVersion"] == "12"


@pytest.mark.crashes
def test_a_bug_is_a_sentence_and_the_thread_lives_on(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, _ = live(serve, answer(event("ADDED", named("b"))), answer(*streamed("a", "b", version="20")))
    with monkeypatch.context() as patch:
        patch.setattr(bench.reflector._decoder, "line", None, raising=False)
        assert bench.step() == 1.0
    assert bench.status.last_error.startswith("internal error while following nodes: TypeError: ")
    assert bench.step() == 0
    assert bench.status.phase is Phase.LIVE


# Reporting


def test_traffic_is_reported_twice_a_second_at_most(serve: Serve) -> None:
    bench: Bench

    def busy(call: Call) -> None:
        call.lines(*(event("MODIFIED", named("a", version=str(v))) for v in range(11, 20)))
        call.lines(event("ADDED", named("b", version="20")))
        bench.mailbox.until(lambda: "b" in bench.keys and bench.status.count == 2)
        bench.now += 0.5
        call.lines(event("MODIFIED", named("b", version="21")))
        call.end()

    bench, _ = live(serve, busy)
    before = len(bench.mailbox.history)
    bench.step()
    reports = bench.mailbox.history[before:]
    assert [status.count for status in reports] == [1, 2, 2]
    assert reports[-1].last_contact_ns == NOW_NS + 500_000_000


# The endless loop


def test_run_announces_waits_and_stops(serve: Serve) -> None:
    stopped = threading.Event()
    bench = Bench(serve(Script(error(503), answer(*streamed("a"), then=Call.stall))))

    def pause(seconds: float) -> None:
        bench.waits.append(seconds)

    assert not bench.reflector.settled.is_set()
    thread = threading.Thread(target=bench.reflector.run, args=(stopped,))
    thread.start()
    bench.mailbox.until(lambda: bench.keys == {"a"})
    assert bench.reflector.settled.wait(5)
    bench.mailbox.until(lambda: Phase.LIVE in bench.mailbox.phases(Kind.NODE))
    stopped.set()
    bench.reflector._transport.close()
    thread.join(5)
    assert not thread.is_alive()
    assert bench.mailbox.phases(Kind.NODE) == [Phase.CONNECTING, Phase.DISCONNECTED, Phase.LIVE]
    assert bench.waits == [1.0]


# Against a server that keeps objects


def cut(api: FakeApi, _: int) -> None:
    api.cut_streams()


def cut_and_compact(api: FakeApi, _: int) -> None:
    api.cut_streams()
    api.compact()


def fail(api: FakeApi, round_: int) -> None:
    faults = [error(500), error(429, Retry_After="1"), answer(expired()), Call.cut, answer(then=Call.cut), error(401)]
    left = [faults[round_ % len(faults)]]

    def fault(call: Call) -> None:
        if left:
            left.pop()(call)
            raise Answered

    api.fault = fault
    api.cut_streams()


@pytest.mark.parametrize("streams_lists", [True, False], ids=["streaming lists", "pages"])
@pytest.mark.parametrize("disturb", [cut, cut_and_compact, fail])
def test_no_change_is_lost_or_doubled_over_faults(
    serve: Serve, disturb: Callable[[FakeApi, int], None], *, streams_lists: bool
) -> None:
    api = FakeApi()
    api.streams_lists = streams_lists
    for i in range(40):
        api.put(NODES.path, named(f"n{i}"))
    bench = Bench(serve(api), read_seconds=5)
    stopped = threading.Event()
    thread = threading.Thread(target=bench.reflector.run, args=(stopped,))
    thread.start()
    bench.mailbox.until(lambda: bench.keys == api.keys(NODES.path))
    for round_ in range(12):
        disturb(api, round_)
        api.delete(NODES.path, f"n{round_}")
        api.put(NODES.path, named(f"n{round_ + 20}", labels={"round": str(round_)}))
        api.put(NODES.path, named(f"new{round_}"))
    bench.mailbox.until(lambda: bench.keys == api.keys(NODES.path))
    bench.mailbox.until(lambda: bench.status.phase is Phase.LIVE)
    stopped.set()
    bench.reflector._transport.close()
    thread.join(5)
