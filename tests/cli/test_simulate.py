from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from karptui.cli.simulate import lines_of
from karptui.kube.timestamps import format_timestamp
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.solution import Solution, provisioning_events
from tests.builders import a_manifest
from tests.builders.files import written
from tests.builders.manifests import READY, a_pool_manifest
from tests.cli.conftest import Run
from tests.hygiene.test_schemas import validator
from tests.provisioning.scenarios import scenario
from tests.troubled_cluster import troubles_document

CASES = Path(__file__).resolve().parents[2] / "docs" / "cases"


def write(folder: Path, seed: int, **fields: Any) -> str:
    return str(written(folder / f"{seed}.json", {**scenario(seed), **fields}))


def test_a_line_per_snapshot_in_order(tmp_path: Path, run: Run) -> None:
    paths = [write(tmp_path, seed) for seed in (3, 1, 2)]
    answers = run.json_lines("simulate", *paths)
    assert [answer["name"] for answer in answers] == ["scenario-3", "scenario-1", "scenario-2"]
    assert all({"provisioning", "events", "notModelled"} <= answer.keys() for answer in answers)
    assert all("disruption" not in answer for answer in answers)


def test_time_adds_the_shortest_duration(tmp_path: Path, run: Run) -> None:
    path = write(tmp_path, 1)
    [timed] = run.json_lines("simulate", path, "--time", "2")
    assert timed["provisioning"].pop("solveMillis") > 0
    assert run.json_lines("simulate", path) == [timed]
    assert "decided in" in run("simulate", path, "--time", "1").out


@pytest.mark.parametrize("wanted", ["flag", "field"])
def test_disruption_on_demand(wanted: str, tmp_path: Path, run: Run) -> None:
    path = write(tmp_path, 1, **({"disruption": True} if wanted == "field" else {}))
    [answer] = run.json_lines("simulate", path, *(["--disruption"] if wanted == "flag" else []))
    names = [method["name"] for method in answer["disruption"]]
    assert names == ["Emptiness", "Drift", "MultiNodeConsolidation", "SingleNodeConsolidation"]
    assert "SingleNodeConsolidation: " in run("simulate", path, "--disruption").out


def test_now_sets_the_time_of_the_simulation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def watched(prepared: Prepared, solution: Solution) -> dict[str, list[str]]:
        seen.append(prepared.now_ns)
        return provisioning_events(prepared, solution)

    monkeypatch.setattr("karptui.provisioning.solution.provisioning_events", watched)
    assert main(["simulate", write(tmp_path, 1), "--now", "2026-11-20T12:00:00Z"]) == 0
    assert [format_timestamp(number) for number in seen] == ["2026-11-20T12:00:00Z"]
    capsys.readouterr()


@pytest.mark.parametrize(("name", "content", "called"), [
    ("gone.json", None, "gone"),
    ("broken.json", b"{", "broken"),
    ("named.json", b'{"karptui": 1, "name": "mine", "objects": 3}', "mine"),
    ("packed.json.gz", gzip.compress(b'{"karptui": 9, "name": "new"}', mtime=0), "new"),
    ("text.json", b'"text"', "text"),
    ("list.json", b"[1, 2]", "list"),
])  # fmt: skip
def test_an_unreadable_snapshot_is_reported_and_the_others_are_simulated(
    name: str, content: bytes | None, called: str, tmp_path: Path, run: Run
) -> None:
    bad = tmp_path / name
    if content is not None:
        bad.write_bytes(content)
    good = write(tmp_path, 1)
    first, second = run.json_lines("simulate", str(bad), good, status=1)
    assert (first["name"], second["name"]) == (called, "scenario-1")
    assert first.keys() == {"name", "error"}
    assert called in run("simulate", str(bad), status=1).out


def test_an_invalid_annotation_on_a_node_being_deleted_gives_an_event(tmp_path: Path, run: Run) -> None:
    text = (CASES / "e-runners.yaml").read_text()
    text = text.replace(
        'creationTimestamp: "2026-11-19T12:00:00Z", labels', 'deletionTimestamp: "2026-11-20T11:58:00Z", labels'
    )
    path = written(tmp_path / "going.yaml", text.replace('do-not-disrupt: "true"', 'do-not-disrupt: "soon"'))
    [answer] = run.json_lines("simulate", str(path))
    [result] = answer["events"]["Pod/ci/runner-1"]
    assert result.startswith("InvalidDoNotDisruptAnnotation")
    assert answer["provisioning"]["existingNodes"] == []


