"""Commands answer from a recording as from its source: the demo, or a fake API server on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import pytest

from karptui.cli.main import main
from karptui.cli.parser import COMMANDS
from karptui.clock import FrozenClock
from karptui.sources.cluster.resources import LATER, NODES
from karptui.sources.demo.karpenter import metrics_at
from karptui.sources.source import Mailbox
from tests.builders import a_manifest
from tests.cli.conftest import NOON_NS
from tests.cli.files import kubeconfig
from tests.fake_api_server import Answered, Call, LoopbackServer
from tests.sources.cluster.test_reflectors import Cluster, karpenter
from tests.sources.metrics.conftest import pod
from tests.still_demo import StillDemo

NODE, POD, POOL = "ip-10-0-61-17.ec2.internal", "ml/llm-2", "general"
OPTIONS: Final[dict[str, list[list[str]]]] = {
    "advice": [["--usage", "-o", "json"]],
    "explain": [["node", NODE, "-o", "json"], ["pod", POD, "-o", "json"], ["pool", POOL, "-o", "json"]],
    "forward": [["--horizon", "30m", "-o", "json"]],
    "headroom": [["--most", "20", "-o", "json"]],
    "nodes": [["--usage", "-o", "json"]],
    "pause": [["--until", "10m", "--horizon", "10m", "-o", "json"]],
    "plan": [["--horizon", "30m", "-f", "pool.json", "-o", "json"]],
    "pods": [["--usage", "-o", "json"]],
    "simulate": [["--scenario", "scenario.json", "-o", "json"], ["--self-check", "-o", "json"]],
    "solve": [["pending", "--tries", "8", "-o", "json"]],
    "sweep": [["--set", "VM_MEMORY_OVERHEAD_PERCENT=0.05,0.06", "--jobs", "1", "-o", "json"]],
    "types": [["-o", "json"], ["--pool", POOL, "-o", "json"]],
}
"""Option sets of commands; a command that is not listed runs once, with JSON output."""
LINES: Final = [
    [command, *options]
    for command in COMMANDS
    if command not in ("audit", "card", "changes", "completion", "do", "history", "mcp", "record", "watch")
    for options in OPTIONS.get(command, [["-o", "json"]])
]
CLUSTERS: Final = ("demo", "cluster", "test", "plain.json", "redacted.json", "../redacted.json")
"""Names of the cluster in answers; they depend on the source."""
CODE: Final = re.compile(r"[A-Z][A-Z_]+|delete|replace|drift|pending|error|warning|info")
SLOW: Final = frozenset(
    {"forward", "pause", "plan", "policies", "remedies", "solve", "sweep", "simulate", "headroom", "drill", "rehearse"}
    | {"rightsize", "rollout"}
)
"""Slow commands: they run only if KARPTUI_ALL_GOLDENS is set."""
FROM_AN_API_SERVER: Final = ("events", "nodes --usage", f"types --pool {POOL}", "verdict")
"""Commands that also run on the API server; each fact of a recording changes at least one answer."""
METRICS: Final = "karpenter_cloudprovider_instance_type_offering"


@cache
def demo_objects() -> list[dict[str, Any]]:
    """Return the demo's manifests; callers must not change them."""
    demo = StillDemo(FrozenClock(NOON_NS))
    demo.start(Mailbox())
    return demo.manifests()


def exposition() -> bytes:
    """Return Karpenter's metrics: the demo's prices with fewer offerings, and counters of NodePools."""
    lines = [
        'karpenter_build_info{commit="x",goarch="amd64",goos="linux",goversion="go1.26",version="1.14.1"} 1',
        'leader_election_master_status{name="karpenter-leader-election"} 1',
        f"process_start_time_seconds {NOON_NS // 10**9 - 86_400}",
        'karpenter_voluntary_disruption_consolidation_timeouts_total{consolidation_type="single"} 30',
        'karpenter_nodeclaims_created_total{min_values_relaxed="false",nodepool="general",reason="provisioned"} 41',
    ]
    for name, offering in metrics_at(NOON_NS).offerings.items():
        labels = f'capacity_type="{name.capacity_type}",instance_type="{name.instance_type}",zone="{name.zone}"'
        is_available = offering.is_available and not name.instance_type.startswith("m7i")
        lines.append(f"{METRICS}_price_estimate{{{labels}}} {offering.price_per_hour}")
        lines.append(f"{METRICS}_available{{{labels}}} {int(bool(is_available))}")
    return "\n".join([*lines, ""]).encode()


