from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple

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


def with_short_silence(monkeypatch: pytest.MonkeyPatch, *, streams: int) -> list[float]:
    """Shorten the silence allowed to the first streams to 0.05 s; return the list of the limits requested."""
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
    """A reflector with a clock that the test moves; each ``step`` is one list or watch."""

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
        """List or watch once; return the seconds to wait before the next attempt."""
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
    """Return an answer that sends lines and then calls ``then`` (end, cut or stall)."""

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


class RecordingTap:
    """A tap that records what it gets, in order."""

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
    tap = RecordingTap()
    bench = Bench(serve(Script(count, streamed_list) if is_streamed else Script(count, *in_pages)), PODS, tap=tap)
    while bench.keys != {"web/a"}:
        assert bench.step() == 0
    assert tap.texts == [("web/a", "3", "n1"), ("web/b", "4", "n1"), ("web/a", "11", "n2"), ("web/b", "deleted", "")]
    assert tap.status.kind is Kind.POD


# Streaming lists


def test_streaming_list_continues_as_a_watch(serve: Serve) -> None:
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


@pytest.mark.parametrize(("broken", "problem"), [
    (answer(event("ADDED", named("a"))), "ended the list of nodes before it was complete"),
    (answer(then=Call.stall), "stopped sending data"),
    (answer(event("ADDED", named("a")), b"not json"), "is not a watch event"),
], ids=["ends early", "stays silent", "sends no event"])  # fmt: skip
def test_nodes_are_listed_in_pages_after_two_broken_streaming_lists(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, broken: Answer, problem: str
) -> None:
    with_short_silence(monkeypatch, streams=2)
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
def test_pages_are_listed_if_streaming_is_refused(serve: Serve, code: int) -> None:
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


def test_many_objects_over_a_slow_link_are_listed_in_compressed_pages(serve: Serve) -> None:
    bench: Bench

    def slow_count(call: Call) -> None:
        bench.now += 0.2
        call.json(listing([named("a", "x")], remaining=10_000))

    server = serve(Script(slow_count, lambda call: call.json(listing([named("a", "x")]))))
    bench = Bench(server, PODS)
    assert bench.step() == 0
    assert not server.calls[1].is_watch
    assert server.calls[1].headers["Accept-Encoding"] == "gzip"


def test_only_the_metadata_of_replicasets_is_requested(serve: Serve) -> None:
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


# How watches end


def live(
    serve: Serve, *answers: Answer, names: tuple[str, ...] = ("a",), **options: Any
) -> tuple[Bench, LoopbackServer]:
    """Return a bench after its first list, and the server, which gives these answers next."""
    server = serve(Script(answer(*streamed(*names)), *answers))
    bench = Bench(server, **options)
    assert bench.step() == 0
    assert bench.keys == set(names)
    return bench, server


