"""Compare the predicted course of a pause and of a rollout with a running Karpenter.

Runs if KARPTUI_KARPENTER is set, like test_live_karpenter. Takes several minutes.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main

from .control_plane import ControlPlane
from .karpenter import CLAIMS, HOSTNAME, PODS, POOLS, Karpenter, LiveCluster, running_cluster
from .test_live_karpenter import BINARY, DRIFT, _apart, a_pool, pods

pytestmark = [
    pytest.mark.apiserver,
    pytest.mark.skipif(not BINARY, reason="KARPTUI_KARPENTER names no Karpenter with its kwok provider"),
]
HASH = "karpenter.sh/nodepool-hash"
Live = tuple[LiveCluster, Karpenter]


@pytest.fixture(scope="module")
def live(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Return a cluster with two NodePools, and its running Karpenter."""
    pools = [a_pool("paused", team="paused"), a_pool("rolling", team="rolling")]
    with running_cluster(plane, Path(BINARY), tmp_path_factory.mktemp("snapshots"), pools) as (cluster, karpenter):
        yield cluster, karpenter


def load(cluster: LiveCluster, name: str, count: int) -> None:
    """Have Karpenter launch a node for each of some pods."""
    result = pods(name, count, "500m", team=name, affinity=_apart(name, HOSTNAME))
    names = [manifest["metadata"]["name"] for manifest in result]
    cluster.client.create(PODS, result)
    cluster.mark_unschedulable(names)
    cluster.until_answered(names)
    cluster.until(cluster.is_settled, "nodes ready")


def claims(cluster: LiveCluster, pool: str) -> dict[str, dict[str, Any]]:
    """Return the NodeClaims of a NodePool by node name."""
    result = [item for item in cluster.items(CLAIMS) if item["metadata"]["labels"]["karpenter.sh/nodepool"] == pool]
    return {manifest.get("status", {}).get("nodeName", ""): manifest for manifest in result}


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """Return the exit status and the JSON output of a command."""
    capsys.readouterr()
    status = main([*words, "-o", "json"])
    return status, json.loads(capsys.readouterr().out)


def seconds_until(instant: str) -> float:
    return (datetime.fromisoformat(instant) - datetime.now(UTC)).total_seconds()


def test_a_pause_blocks_disruption_until_its_end_and_then_the_predicted_nodes_are_deleted(
    live: Live, capsys: pytest.CaptureFixture[str], record_property: Any
) -> None:
    cluster, karpenter = live
    load(cluster, "paused", 2)
    before = cluster.client.request("GET", f"{POOLS}/paused")["spec"]["disruption"]["budgets"]
    with karpenter.held():
        for pod in ("paused-0", "paused-1"):
            cluster.client.request("DELETE", f"{PODS}/{pod}")
        cluster.client.request("PATCH", f"{POOLS}/paused", {"spec": {"disruption": {"consolidateAfter": "0s"}}})
        path = str(cluster.snapshot("paused"))
        asked = ("pause", "--snapshot", path, "--pool", "paused", "--until", "65s", "--horizon", "10m")
        status, told = printed(capsys, *asked)
        assert status == 0
        (pool,) = told["nodePools"]
        cluster.client.request("PATCH", f"{POOLS}/paused", pool["patch"], patch="json")
    released = [removal for removal in told["removals"] if removal["kind"] == "released"]
    predicted = {name for item in released for name in item["nodes"]}
    assert predicted == claims(cluster, "paused").keys()
    assert [removal for removal in told["removals"] if removal["kind"] != "released"] == []
    budgets = cluster.client.request("GET", f"{POOLS}/paused")["spec"]["disruption"]["budgets"]
    assert budgets == pool["budgets"]
    assert budgets[:-1] == before
    hours = budgets[-1]["duration"]
    end = datetime.now(UTC).replace(second=0, microsecond=0).timestamp() + 60 * int(hours.rstrip("m"))
    while time.time() < end - 2:
        cluster.run_kubelets()
        going = [claim for claim in claims(cluster, "paused").values() if "deletionTimestamp" in claim["metadata"]]
        assert going == [], "no node is disrupted during the pause"
        time.sleep(1)
    cluster.until(lambda: not claims(cluster, "paused"), "the paused nodes are deleted after the pause")
    first = min(seconds_until(item["at"]) for item in released)
    record_property("released", f"{-first:.0f} s after the predicted command all {len(predicted)} nodes are gone")
    assert first > -60, "within a minute of the prediction"
    last = len(budgets) - 1
    place = f"/spec/disruption/budgets/{last}"
    undo = [{"op": "test", "path": place, "value": budgets[-1]}, {"op": "remove", "path": place}]
    cluster.client.request("PATCH", f"{POOLS}/paused", undo, patch="json")
    assert cluster.client.request("GET", f"{POOLS}/paused")["spec"]["disruption"]["budgets"] == before


