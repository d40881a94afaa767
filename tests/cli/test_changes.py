"""`karptui changes` over a recorded demo in which a NodePool is edited."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.demo.source import DemoSource
from karptui.sources.history.recorder import Recorder
from karptui.sources.history.store import History, Mark, Sample
from karptui.sources.source import Mailbox
from tests.cli.conftest import Run
from tests.histories import BEGIN_NS

ROOT = Path(__file__).parents[2]
EDITED_AFTER = 300


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record ten minutes of the demo; after five, argocd edits NodePool general."""
    path = tmp_path_factory.mktemp("history") / "demo.karptui"
    clock, passed = FrozenClock(BEGIN_NS), [0.0]
    recorder = Recorder(path, "demo", clock, monotonic=lambda: passed[0])
    assert recorder.open()
    demo = DemoSource(clock=clock, is_stepped=True)
    demo.start(Mailbox(tap=recorder))
    recorder.step()
    for second in range(600):
        passed[0] += 1.0
        clock.instant_ns += NS_PER_SECOND
        demo.step()
        if second % 60 == 0:
            recorder.sample([Sample(at_ns=clock.now_ns(), pool="general", price_per_hour=second / 100)])
        if second == EDITED_AFTER:
            recorder.put_manifests(Kind.NODEPOOL, {"general": _edited(demo)})
            recorder.mark(Mark(at_ns=clock.now_ns(), cause="verdict", name="general", text="general is odd"))
        recorder.step()
    recorder.close()
    assert not recorder.trouble
    return path


def _written_by(manifest: dict[str, Any], manager: str, time: str, **spec: Any) -> dict[str, Any]:
    managed = {"managedFields": [{"manager": manager, "time": time}]}
    return {**manifest, "metadata": {**manifest["metadata"], **managed}, "spec": {**manifest["spec"], **spec}}


def _edited(demo: DemoSource) -> dict[str, Any]:
    pool = next(m for m in demo.manifests() if m["kind"] == "NodePool" and m["metadata"]["name"] == "general")
    return _written_by(pool, "argocd-controller", "2026-11-28T14:05:00Z", weight=77)


def printed(run: Run, *words: str, status: int = 0) -> tuple[str, str]:
    out, err = run("changes", *words, status=status)
    return out, err


def test_the_edit_is_the_first_row_with_its_author_and_time(run: Run, history: Path) -> None:
    out, _ = printed(run, "--snapshot", str(history), "--from", "-10m")
    head, titles, first, *_ = out.splitlines()
    assert head.startswith("2026-11-28 14:00:0")
    assert titles.split() == ["KIND", "NAME", "CHANGE", "BEFORE", "AFTER", "WHEN", "BY"]
    assert first.split()[:3] == ["NodePool", "general", "spec.weight"]
    assert first.split()[-3:] == ["77", "14:05:01Z", "argocd-controller"]


def test_json_has_every_kind_of_change(run: Run, history: Path) -> None:
    out, _ = printed(run, "--snapshot", str(history), "--from", "-8m30s", "-o", "json")
    rows = json.loads(out)
    schema = json.loads((ROOT / "docs" / "schema" / "changes.json").read_text())
    Draft202012Validator(schema).validate(rows)
    assert {key for row in rows for key in row} == schema["items"]["properties"].keys()
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    assert kinds[:2] == ["NodePool", "Verdict"]
    assert kinds.index("Cost") < kinds.index("Node") < kinds.index("Pod")
    verdict = next(row for row in rows if row["kind"] == "Verdict")
    assert (verdict["change"], verdict["after"], verdict["at"]) == ("began", "general is odd", "2026-11-28T14:05:01Z")
    cost = next(row for row in rows if row["kind"] == "Cost" and row["name"] == "general")
    assert (cost["before"], cost["after"]) == (0.6, 5.4)
    assert sum(row["came"] for row in rows if row["kind"] == "Pod") > 0


def test_a_period_before_the_edit_does_not_list_it(run: Run, history: Path) -> None:
    out, _ = printed(run, "--snapshot", str(history), "--from", "14:00", "--to", "14:04", "-o", "json")
    assert [row for row in json.loads(out) if row["kind"] in ("NodePool", "Verdict")] == []


def test_filters_and_csv(run: Run, history: Path) -> None:
    (row,) = run.csv("changes", "--snapshot", str(history), "--filter", "by=argocd*")
    assert (row["kind"], row["field"], row["after"]) == ("NodePool", "spec.weight", "77")


def test_a_note_says_when_the_history_begins(run: Run, history: Path) -> None:
    _, err = printed(run, "--snapshot", str(history), "--from", "-2h")
    assert "the history begins at 2026-11-28 14:00:00Z: changes before are unknown" in err
    assert "costs are left out, because the history has no samples of them" in err


def test_a_removed_node_is_explained_from_the_history(run: Run, history: Path) -> None:
    with closing(History(history)) as opened:
        until_ns = opened.sessions()[-1].to_ns
        gone = {change.key for change in opened.changes(0, until_ns, ("NodeClaim",)) if change.is_deletion}
    explained = []
    for name in sorted(gone):
        (document,) = run.json("explain", "node", name, "--snapshot", str(history))
        assert (document["gone"], document["nodeclaim"]) == (True, name)
        explained.append(document)
    consolidated = [document for document in explained if document["reason"] == "Underutilized"]
    assert consolidated
    for document in consolidated:
        assert "Consolidation" in document["method"]
        assert any(event["message"].startswith("Disrupting Node") for event in document["events"])
        assert sum(len(owner["pods"]) for owner in document["evicted"]) == document["pods_moved"]
    node = consolidated[0]["node"]
    assert run("explain", "node", node, "--snapshot", str(history)).out.startswith("The node is gone.\nNodeClaim ")
    assert "there is no node never-was" in run("explain", "node", "never-was", "--snapshot", str(history), status=2).err


def test_the_verdict_names_the_edit_before_a_fault(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "demo.karptui"
    clock, passed = FrozenClock(BEGIN_NS), [0.0]
    recorder = Recorder(path, "demo", clock, monotonic=lambda: passed[0])
    assert recorder.open()
    demo = DemoSource(clock=clock, is_stepped=True)
    demo.start(Mailbox(tap=recorder))
    nodeclass = next(m for m in demo.manifests() if m["kind"] == "EC2NodeClass" and m["metadata"]["name"] == "default")
    edited = _written_by(nodeclass, "argocd", "2026-11-28T14:00:10Z", role="gone")
    ready = {"type": "Ready", "status": "False", "reason": "NotReady", "message": "no role"}
    conditions = [{**ready, "lastTransitionTime": "2026-11-28T14:00:20Z"}]
    broken = {**edited, "status": {**nodeclass.get("status", {}), "conditions": conditions}}
    for second in range(30):
        recorder.step()
        passed[0] += 1.0
        clock.instant_ns += NS_PER_SECOND
        if second in (10, 20):
            recorder.put_manifests(Kind.NODECLASS, {"EC2NodeClass/default": edited if second == 10 else broken})
    recorder.step()
    recorder.close()
    out = run("verdict", "--snapshot", str(path), "--no-simulate").out
    (line,) = [line for line in out.splitlines() if "EC2NodeClass default" in line]
    assert "; after role of EC2NodeClass/default" in line
    assert "gone at 14:00Z by argocd" in line
