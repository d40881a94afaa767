"""`karptui pending` and `karptui explain`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from tests.builders.manifests import a_type_manifest, one_of
from tests.cli.files import a_file, a_pod_manifest
from tests.story_d import story_document


def run(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    status = main(list(words))
    out = capsys.readouterr()
    return status, out.out, out.err


class TestPending:
    def test_json_has_every_verdict(self, story: str, capsys: pytest.CaptureFixture[str]) -> None:
        _, out, _ = run(capsys, "pending", "--snapshot", story, "-n", "trino", "-o", "json")
        [group] = json.loads(out)
        assert group["pods"] == ["worker-0", "worker-1"]
        assert (group["turn"], group["nearest_pool"]) == ("no place", "trino")
        assert (group["karpenter"]["reason"], group["karpenter"]["age_seconds"]) == ("FailedScheduling", 120)
        assert group["scheduler"]["age_seconds"] == 12
        assert group["nodes_refused"] == {"memory": 3}
        assert group["requests"] == {"cpu_millis": 28_000, "mem_bytes": 240 << 30}

    def test_csv_filters_and_all_namespaces(self, story: str, capsys: pytest.CaptureFixture[str]) -> None:
        words = ("--filter", "turn=gated", "-A", "-n", "ignored", "-o", "csv")
        _, out, _ = run(capsys, "pending", "--snapshot", story, *words)
        [row] = csv.DictReader(io.StringIO(out))
        assert row["name"] == "web/gated-0"


class TestExplainPod:
    def test_json(self, story: str, capsys: pytest.CaptureFixture[str]) -> None:
        _, out, _ = run(capsys, "explain", "po", "worker-1", "-n", "trino", "--snapshot", story, "-o", "json")
        [pod] = json.loads(out)
        trino = next(pool for pool in pod["pools"] if pool["name"] == "trino")
        assert trino["gates"]["labels"] == "passed"
        assert (trino["failed"], trino["nearest_type"]) == ("resources", "r5a.8xlarge")
        assert trino["short"] == [{"resource": "memory", "need": "246400Mi", "room": "239554Mi"}]
        assert {item["by"] for item in pod["existing_nodes"]} == {"memory"}
        assert pod["remedies"][0]["edits"] == [
            {"edit": "setting", "name": "VM_MEMORY_OVERHEAD_PERCENT", "value": "0.0488"}
        ]

    def test_snapshot_types_leave_something_untried(
        self, story: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        document = story_document()
        family = one_of("karpenter.k8s.aws/instance-family", "r5a")
        sold = one_of("karpenter.sh/capacity-type", "on-demand")
        kind = a_type_manifest("r5a.8xlarge", 1.808, family, sold, cpu="32", memory="242483Mi", pods="234")
        path = tmp_path / "fixed.json"
        path.write_text(json.dumps(document | {"instanceTypes": [kind]}))
        _, out, _ = run(capsys, "explain", "pod", "trino/worker-0", "--snapshot", str(path))
        assert "instance types came with the snapshot" in out
        assert "VM_MEMORY_OVERHEAD_PERCENT" not in out

    def test_a_name_in_two_namespaces(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = a_file(tmp_path, a_pod_manifest("job-1", namespace="batch"))
        status, _, err = run(capsys, "explain", "pod", "job-1", "--snapshot", path)
        assert status == 2
        assert "there are 2 pods job-1, in batch, web: name one with -n or NAMESPACE/NAME" in err


class TestExplainNodeAndPool:
    def test_a_node(self, capsys: pytest.CaptureFixture[str]) -> None:
        _, out, _ = run(capsys, "nodes", "--demo", "--no-simulate", "-o", "json")
        name = next(node["name"] for node in json.loads(out) if node["status"] == "Ready" and node["pool"] == "general")
        status, out, _ = run(capsys, "explain", "node", name.partition(".")[0], "--demo")
        assert status == 0
        for part in ("Why is it still here?", "What fits", "allocatable", "WOULD LAND ON"):
            assert part in out
        _, out, _ = run(capsys, "explain", "no", name, "--demo", "-o", "json")
        [node] = json.loads(out)
        assert node["name"] == name
        assert [gate["gate"] for gate in node["gates"]][:3] == ["IN_COMMAND", "UNMANAGED", "NO_NODE"]
        assert node["outcome_now"] in ("delete", "replace", "no", "unknown")

    def test_a_pool(self, story: str, capsys: pytest.CaptureFixture[str]) -> None:
        _, out, _ = run(capsys, "explain", "nodepool", "trino", "--snapshot", story, "-o", "json")
        [pool] = json.loads(out)
        assert pool["name"] == "trino"
        assert pool["types_after_each_filter"][0]["left"] == 1


def test_a_node_that_is_gone_is_explained_by_what_churn_knows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["churn", "--replacements", "--demo", "-o", "json"]) == 0
    removed = json.loads(capsys.readouterr().out)["replacements"]
    assert main(["nodes", "--demo", "--no-simulate", "-o", "json"]) == 0
    present = {node["node_claim"] for node in json.loads(capsys.readouterr().out)}
    gone = next(item for item in removed if item["nodeclaim"] not in present and item["by_events"])
    name = gone["nodeclaim"]

    assert main(["explain", "node", name, "--demo", "-o", "json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert (document["gone"], document["nodeclaim"], document["reason"]) == (True, name, gone["reason"])
    assert document["events"][-1]["message"]
    assert main(["explain", "node", name, "--demo"]) == 0
    output = capsys.readouterr().out
    assert output.startswith(f"The node is gone.\nNodeClaim {name}")
    assert gone["reason"] in output
    assert main(["explain", "node", "never-was", "--demo"]) == 2
    assert "there is no node never-was" in capsys.readouterr().err
