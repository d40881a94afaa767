"""A recorded history has the same objects as the real API server, before and after changes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from karptui.aws.evidence import NO_EVIDENCE
from karptui.clock import SystemClock
from karptui.decode.kinds import Kind
from karptui.kube.usage import NO_LIVE_USAGE
from karptui.sources.cluster.collection import export_cluster
from karptui.sources.cluster.connection import load_connection
from karptui.sources.cluster.credentials import credentials_for
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.cluster.transport import Transport
from karptui.sources.history.store import History, is_history
from karptui.sources.history.tap import HistoryTap, Limits
from karptui.sources.snapshot.scrub import scrub
from tests.sources.cluster.live import WatchedMailbox

from .control_plane import Client, ControlPlane
from .test_live_cluster import NODES_PATH, PODS_PATH, SECONDS, a_node, a_pod, until_live

pytestmark = pytest.mark.apiserver

KINDS = ("Node", "Pod", "Namespace")


def test_a_history_has_the_objects_of_the_server(plane: ControlPlane, tmp_path: Path) -> None:
    began, path = time.monotonic(), tmp_path / "real.karptui"
    client = Client(plane)
    client.create(NODES_PATH, (a_node(number) for number in range(700, 705)))
    client.create(PODS_PATH, (a_pod(f"kept-{number}", f"node-{700 + number % 5}") for number in range(30)))
    connection = load_connection(kubeconfig=plane.kubeconfig, environ={})
    tap = HistoryTap(path, connection.context, SystemClock(), Limits())
    tap.start(lambda: (NO_EVIDENCE, NO_LIVE_USAGE))
    source, mailbox = ClusterSource(connection), WatchedMailbox(tap=tap)
    source.start(mailbox)
    before = _of_server(plane)
    try:
        until_live(mailbox, *(Kind(kind) for kind in KINDS))
        while not (is_history(path) and History(path).sessions()):
            assert time.monotonic() < began + SECONDS
            time.sleep(0.05)
        between_ns = SystemClock().now_ns()
        client.request("DELETE", f"{PODS_PATH}/kept-3")
        client.request("DELETE", f"{NODES_PATH}/node-704")
        client.create(PODS_PATH, [a_pod("later", "node-701")])
        mailbox.until(lambda: "default/later" in mailbox.keys(Kind.POD), 60)
        mailbox.until(lambda: "default/kept-3" not in mailbox.keys(Kind.POD), 60)
        mailbox.until(lambda: "node-704" not in mailbox.keys(Kind.NODE), 60)
        after = _of_server(plane)
    finally:
        source.stop()
        tap.stop()
    assert not tap.trouble
    history = History(path)
    (session,) = history.sessions()
    assert _of_history(history, session.to_ns) == after
    assert _of_history(history, between_ns) == before
    assert before.keys() - after.keys() == {("Node", "node-704"), ("Pod", "kept-3")}
    assert after.keys() - before.keys() == {("Pod", "later")}


def _of_server(plane: ControlPlane) -> dict[tuple[str, str], dict[str, Any]]:
    connection = load_connection(kubeconfig=plane.kubeconfig, environ={})
    transport = Transport(connection, credentials_for(connection))
    try:
        exported = export_cluster(transport, keep=scrub, progress=lambda title, count: None)
    finally:
        transport.close()
    return _by_name(exported.objects)


def _of_history(history: History, at_ns: int) -> dict[tuple[str, str], dict[str, Any]]:
    return _by_name(msgspec.json.decode(change.manifest) for change in history.objects_at(at_ns).values())


def _by_name(objects: Any) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in objects if manifest["kind"] in KINDS
    }