def test_releasing_a_pause_restores_the_budgets(live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    cluster, _ = live
    _, told = printed(capsys, "pause", "--snapshot", str(cluster.snapshot("all")), "--horizon", "10m")
    before = {item["metadata"]["name"]: item["spec"]["disruption"]["budgets"] for item in cluster.items(POOLS)}
    for pool in told["nodePools"]:
        cluster.client.request("PATCH", f"{POOLS}/{pool['name']}", pool["patch"], patch="json")
    _, told = printed(capsys, "pause", "--release", "--snapshot", str(cluster.snapshot("shut")), "--horizon", "10m")
    assert {pool["name"] for pool in told["nodePools"] if pool["patch"]} >= {"paused", "rolling"}
    for pool in told["nodePools"]:
        cluster.client.request("PATCH", f"{POOLS}/{pool['name']}", pool["patch"], patch="json")
    after = {item["metadata"]["name"]: item["spec"]["disruption"]["budgets"] for item in cluster.items(POOLS)}
    assert after == before


def test_a_rollout_is_done_exactly_when_no_old_node_is_left(
    live: Live, plane: ControlPlane, capsys: pytest.CaptureFixture[str], record_property: Any
) -> None:
    cluster, karpenter = live
    budget = {"spec": {"disruption": {"budgets": [{"nodes": "1"}]}}}
    cluster.client.request("PATCH", f"{POOLS}/rolling", budget)
    load(cluster, "rolling", 3)

    def look(name: str) -> tuple[int, Any]:
        return printed(
            capsys, "rollout", "--pool", "rolling", "--snapshot", str(cluster.snapshot(name)), "--horizon", "30m"
        )

    status, told = look("calm")
    assert (status, told["state"]) == (0, "done")
    old = claims(cluster, "rolling").keys()
    assert len(old) == 3
    with karpenter.held():
        cluster.client.request("PATCH", f"{POOLS}/rolling", DRIFT)
        status, told = look("unseen")
        assert (status, told["state"]) == (1, "unknown"), "Karpenter has not seen the change yet"
    stale = cluster.client.request("GET", f"{POOLS}/rolling")["metadata"]["annotations"][HASH]
    cluster.until(lambda: _hash(cluster) != stale or _old(cluster), "the change is processed")
    status, told = look("begins")
    assert (status, told["state"]) == (1, "progressing")
    assert {node["node"] for node in told["nodes"]} == old
    predicted = {node["node"]: node["goneAt"] for node in told["nodes"]}
    assert all(predicted.values())
    begun, counts, ended = time.monotonic(), [3], threading.Event()
    kubelets = threading.Thread(target=lambda: _run_kubelets(cluster, ended), daemon=True)
    kubelets.start()
    try:
        while told["state"] != "done":
            assert time.monotonic() < begun + 300, f"{counts} {told}\n{karpenter.log.read_text()[-3000:]}"
            time.sleep(1)
            status, told = look("goes-on")
            left = {node["node"] for node in told["nodes"] if node["state"] in ("old", "leaving")}
            counts.append(len(left & old))
            assert (told["state"] == "done") is not bool(left)
        lasted = time.monotonic() - begun
        assert counts == sorted(counts, reverse=True)
        assert not old & claims(cluster, "rolling").keys()
        assert _old(cluster) == []
        foretold = max(seconds_until(at) for at in predicted.values()) + lasted
        record_property("rollout", f"{lasted:.0f} s, predicted {foretold:.0f} s")
        live_flags = ("--kubeconfig", plane.kubeconfig, "--no-aws", "--pool", "rolling")
        assert main(["rollout", *live_flags, "--wait", "--timeout", "90s"]) == 0
    finally:
        ended.set()
        kubelets.join()


def _hash(cluster: LiveCluster) -> str:
    return str(cluster.client.request("GET", f"{POOLS}/rolling")["metadata"]["annotations"][HASH])


def _old(cluster: LiveCluster) -> list[str]:
    current = _hash(cluster)
    return [
        name
        for name, manifest in claims(cluster, "rolling").items()
        if manifest["metadata"]["annotations"][HASH] != current
    ]


def _run_kubelets(cluster: LiveCluster, ended: threading.Event) -> None:
    while not ended.wait(0.5):
        cluster.run_kubelets()
