"""Kinds that cannot be listed or read are never shown as empty; commands that need pods refuse to guess."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from karptui.sources.demo.source import load
from tests.builders import a_manifest
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.cli.files import kubeconfig
from tests.cli.test_recorded_decisions import fewer
from tests.fake_api_server import LoopbackServer
from tests.incidents.all import INCIDENTS
from tests.sources.cluster.test_reflectors import Cluster, karpenter

NOW_NS = 1_790_000_000 * 10**9
CORE = "/api/v1/"
KARPENTER = "/apis/karpenter.sh/v1/"
HIDDEN = {
    "nodes": (f"{CORE}nodes", f"{KARPENTER}nodeclaims"),
    "pods": (f"{CORE}pods",),
    "claims": (f"{KARPENTER}nodeclaims",),
    "pools": (f"{KARPENTER}nodepools",),
    "types": (f"{KARPENTER}nodepools",),
    "budgets": (f"{KARPENTER}nodepools",),
    "pending": (f"{CORE}pods",),
    "blockers": (f"{CORE}nodes",),
    "events": (f"{CORE}events", f"{CORE}nodes", f"{KARPENTER}nodeclaims"),
}
"""API paths that each command lists."""
SCENARIO = "edits: [{edit: delete, object: NodePool/batch}]\n"
COMMANDS = (
    ("blockers",),
    ("remedies",),
    ("next",),
    ("forward",),
    ("timeouts",),
    ("drill",),
    ("policies",),
    ("pause",),
    ("rollout",),
    ("rightsize",),
    ("rehearse",),
    ("simulate", "--scenario", "scenario.yaml"),
    ("sweep", "--set", "NodePool/batch:spec.weight=1..3"),
)


@cache
def demo() -> list[dict[str, Any]]:
    """Return the demo's objects without most nodes of its largest NodePool."""
    return fewer(load(NOW_NS))


@pytest.fixture(name="cluster")
def empty_cluster() -> Cluster:
    return karpenter()


@pytest.fixture(name="flags")
def flags_of_the_cluster(cluster: Cluster, tmp_path: Path) -> Iterator[list[str]]:
    with LoopbackServer(cluster) as server:
        yield ["--kubeconfig", kubeconfig(tmp_path, server.url)]


def words_of(command: str, flags: list[str], form: str) -> list[str]:
    """Return the command line, with --no-aws for commands that show prices."""
    return [command, *flags, "-o", form, *([] if command in ("pods", "events") else ["--no-aws"])]


@pytest.mark.parametrize(
    ("command", "form"), [("nodes", "table"), ("pods", "csv"), *((text, "json") for text in HIDDEN)]
)
def test_commands_print_nothing_without_permission_to_list(
    command: str, form: str, cluster: Cluster, flags: list[str], run: Run
) -> None:
    cluster.forbid(*HIDDEN[command])
    output, error = run(*words_of(command, flags, form), status=1)
    assert not output
    assert f"karptui {command}: no permission to list " in error
    assert f"no {command}" not in error.replace("no permission", "")


@pytest.mark.parametrize("command", ["nodes", "pools", "types", "blockers", "remedies", "capacity", "advice"])
def test_an_empty_cluster_gives_an_empty_list(command: str, cluster: Cluster, flags: list[str], run: Run) -> None:
    assert json.loads(run(*words_of(command, flags, "json")).out) == []


def test_nodes_are_listed_without_permission_for_nodeclaims(cluster: Cluster, flags: list[str], run: Run) -> None:
    cluster.put(f"{CORE}nodes", a_manifest("Node", "n1"))
    cluster.forbid(f"{KARPENTER}nodeclaims")
    assert [row["name"] for row in json.loads(run(*words_of("nodes", flags, "json"), status=1).out)] == ["n1"]


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_unreadable_objects_are_reported_instead_of_an_empty_list(form: str, tmp_path: Path, run: Run) -> None:
    broken: dict[str, Any] = a_manifest("Pod", "x", namespace="web", spec={"nodeName": 5})
    (tmp_path / "a.json").write_text(json.dumps(broken))
    for command in ("pods", "pending"):
        output, error = run(command, "--snapshot", str(tmp_path / "a.json"), "-o", form, status=1)
        assert not output
        assert "Pod web/x: spec.nodeName: must be text, is a number: write it in quotes" in error
    assert main(["nodes", "--snapshot", str(tmp_path / "a.json"), "-o", form]) == 1