def test_half_open_connection_is_noticed(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, server = live(serve, answer(bookmark(11), then=Call.stall), page(version="11"), answer(bookmark(12)))
    with_short_silence(monkeypatch, streams=1)
    assert bench.step() == 1.0
    assert "stopped sending data" in bench.status.last_error
    bench.step()
    assert server.calls[-1].query["resourceVersion"] == "11"
    assert bench.status.phase is Phase.LIVE


def test_complete_streaming_list_may_be_silent_for_longer(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = with_short_silence(monkeypatch, streams=0)

    def late(call: Call) -> None:
        call.lines(*streamed("a"))
        call.lines(event("ADDED", named("b", version="11")))
        call.end()

    bench = Bench(serve(Script(late)))
    assert bench.step() == 0
    assert bench.keys == {"a", "b"}
    assert allowed == [reflector.INITIAL_SILENCE_SECONDS, reflector.SILENCE_SECONDS]


def quiet_for(seconds: float, then: Callable[[Call], None], serve: Serve, *before: Answer) -> Bench:
    """Return a bench whose watch is silent for some seconds and then calls ``then``."""
    bench: Bench

    def after_a_while(call: Call) -> None:
        call.lines()
        bench.mailbox.until(lambda: bench.reflector._opened_at is not None)
        bench.now += seconds
        then(call)

    bench, _ = live(serve, *before, after_a_while)
    return bench


def test_silent_watch_that_ends_on_time_is_no_failure(serve: Serve) -> None:
    assert quiet_for(400, Call.end, serve).step() == 0


def test_silent_watch_cut_after_a_minute_resets_the_back_off(serve: Serve) -> None:
    bench = quiet_for(60, Call.cut, serve, error(500), error(500))
    assert [bench.step() for _ in range(3)] == [1.0, 2.0, 1.0]


# After a restore


def then(*items: dict[str, Any]) -> Answer:
    """Return an answer with the objects at version 15; it fails if another version is requested."""

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
def test_restore_is_noticed_although_versions_have_grown_past_ours(
    serve: Serve, before: Answer, answers: list[Answer]
) -> None:
    """At the last version seen, the restored storage held other objects than the reflector."""
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
    assert bench.reflector._seen.newest() == ("new", 14), "the newest version seen is not that of the restored list"


@pytest.mark.parametrize("answers", [
    [MOVED, then(named("a", version="12"))],
    [GONE, then(named("a")), then()],
    [MOVED, error(410, "The provided resource version is too old", "Expired")],
    [MOVED, error(400, "resourceVersionMatch is forbidden")],
    [MOVED, then(named("a", version=""))],
], ids=["the same", "gone", "forgotten", "not understood", "no version"])  # fmt: skip
def test_watch_continues_if_the_past_is_unchanged_or_unknown(serve: Serve, answers: list[Answer]) -> None:
    before, *told = answers
    bench, server = live(serve, before, Call.cut, page("a", version="20"), *told, answer(bookmark(21)))
    for _ in range(3):
        bench.step()
    assert (bench.restores, bench.status.phase) == (0, Phase.LIVE)
    assert server.calls[-1].is_watch
    assert server.calls[-1].query["resourceVersion"] == "15"


def test_kind_lists_again_if_another_kind_noticed_a_restore(serve: Serve) -> None:
    bench, server = live(serve, page("a", "b", version="22"), answer())
    bench.reflector.doubt_the_past()
    assert bench.step() > 0
    assert bench.status.phase is Phase.STALE
    bench.step()
    assert (bench.keys, bench.status.phase) == ({"a", "b"}, Phase.LIVE)
    bench.step()
    assert server.calls[-1].query["resourceVersion"] == "22"


def test_only_one_object_of_a_past_version_is_requested(serve: Serve) -> None:
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


def test_outdated_list_replaces_nothing(serve: Serve) -> None:
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


# The state after each list or watch


class After(NamedTuple):
    """Expected state after a list or watch; None and empty strings are not checked."""

    seconds: float | None = None
    """Wait before the next attempt at its longest; -1 for any wait."""
    phase: Phase | None = None
    keys: str | None = None
    """Names of the nodes, one letter each."""
    said: str = ""
    """Text within the status's error; with ``^``, its beginning."""
    asked: str = ""
    """The last request: the resourceVersion of a watch, ``stream`` or ``page`` for a list, or the page limit."""
    recoveries: int | None = None


def request_of(call: Call) -> set[str]:
    if call.is_stream_list:
        return {"stream"}
    return {call.query["resourceVersion"]} if call.is_watch else {"page", f"limit {call.query.get('limit')}"}


OLD_NEW = named("new", version="5")
AB, B2 = answer(*streamed("a", "b")), event("ADDED", named("b", version="11"))
NEW_B = answer(*streamed("b", version="12"))
BUSY = {**failure(429, "slow down"), "details": {"retryAfterSeconds": 12}}
BAD = {**named("a", version="11"), "spec": {"taints": "none"}}
NAMELESS = {"metadata": {"name": ["a"], "resourceVersion": "11"}}
WORDS = 'nodes is forbidden: User "dev" cannot list resource "nodes" in API group "" at the cluster scope'
OLDER = "has older nodes than before, as after a restore from a backup; listing again"
STARTING = "^the API server is back but still starting ({}): no"
NO_EVENT = "sent a line about nodes that is not a watch event ("
AT_ONCE = [answer(), page(version="10")]
LISTED_INSTEAD = "^no permission to watch nodes (cluster-scoped): cannot watch; listed every 60 s instead"
COURSES: dict[str, tuple[list[Answer], list[After]]] = {
    "a streaming list that breaks off is begun again in spite of a bookmark": (
        [answer(*streamed("a", "g")[:2], bookmark(99), then=Call.cut), AB],
        [After(1.0, Phase.DISCONNECTED, "ag"), After(0, Phase.LIVE, "ab", asked="stream", recoveries=2)],
    ),
    "a list that outlives its pages is done again with larger ones": (
        [NO_STREAMING, page("a", token="x"), error(410, "The provided continue parameter is too old", "Expired"),
         page("a", version="3")],
        [After(1.0, Phase.SYNCING, said="no longer knows what changed in nodes; listing again"),
         After(0, keys="a", asked="limit 1000")],
    ),
    "a list without a version is shown": (
        [error(400), lambda call: call.json(listing([], version=""))],
        [After(66.0, Phase.STALE, said="lists nodes without a resourceVersion, so that changes cannot be followed")],
    ),
    "a page that is no list is an error, and an unreadable object of one is left out": (
        [NO_STREAMING, lambda call: call.text("<html>"), lambda call: call.json(listing([named("b"), BAD, BAD]))],
        [After(1.0, said="did not answer with a list of nodes: "),
         After(0, Phase.LIVE, "b", "^could not be read (and 1 more): Node a: spec.taints")],
    ),
    "an object that becomes unreadable is not shown": (
        [AB, answer(event("MODIFIED", BAD), bookmark(12)), answer(bookmark(13))],
        [After(0), After(), After(None, None, "b", "^could not be read: Node a: spec.taints", "12")],
    ),
    **{
        f"{name} lists again and finds what is gone": (
            [AB, sign, answer(*streamed("b", "c"))],
            [After(0), After(1.0, Phase.SYNCING, "ab"), After(0, Phase.LIVE, "bc", asked="stream")],
        )
        for name, sign in (("410", error(410, "too old", "Expired")), ("an expired watch", answer(expired())))
    },
    "changes before an error event count": (
        [page1 := answer(*streamed("a")), answer(B2, event("ERROR", failure(500, "etcd leader changed"))), answer()],
        [After(0), After(1.0, None, "ab", "500: etcd leader changed"), After(asked="11")],
    ),
    "a watch that is cut goes on where it was": ([page1, answer(B2, then=Call.cut), page("a", version="11"),
                                                  answer(event("DELETED", named("a", version="12")))],
                                                 [After(0), After(1.0, Phase.DISCONNECTED, said="cut the connection"),
                                                  After(0, Phase.LIVE, "b", asked="11", recoveries=1)]),
    "watches that end at once back off, and nothing is followed meanwhile": (
        [page1, *AT_ONCE, *AT_ONCE, *AT_ONCE, answer(bookmark(11)), answer()],
        [After(0), After(1.0), After(2.0), After(4.0, Phase.STALE, said="ends the watch of nodes at once"),
         After(0, Phase.LIVE), After(1.0)],
    ),
    **{
        f"the time that {code} names is waited, up to five minutes": (
            [page1, error(code, "too many", Retry_After="17"), error(code, "x", Retry_After="9999"), answer()],
            [After(0), After(17.0, Phase.DISCONNECTED, said=str(code)), After(300.0), After(asked="10")],
        )
        for code in (429, 503)
    },
    "an error event names a time too": (
        [page1, answer(event("ERROR", BUSY))],
        [After(0),
         After(12.0, said="^the API server is busy and asks to come back later (429): slow down")],
    ),
    "after errors in a row there is a new list": ([page1, *[error(500, "broken")] * 4, answer(*streamed("b"))],
                                                  [After(0), *[After()] * 4, After(keys="b", asked="stream")]),
    "a version that is too large for the server is no start of a watch": (
        [page1, error(504, "Too large resource version: 10, current: 3", "Timeout"), answer(*streamed("b"))],
        [After(0), After(), After(keys="b", asked="stream")],
    ),
    "401 runs for new credentials": (
        [page1, error(401, "Unauthorized"), answer(bookmark(11))],
        [After(0), After(1.0, Phase.DISCONNECTED, None, "^the API server does not accept the credentials (401): Un"),
         After(0, Phase.LIVE)],
    ),
    "403 switches the kind off": (
        [AB, error(403, WORDS), error(403, WORDS), error(403, WORDS), page("a", version="12")],
        [After(0), After(5.5, Phase.FORBIDDEN, "", f"^no permission to watch nodes (cluster-scoped): {WORDS}"),
         After(5.5, Phase.FORBIDDEN, "", f"^no permission to list nodes (cluster-scoped): {WORDS}"),
         After(0, Phase.LIVE, "a")],
    ),
    **{
        f"{code} of a server that has just come back is not believed at once": (
            [page1, Call.cut, error(code, "RBAC: not read"), error(code), page(version="10"), answer(bookmark(11))],
            [After(0), After(recoveries=0), After(recoveries=1),
             After(None, Phase.DISCONNECTED, "a", STARTING.format(code), recoveries=1), After(0, Phase.LIVE)],
        )
        for code in (403, 404)
    },
    "refusals that last after an outage are believed": ([page1, Call.cut, *[error(403)] * 7],
                                                        [After(0), *map(After, (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)),
                                                         After(5.5, Phase.FORBIDDEN, "")]),
    "a kind that may be listed and not watched is listed": (
        [error(403, "w"), page("a"), error(403, "cannot watch"), page("b"), error(403, "cannot watch"), error(403)],
        [After(0), After(66.0, Phase.STALE, None, LISTED_INSTEAD), After(0, keys="b"), After(), After(5.5, keys="")],
    ),
    "404 means not installed": ([page1, error(404, "404 page not found"), error(404), answer(*streamed("b"))],
                                [After(0),
                                 After(66.0, Phase.NOT_INSTALLED, "", "^the API server has no nodes in version v1"),
                                 After(66.0), After(0, keys="b")]),
    **{
        f"a line that is no event is asked for again: {line[:20]!r}": (
            [page1, answer(B2, line), answer(event("ADDED", named("c", version="12")))],
            [After(0), After(1.0, Phase.STALE, "ab", NO_EVENT), After(0, Phase.LIVE, "abc", asked="11")],
        )
        for line in (b"not json", b'{"type": 3}', b'{"type":"ADDED","object":{}}', b"[" * 100_000)
    },
    "a line that is no event twice leads to a new list": (
        [page1, answer(b"not json"), answer(b"not json"), NEW_B],
        [After(0), After(said="; asking again"), After(said="; listing again"), After(0, keys="b", asked="stream")],
    ),
    "a deletion that cannot be read leads to a new list": (
        [AB, answer(event("DELETED", NAMELESS)), NEW_B],
        [After(0), After(None, Phase.STALE, None, "DELETED of an object without a name"),
         After(keys="b", asked="stream")],
    ),
    **{
        f"a restore is noticed by {name}": (
            [page1, sign, page("a", version="6"), answer(event("ADDED", named("c", version="7")))],
            [After(0), After(-1, Phase.STALE, None, OLDER), After(0, Phase.LIVE, "a", asked="page"),
             After(0, keys="ac", asked="6")],
        )
        for name, sign in (("a bookmark", answer(bookmark(5))), ("an event", answer(event("ADDED", OLD_NEW))))
    },
    "a restore during an outage is noticed before anything is live": (
        [answer(*streamed("a", "p")), Call.cut, page("a", version="5"), page("a", version="6")],
        [After(0), After(), After(None, Phase.STALE), After(None, Phase.LIVE, "a")],
    ),
}  # fmt: skip
"""Answers of the server, and the expected state after each list or watch."""


@pytest.mark.parametrize("course", COURSES)
def test_state_after_each_list_or_watch(serve: Serve, course: str) -> None:
    answers, states = COURSES[course]
    server = serve(Script(*answers))
    bench = Bench(server)
    for after in states:
        seconds = bench.step()
        bench.now += seconds
        assert after.seconds in (None, seconds) or (after.seconds == -1 and seconds > 0), seconds
        assert after.phase in (None, bench.status.phase), bench.status
        assert after.keys is None or (bench.keys, bench.status.count) == (set(after.keys), len(after.keys))
        text = bench.status.last_error
        assert text.startswith(after.said[1:]) if after.said[:1] == "^" else after.said in text, text
        assert len(text) < 300
        assert not after.asked or after.asked in request_of(server.calls[-1])
        assert after.recoveries in (None, bench.recoveries)


# Endless failures and endless lists


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
def test_the_rate_of_requests_is_limited(serve: Serve, name: str) -> None:
    server = serve(ENDLESS[name])
    bench = Bench(server)
    for _ in range(100):
        bench.now += bench.step() + sum(bench.waits)
        bench.waits.clear()
        if bench.now > 60:
            break
    assert bench.now > 60, "100 attempts took less than a minute"
    assert len(server.calls) <= 3 * (10 + bench.now), name


def test_endless_list_of_new_objects_is_abandoned(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_the_rate_of_pages_is_limited(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
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


# Errors in our own code


@pytest.mark.crashes
def test_internal_error_is_reported_and_the_thread_continues(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, _ = live(serve, answer(event("ADDED", named("b"))), answer(*streamed("a", "b", version="20")))
    with monkeypatch.context() as patch:
        patch.setattr(bench.reflector._decoder, "line", None, raising=False)
        assert bench.step() == 1.0
    assert bench.status.last_error.startswith("internal error while following nodes: TypeError: ")
    assert bench.step() == 0
    assert bench.status.phase is Phase.LIVE


# Reporting


def test_status_is_reported_at_most_twice_a_second(serve: Serve) -> None:
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


def test_run_announces_the_kind_waits_and_stops(serve: Serve) -> None:
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
def test_faults_neither_lose_nor_repeat_changes(
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
