"""Faults of a real API server and its etcd: nothing stale counts as live, and karptui recovers soon after."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from karptui.decode.kinds import Kind
from karptui.sources.cluster import backoff, reflectors
from karptui.sources.cluster.collection import Collection
from karptui.sources.cluster.connection import Impersonation
from karptui.sources.cluster.errors import UnreachableError
from karptui.sources.source import Phase
from tests.sources.cluster.live import WatchedMailbox

from .control_plane import Client, ControlPlane
from .test_live_cluster import NODES_PATH, PODS_PATH, a_node, a_pod, following, until_live

pytestmark = pytest.mark.apiserver

SECONDS = 90.0
"""Time limit; each step takes much less, even on a busy machine."""
SETTLED = (Phase.LIVE, Phase.NOT_INSTALLED)


@pytest.fixture(scope="module")
def client(plane: ControlPlane) -> Client:
    """Return a client on a control plane with a few nodes and pods."""
    client = Client(plane)
    client.create(NODES_PATH, (a_node(i) for i in range(5)))
    client.create(PODS_PATH, (a_pod(f"steady-{i}", f"node-{i % 5}") for i in range(50)))
    return client


@pytest.fixture(autouse=True)
def _short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflectors, "CHECK_SECONDS", 0.5)
    monkeypatch.setattr(reflectors, "RECHECK_SECONDS", 0.5)
    monkeypatch.setattr(reflectors, "QUIET_SECONDS", 1.0)


def is_settled(mailbox: WatchedMailbox) -> bool:
    """Return whether the phase of every kind is final."""
    return bool(mailbox.statuses) and all(status.phase in SETTLED for status in mailbox.statuses.values())


def until_equal(mailbox: WatchedMailbox, client: Client) -> None:
    """Wait until the mailbox has the objects of the server and every kind is settled."""
    mailbox.until(lambda: is_settled(mailbox), SECONDS)
    for kind, path in ((Kind.NODE, NODES_PATH), (Kind.POD, PODS_PATH)):
        there = client.keys(path)
        # mypy has no type for a lambda with a value bound as its default.
        mailbox.until(lambda kind=kind, there=there: mailbox.keys(kind) == there, SECONDS)  # type: ignore[misc]


def while_stopped(plane: ControlPlane, change: Callable[[], object]) -> None:
    """Stop the server and etcd, call ``change``, and start both again."""
    plane.kill_server()
    plane.kill_etcd()
    change()
    plane.start_etcd()
    plane.start_server()


@pytest.fixture(scope="module")
def backup(plane: ControlPlane, client: Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of etcd's files that contains the nodes and pods of the client."""
    folder = tmp_path_factory.mktemp("etcd") / "backup"
    plane.back_up(folder)
    return folder


def test_a_restore_leaves_no_deleted_objects(
    plane: ControlPlane, client: Client, backup: Path, record_property: Callable[[str, object], None]
) -> None:
    with following(plane) as (_, mailbox):
        until_equal(mailbox, client)
        client.create(PODS_PATH, (a_pod(f"phantom-{i}", f"node-{i % 5}") for i in range(30)))
        until_equal(mailbox, client)
        assert sum("phantom" in key for key in mailbox.keys(Kind.POD)) == 30
        while_stopped(plane, lambda: plane.restore(backup))
        began = time.monotonic()
        mailbox.until(lambda: not any("phantom" in key for key in mailbox.keys(Kind.POD)), SECONDS)
        record_property("seconds_to_truth", time.monotonic() - began)
        until_equal(mailbox, client)
        client.request("POST", PODS_PATH, a_pod("arrival", "node-1"))
        mailbox.until(lambda: "default/arrival" in mailbox.keys(Kind.POD), SECONDS)


