"""The first screen on each incident: no score may fall below the one in scores.json.

``scores.json`` holds the points at the first run, which stay, and the points now, which ``python -m tests.incidents
scores`` brings up to date.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
import pytest

from karptui.cli import verdict
from karptui.cli.loading import Loaded
from karptui.session import verdict as findings
from tests.incidents.all import INCIDENTS
from tests.incidents.judge import ask, judge
from tests.incidents.live import shown_by_a_cluster
from tests.incidents.objects import rfc3339
from tests.shared_analyses import look_once

HERE: Final = Path(__file__).resolve().parent
GIVEN: Final = HERE.parent / "goldens" / "incidents"
SCORES: Final[dict[str, dict[str, int]]] = json.loads((HERE / "scores.json").read_text())
IN_ANY_ORDER: Final = (
    "fine-lease-is-left-over",
    "launch-templates-used-up",
    "neuron-plugin-was-never-installed",
    "nodeclaims-never-end",
    "pulls-time-out-in-one-zone",
    "secrets-provider-is-missing",
)
OF_GROWING_WORKLOADS: Final = (
    "arm64-with-an-intel-family",
    "capacity-type-typo",
    "daemonsets-leave-no-room",
    "pinned-to-a-gone-node",
    "resource-claims",
    "windows-without-a-pool",
)
OFTEN_LISTED: Final = ("Node", "Pod", "NodeClaim", "NodePool", "EC2NodeClass")
FOLDERS: Final = sorted(path.name for path in GIVEN.iterdir())


def check(name: str, expect: dict[str, Any], snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "240")
    look_once(monkeypatch)
    work_out, loadeds = verdict.analysed_cluster, dict[bool | None, Loaded]()
    # The judge asks for the findings in two forms.
    monkeypatch.setattr(
        verdict,
        "analysed_cluster",
        lambda args: loadeds.get(args.simulate) or loadeds.setdefault(args.simulate, work_out(args)),
    )
    monkeypatch.setattr(findings, "verdict_of_view", cache(findings.verdict_of_view))
    judged, least = judge(expect, snapshot), SCORES[name]["now"]
    short = "\n  ".join(judged.shortfalls)
    assert judged.points >= least, f"{name}: {judged.points} points instead of {least}:\n  {short}"


@pytest.mark.parametrize("name", INCIDENTS)
def test_own(name: str, tmp_path: Path) -> None:
    """A snapshot is judged, and the part of it that karptui reads of a live cluster."""
    document, snapshot = INCIDENTS[name].snapshot(), tmp_path / "snapshot.json"
    for seen in (document, shown_by_a_cluster(name, document)):
        if seen is not None:
            snapshot.write_bytes(msgspec.json.encode(seen))
            with pytest.MonkeyPatch.context() as patch:
                check(name, INCIDENTS[name].expectation(), snapshot, patch)


@pytest.mark.parametrize("name", IN_ANY_ORDER)
def test_findings_do_not_depend_on_the_order_of_objects(name: str, tmp_path: Path) -> None:
    snapshot, texts = tmp_path / "snapshot.json", set[str]()
    for change in (list, list.reverse, Random(1).shuffle):
        document = INCIDENTS[name].snapshot()
        change(document["objects" if "objects" in document else "items"])
        snapshot.write_bytes(msgspec.json.encode(document))
        texts.add(ask(["verdict"], snapshot))
    assert len(texts) == 1, texts


@pytest.mark.parametrize("name", OF_GROWING_WORKLOADS)
def test_a_pod_of_seconds_ago_counts_for_the_finding_of_its_workload(name: str, tmp_path: Path) -> None:
    document, snapshot = INCIDENTS[name].snapshot(), tmp_path / "snapshot.json"
    pod = next(item for item in document["objects"] if item["kind"] == "Pod" and "nodeName" not in item["spec"])
    created = rfc3339(datetime.fromisoformat(document["capturedAt"]) - timedelta(seconds=8))
    codes = []
    for new in (
        [],
        [{**pod, "metadata": {**pod["metadata"], "name": "new", "uid": "new", "creationTimestamp": created}}],
    ):
        snapshot.write_bytes(msgspec.json.encode({**document, "objects": [*document["objects"], *new]}))
        codes.append([finding["code"] for finding in json.loads(ask(["verdict", "-o", "json"], snapshot))])
    assert codes[0] == codes[1]


@pytest.mark.parametrize(
    ("name", "text", "false"),
    [
        ("half-of-one-pod", "not everything is checked: events, PodDisruptionBudgets", "no blockers"),
        ("repair-blocked", "have had NetworkingReady=False", "repair"),
        ("fine-min-values-are-relaxed", "Advice has 1 warning", "✘"),
        ("driver-not-registered", "2 pods ml/trainer-{0,1} on 2 nodes have not started for 17m", "nothing found"),
        ("new-nodes-are-too-small", "fits, but 3 launched since then did not help", "none was launched"),
    ],
)
def test_what_a_list_of_five_kinds_lacks_is_neither_assumed_nor_silent(
    name: str, text: str, false: str, tmp_path: Path
) -> None:
    document, snapshot = INCIDENTS[name].snapshot(), tmp_path / "list.json"
    items = [item for item in document["objects"] if item["kind"] in OFTEN_LISTED]
    snapshot.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items}))
    verdict_text = ask(["verdict"], snapshot)
    assert text in verdict_text
    assert false not in verdict_text


@pytest.mark.parametrize("name", FOLDERS)
def test_given(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expect = json.loads((GIVEN / name / "expect.json").read_text())
    check(name, expect, GIVEN / name / "snapshot.json.gz", monkeypatch)


def test_the_table_lists_each_incident_once(capsys: pytest.CaptureFixture[str]) -> None:
    numbers, given = [SCORES[name] for name in INCIDENTS], [SCORES[name] for name in FOLDERS]
    assert SCORES.keys() == {*INCIDENTS, *FOLDERS}
    with capsys.disabled():
        for title, rows in (("own incidents", numbers), ("given incidents", given)):
            first, now = sum(row["first"] for row in rows), sum(row["now"] for row in rows)
            print(f"\n{title}: {now} of {3 * len(rows)} points, {first} at the first run")  # noqa: T201
