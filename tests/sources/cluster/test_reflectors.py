from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import pytest
from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.sources.cluster import reflectors
from karptui.sources.cluster.backoff import Bell, Waits
from karptui.sources.cluster.reflectors import Reflectors
from karptui.sources.cluster.resources import (
    AUTO_MODE_EVENTS,
    EVENTS,
    LATER,
    NODECLAIMS,
    NODEPOOLS,
    NODES,
    PODS,
    Resource,
)
from karptui.sources.cluster.status_board import Board
from karptui.sources.source import Phase
from tests.fake_api_server import Answered, Call, FakeApi, LoopbackServer, named

from .live import Serve, WatchedMailbox, transport_to
from .test_discovery import aggregated, group, resource

EC2 = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
MIB = 1 << 20


class Cluster(FakeApi):
    """An API server with discovery and every followed kind."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: dict[str, dict[str, list[tuple[str, str]]]] = {}
        self._objects |= {followed.path: {} for followed in (NODES, *LATER)}

    def install(self, group: str, version: str, plural: str, kind: str) -> None:
        """Add a custom resource."""
        self.groups.setdefault(group, {}).setdefault(version, []).append((plural, kind))
        self._objects.setdefault(f"/apis/{group}/{version}/{plural}", {})

    def answer(self, call: Call) -> None:
        if call.path != "/apis":
            super().answer(call)
            return
        groups = (
            group(name, **{version: [resource(*names) for names in served] for version, served in versions.items()})
            for name, versions in self.groups.items()
        )
        call.json(aggregated(*groups))


def karpenter() -> Cluster:
    cluster = Cluster()
    cluster.install("karpenter.sh", "v1", "nodepools", "NodePool")
    cluster.install("karpenter.sh", "v1", "nodeclaims", "NodeClaim")
    cluster.install("karpenter.k8s.aws", "v1", "ec2nodeclasses", "EC2NodeClass")
    return cluster


class Following:
    """The reflectors of a server; waits are cut short, and the test moves the clock."""

    def __init__(self, server: LoopbackServer | str, mailbox: WatchedMailbox | None = None) -> None:
        self.mailbox = mailbox or WatchedMailbox()
        self.now = 0.0
        self.paused: list[float] = []
        self.ticks = threading.Semaphore(0)
        self.reflectors = Reflectors(transport_to(server), Board(self.mailbox), self.waits)
        self.reflectors.transport._now_ns = lambda: int((self.now + 1000) * 1e9)
        self._first_bell = self.reflectors._bell
        self.thread = threading.Thread(target=self.reflectors.run)

    def waits(self, bell: Bell) -> Waits:
        is_supervisor = not hasattr(self, "reflectors")

        def pause(seconds: float) -> None:
            self.paused.append(seconds)
            if is_supervisor:
                self.ticks.acquire(timeout=30)
            else:
                bell.wait(min(seconds, 0.05))

        return Waits(
            pause=pause, now_ns=lambda: int((self.now + 1000) * 1e9), monotonic=lambda: self.now, chance=lambda: 1.0
        )

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.reflectors._stopped.set()
        self.ticks.release()
        self.reflectors.stop(1.0)
        self.thread.join(5)
        assert not self.thread.is_alive()

    def phase(self, kind: Kind) -> Phase | None:
        status = self.mailbox.statuses.get(kind)
        return status.phase if status is not None else None

    def until_live(self, *kinds: Kind) -> None:
        self.mailbox.until(lambda: all(self.phase(kind) is Phase.LIVE for kind in kinds))

    def check_when_quiet(self) -> None:
        """Check contact after 25 seconds without data."""
        self.now += 25
        self.reflectors.check_contact()


ALL = (Kind.NODE, Kind.NODEPOOL, Kind.NODECLAIM, Kind.NODECLASS, *(resource.kind for resource in LATER))


@contextmanager
def followed(server: LoopbackServer) -> Iterator[Following]:
    """Yield the reflectors of a server after all kinds have become live."""
    with Following(server) as following:
        following.until_live(*ALL)
        yield following


def test_all_kinds_become_live_and_small_kinds_first(serve: Serve) -> None:
    api = karpenter()
    api.put(NODES.path, named("n1"))
    api.put(PODS.path, named("p1", "web"))
    api.put(EC2, named("default"))
    server = serve(api)
    with followed(server) as following:
        assert following.phase(Kind.NODEOVERLAY) is Phase.NOT_INSTALLED
        assert following.mailbox.keys(Kind.NODE) == {"n1"}
        assert following.mailbox.keys(Kind.POD) == {"web/p1"}
        assert len(following.mailbox.keys(Kind.NODECLASS)) == 1
        assert {status.kind for status in following.mailbox.history} == set(Kind) - {
            Kind.CAPACITY_BUFFER,
            Kind.POD_TEMPLATE,
            Kind.SERVICE,
            Kind.CRONJOB,
            Kind.REPLICATION_CONTROLLER,
            Kind.VPA,
        }
    paths = [call.path for call in server.calls]
    first = {NODES.path, "/apis", NODEPOOLS.path, NODECLAIMS.path, EC2}
    assert set(paths[:5]) == first
    selectors = {call.query["fieldSelector"] for call in server.calls if call.path == EVENTS.path}
    assert selectors == {resource.field_selector for resource in LATER if resource.kind is Kind.EVENT}


def test_karpenters_kinds_are_not_installed_until_karpenter_is(serve: Serve) -> None:
    api = Cluster()
    with Following(serve(api)) as following:
        following.until_live(Kind.NODE, Kind.POD)
        for kind in (Kind.NODEPOOL, Kind.NODECLAIM, Kind.NODECLASS, Kind.NODEOVERLAY):
            # mypy has no type for a lambda with a value bound as its default.
            following.mailbox.until(lambda kind=kind: following.phase(kind) is Phase.NOT_INSTALLED)  # type: ignore[misc]
        assert following.mailbox.statuses[Kind.NODEPOOL].last_error == "the API server has no NodePool kind"
        api.install("karpenter.sh", "v1", "nodepools", "NodePool")
        following.now += 31
        following.ticks.release()
        following.until_live(Kind.NODEPOOL)


def test_another_version_of_a_kind_takes_over(serve: Serve) -> None:
    api = Cluster()
    api.install("karpenter.sh", "v1beta1", "nodepools", "NodePool")
    server = serve(api)
    with Following(server) as following:
        following.until_live(Kind.NODEPOOL, Kind.POD)
        api.install("karpenter.sh", "v1", "nodepools", "NodePool")
        api.put(NODEPOOLS.path, named("general", spec={"template": {"spec": {"requirements": []}}}))
        following.now += 31
        following.ticks.release()
        following.mailbox.until(lambda: following.reflectors.resources_of(Kind.NODEPOOL) == (NODEPOOLS,))
        # The server stops serving the old version.
        del api._objects["/apis/karpenter.sh/v1beta1/nodepools"]
        api.cut_streams()
        following.mailbox.until(lambda: any(call.path == NODEPOOLS.path for call in server.calls))
        following.until_live(Kind.NODEPOOL)


def test_karpenters_kinds_are_followed_although_discovery_fails(serve: Serve) -> None:
    api = karpenter()
    left = [1]
    api.answer_at("/apis", lambda call: call.error(403, "no discovery"), lambda: left and left.pop())
    with Following(serve(api)) as following:
        following.until_live(Kind.NODEPOOL, Kind.NODECLAIM, Kind.POD)
        following.mailbox.until(lambda: following.phase(Kind.NODEOVERLAY) is Phase.NOT_INSTALLED)
        status = following.mailbox.statuses[Kind.NODECLASS]
        assert status.phase is Phase.DISCONNECTED
        assert "NodeClass kinds cannot be discovered: the API server answered 403" in status.last_error
        left.append(1)
        following.now += 31
        following.ticks.release()
        following.mailbox.until(lambda: not left and following.reflectors._discover_at > following.now)
        following.now += 31
        following.ticks.release()
        following.until_live(Kind.NODECLASS)
        assert len(following.reflectors.resources_of(Kind.NODEPOOL)) == 1


def test_events_of_auto_mode(serve: Serve) -> None:
    api = karpenter()
    api.install("eks.amazonaws.com", "v1", "nodeclasses", "NodeClass")
    server = serve(api)
    with followed(server) as following:
        events = {resource for resource in LATER if resource.kind is Kind.EVENT}
        assert {*following.reflectors.resources_of(Kind.EVENT)} == {*events, AUTO_MODE_EVENTS}
        following.mailbox.until(
            lambda: any(call.query.get("fieldSelector") == "source=eks-auto-mode/compute" for call in server.calls)
        )


def test_forbidden_kind_does_not_affect_others(serve: Serve) -> None:
    api = karpenter()
    api.answer_at(PODS.path, lambda call: call.error(403, "pods is forbidden"))
    with Following(serve(api)) as following:
        following.until_live(*(kind for kind in ALL if kind is not Kind.POD))
        following.mailbox.until(lambda: following.phase(Kind.POD) is Phase.FORBIDDEN)
        assert following.mailbox.statuses[Kind.POD].last_error == (
            "no permission to list pods in all namespaces: pods is forbidden"
        )


def test_slow_first_kinds_do_not_delay_the_others(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflectors, "FIRST_SECONDS", 0.05)
    api = karpenter()
    api.answer_at(NODES.path, Call.stall)
    with Following(serve(api)) as following:
        following.until_live(Kind.POD, Kind.NODEPOOL)
        assert following.phase(Kind.NODE) is None or following.phase(Kind.NODE) is Phase.CONNECTING


def test_pods_are_read_once_the_app_shows_the_nodes(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflectors, "FIRST_SECONDS", 60.0)
    with Following(serve(karpenter()), WatchedMailbox(shows_nodes_first=True)) as following:
        following.until_live(Kind.NODE, Kind.NODEPOOL)
        assert following.phase(Kind.POD) is Phase.CONNECTING
        following.mailbox.nodes_shown()
        following.until_live(Kind.POD)


def test_all_kinds_become_live_again_after_a_server_restart(serve: Serve) -> None:
    api = karpenter()
    api.put(NODES.path, named("before"))
    api.put(NODES.path, named("gone"))
    server = serve(api)
    with followed(server) as following:
        api.cut_streams()
        server.close()
        following.mailbox.until(lambda: all(following.phase(kind) is Phase.DISCONNECTED for kind in ALL))
        following.mailbox.until(lambda: "refuses connections" in following.mailbox.statuses[Kind.NODE].last_error)
        assert following.mailbox.keys(Kind.NODE) == {"before", "gone"}
        api.delete(NODES.path, "gone")
        api.put(NODES.path, named("after"))
        api.compact()
        serve(api, port=server.port)
        following.mailbox.until(lambda: following.mailbox.keys(Kind.NODE) == {"before", "after"})
        following.until_live(*ALL)


def test_kind_without_changes_learns_of_a_restore_from_another(serve: Serve) -> None:
    """No NodePool was lost, but a new one has a version below the one that its watch continues from."""
    api = karpenter()
    api.put(NODES.path, named("node"))
    api.put(NODEPOOLS.path, named("pool"))
    backup = api._version
    server = serve(api)
    with followed(server) as following:
        for number in range(9):
            api.put(NODES.path, named(f"phantom-{number}"))
        following.mailbox.until(lambda: len(following.mailbox.keys(Kind.NODE)) == 10)
        api.cut_streams()
        following.until_live(*ALL)
        server.close()
        api.cut_streams()
        following.mailbox.until(lambda: all(following.phase(kind) is Phase.DISCONNECTED for kind in ALL))
        api.restore(backup)
        api.put(NODEPOOLS.path, named("restored"))
        for number in range(20):
            api.put(NODES.path, named(f"later-{number}"))
        serve(api, port=server.port)
        following.mailbox.until(lambda: following.mailbox.keys(Kind.NODE) == api.keys(NODES.path))
        following.now += 60
        following.mailbox.until(lambda: following.mailbox.keys(Kind.NODEPOOL) == {"pool", "restored"})
        following.until_live(*ALL)


def test_recovery_of_one_kind_shortens_the_waits_of_all(serve: Serve) -> None:
    """A starting server refuses some kinds again after it has answered others."""
    with followed(serve(karpenter())) as following:
        result, other = (reflector for reflector, _, _ in list(following.reflectors._followed.values())[:2])
        for _ in range(5):
            waited = other._backoff.next_seconds()
        assert waited == 16.0
        result._recovered()
        assert other._backoff.next_seconds() == 1.0


def test_repeated_recoveries_wake_other_kinds_only_every_ten_seconds(serve: Serve) -> None:
    with followed(serve(karpenter())) as following:
        reflector, _, bell = next(iter(following.reflectors._followed.values()))
        for moment, is_woken in ((0.0, True), (9.0, False), (10.5, True)):
            following.now = moment
            reflector._recovered()
            assert bell._event.is_set() is is_woken
            bell._event.clear()
        following.reflectors.wake()
        assert bell._event.is_set()


def stalling_once() -> Cluster:
    """Return an API server that does not answer the first readiness check."""
    api = karpenter()
    left = [1]
    api.answer_at("/readyz", Call.stall, lambda: left and left.pop())
    return api


def test_waiting_kinds_are_woken_when_the_server_answers_again(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflectors, "ANSWER_SECONDS", 0.05)
    api = stalling_once()
    with followed(serve(api)) as following:
        (*_, bell) = next(iter(following.reflectors._followed.values()))
        following.check_when_quiet()
        assert not bell._event.is_set()
        monkeypatch.setattr(reflectors, "ANSWER_SECONDS", 10.0)
        following.reflectors.check_contact()
        assert bell._event.is_set()


# Is the server still there?


def test_readiness_is_checked_only_if_the_server_is_silent(serve: Serve) -> None:
    server = serve(karpenter())
    with followed(server) as following:
        following.reflectors.check_contact()
        assert not any(call.path == "/readyz" for call in server.calls)
        following.check_when_quiet()
        assert server.calls[-1].path == "/readyz"


def test_kinds_become_stale_and_reconnect_if_the_server_is_silent(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflectors, "ANSWER_SECONDS", 0.05)
    api = karpenter()
    is_silent = threading.Event()
    api.answer_at("/readyz", Call.stall, is_silent.is_set)
    server = serve(api)
    with followed(server) as following:
        last_contact_ns = following.reflectors.transport.last_contact_ns
        is_silent.set()
        following.check_when_quiet()
        status = following.mailbox.statuses[Kind.NODE]
        assert (status.phase, status.since_ns) == (Phase.STALE, last_contact_ns)
        assert "stopped sending data" in status.last_error
        before = sum(call.path == NODES.path for call in server.calls)
        following.reflectors.check_contact()
        following.mailbox.until(lambda: sum(call.path == NODES.path for call in server.calls) > before)
        following.until_live(*ALL)
        monkeypatch.setattr(reflectors, "ANSWER_SECONDS", 10.0)
        is_silent.clear()
        following.reflectors.check_contact()
        assert following.reflectors._missed == 0


def test_stale_kinds_become_live_when_the_server_answers(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflectors, "ANSWER_SECONDS", 0.05)
    api = stalling_once()
    with followed(serve(api)) as following:
        following.check_when_quiet()
        assert following.phase(Kind.NODE) is Phase.STALE
        monkeypatch.setattr(reflectors, "ANSWER_SECONDS", 10.0)
        following.ticks.release()
        following.until_live(*ALL)
        following.mailbox.until(lambda: 2.0 in following.paused or following.reflectors._missed == 0)


NOT_READY = (
    b"[+]ping ok\n[-]etcd failed: reason withheld\n[-]etcd-readiness failed: reason withheld\nreadyz check failed\n"
)


def without_etcd(api: FakeApi) -> threading.Event:
    """Return an event; while it is set, the server reports itself not ready because of etcd."""
    is_down = threading.Event()

    def refuse(call: Call) -> None:
        if call.path == "/readyz" and is_down.is_set():
            call.text(NOT_READY, 500)
            raise Answered
        if call.query.get("limit") == "1" and is_down.is_set():
            call.error(500, "etcdserver: request timed out")
            raise Answered

    api.fault = refuse
    return is_down


def test_nothing_is_live_while_etcd_is_down(serve: Serve) -> None:
    api = karpenter()
    api.put(NODES.path, named("a"))
    is_down = without_etcd(api)
    with followed(serve(api)) as following:
        is_down.set()
        following.check_when_quiet()
        status = following.mailbox.statuses[Kind.NODE]
        assert all(following.phase(kind) is Phase.STALE for kind in ALL)
        assert status.last_error == (
            "the API server is not ready (500): etcd failed: reason withheld, etcd-readiness failed: reason withheld"
        )
        # A new watch is served from a cache that is no longer updated.
        api.cut_streams()
        following.mailbox.until(lambda: following.phase(Kind.NODE) is Phase.DISCONNECTED)
        following.ticks.release()
        assert following.phase(Kind.NODE) is not Phase.LIVE
        is_down.clear()
        following.reflectors.check_contact()
        following.reflectors.refresh()
        following.until_live(*ALL)


def test_stale_kind_becomes_live_after_a_change_but_not_after_a_bookmark(serve: Serve) -> None:
    api = karpenter()
    api.put(NODES.path, named("a"))
    is_down = without_etcd(api)
    with followed(serve(api)) as following:
        is_down.set()
        following.check_when_quiet()
        api.put(NODES.path, named("b"))
        following.mailbox.until(lambda: following.phase(Kind.NODE) is Phase.LIVE)
        assert following.phase(Kind.POD) is Phase.STALE


@pytest.mark.parametrize(("content", "code"), [
    *((b"", code) for code in (401, 403, 404, 429, 200)),
    *((content, 200) for content in (b"\xff", b"[" * 100_000, b"0" * MIB)),
], ids=["401", "403", "404", "429", "no text", "bytes", "deep", "long"])  # fmt: skip
def test_any_answer_but_a_failure_keeps_kinds_live(serve: Serve, content: bytes, code: int) -> None:
    api = karpenter()
    api.answer_at("/readyz", lambda call: call.text(content, code))
    with followed(serve(api)) as following:
        following.check_when_quiet()
        assert following.phase(Kind.NODE) is Phase.LIVE


@pytest.mark.crashes
def test_internal_error_in_the_contact_check_is_shown_until_the_next_check(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    with followed(serve(karpenter())) as following:
        with monkeypatch.context() as patch:
            patch.setattr(following.reflectors.transport, "get", lambda *_, **__: 1 / 0)
            following.now += 25
            following.reflectors._look_after()
        status = following.mailbox.statuses[Kind.NODE]
        assert status.phase is Phase.STALE
        assert status.last_error == (
            "internal error while checking the API server: ZeroDivisionError: division by zero"
        )
        following.reflectors._look_after()
        assert following.phase(Kind.NODE) is Phase.LIVE


def test_forbidden_kinds_are_retried_in_turn_and_all_at_once_after_one_succeeds(serve: Serve) -> None:
    api = karpenter()
    is_forbidden = threading.Event()
    is_forbidden.set()
    api.answer_at((NODES.path, PODS.path), lambda call: call.error(403, "no"), is_forbidden.is_set)
    with Following(serve(api)) as following:
        following.mailbox.until(
            lambda: all(
                kind in following.mailbox.statuses and following.phase(kind) is Phase.FORBIDDEN
                for kind in (Kind.NODE, Kind.POD)
            )
        )
        waits = sorted(seconds for seconds in following.paused if 4.9 < seconds < 12)
        assert len(waits) >= 2
        is_forbidden.clear()
        pairs = {result.resource.kind: (result, bell) for result, _, bell in following.reflectors._followed.values()}
        pairs[Kind.NODE][1].ring()
        following.reflectors.refresh()
        following.until_live(*ALL)


def test_refresh_retries_everything_at_once(serve: Serve) -> None:
    with followed(serve(karpenter())) as following:
        following.reflectors._missed = 1
        opened = tuple(following.reflectors.transport._open)
        assert opened
        following.reflectors.refresh()
        assert following.reflectors._discover_at == float("-inf")
        following.mailbox.until(lambda: not set(opened) & following.reflectors.transport._open)
        following.until_live(*ALL)


def test_resource_identity_ignores_the_version_and_paths_are_quoted() -> None:
    assert EVENTS.identity != AUTO_MODE_EVENTS.identity
    resource = Resource(kind=Kind.NODEPOOL, group="g", version="v1", plural="p", api_kind="P", is_namespaced=True)
    assert resource.identity == replace(resource, version="v2").identity
    assert resource.object_path("my ns", "a/b") == "/apis/g/v1/namespaces/my%20ns/p/a%2Fb"
