"""The live source on a real kube-apiserver: objects and changes appear soon, and a restart loses nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from karptui.decode.kinds import Kind
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.sources.cluster import reflector
from karptui.sources.cluster.connection import Impersonation, load_connection
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.source import Phase
from tests.builders import present
from tests.sources.cluster.live import WatchedMailbox

from .control_plane import Client, ControlPlane

pytestmark = pytest.mark.apiserver

NODES, PODS = 20, 200
SECONDS = 60.0
"""Time limit; each step takes much less, even on a busy machine."""
NODES_PATH, PODS_PATH = "/api/v1/nodes", "/api/v1/namespaces/default/pods"


def a_node(i: int) -> dict[str, Any]:
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    metadata = {"name": f"node-{i}", "labels": {"karpenter.sh/nodepool": "general"}}
    return {"metadata": metadata, "status": {"capacity": room, "allocatable": room}}


def a_pod(name: str, node: str = "", cpu: str = "100m") -> dict[str, Any]:
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, **({"nodeName": node} if node else {})}
    return {"metadata": {"name": name, "labels": {"app": "web"}}, "spec": spec}


@contextmanager
def following(plane: ControlPlane, **options: Any) -> Iterator[tuple[ClusterSource, WatchedMailbox]]:
    """Follow a control plane in this context."""
    source = ClusterSource(load_connection(kubeconfig=plane.kubeconfig, environ={}, **options))
    mailbox = WatchedMailbox()
    source.start(mailbox)
    try:
        yield source, mailbox
    finally:
        source.stop()


def until_live(mailbox: WatchedMailbox, *kinds: Kind) -> None:
    def all_live() -> bool:
        return all(kind in mailbox.statuses and mailbox.statuses[kind].phase is Phase.LIVE for kind in kinds)

    mailbox.until(all_live, SECONDS)


@pytest.fixture(scope="module")
def client(plane: ControlPlane) -> Client:
    client = Client(plane)
    client.create(NODES_PATH, (a_node(i) for i in range(NODES)))
    client.create(PODS_PATH, (a_pod(f"pod-{i}", f"node-{i % NODES}") for i in range(PODS)))
    return client


def test_nodes_and_pods_appear(
    plane: ControlPlane, client: Client, record_property: Callable[[str, object], None]
) -> None:
    began = time.monotonic()
    with following(plane) as (source, mailbox):
        until_live(mailbox, Kind.NODE)
        record_property("seconds_to_nodes", time.monotonic() - began)
        until_live(mailbox, Kind.POD)
        record_property("seconds_to_pods", time.monotonic() - began)
        assert mailbox.keys(Kind.NODE) == client.keys(NODES_PATH)
        assert mailbox.keys(Kind.POD) == client.keys(PODS_PATH)
        assert len(mailbox.keys(Kind.POD)) >= PODS
        assert mailbox.statuses[Kind.POD].count == len(mailbox.keys(Kind.POD))
        until_live(
            mailbox, *(Kind.NAMESPACE, Kind.DAEMONSET, Kind.PDB, Kind.REPLICASET, Kind.STORAGE_CLASS, Kind.EVENT)
        )
        assert "default" in mailbox.keys(Kind.NAMESPACE)
        assert not [
            status.last_error
            for status in mailbox.statuses.values()
            if status.phase is Phase.LIVE and status.last_error
        ]
        assert b'"gitVersion": "v1.' in source.get("/version")
        fetched = source.fetch_object("Pod", "default/pod-3")
        assert (fetched["kind"], fetched["metadata"]["name"]) == ("Pod", "pod-3")
        assert "managedFields" not in fetched["metadata"]


def test_changes_appear(plane: ControlPlane, client: Client, record_property: Callable[[str, object], None]) -> None:
    client.request("POST", PODS_PATH, a_pod("waiting"))
    with following(plane) as (_, mailbox):
        until_live(mailbox, Kind.NODE, Kind.POD)

        def pod(name: str) -> Pod | None:
            result = mailbox.objects[Kind.POD].get(f"default/{name}")
            assert result is None or isinstance(result, Pod)
            return result

        def shows(what: str, holds: Callable[[], bool]) -> None:
            began = time.monotonic()
            mailbox.until(holds, SECONDS)
            record_property(f"seconds_until_{what}", time.monotonic() - began)

        waiting = present(pod("waiting"))
        assert waiting.node_name == ""
        target = {"apiVersion": "v1", "kind": "Node", "name": "node-7"}
        client.request("POST", f"{PODS_PATH}/waiting/binding", {"metadata": {"name": "waiting"}, "target": target})
        shows("bound", lambda: (pod("waiting") or waiting).node_name == "node-7")

        before = (pod("waiting") or waiting).requests
        resized = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "250m"}}}]}}
        client.request("PATCH", f"{PODS_PATH}/waiting/resize", resized, patch="strategic-merge")
        shows("resized", lambda: (pod("waiting") or waiting).requests != before)

        client.request("DELETE", f"{PODS_PATH}/waiting")
        shows("deleted", lambda: pod("waiting") is None)

        client.request("PATCH", f"{NODES_PATH}/node-7", {"spec": {"unschedulable": True}})

        def is_cordoned() -> bool:
            node = mailbox.objects[Kind.NODE]["node-7"]
            assert isinstance(node, Node)
            return node.is_unschedulable

        shows("cordoned", is_cordoned)

        client.request("POST", PODS_PATH, a_pod("job"))
        shows("created", lambda: pod("job") is not None)
        client.request("PATCH", f"{PODS_PATH}/job/status", {"status": {"phase": "Succeeded"}})
        shows("finished", lambda: pod("job") is None)
        client.request("DELETE", f"{PODS_PATH}/job")


def test_a_restart_of_the_server_loses_and_duplicates_nothing(plane: ControlPlane, client: Client) -> None:
    with following(plane) as (_, mailbox):
        until_live(mailbox, Kind.NODE, Kind.POD)
        changes = len(mailbox.changes)
        plane.kill_server()
        mailbox.until(lambda: mailbox.statuses[Kind.POD].phase is Phase.DISCONNECTED, SECONDS)
        mailbox.until(lambda: "refuses connections" in mailbox.statuses[Kind.POD].last_error, SECONDS)
        assert mailbox.statuses[Kind.POD].retry_at_ns > 0
        assert len(mailbox.keys(Kind.POD)) >= PODS
        plane.start_server()
        client.request("DELETE", f"{PODS_PATH}/pod-1")
        client.request("POST", PODS_PATH, a_pod("newcomer", "node-1"))
        client.request("DELETE", f"{NODES_PATH}/node-{NODES - 1}")
        until_live(mailbox, Kind.NODE, Kind.POD)
        mailbox.until(lambda: mailbox.keys(Kind.POD) == client.keys(PODS_PATH), SECONDS)
        mailbox.until(lambda: mailbox.keys(Kind.NODE) == client.keys(NODES_PATH), SECONDS)
        gone = {key for kind, key, item in mailbox.changes[changes:] if kind is Kind.POD and item is None}
        assert gone == {"default/pod-1"}


def test_a_permission_that_is_granted_later_is_noticed(plane: ControlPlane, client: Client) -> None:
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]
    with following(plane, impersonation=Impersonation("jane", ("late",))) as (source, mailbox):
        mailbox.until(
            lambda: Kind.NODE in mailbox.statuses and mailbox.statuses[Kind.NODE].phase is Phase.FORBIDDEN, SECONDS
        )
        client.allow("late", rules, kind="Group")

        told = [mailbox.statuses[Kind.NODE]]

        def listed_without_watching() -> bool:
            # The authorizer applies the binding a moment later, so ask again after every refusal.
            if (status := mailbox.statuses[Kind.NODE]) is not told[-1] or len(told) == 1:
                told.append(status)
                source.refresh()
            return status.phase is Phase.STALE

        mailbox.until(listed_without_watching, SECONDS)
        assert "no permission to watch nodes (cluster-scoped)" in told[-1].last_error
        mailbox.until(lambda: mailbox.keys(Kind.NODE) == client.keys(NODES_PATH), SECONDS)
        mailbox.until(lambda: mailbox.statuses[Kind.POD].phase is Phase.FORBIDDEN, SECONDS)
        assert mailbox.statuses[Kind.POD].last_error == (
            "no permission to list pods in all namespaces: "
            'pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the cluster scope'
        )


def test_karpenters_kinds_are_discovered(plane: ControlPlane, client: Client, assets: Path) -> None:
    files = sorted((assets / "crds").glob("*.yaml"))
    if not files:
        pytest.skip(f"{assets} holds no custom resource definitions of Karpenter")
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for file in files:
        client.request("POST", crds, yaml.safe_load(file.read_text()))
    pools = "/apis/karpenter.sh/v1/nodepools"
    deadline = time.monotonic() + SECONDS
    while "items" not in client.request("GET", pools, expect=None) and time.monotonic() < deadline:
        time.sleep(0.05)
    reference = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    template = {"spec": {"nodeClassRef": reference, "requirements": []}}
    client.request("POST", pools, {**named("NodePool", "karpenter.sh/v1", "general"), "spec": {"template": template}})
    classes = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"
    client.request("POST", classes, named("KWOKNodeClass", "karpenter.kwok.sh/v1alpha1", "default"))
    with following(plane) as (_, mailbox):
        until_live(mailbox, Kind.NODEPOOL, Kind.NODECLAIM, Kind.NODECLASS, Kind.NODEOVERLAY)
        assert mailbox.keys(Kind.NODEPOOL) == {"general"}
        (node_class,) = mailbox.objects[Kind.NODECLASS].values()
        assert (node_class.kind, node_class.name) == ("KWOKNodeClass", "default")
        client.request("DELETE", f"{classes}/default")
        mailbox.until(lambda: not mailbox.keys(Kind.NODECLASS), SECONDS)


def named(kind: str, api_version: str, name: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}


def test_a_server_without_streaming_lists_is_read_in_pages(
    start_plane: Callable[..., ControlPlane], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "PAGE_LIMIT", 50)
    plane = start_plane("--feature-gates=WatchList=false")
    client = Client(plane)
    client.create(NODES_PATH, (a_node(i) for i in range(3)))
    client.create(PODS_PATH, (a_pod(f"pod-{i}", f"node-{i % 3}") for i in range(110)))
    with following(plane) as (_, mailbox):
        until_live(mailbox, Kind.NODE, Kind.POD)
        assert mailbox.keys(Kind.POD) == client.keys(PODS_PATH)
        pages = [
            status.count for status in mailbox.history if status.kind is Kind.POD and status.phase is Phase.SYNCING
        ]
        assert pages == [0, 50, 100]
        totals = [status.total_estimate for status in mailbox.history if status.kind is Kind.POD and status.count == 50]
        assert totals == [110]
        client.request("DELETE", f"{PODS_PATH}/pod-5")
        mailbox.until(lambda: "default/pod-5" not in mailbox.keys(Kind.POD), SECONDS)