@pytest.mark.parametrize(("saved", "text"), [(0.383, "saves $0.3830/h"), (-0.238, "costs $0.2380/h more")])
def test_savings_of_a_command_as_text(saved: float, text: str) -> None:
    command = {
        "decision": "replace",
        "candidates": ["a", "b"],
        "replacements": [{"cheapestPrice": 0.1}],
        "savings": saved,
    }
    drift = {"name": "Drift", "candidates": ["a"], "budgets": {"general": 1}, "commands": [command, command]}
    decision: dict[str, Any] = {"newNodeClaims": [], "existingNodes": [], "podErrors": {}}
    answer = {"name": "case", "provisioning": decision, "disruption": [drift], "notModelled": []}
    lines = list(lines_of(answer, {"Drift": (saved, None)}))
    assert f"    replace a, b by 1 NodeClaim, {text}" in lines
    assert "    replace a, b by 1 NodeClaim" in lines, "the savings are unknown"


def test_savings_are_left_out_if_a_node_has_no_price(tmp_path: Path, run: Run) -> None:
    document = troubles_document()
    document["objects"] = [item for item in document["objects"] if item["kind"] != "Pod"]
    path = written(tmp_path / "empty.json", document)
    assert "    delete spot-1, saves $0.3100/h\n" in run("simulate", str(path), "--disruption").out
    for manifest in document["objects"]:
        if "spot-1" in (manifest["metadata"]["name"], manifest.get("status", {}).get("nodeName")):
            manifest["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "m9.unheard-of"
    path.write_text(json.dumps(document))
    assert "    delete spot-1\n" in run("simulate", str(path), "--disruption").out


@pytest.mark.parametrize("status", ["True", "False"])
def test_pods_stay_pending_if_no_nodepool_is_ready(status: str, tmp_path: Path, run: Run) -> None:
    text = (CASES / "a-weights.yaml").read_text()
    path = tmp_path / "case.yaml"
    path.write_text(text.replace('{type: Ready, status: "True"}', f'{{type: Ready, status: "{status}"}}', 1))
    is_usable = status == "True"
    printed = run("simulate", str(path)).out
    assert f"unschedulable pods: {0 if is_usable else 5}" in printed
    result = (
        "  5 pods need a node; no NodePool accepts pods: this Karpenter has none that is ready, dynamic and not being"
        " deleted, so it does not even try existing nodes, and reports nothing\n"
    )
    assert (result in printed) is not is_usable
    [answer] = run.json_lines("simulate", str(path))
    assert len(answer.get("untried", ())) == (0 if is_usable else 5)
    assert answer["provisioning"]["podErrors"] == {}
    validator("simulate").validate(answer)


def test_ties_and_unmodelled_features_are_reported(tmp_path: Path, run: Run) -> None:
    spread = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    document = scenario(1) | {"settings": {"IGNORE_DRA_REQUESTS": "false"}}
    spec = {
        "containers": [{"name": "app", "resources": {"requests": {"cpu": "100m"}}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],
        "topologySpreadConstraints": [{**spread, "labelSelector": {"matchLabels": {"app": "web"}}}],
    }
    waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    status = {"phase": "Pending", "conditions": [waits]}
    labelled = {"labels": {"app": "web"}}
    pod = a_manifest("Pod", "web", namespace="default", metadata=labelled, spec=spec, status=status)
    document["objects"] = [a_pool_manifest(status=READY), pod]
    path = written(tmp_path / "tied.json", document)
    printed = run("simulate", str(path)).out
    assert "default/web: topology.kubernetes.io/zone za is one of equals, Karpenter may choose zb, zc" in printed
    assert "not modelled: IGNORE_DRA_REQUESTS is false" in printed


@pytest.mark.parametrize(("gates", "is_named"), [({}, False), ({"FEATURE_GATES": "StaticCapacity=true"}, True)])
def test_static_drift_is_always_in_text_but_in_json_only_with_its_feature_gate(
    gates: dict[str, str], tmp_path: Path, run: Run, *, is_named: bool
) -> None:
    path = written(tmp_path / "static.json", scenario(1) | {"settings": gates})
    assert "  StaticDrift: 0 candidates" in run("simulate", str(path), "--disruption").out
    named = [item["name"] for item in run.json("simulate", str(path), "--disruption")["disruption"]]
    assert ("StaticDrift" in named) is is_named
