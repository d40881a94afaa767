"""`karptui pending` and `karptui explain`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.files import written
from tests.builders.manifests import a_type_manifest, one_of
from tests.cli.conftest import Run
from tests.cli.files import a_file, a_pod_manifest
from tests.incidents.all import INCIDENTS
from tests.story_d import story_document


class TestPending:
    def test_pending_json_has_every_verdict(self, story: str, run: Run) -> None:
        [group] = run.json("pending", "--snapshot", story, "-n", "trino")
        assert group["pods"] == ["worker-0", "worker-1"]
        assert (group["turn"], group["nearest_pool"]) == ("no place", "trino")
        assert (group["karpenter"]["reason"], group["karpenter"]["age_seconds"]) == ("FailedScheduling", 120)
        assert group["scheduler"]["age_seconds"] == 12
        assert group["nodes_refused"] == {"memory": 3}
        assert group["requests"] == {"cpu_millis": 28_000, "mem_bytes": 240 << 30}

    def test_csv_filters_and_all_namespaces(self, story: str, run: Run) -> None:
        [row] = run.csv("pending", "--snapshot", story, "--filter", "turn=gated", "-A", "-n", "ignored")
        assert row["name"] == "web/gated-0"


class TestExplainPod:
    def test_json(self, story: str, run: Run) -> None:
        [pod] = run.json("explain", "po", "worker-1", "-n", "trino", "--snapshot", story)
        trino = next(pool for pool in pod["pools"] if pool["name"] == "trino")
        assert trino["gates"]["labels"] == "passed"
        assert (trino["failed"], trino["nearest_type"]) == ("resources", "r5a.8xlarge")
        assert trino["short"] == [{"resource": "memory", "need": "246400Mi", "room": "239554Mi"}]
        assert {item["by"] for item in pod["existing_nodes"]} == {"memory"}
        assert pod["remedies"][0]["edits"] == [
            {"edit": "setting", "name": "VM_MEMORY_OVERHEAD_PERCENT", "value": "0.0488"}
        ]

    def test_the_memory_overhead_is_not_tried_with_types_of_a_snapshot(self, tmp_path: Path, run: Run) -> None:
        document = story_document()
        family = one_of("karpenter.k8s.aws/instance-family", "r5a")
        sold = one_of("karpenter.sh/capacity-type", "on-demand")
        kind = a_type_manifest("r5a.8xlarge", 1.808, family, sold, cpu="32", memory="242483Mi", pods="234")
        path = written(tmp_path / "fixed.json", document | {"instanceTypes": [kind]})
        out = run("explain", "pod", "trino/worker-0", "--snapshot", str(path)).out
        assert "instance types came with the snapshot" in out
        assert "VM_MEMORY_OVERHEAD_PERCENT" not in out

    def test_a_pod_name_in_two_namespaces_is_ambiguous(self, tmp_path: Path, run: Run) -> None:
        path = a_file(tmp_path, a_pod_manifest("job-1", namespace="batch"))
        err = run("explain", "pod", "job-1", "--snapshot", path, status=2).err
        assert "there are 2 pods job-1, in batch, web: name one with -n or NAMESPACE/NAME" in err


class TestExplainNodeAndPool:
    def test_a_node(self, run: Run) -> None:
        nodes = run.json("nodes", "--demo", "--no-simulate")
        name = next(node["name"] for node in nodes if node["status"] == "Ready" and node["pool"] == "general")
        out = run("explain", "node", name.partition(".")[0], "--demo").out
        for part in ("Why is it still here?", "What fits", "allocatable", "WOULD LAND ON"):
            assert part in out
        [node] = run.json("explain", "no", name, "--demo")
        assert node["name"] == name
        assert [gate["gate"] for gate in node["gates"]][:3] == ["IN_COMMAND", "UNMANAGED", "NO_NODE"]
        assert node["outcome_now"] in ("delete", "replace", "no", "unknown")

    def test_a_pool(self, story: str, run: Run) -> None:
        [pool] = run.json("explain", "nodepool", "trino", "--snapshot", story)
        assert pool["name"] == "trino"
        assert pool["types_after_each_filter"][0]["left"] == 1


@pytest.mark.parametrize(
    ("incident", "about", "codes", "text"),
    [
        ("finalizer-of-another-controller", "node ip-10-24-17-133", {"LEAVING"}, "wrangler.cattle.io"),
        ("cilium-range-is-full", "node ip-10-24-17-133", {"PODS_NOT_STARTING"}, "range is full"),
        ("cni-lacks-permissions", "pod kube-system/aws-node-zz0", {"NOT_INITIALIZED"}, "not authorized"),
        ("container-that-cannot-be-killed", "pod db/pg-0", {"PODS_NOT_STARTING", "NEXT"}, "cannot kill its containers"),
        ("new-nodes-are-too-small", "pod session/redis-0", {"ADVICE"}, "offer less memory than their NodeClaims"),
        ("groups-of-another-vpc", "pool edge", {"STOPPED"}, "must be in the same VPC"),
        ("groups-of-another-vpc", "node ip-10-24-16-65", {"STOPPED"}, "disruption are paused"),
    ],
)
def test_what_the_verdict_knows_about_an_object_is_near_the_top(
    incident: str, about: str, codes: set[str], text: str, *, tmp_path: Path, run: Run
) -> None:
    path = str(written(tmp_path / "cluster.json", INCIDENTS[incident].snapshot()))
    [document] = run.json("explain", *about.split(), "--snapshot", path)
    assert {finding["code"] for finding in document["findings"]} == codes
    sentences = {finding["text"] for finding in run.json("verdict", "--snapshot", path)}
    assert sentences.issuperset(finding["text"] for finding in document["findings"])
    assert text in "".join(run("explain", *about.split(), "--snapshot", path).out.splitlines()[:4])


def test_a_removed_node_is_explained_from_churn(run: Run) -> None:
    removed = run.json("churn", "--replacements", "--demo")["replacements"]
    present = {node["node_claim"] for node in run.json("nodes", "--demo", "--no-simulate")}
    gone = next(item for item in removed if item["nodeclaim"] not in present and item["by_events"])
    name = gone["nodeclaim"]

    (document,) = run.json("explain", "node", name, "--demo")
    assert (document["gone"], document["nodeclaim"], document["reason"]) == (True, name, gone["reason"])
    assert document["events"][-1]["message"]
    output = run("explain", "node", name, "--demo").out
    assert output.startswith(f"The node is gone.\nNodeClaim {name}")
    assert gone["reason"] in output
    assert "there is no node never-was" in run("explain", "node", "never-was", "--demo", status=2).err