def a_controller() -> dict[str, Any]:
    env = [
        {"name": "PREFERENCE_POLICY", "value": "Ignore"},
        {"name": "VM_MEMORY_OVERHEAD_PERCENT", "value": "0.05"},
        {"name": "RESERVED_ENIS", "valueFrom": {"secretKeyRef": {"name": "enis", "key": "n"}}},
    ]
    containers = [{"name": "controller", "image": "karpenter/controller:1.14.1", "env": env}]
    return a_manifest(
        "Deployment",
        "karpenter",
        namespace="kube-system",
        metadata={"labels": {"app.kubernetes.io/name": "karpenter"}},
        spec={"template": {"spec": {"containers": containers}}},
    )


def fewer(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return objects without most nodes of the largest NodePool and their pods, to save time."""
    names = {
        document["metadata"]["name"]
        for document in objects
        if document["kind"] == "Node" and document["metadata"]["labels"].get("karpenter.sh/nodepool") == POOL
    }
    left_out = {name for name in names if name != NODE and not name.startswith("ip-10-0-1")}
    return [
        item
        for item in objects
        if left_out.isdisjoint(
            (item["metadata"]["name"], item.get("spec", {}).get("nodeName"), item.get("status", {}).get("nodeName"))
        )
    ]


def a_cluster() -> Cluster:
    """Return a fake API server with the demo's objects; PodDisruptionBudgets may not be listed."""
    cluster = karpenter()
    paths = {resource.api_kind: resource.path for resource in (NODES, *LATER)}
    paths |= {"NodePool": "/apis/karpenter.sh/v1/nodepools", "NodeClaim": "/apis/karpenter.sh/v1/nodeclaims"}
    paths["EC2NodeClass"] = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
    objects = fewer(demo_objects())
    for document in objects:
        if document["kind"] in paths:
            cluster.put(paths[document["kind"]], document)
    cluster.put(paths["Deployment"], a_controller())
    cluster.put(paths["Pod"], {"apiVersion": "v1", "kind": "Pod", **pod("karpenter-a")})
    cluster.fault = partial(answer_metrics, exposition(), [item for item in objects if item["kind"] in ("Node", "Pod")])
    return cluster


def answer_metrics(metrics: bytes, objects: list[dict[str, Any]], call: Call) -> None:
    """Answer requests for Karpenter's metrics and metrics-server, and forbid PodDisruptionBudgets."""
    if call.path.endswith("/karpenter-a:8080/proxy/metrics"):
        call.text(metrics)
    elif call.path.startswith("/apis/metrics.k8s.io/"):
        kind = "Node" if call.path.endswith("/nodes") else "Pod"
        used = {"cpu": "250m", "memory": "1Gi"}
        of_kind = {"usage": used} if kind == "Node" else {"containers": [{"usage": used}]}
        when = {"timestamp": "2026-11-18T11:59:30Z", "window": "15s"}
        items = [{"metadata": item["metadata"], **when, **of_kind} for item in objects if item["kind"] == kind]
        call.json({"items": items})
    elif call.path == "/apis/policy/v1/poddisruptionbudgets":
        call.error(403, "poddisruptionbudgets is forbidden", "Forbidden")
    else:
        return
    raise Answered


def answer(words: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a command's exit status and its parsed output."""
    capsys.readouterr()
    status = main(words)
    out, err = capsys.readouterr()
    assert status in (0, 1, 3, 4), err
    assert out, err
    return [status, normalized([json.loads(line) for line in lines_of(out)])]


def lines_of(out: str) -> list[str]:
    return out.splitlines() if out.startswith("{") and out.count("\n{") else [out]


def normalized(value: Any) -> Any:
    """Return an answer without the source's name, with sorted lists and rounded numbers."""
    if isinstance(value, dict):
        return {key: normalized(part) for key, part in value.items() if key != "name" or part not in CLUSTERS}
    if isinstance(value, list):
        return sorted(map(normalized, value), key=partial(json.dumps, sort_keys=True))
    return float(f"{value:.9g}") if isinstance(value, float) else value


def pseudonyms(folder: Path) -> dict[str, str]:
    """Return the pseudonym of each name, and of each NAMESPACE/NAME."""
    texts: dict[str, str] = {}
    for result, other in zip(*(objects_in(folder / f"{name}.json") for name in ("plain", "redacted")), strict=True):
        names = [[part["metadata"].get("namespace", ""), part["metadata"]["name"]] for part in (result, other)]
        texts["/".join(filter(None, names[0]))] = "/".join(filter(None, names[1]))
        texts.setdefault(names[0][1], names[1][1])
    return texts


@cache
def objects_in(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a recording; the file must not change afterwards."""
    objects: list[dict[str, Any]] = json.loads(path.read_text())["objects"]
    return objects


def write_edits(objects: list[dict[str, Any]], name: str) -> None:
    """Write a scenario and a manifest that change a NodePool's weight."""
    edits = [{"edit": "set", "object": f"NodePool/{name}", "path": "spec.weight", "value": 77}]
    Path("scenario.json").write_text(json.dumps({"edits": edits}))
    pool = next(item for item in objects if (item["kind"], item["metadata"]["name"]) == ("NodePool", name))
    Path("pool.json").write_text(json.dumps({**pool, "spec": {**pool["spec"], "weight": 77}}))


def without_names(value: Any, names: frozenset[str]) -> Any:
    """Return an answer with only counts, codes and amounts: texts that may contain names are emptied."""
    if isinstance(value, dict):
        parts = [["" if key in names else key, without_names(part, names)] for key, part in value.items()]
        return sorted(parts, key=json.dumps)
    if isinstance(value, list):
        return sorted((without_names(part, names) for part in value), key=json.dumps)
    return value if not isinstance(value, str) or CODE.fullmatch(value) else ""


@pytest.fixture(params=["demo", "API server"])
def flags(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield a live source's flags, in a folder with a plain and a redacted recording of it."""
    monkeypatch.chdir(tmp_path)
    with contextlib.ExitStack() as stack:
        if request.param == "demo":
            flags = ["--demo"]
        else:
            flags = ["--kubeconfig", kubeconfig(tmp_path, stack.enter_context(LoopbackServer(a_cluster())).url)]
        for name, redact in (("plain.json", []), ("redacted.json", ["--redact"])):
            status = main(["record", name, *redact, *flags, "--no-aws"])
            assert status == int(flags != ["--demo"]), "exits with 1 if a kind may not be listed"
        yield flags


def test_commands_answer_the_same_from_recordings_as_from_their_source(
    flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Most commands run on the demo, a few on the API server: recordings of both hold the same facts."""
    is_demo, folder = flags == ["--demo"], tmp_path / "redacted"
    renamed = pseudonyms(tmp_path)
    names = frozenset((*renamed, *renamed.values()))
    folder.mkdir()
    for where, pool in ((tmp_path, POOL), (folder, renamed[POOL])):
        monkeypatch.chdir(where)
        write_edits(objects_in(tmp_path / ("plain.json" if pool == POOL else "redacted.json")), pool)
    wrong = []
    for words in LINES if is_demo else [[*command.split(), "-o", "json"] for command in FROM_AN_API_SERVER]:
        is_asked_elsewhere = is_demo and " ".join(words[:-2]) in FROM_AN_API_SERVER
        if (words[0] in SLOW or is_asked_elsewhere) and not os.environ.get("KARPTUI_ALL_GOLDENS"):
            continue
        monkeypatch.chdir(tmp_path)
        asks_aws = not is_demo and words[0] not in ("events", "pods")
        live = answer([*words, *flags, *(["--no-aws"] if asks_aws else [])], capsys)
        plain = answer([*words, "--snapshot", "plain.json"], capsys)
        # Sentences name objects in the order in which the API server lists them, so ignore the order.
        is_same = plain == live if is_demo else without_names(plain, frozenset()) == without_names(live, frozenset())
        if is_demo:
            wrong += [] if is_same else [words]
            continue
        monkeypatch.chdir(folder)
        asked = [renamed.get(word, word) for word in words]
        redacted = answer([*asked, "--snapshot", "../redacted.json"], capsys)
        if not is_same or without_names(redacted, names) != without_names(live, names):
            wrong.append(words)
    assert wrong == []
