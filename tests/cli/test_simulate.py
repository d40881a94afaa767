"""`karptui simulate` on good and bad snapshots."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop", "uid": "1"},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
    "status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]},
}
ARM: dict[str, Any] = {
    "name": "arm",
    "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}],
    "capacity": {"cpu": "4", "memory": "8Gi", "pods": "20"},
    "offerings": [
        {
            "price": 0.1,
            "requirements": [
                {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]},
            ],
        }
    ],
}


def a_pool(cpu_limit: str) -> dict[str, Any]:
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": "2026-11-20T11:00:00Z", "reason": kind, "message": ""}
        for kind in ("ValidationSucceeded", "NodeClassReady", "Ready")
    ]
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general", "uid": "2"},
        "spec": {"limits": {"cpu": cpu_limit}, "template": {"spec": {"nodeClassRef": ref, "requirements": []}}},
        "status": {"conditions": conditions},
    }


def a_snapshot(folder: Path, name: str, *objects: dict[str, Any]) -> str:
    document = {
        "karptui": 1,
        "name": name,
        "capturedAt": "2026-11-20T12:00:00Z",
        "settings": {},
        "instanceTypes": [ARM],
        "objects": list(objects),
    }
    file = folder / f"{name}.json"
    file.write_text(json.dumps(document))
    return str(file)


def answers(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_one_line_per_snapshot_in_the_order_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [a_snapshot(tmp_path, "room", a_pool("100"), POD), a_snapshot(tmp_path, "full", a_pool("1"), POD)]
    assert main(["simulate", *files, "-o", "json"]) == 0
    room, full = answers(capsys)
    assert [claim["pods"] for claim in room["provisioning"]["newNodeClaims"]] == [["shop/web"]]
    assert room["provisioning"]["newNodeClaims"][0]["instanceTypes"] == ["arm"]
    assert full["provisioning"]["podErrors"] == {
        "shop/web": "all available instance types exceed limits for nodepool (NodePool=general)"
    }


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"a":' * 100_000, "nested too deeply"),
        (gzip.compress(b'{"karptui": 1}' * 100)[:40], "cut off"),
        (b'{"karptui": 1, "name": "half", "objects": [', "cut off"),
        (b"", "is empty"),
        (b"\x00\x01\x02", "binary"),
    ],
    ids=["deep", "gzip", "half", "empty", "binary"],
)
def test_a_snapshot_that_cannot_be_read_has_its_error_and_the_others_are_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, says: str
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_bytes(content)
    assert main(["simulate", str(broken), a_snapshot(tmp_path, "room", a_pool("100"), POD), "-o", "json"]) == 1
    first, second = answers(capsys)
    assert first["name"] == "broken"
    assert says in first["error"]
    assert second["provisioning"]["newNodeClaims"]


def test_measured_time_stands_beside_the_decision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", a_snapshot(tmp_path, "room", a_pool("100"), POD), "--time", "2", "-o", "json"]) == 0
    (answer,) = answers(capsys)
    assert answer["provisioning"]["solveMillis"] > 0


def test_the_table_names_the_pool_and_the_types_of_the_claim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", a_snapshot(tmp_path, "room", a_pool("100"), POD)]) == 0
    text = capsys.readouterr().out
    assert "general" in text
    assert "arm" in text
