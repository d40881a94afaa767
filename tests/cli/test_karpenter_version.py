"""Commands use the rules of the snapshot's Karpenter version, or of the version given by a flag."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from karptui.karpenter.rules import NEWEST
from tests.builders.files import written
from tests.builders.manifests import a_pool_manifest
from tests.cli.conftest import Run
from tests.cli.files import a_file

REPAIRABLE = {"settings": {"FEATURE_GATES": "NodeRepair=true,PodDeletionCostManagement=true"}, "disruption": True}


def answers(run: Run, *arguments: str) -> tuple[list[dict[str, Any]], str]:
    result = run("simulate", "-o", "json", *arguments)
    return [json.loads(line) for line in result.out.splitlines()], result.err


def recording(folder: Path, name: str, **fields: Any) -> str:
    return a_file(folder, name=name, objects=[], **{"instanceTypes": [], **REPAIRABLE, **fields})


def methods(document: dict[str, Any]) -> list[str]:
    return [method["name"] for method in document["disruption"]]


def test_snapshots_of_two_versions_in_one_call(run: Run, tmp_path: Path) -> None:
    older = recording(tmp_path, "older", karpenterVersion="1.14.1")
    newer = recording(tmp_path, "newer", karpenterVersion="1.15.0")
    (document, other), text = answers(run, older, newer)
    assert (document["karpenterModelled"], other["karpenterModelled"]) == ("1.14.1", "1.15.0")
    assert "Repair" not in methods(document)
    assert methods(other)[0] == "Repair"
    assert text == ""


def test_a_flag_overrides_the_version_of_the_snapshot(run: Run, tmp_path: Path) -> None:
    path = recording(tmp_path, "older", karpenterVersion="1.14.1")
    (document,), text = answers(run, "--karpenter-version", "1.15.0", path)
    assert (document["karpenterFound"], document["karpenterModelled"]) == ("1.15.0", "1.15.0")
    assert "Repair" in methods(document)
    assert text == ""


def test_legacy_node_repair_of_1_15_is_simulated(run: Run, tmp_path: Path) -> None:
    settings = {"FEATURE_GATES": "NodeRepair=true", "LEGACY_NODE_REPAIR": "true"}
    (document,), _ = answers(run, recording(tmp_path, "one", karpenterVersion="1.15.0", settings=settings))
    assert document["disruption"][-1] == {
        "name": "LegacyRepair",
        "reason": "Unhealthy",
        "candidates": [],
        "budgets": {},
        "commands": [],
    }


@pytest.mark.parametrize(("fields", "words"), [
    ({"repairPolicies": []}, "repairPolicies: exactly one"),
    ({"rebootHistory": {"n1": ["soon"]}}, "rebootHistory"),
    ({"rebootHistory": {"n1": 5}}, "rebootHistory"),
])  # fmt: skip
def test_an_invalid_version_in_a_recording_is_an_error(
    run: Run, tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    out = run("simulate", "-o", "json", recording(tmp_path, "one", **fields), status=1).out
    assert words in json.loads(out)["error"]


@pytest.mark.parametrize("command", ["nodes", "blockers", "next", "pending", "advice", "types", "forward"])
def test_commands_name_the_assumed_version(command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main([command, "-o", "json", "--snapshot", recording(tmp_path, "one")])
    assert capsys.readouterr().err.count(f"Karpenter's version is unknown: {NEWEST.version} is modelled") == 1
    main([command, "-o", "json", "--snapshot", recording(tmp_path, "one"), "--karpenter-version", "1.14.1"])
    assert "is modelled" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["next", "forward", "plan", "simulate"])
@pytest.mark.parametrize(("text", "modelled"), [(None, NEWEST.version), ("1.14.2", "1.14.1"), ("1.12.0", "1.14.1")])
def test_documents_have_the_version_found_and_the_version_modelled(
    command: str, text: str | None, modelled: str, run: Run, tmp_path: Path
) -> None:
    manifest = tmp_path / "pool.yaml"
    manifest.write_text(json.dumps(a_pool_manifest(nodes={"nodeClassRef": {"group": "g", "kind": "K", "name": "n"}})))
    scenario = written(tmp_path / "edit.yaml", 'edits: [{edit: setting, name: RESERVED_ENIS, value: "1"}]')
    more = {"plan": ["-f", str(manifest)], "simulate": ["--scenario", str(scenario)]}.get(command, [])
    path = recording(tmp_path, "one", **({"karpenterVersion": text} if text else {}))
    document = json.loads(run(command, *more, "-o", "json", "--snapshot", path).out)
    assert (document["karpenterFound"], document["karpenterModelled"]) == (text, modelled)


@pytest.mark.parametrize("command", ["forward", "simulate"])
def test_snapshots_given_without_a_flag_report_their_version(command: str, run: Run, tmp_path: Path) -> None:
    scenario = written(tmp_path / "edit.yaml", 'edits: [{edit: setting, name: RESERVED_ENIS, value: "1"}]')
    path = recording(tmp_path, "older", karpenterVersion="1.12.0")
    captured = run(command, "--scenario", str(scenario), "-o", "json", path)
    assert json.loads(captured.out)["karpenterFound"] == "1.12.0"
    assert captured.err.count("older: Karpenter 1.12.0 is not modelled: the nearest, 1.14.1, is used") == 1


def test_a_recording_keeps_the_version_the_policies_and_the_reboots(tmp_path: Path) -> None:
    policy = {
        "conditionType": "Ready",
        "conditionStatus": "False",
        "reasonRegex": "",
        "tolerationDuration": "30m0s",
        "terminationGracePeriod": "10m0s",
        "priority": 7,
        "action": "ReplaceNode",
    }
    told = {"repairPolicies": [policy], "rebootHistory": {"claim": ["2026-11-20T09:00:00Z"]}}
    path, kept = recording(tmp_path, "one", **told), tmp_path / "kept.json"
    assert main(["record", str(kept), "--snapshot", path, "--karpenter-version", "1.15.0"]) == 0
    document = json.loads(kept.read_text())
    assert {name: document[name] for name in told} == told
    assert document["karpenterVersion"] == "1.15.0"
