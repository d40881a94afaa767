"""`karptui advice`: its rows, output formats, exit status by severity, and its list of rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karptui.advice.catalogue import RULES
from tests.builders import a_manifest
from tests.builders.manifests import READY, a_pool_manifest, one_of
from tests.cli.conftest import Run


def a_file(tmp_path: Path, *objects: dict[str, object]) -> str:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}), encoding="utf-8")
    return str(path)


def a_pool(name: str, weight: int, *values: str) -> dict[str, Any]:
    needs = {"requirements": [one_of("karpenter.sh/capacity-type", *values)]}
    return a_pool_manifest(name, nodes=needs, status=READY, weight=weight)


NODECLASS = a_manifest(
    "EC2NodeClass",
    "default",
    api_version="karpenter.k8s.aws/v1",
    spec={"amiFamily": "AL2023"},
    status={"subnets": [{"id": "s-1", "zone": "us-east-1a", "zoneID": "use1-az1"}]},
)


def test_the_demo_has_errors(run: Run) -> None:
    lines = run("advice", "--demo", status=4).out.splitlines()
    assert lines[0].split()[:4] == ["SEVERITY", "KIND", "OBJECT", "FINDING"]
    assert lines[1].startswith("✘ error")
    rows = json.loads(run("advice", "--demo", "-o", "json", "--fail-on", "never").out)
    result = {row["rule"]: row for row in rows}
    wildcard = result["pool-wildcard-value"]
    assert (wildcard["severity"], wildcard["objects"]) == ("error", [{"kind": "NodePool", "name": "spare"}])
    assert wildcard["edits"][0]["path"] == ["spec", "template", "spec", "requirements"]
    assert {"fact", "remedy", "docs", "price_per_hour", "title"} <= set(wildcard)


def test_the_demo_as_csv_by_filter(run: Run) -> None:
    rows = run.csv("advice", "--demo", "--filter", "rule=pdb-*", "--sort-by", "price=asc", status=3)
    assert {row["rule"] for row in rows} == {"pdb-never-allows"}
    assert rows[0]["objects"].startswith("PodDisruptionBudget/")
    assert json.loads(rows[0]["edits"])[1]["path"] == ["spec", "maxUnavailable"]
    prices = [float(row["price_per_hour"]) for row in rows]
    assert prices == sorted(prices)


@pytest.mark.parametrize(("flags", "status"), [
    ((), 4),
    (("--fail-on", "error"), 4),
    (("--filter", "severity=warning"), 3),
    (("--filter", "severity=warning", "--fail-on", "error"), 0),
    (("--filter", "severity=info"), 0),
    (("--filter", "severity=info", "--fail-on", "info"), 3),
    (("--fail-on", "never"), 0),
    (("--filter", "rule=nothing"), 0),
])  # fmt: skip
def test_exit_status(flags: tuple[str, ...], status: int, tmp_path: Path, run: Run) -> None:
    file = a_file(
        tmp_path,
        NODECLASS,
        a_pool("a", 9, "*"),
        a_pool("b", 7, "on-demand", "s*"),
        a_pool("c", 3, "on-demand"),
        a_manifest("Pod", "web", namespace="default", spec={"containers": [{"name": "c"}]}),
    )
    run("advice", "--snapshot", file, "--now", "2026-11-20T12:00:00Z", *flags, status=status)


def test_rules_are_listed(run: Run) -> None:
    lines = run("advice", "--rules").out.splitlines()
    assert [line.split()[0] for line in lines] == [rule.id for rule in RULES]


def test_advice_fails_if_pods_may_not_be_listed(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr("karptui.session.readiness.unready_because", lambda view: "Pods may not be listed")
    assert "the rules cannot run: Pods may not be listed" in run("advice", "--demo", status=2).err
