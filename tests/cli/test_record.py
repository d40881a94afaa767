"""`karptui record`, and recordings as input of other commands (`FILE` or `--snapshot FILE`)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from karptui.cli.main import main
from tests.builders import a_manifest
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.cli.files import OBJECTS, a_file, a_pod_manifest, kubeconfig
from tests.fake_api_server import LoopbackServer
from tests.sources.cluster.test_reflectors import Cluster, karpenter
from tests.troubled_cluster import EXTRA_POOL, troubles_document

OWN = {
    "explain": ["pool", "spot"],
    "plan": ["-f", "pool.txt", "--horizon", "10m"],
    "solve": ["pending", "--tries", "3"],
    "sweep": ["--set", "RESERVED_ENIS=0"],
    "simulate": ["--self-check"],
    "forward": ["--horizon", "10m"],
    "headroom": ["--most", "2"],
    "rehearse": ["--horizon", "10m"],
}


def test_a_recording_of_a_snapshot_gives_the_same_rows(tmp_path: Path, run: Run) -> None:
    file, copy = a_file(tmp_path), str(tmp_path / "copy.json.gz")
    assert "7 objects" in run("record", copy, "--snapshot", file).err
    for command in ("nodes", "pods"):
        assert run.json(command, "--snapshot", file) == run.json(command, "--snapshot", copy)


def test_record_merges_files_and_writes_to_standard_output(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    first, second = a_file(tmp_path), tmp_path / "more.json"
    second.write_text(json.dumps(a_pod_manifest("extra-1")))
    words = ["record", "-", "--snapshot", first, "--snapshot", str(second), "--name", "both"]
    assert main(words) == 0
    document = json.loads(capfdbinary.readouterr().out)
    assert document["name"] == "both"
    assert len(document["objects"]) == len(OBJECTS) + 1


def test_pseudonyms_are_the_same_in_two_redacted_recordings(tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert main(["record", str(tmp_path / f"{name}.json"), "--redact", "--snapshot", a_file(tmp_path)]) == 0
    first, second = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("one", "two"))
    assert first["objects"] == second["objects"]
    assert not [name for name in ("api-1", "node-1", "general-abcde") if name in json.dumps(first)]
    key = Path(os.environ["XDG_STATE_HOME"], "karptui", "redact.key")
    assert key.stat().st_mode & 0o077 == 0
    assert len(key.read_bytes()) == 32


def test_an_existing_file_is_replaced_only_if_asked(tmp_path: Path, run: Run) -> None:
    out = written(tmp_path / "out.json", "mine")
    assert "exists already" in run("record", str(out), "--snapshot", a_file(tmp_path), status=2).err
    assert main(["record", str(out), "--snapshot", a_file(tmp_path), "--force"]) == 0


def test_unreadable_objects_are_reported(tmp_path: Path, run: Run) -> None:
    broken = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"nodeName": 5}}
    error = run("record", str(tmp_path / "out.json"), "--snapshot", a_file(tmp_path, broken), status=1).err
    assert "not recorded: " in error


def a_live_cluster() -> Cluster:
    """Return a fake API server with a few objects, Karpenter's Deployment and a Secret."""
    cluster = karpenter()
    cluster.put("/api/v1/nodes", OBJECTS[0])
    for number in range(1200):
        cluster.put("/api/v1/pods", a_pod_manifest(f"web-{number}", node="node-1"))
    written = {"managedFields": [{"manager": "karpenter"}]}
    cluster.put("/apis/karpenter.sh/v1/nodepools", a_manifest("NodePool", "general", metadata=written))
    cluster.put("/apis/apps/v1/replicasets", a_manifest("ReplicaSet", "x", namespace="web"))
    settings = [{"name": "PREFERENCE_POLICY", "value": "Ignore"}, {"name": "TOKEN", "value": "hunter2"}]
    spec = {"template": {"spec": {"containers": [{"name": "controller", "env": settings}]}}}
    cluster.put("/apis/apps/v1/deployments", a_manifest("Deployment", "karpenter", namespace="karpenter", spec=spec))
    return cluster


def test_a_live_cluster_is_listed_page_by_page(tmp_path: Path, run: Run) -> None:
    with LoopbackServer(a_live_cluster()) as server:
        words = ["record", str(tmp_path / "out.json"), "--kubeconfig", kubeconfig(tmp_path, server.url), "--no-aws"]
        assert main(words) == 0
    text = (tmp_path / "out.json").read_text()
    document = json.loads(text)
    kinds = [manifest["kind"] for manifest in document["objects"]]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "Node": 1,
        "Pod": 1200,
        "NodePool": 1,
        "ReplicaSet": 1,
        "Deployment": 1,
    }
    assert document["name"] == "test"
    assert document["settings"] == {"PREFERENCE_POLICY": "Ignore"}
    assert "hunter2" not in text
    assert run.json("nodes", "--snapshot", str(tmp_path / "out.json"))[0]["pods_requested"] == 1200


def test_kinds_that_may_not_be_listed_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = a_live_cluster()
    cluster.forbid("/api/v1/pods")
    with LoopbackServer(cluster) as server:
        words = ["record", str(tmp_path / "out.json"), "--kubeconfig", kubeconfig(tmp_path, server.url), "--no-aws"]
        assert main(words) == 1
    assert "not recorded: pods: " in capsys.readouterr().err
    assert "cannot list" not in (tmp_path / "out.json").read_text()


def test_an_unreachable_server_is_named_without_a_traceback(tmp_path: Path, run: Run) -> None:
    with LoopbackServer(a_live_cluster()) as server:
        config = kubeconfig(tmp_path, server.url)
    for words in (["nodes", "--no-aws"], ["record", str(tmp_path / "out.json")]):
        error = run(*words, "--kubeconfig", config, status=2).err
        assert "127.0.0.1" in error
        assert "Traceback" not in error


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "cluster.json").write_text(json.dumps({**troubles_document(), "name": "cluster.json"}))
    (tmp_path / "pool.txt").write_text(EXTRA_POOL)
    monkeypatch.chdir(tmp_path)
    return "cluster.json"


@pytest.mark.parametrize("command", ["nodes", "verdict", "types", *OWN])
def test_a_recording_can_be_given_without_the_snapshot_flag(
    command: str, recording: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [command, *OWN.get(command, [])]
    answers = []
    for file in ([recording], ["--snapshot", recording]):
        status = main([*words, *file])
        output, error = capsys.readouterr()
        assert status != 2, error
        answers.append((status, output))
    assert answers[0] == answers[1]


def test_each_of_several_snapshots_has_a_verdict(recording: str, run: Run) -> None:
    output, error = run("verdict", recording, "none.json", recording, "-o", "json", status=1)
    first, missing, last = map(json.loads, output.splitlines())
    assert first == last
    assert (first["name"], bool(first["findings"])) == (recording, True)
    assert missing == {"name": "none.json", "error": "none.json: cannot be read: No such file or directory"}
    assert "karptui verdict: none.json: cannot be read" in error
    assert run("verdict", recording, recording).out.count(f"{recording}:\n") == 2
