"""Compare the predicted nodes and price after right-sizing with a running Karpenter.

Runs if KARPTUI_KARPENTER is set, like `test_live_karpenter`. The test stands in for kubelets, scheduler and the
controller of the workload.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from tests.builders.manifests import one_of

from .control_plane import ControlPlane
from .karpenter import CAPACITY_TYPE, CLAIMS, NODES, PODS, POOLS, ZONE, LiveCluster, instance_types, running_cluster
from .test_live_karpenter import BINARY, a_pool, pods

pytestmark = [
    pytest.mark.apiserver,
    pytest.mark.skipif(not BINARY, reason="KARPTUI_KARPENTER names no Karpenter with its kwok provider"),
]
SHUT, OPEN = [{"nodes": "0"}], [{"nodes": "100%"}]
PATIENCE, QUIET = 240.0, 45.0
"""Time limit in seconds, and seconds without a change after which the cluster counts as finished."""
OWNER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "web", "controller": True}
TARGET = {"cpu": "300m", "memory": "128Mi"}


@pytest.fixture(scope="module")
def cluster(start_plane: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """Return a cluster with a running Karpenter and one NodePool that allows no disruption yet."""
    plane: ControlPlane = start_plane()
    pool = a_pool("general", requirements=[one_of(CAPACITY_TYPE, "on-demand"), one_of(ZONE, "test-zone-a")])
    pool["spec"]["disruption"] = {"consolidateAfter": "0s", "budgets": SHUT}
    with running_cluster(plane, Path(BINARY), tmp_path_factory.mktemp("snapshots"), [pool]) as (livecluster, _):
        yield livecluster


def web(name: str, requests: dict[str, str]) -> dict[str, Any]:
    (pod,) = pods(name, 1, requests["cpu"], requests["memory"])
    pod["metadata"] |= {"name": name, "ownerReferences": [OWNER]}
    return pod


def place(cluster: LiveCluster, pod: dict[str, Any]) -> None:
    """Create a pod, and bind it to the node that Karpenter nominates."""
    name = pod["metadata"]["name"]
    cluster.client.create(PODS, [pod])
    cluster.mark_unschedulable([name])
    cluster.until_answered([name])
    cluster.until(cluster.is_settled, f"{name} is bound")


def figures(cluster: LiveCluster) -> tuple[int, float]:
    """Return the number of nodes and their price per hour."""
    prices = {
        (instance_type["name"], *(term["values"][0] for term in offer["requirements"])): offer["price"]
        for instance_type in instance_types()
        for offer in instance_type["offerings"]
    }
    labels = [manifest["metadata"]["labels"] for manifest in cluster.items(NODES)]
    keys = [(label["node.kubernetes.io/instance-type"], label[CAPACITY_TYPE], label[ZONE]) for label in labels]
    return len(keys), sum(prices[key] for key in keys)


def predicted(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return the output of ``karptui rightsize`` for a snapshot with a VerticalPodAutoscaler."""
    vpa = {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"targetRef": {"kind": "StatefulSet", "name": "web"}, "updatePolicy": {"updateMode": "Off"}},
        "status": {"recommendation": {"containerRecommendations": [{"containerName": "main", "target": TARGET}]}},
    }
    file = path.with_name("vpa.json")
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [vpa]}))
    capsys.readouterr()
    assert main(["rightsize", "--snapshot", str(path), str(file), "--horizon", "30m", "-o", "json"]) != 2
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_the_nodes_after_the_patch_are_predicted(
    cluster: LiveCluster, capsys: pytest.CaptureFixture[str], record_property: Any
) -> None:
    for number in range(4):
        place(cluster, web(f"web-{number}", {"cpu": "1500m", "memory": "256Mi"}))
    (pinned,) = pods("pinned", 1, "1500m")
    pinned["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    place(cluster, pinned)
    before = figures(cluster)
    assert before[0] == 5

    def opens(item: dict[str, Any]) -> None:
        if item["kind"] == "NodePool":
            item["spec"]["disruption"]["budgets"] = OPEN

    answer = predicted(cluster.snapshot("rightsize", opens), capsys)
    now, then = answer["now"], answer["endRecommended"]
    assert (now["nodes"], now["pricePerHour"]) == (before[0], pytest.approx(before[1]))
    assert answer["endToday"]["nodes"] == 5
    assert then["nodes"] < 5
    (container,) = answer["patches"][0]["spec"]["template"]["spec"]["containers"]
    for number in range(4):
        resized = {"spec": {"containers": [container]}}
        cluster.client.request("PATCH", f"{PODS}/web-{number}/resize", resized, patch="strategic-merge")
    cluster.client.request("PATCH", f"{POOLS}/general", {"spec": {"disruption": {"budgets": OPEN}}})
    real = consolidated(cluster, container["resources"]["requests"])
    record_property("rightsize", f"predicted {then['nodes']} nodes ${then['pricePerHour']:.3f}/h, real {real}")
    assert real == (then["nodes"], pytest.approx(then["pricePerHour"]))


def consolidated(cluster: LiveCluster, requests: dict[str, str]) -> tuple[int, float]:
    """Recreate evicted pods until nodes no longer change; return their number and price."""
    begun = changed = time.monotonic()
    last: Any = None
    result = 0
    while time.monotonic() - changed < QUIET or result < 1:
        assert time.monotonic() - begun < PATIENCE, "Karpenter does not consolidate, or does not finish"
        missing = 4 - sum(manifest["metadata"]["name"].startswith("web-") for manifest in cluster.items(PODS))
        new = [web(f"web-again-{result + number}", requests) for number in range(missing)]
        result += missing
        cluster.client.create(PODS, new)
        cluster.mark_unschedulable(manifest["metadata"]["name"] for manifest in new)
        cluster.run_kubelets()
        state = sorted(manifest["metadata"]["name"] for manifest in (*cluster.items(NODES), *cluster.items(CLAIMS)))
        if state != last:
            last, changed = state, time.monotonic()
        time.sleep(0.5)
    assert all(manifest["spec"].get("nodeName") for manifest in cluster.items(PODS))
    return figures(cluster)
