"""`karptui rollout`: exit statuses, output formats, and waiting."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from karptui.cli.main import main
from karptui.clock import FrozenClock
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.source import SnapshotSource
from karptui.sources.source import Mailbox
from tests.builders import NOW_NS
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.still_demo import StillDemo

EDGE = ("ip-10-0-82-15.", "ip-10-0-98-224.", "ip-10-0-92-109.", "ip-10-0-95-229.")
HASH, VERSION = "karpenter.sh/nodepool-hash", "karpenter.sh/nodepool-hash-version"


def snapshot(folder: Path, *, old: int, budget: str = "1") -> str:
    """Return the demo's four edge nodes with hashes, ``old`` of them from an earlier template."""
    demo = StillDemo(FrozenClock(NOW_NS))
    demo.start(Mailbox())
    objects = [item for item in demo.manifests() if _is_kept(item)]
    document: dict[str, Any] = {"apiVersion": "v1", "kind": "List", "items": objects}
    left = old
    for item in objects:
        kind, metadata = item["kind"], item["metadata"]
        if kind in ("NodePool", "NodeClaim"):
            metadata["annotations"] = {**metadata.get("annotations", {}), HASH: "2", VERSION: "v3"}
        if kind == "NodePool":
            item["spec"].setdefault("disruption", {})["budgets"] = [{"nodes": budget}]
            item.setdefault("status", {})["conditions"] = [{"type": "Ready", "status": "True", "observedGeneration": 9}]
        if kind.endswith("NodeClass"):
            metadata["annotations"] = {"karpenter.k8s.aws/ec2nodeclass-hash": "7"}
        if kind == "NodeClaim":
            metadata["annotations"]["karpenter.k8s.aws/ec2nodeclass-hash"] = "7"
            item["status"]["conditions"] = [c for c in item["status"]["conditions"] if c["type"] != "Drifted"]
            if left:
                metadata["annotations"][HASH], left = "1", left - 1
    return str(written(folder / f"old-{old}-{budget.rstrip('%')}.json", document))


def _is_kept(item: dict[str, Any]) -> bool:
    metadata = item["metadata"]
    if item["kind"] in ("NodePool", "EC2NodeClass"):
        return bool(metadata["name"] == "edge")
    if item["kind"] == "Pod":
        return bool(item["spec"].get("nodeName", "").startswith(EDGE))
    if item["kind"] == "DaemonSet":
        return True
    return item["kind"] in ("Node", "NodeClaim") and metadata["labels"].get("karpenter.sh/nodepool") == "edge"


def test_the_status_is_that_of_the_rollout(run: Run, tmp_path: Path) -> None:
    short = ("--horizon", "1h", "--no-aws")
    assert "rolled out: " in run("rollout", "--snapshot", snapshot(tmp_path, old=0), *short).out
    out = run("rollout", "--snapshot", snapshot(tmp_path, old=1), *short, "--fail-on", "stalled", status=1).out
    assert "not rolled out: " in out
    closed = snapshot(tmp_path, old=1, budget="0")
    assert main(["rollout", "--snapshot", closed, *short]) == 1
    out, err = run("rollout", "--snapshot", closed, *short, "--fail-on", "stalled", status=3)
    assert "stalled: " in out
    assert "--fail-on stalled: the forecast replaces no old node" in err


def test_json_and_csv_have_the_same_rows(run: Run, tmp_path: Path) -> None:
    path = snapshot(tmp_path, old=2)
    document = run.json("rollout", "--snapshot", path, "--no-aws", "--horizon", "1h", status=1)
    rows = run.csv("rollout", "--snapshot", path, "--no-aws", "--horizon", "1h", status=1)
    assert [row["node"] for row in rows] == [node["node"] for node in document["nodes"]]
    assert document["isRolledOut"] is False
    assert sum(group["old"] for group in document["groups"] if group["kind"] == "NodePool") == 2


def test_waiting_ends_if_stalled_or_after_the_timeout(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """A disruption budget of 0 blocks the rollout of the demo's NodePool trino."""
    short = ("--horizon", "10m")
    error = run(
        "rollout", "--demo", "--pool", "trino", "--wait", "--timeout", "60s", "--fail-on", "stalled", *short, status=3
    ).err
    assert "stalled: 0 of 8 nodes current" in error
    assert main(["rollout", "--demo", "--pool", "trino", "--wait", "--timeout", "1s", *short]) in (1, 2)
    assert "within 1s" in capsys.readouterr().err


def test_waiting_ends_once_the_last_old_node_is_replaced(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = (SnapshotReader().read([snapshot(tmp_path, old=old)], now_ns=NOW_NS) for old in (1, 0))
    mailboxes: list[Mailbox] = []

    class Rolling(SnapshotSource):
        def start(self, mailbox: Mailbox) -> None:
            mailboxes.append(mailbox)
            super().start(mailbox)

    time_passes = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: SnapshotSource(after).start(mailboxes[0]))
    monkeypatch.setattr("karptui.cli.rollout.time", time_passes)
    monkeypatch.setattr("karptui.cli.rollout.open_source", lambda _: (Rolling(before), FrozenClock(NOW_NS)))
    output, error = run("rollout", "--demo", "--wait", "--timeout", "60s", "--horizon", "10m")
    assert "not rolled out: 3 of 4 nodes current" in error
    assert "rolled out: 4 of 4 nodes current" in output
