"""`karptui headroom`: the number of additional pods that fit."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from karptui.studies.headroom import headroom
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.shared_analyses import answer_once

FRONT = "Deployment/web/front"
POSTGRES = "StatefulSet/db/postgres"
CASE = Path(__file__).resolve().parents[2] / "docs" / "cases" / "f-unplaced.yaml"
MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: fresh, namespace: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: fresh}}
  template:
    metadata: {labels: {app: fresh}}
    spec: {containers: [{name: a, image: a, resources: {requests: {cpu: "2", memory: 8Gi}}}]}
"""


@pytest.fixture(autouse=True)
def _cached_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_once(monkeypatch, "karptui.studies.headroom.headroom", headroom)


def printed(run: Run, *words: str, status: int = 0) -> str:
    return run("headroom", "--demo", *words, status=status).out


def test_one_pod_is_described_with_each_nodepool(run: Run) -> None:
    answer, asks, *rest = printed(run, FRONT).splitlines()
    assert answer.startswith(
        f"demo: 383 more pods like {FRONT} start on ready nodes; from pod 334 on, Karpenter launches"
    )
    assert answer.endswith(
        "the limits of NodePools general, overflow leave no room for another node (3 other NodePools match worse)"
    )
    assert asks == "  each requests cpu 350m, memory 1,024Mi"
    assert [line.split()[0] for line in rest if line[:1].isalpha()][1:] == [
        "runners",
        "spare",
        "general",
        "overflow",
        "edge",
        "gpu",
        "trino",
    ]


def test_json_and_csv_have_the_same_rows(run: Run) -> None:
    words = (POSTGRES, "--most", "100")
    [document] = json.loads(printed(run, *words, "-o", "json"))
    [row] = csv.DictReader(io.StringIO(printed(run, *words, "-o", "csv")))
    assert (row["pod"], int(row["beforeNode"])) == (POSTGRES, document["beforeNode"])
    assert int(row["nodes"]) == len(document["nodes"])
    assert max(document["startAtOnce"], document["beforeNode"]) < document["beforeLimits"]


def test_requests_and_an_equal_manifest_have_the_same_headroom(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path / "fresh.yaml", MANIFEST)
    words = ("--most", "200", "-o", "json")
    [made_up] = json.loads(printed(run, "--requests", "cpu=2,memory=8Gi", *words))
    [fresh] = json.loads(printed(run, "-f", str(file), *words))
    assert (fresh["pod"], fresh["pods"]) == ("Deployment/web/fresh", 0)
    assert [made_up[key] for key in ("beforeNode", "beforeLimits")] == [
        fresh[key] for key in ("beforeNode", "beforeLimits")
    ]


def test_at_least_exits_with_3_if_fewer_pods_fit(run: Run) -> None:
    printed(run, "Deployment/payments/settle", "--most", "5", "--at-least", "1", "-o", "csv", status=3)
    printed(run, FRONT, "--most", "100", "--at-least", "100", "-o", "csv")
    error = run("headroom", "--demo", POSTGRES, "--most", "100", "--at-least", "80", status=3).err
    assert f"karptui headroom: --at-least 80: {POSTGRES}: 74 fit" in error


def test_at_least_raises_the_number_of_pods_tried(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.studies.headroom.MOST", 10)
    limited = written(tmp_path / "limited.yaml", CASE.read_text().replace("weight: 10\n", 'limits: {cpu: "16"}\n'))
    words = ("headroom", "--snapshot", str(limited), "--no-aws", "--requests", "cpu=1,memory=1Gi", "-o", "json")
    totals = {}
    for at_least, status in ((1, 0), (15, 0), (16, 3)):
        result = run(*words, "--at-least", str(at_least), status=status)
        [document] = json.loads(result.out)
        totals[at_least] = (document["beforeLimits"], document["beforeLimitsIsAtLeast"])
        assert ("karptui headroom: --at-least 16: Pod/default/headroom: 15 fit" in result.err) == (status == 3)
    assert totals == {1: (10, True), 15: (15, True), 16: (15, False)}


def test_a_pod_given_by_flags_has_tolerations_and_a_node_selector(run: Run) -> None:
    words = ["headroom", "--demo", "--most", "3", "--requests", "cpu=100m", "-o", "json"]
    zone = ["--node-selector", "karpenter.sh/nodepool=edge"]
    (kept,) = json.loads(run(*words, *zone).out)
    (tolerated,) = json.loads(run(*words, *zone, "--toleration", "edge:NoSchedule").out)
    assert (kept["beforeLimits"], tolerated["beforeLimits"]) == (0, 3)


def test_headroom_of_a_nodepool_names_its_limits(run: Run) -> None:
    document = run.json("headroom", "NodePool/trino", "--demo", "--most", "20")
    assert {pool["nodePool"] for item in document for pool in item["nodePools"]} == {"trino"}
    result = run("headroom", "NodePool/trino", "--demo", "--most", "20", "--at-least", "20", status=3)
    assert "limits of trino: " in result.out or "trino has no limits" in result.out
