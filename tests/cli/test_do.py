"""`karptui do` and `karptui audit`, on the demo and on a fake API server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from karptui.sources.cluster.resources import LATER, NODECLAIMS, NODEPOOLS, NODES
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.cli.files import kubeconfig
from tests.fake_api_server import FakeApi, LoopbackServer
from tests.still_demo import StillDemo

ALLOWED = ("--demo", "--allow-actions")
COLLECTIONS = [resource.path for resource in (NODES, NODEPOOLS, NODECLAIMS, *LATER)]


@pytest.fixture(autouse=True)
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("karptui.paths.audit_file", lambda: tmp_path / "audit.jsonl")
    monkeypatch.setattr("karptui.session.actions.audit_file", lambda: tmp_path / "audit.jsonl")
    return tmp_path / "audit.jsonl"


@pytest.fixture(scope="module")
def demo() -> dict[str, str]:
    """Objects of the demo, by role."""
    from karptui.clock import SystemClock
    from karptui.sources.source import Mailbox

    source = StillDemo(SystemClock())
    source.start(Mailbox())
    objects = source.manifests()

    def first(kind: str, **labels: str) -> dict[str, Any]:
        return next(
            document
            for document in objects
            if document["kind"] == kind and labels.items() <= document["metadata"].get("labels", {}).items()
        )

    claims = [item for item in objects if item["kind"] == "NodeClaim" and item["status"].get("nodeName")]
    return {
        "node": first("Node")["metadata"]["name"],
        "claim": claims[0]["metadata"]["name"],
        "pod": first("Pod", app="api")["metadata"]["name"],
        "pool": json.dumps({**first("NodePool"), "spec": {"weight": 77}}),
    }


def lines(audit: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in audit.read_text().splitlines()] if audit.exists() else []


def test_without_yes_an_action_is_only_a_server_dry_run(demo: dict[str, str], audit: Path, run: Run) -> None:
    output, error = run("do", "cordon", demo["node"], "--horizon", "1m", *ALLOWED)
    assert output.startswith(f"cordon Node {demo['node']}\n  request: PATCH /api/v1/nodes/{demo['node']}?")
    assert "    spec.unschedulable: (none) → true\n" in output
    assert f"  undo: karptui do uncordon {demo['node']}\n" in output
    assert "expected, by karptui's simulation" in output
    assert "pods on it stay there" in output
    assert "nothing was changed; --yes" in error
    assert not lines(audit)


def test_with_yes_an_action_is_carried_out_audited_and_watched(demo: dict[str, str], audit: Path, run: Run) -> None:
    words = ["--yes", "--reason", "drain\x1b[2J tonight", "--horizon", "1m", *ALLOWED]
    output, _ = run("do", "cordon", demo["node"], *words)
    assert f"✔ done: cordon Node {demo['node']}" in output
    assert "the watch shows 1 of 1 change" in output
    assert "  expected by then: " in output
    before, after = lines(audit)
    assert (before["action"], before["context"], after["outcome"]) == ("cordon", "demo", "done")
    table = run("audit").out
    assert f"Node {demo['node']}" in table
    assert "\x1b" not in table
    [row] = json.loads(run("audit", "-o", "json", "--filter", "action=cordon").out)
    assert row["diff"] == [{"field": "spec.unschedulable", "before": None, "after": True}]


def test_a_removal_needs_confirmation_by_name(demo: dict[str, str], audit: Path, run: Run) -> None:
    words = ["do", "delete", demo["claim"], "--yes", "--reason", "x", "--horizon", "1m", "--wait", "0s", *ALLOWED]
    output, error = run(*words, status=2)
    assert f"it removes something: --confirm {demo['claim']} is needed as well; nothing was changed" in error
    assert "pods to be evicted: " in output
    assert not lines(audit)
    assert f"✔ done: delete NodeClaim {demo['claim']}" in run(*words, "--confirm", demo["claim"]).out
    assert [line["phase"] for line in lines(audit)] == ["before", "after"]


def test_apply_previews_an_edited_nodepool_and_its_undo_command(demo: dict[str, str], tmp_path: Path, run: Run) -> None:
    file = written(tmp_path / "pool.yaml", demo["pool"])
    output = run("do", "apply", "-f", str(file), "--horizon", "1m", *ALLOWED).out
    assert "application/apply-patch+yaml" in output
    assert "spec.weight: 100 → 77" in output
    assert '"weight":100' in next(line for line in output.splitlines() if "undo: echo" in line)


def test_an_action_on_a_missing_object_is_refused(run: Run) -> None:
    output, error = run("do", "cordon", "nothing", *ALLOWED, status=1)
    assert "✖ the server refuses it (404): it does not exist" in output
    assert "--yes" not in error


def test_without_the_flag_karptui_sends_only_reads_and_access_reviews(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("karptui.cli.loading._GRACE_SECONDS", 1)
    api = FakeApi()
    for path in COLLECTIONS:
        api.put(path, {"metadata": {"name": "a", "uid": "1"}, "spec": {}})

    with LoopbackServer(api) as server:
        live = ["--kubeconfig", kubeconfig(tmp_path, server.url), "--no-aws"]
        assert "actions are off" in run("do", "cordon", "a", "--yes", "--reason", "x", *live, status=2).err
        assert server.calls == []
        main(["nodes", *live])
        sent = {(call.method, call.path) for call in server.calls}
    assert len(sent) > 10
    posted = {path for method, path in sent if method != "GET"}
    assert posted <= {"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"}


def test_unreadable_audit_lines_are_counted(audit: Path, run: Run) -> None:
    audit.write_text("{}\n\n[1\n")
    output, error = run("audit", "-o", "json", status=1)
    assert json.loads(output) == []
    assert "2 lines cannot be read" in error