@pytest.fixture
def out_of_reach(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return an event that, once set, makes the server unreachable for every list and watch."""
    out_of_reach = threading.Event()

    def within_reach(ask: Callable[..., object]) -> Callable[..., object]:
        def asked(*arguments: object, **options: object) -> object:
            if out_of_reach.is_set():
                raise UnreachableError("out of reach")
            return ask(*arguments, **options)

        return asked

    for name in ("page", "_listed", "_stream"):
        monkeypatch.setattr(Collection, name, within_reach(getattr(Collection, name)))
    return out_of_reach


def test_a_restore_with_higher_versions_leaves_no_deleted_objects(
    plane: ControlPlane, client: Client, backup: Path, out_of_reach: threading.Event
) -> None:
    """karptui reconnects only when the restored etcd has a higher revision than the lost one."""
    with following(plane) as (source, mailbox):
        until_equal(mailbox, client)
        client.create(PODS_PATH, (a_pod(f"phantom-{i}", f"node-{i % 5}") for i in range(30)))
        until_equal(mailbox, client)
        out_of_reach.set()
        while_stopped(plane, lambda: plane.restore(backup))
        client.create(PODS_PATH, (a_pod(f"later-{i}", f"node-{i % 5}") for i in range(100)))
        out_of_reach.clear()
        source.refresh()
        mailbox.until(lambda: not any("phantom" in key for key in mailbox.keys(Kind.POD)), SECONDS)
        until_equal(mailbox, client)
        assert any("has another history of" in status.last_error for status in mailbox.history)


@pytest.mark.parametrize("process", ["etcd", "kube-apiserver"])
def test_nothing_is_live_while_a_process_is_frozen(
    plane: ControlPlane, client: Client, process: str, record_property: Callable[[str, object], None]
) -> None:
    with following(plane) as (_, mailbox):
        until_equal(mailbox, client)
        plane.freeze(process)
        try:
            began = time.monotonic()
            mailbox.until(lambda: not any(status.phase is Phase.LIVE for status in mailbox.statuses.values()), SECONDS)
            record_property("seconds_to_doubt", time.monotonic() - began)
            assert all(status.last_error for status in mailbox.statuses.values() if status.phase not in SETTLED)
        finally:
            plane.thaw(process)
        plane.await_server()
        began = time.monotonic()
        until_equal(mailbox, client)
        record_property("seconds_to_live", time.monotonic() - began)


def test_refresh_tries_every_kind_at_once_and_recovers_a_compacted_watch_position(
    plane: ControlPlane, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with following(plane) as (source, mailbox):
        until_equal(mailbox, client)
        plane.kill_server()
        mailbox.until(lambda: all(status.phase is not Phase.LIVE for status in mailbox.statuses.values()), SECONDS)
        with monkeypatch.context() as patch:
            for name in ("FIRST_SECONDS", "LONGEST_SECONDS"):
                patch.setattr(backoff, name, 10 * SECONDS)
            told = {status.kind for status in mailbox.history if status.phase is Phase.DISCONNECTED}

            def refreshed() -> None:
                tries = len(mailbox.history)
                source.refresh()
                mailbox.until(lambda: {status.kind for status in mailbox.history[tries:]} >= told, SECONDS)

            refreshed()  # ends the waits that are running already
            refreshed()
        plane.compact()
        plane.start_server()
        client.request("DELETE", f"{PODS_PATH}/steady-3")
        source.refresh()
        until_equal(mailbox, client)
        assert any("no longer knows what changed in pods" in status.last_error for status in mailbox.history)


def test_a_granted_permission_is_noticed_within_seconds(
    plane: ControlPlane, client: Client, record_property: Callable[[str, object], None]
) -> None:
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
    with following(plane, impersonation=Impersonation("taken")) as (_, mailbox):
        mailbox.until(lambda: mailbox.statuses.get(Kind.POD) is not None, SECONDS)
        mailbox.until(lambda: mailbox.statuses[Kind.POD].phase is Phase.FORBIDDEN, SECONDS)
        client.allow("taken", rules)
        began = time.monotonic()
        until_live(mailbox, Kind.NODE, Kind.POD)
        seconds = time.monotonic() - began
        record_property("seconds_to_live", seconds)
        assert seconds < 20
        until_equal(mailbox, client)