@pytest.mark.parametrize("words", [
    ["sweep", "--set", "VM_MEMORY_OVERHEAD_PERCENT=0.05,0.06", "--jobs", "1"],
    ["simulate", "--self-check"],
    ["simulate", "--scenario", "nothing.yaml"],
])  # fmt: skip
def test_a_simulation_without_an_unreadable_pod_exits_with_1(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nothing.yaml").write_text("name: nothing\n")
    objects = [a_manifest("Node", "n1"), a_manifest("Pod", "x", namespace="web", spec={"nodeName": 5})]
    Path("a.json").write_text(json.dumps(objects))
    output, error = run(*words, "--snapshot", "a.json", "-o", "json", status=1)
    json.loads(output)
    assert error.count("Pod web/x") == 1
    assert f"karptui {words[0]}: a.json: Pod web/x: spec.nodeName: must be text" in error
    readable = a_manifest("Pod", "x", namespace="web", spec={"nodeName": "n1"})
    Path("a.json").write_text(json.dumps([objects[0], readable]))
    assert main([*words, "--snapshot", "a.json", "-o", "json"]) == 0


def test_explain_reports_that_its_object_is_unreadable(tmp_path: Path, run: Run) -> None:
    broken = a_manifest("NodePool", "x", api_version="karpenter.sh/v1", spec={"weight": "3"})
    (tmp_path / "a.json").write_text(json.dumps([broken, a_manifest("Node", "n1")]))
    error = run("explain", "pool", "x", "--snapshot", str(tmp_path / "a.json"), status=2).err
    assert "NodePool x: spec.weight: must be a whole number, is text: write it without quotes" in error
    assert "there is no NodePool x" in error


@pytest.mark.parametrize(("missing", "words", "texts"), [
    ("Pod", ["next"], {"pods were not read": True, "delete": False}),
    ("Pod", ["remedies"], {"pods were not read": True, "frees": False}),
    ("NodePool", ["next"], {"NodePools were not read": True}),
    ("NodeClaim", ["next"], {"NodeClaims were not read": True}),
    *(
        (kind, ["verdict", "--no-simulate"], {f"{kind}s were not read{rest}": True, "not exist": False})
        for kind, rest in (
            ("NodePool", ": findings that need them are missing"),
            ("NodeClaim", ": findings that need them are missing"),
            ("DaemonSet", ": they count as none"),
        )
    ),
])  # fmt: skip
def test_a_kind_missing_from_a_kubectl_list_is_reported_as_not_read(
    missing: str, words: list[str], texts: dict[str, bool], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "nodes.json"
    objects = [manifest for manifest in demo() if manifest["kind"] != missing]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    status = main([*words, "--snapshot", str(path)])
    printed = "".join(capsys.readouterr())
    assert {text: text in printed for text in texts} == texts
    assert status != 0


@pytest.mark.parametrize(("missing", "words", "texts"), [
    ("PodDisruptionBudget", [], {"PodDisruptionBudgets were not read: they count as none": True, "next": False}),
    ("CronJob", [], {"next, once unblocked: ": True}),
    ("Node", ["--no-simulate"], {"pods pending": True, " fit": False, "short by": False}),
])  # fmt: skip
def test_the_verdict_of_a_recording_without_a_kind(
    missing: str, words: list[str], texts: dict[str, bool], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "demo.json"
    objects = [manifest for manifest in demo() if manifest["kind"] != missing]
    document = {"karptui": 1, "capturedAt": "2026-09-21T14:13:20Z", "unread": [missing], "objects": objects}
    path.write_text(json.dumps(document))
    main(["verdict", *words, "--snapshot", str(path)])
    output = capsys.readouterr().out
    assert {text: text in output for text in texts} == texts


@pytest.mark.parametrize("words", [["forward", "--horizon", "1m"], ["pause"], ["drill"]])
def test_forecasts_name_the_kinds_that_count_as_none(words: list[str], tmp_path: Path, run: Run) -> None:
    path = tmp_path / "demo.json"
    objects = [manifest for manifest in demo() if manifest["kind"] != "PodDisruptionBudget"]
    document = {"karptui": 1, "capturedAt": "2026-09-21T14:13:20Z", "unread": ["PodDisruptionBudget"]}
    path.write_text(json.dumps({**document, "objects": objects}))
    told = "PodDisruptionBudgets may not be listed and count as none"
    assert f"karptui {words[0]}: {told}" in run(*words, "--snapshot", str(path), "--no-aws").err
    if words[0] == "forward":
        assert "demo: PodDisruptionBudgets were not read and count as none" in run(*words, str(path)).err


@pytest.mark.parametrize(("command", "told"), [
    ("drill", ": no node has a zone, a capacity type or a NodePool"),
    ("headroom", ": no workload has pods that could run on other nodes"),
    ("verdict", "no nodes, no NodeClaims and no NodePools"),
    ("nodes", "no nodes"),
])  # fmt: skip
def test_an_empty_recording_gives_a_message(command: str, told: str, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "empty.json"
    path.write_text('{"karptui": 1, "name": "e", "capturedAt": "2026-11-20T12:00:00Z", "objects": []}')
    assert told in "".join(run(command, "--snapshot", str(path), "--no-aws"))


@pytest.mark.parametrize("case", [
    ("host-port", "DaemonSet", "judging by the objects read, a new node of general", "Karpenter would"),
    ("kubelet-reserves-too-much", "EC2NodeClass", "judging by the objects read, a new node of dense", "next"),
    ("storage-quota", "Pod", "No new pods of logging/loki for 50m: ResourceQuota storage", "exist"),
    ("static-pool-is-short", "Node", "EC2 refused 20 launches of gateway", "0 of 5"),
    ("gcp-preempts-spot", "NodeClaim", "5 spot nodes in NodePool spot were interrupted", "5 of"),
    ("freeze-stops-repair", "Pod", "StorageReady=False for 55m (EBS volume I/O has stalled)\n", "repairs"),
    ("fine-metal-boots", "Event", "needs attention, but not everything is checked: events", "none was launched"),
    ("fine-nodeclass-is-checked", "EC2NodeClass", "al2023@latest", "not been ready"),
    ("instance-store-is-not-counted", "EC2NodeClass", "judging by the objects read, spill: ", "pending 52m: spill"),
    ("reservation-in-another-zone", "EC2NodeClass", "judging by the objects read, ", "cannot launch any node"),
    ("fine-zonal-volumes-keep-three-nodes", "PersistentVolumeClaim", "volumes do not restrict", "next: "),
    ("more-volumes-than-a-node-takes", "PersistentVolumeClaim", "next: delete ip-10-24-17-150 (empty", "as likely"),
    ("disks-fill-up-for-two-reasons", "Event", "1 more) have had DiskPressure for up to 49m", "too few free inodes"),
    ("zone-ice-volume", "NodePool", "insufficient capacity in EC2 (r6i.2xlarge; us-east-1c)", "on-demand/spot"),
])  # fmt: skip
def test_the_verdict_does_not_count_unread_kinds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: tuple[str, str, str, str]
) -> None:
    incident, kind, told, untold = case
    document = INCIDENTS[incident].snapshot()
    objects = [manifest for manifest in document["objects"] if manifest["kind"] != kind]
    unread = ["NodeClass" if kind == "EC2NodeClass" else kind]
    (tmp_path / "a.json").write_text(json.dumps({**document, "objects": objects, "unread": unread}))
    main(["verdict", "--no-aws", "--snapshot", str(tmp_path / "a.json")])
    output = capsys.readouterr().out
    assert told in output
    assert untold not in output


def test_without_events_a_starting_node_may_be_for_the_pending_pods(tmp_path: Path, run: Run) -> None:
    """Events expire after an hour, so the event that nominates the node may be gone."""
    document = INCIDENTS["fine-metal-boots"].snapshot()
    document["objects"] = [manifest for manifest in document["objects"] if manifest["kind"] != "Event"]
    path = written(tmp_path / "a.json", document)
    assert "no blockers or problems" in run("verdict", "--no-aws", "--snapshot", str(path)).out


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command[0]))
def test_nothing_is_simulated_without_pods(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scenario.yaml").write_text(SCENARIO)
    Path("cluster.json").write_text(json.dumps(INCIDENTS["drains-without-pods-read"].snapshot()))
    assert main([*command, "--snapshot", "cluster.json"]) in (1, 2)
    printed = capsys.readouterr()
    assert "pods were not read" in printed.out + printed.err
    assert "delete" not in printed.out


def test_pods_of_one_namespace_are_not_treated_as_all_pods(tmp_path: Path, run: Run) -> None:
    """The file is the output of `kubectl get` without ``--all-namespaces``."""
    cluster = INCIDENTS["fine-new-pool"].snapshot()
    items = [item for item in cluster["objects"] if item["metadata"].get("namespace", "orders") == "orders"]
    path = written(tmp_path / "cluster.json", {"apiVersion": "v1", "kind": "List", "items": items})
    printed = run("verdict", "--snapshot", str(path), status=1)
    assert "pods outside namespace orders were not read" in printed.out
    assert "cluster has the pods of one namespace only: list them with --all-namespaces" in printed.err
    assert "next: " not in printed.out
