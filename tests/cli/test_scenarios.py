from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from karptui.cli.main import main
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.whatif.snapshots import FOLDER, documents

STORIES = str(Path(__file__).resolve().parent.parent / "data" / "stories-c-d.json")
OVERHEAD = "name: less overhead\nedits:\n- {edit: setting, name: VM_MEMORY_OVERHEAD_PERCENT, value: 0.03}\n"
CHAOS = """
name: chaos
edits:
- {edit: set, object: NodePool/general, path: spec.template.spec.expireAfter, value: 24h}
- {edit: outage}
"""


def write(folder: Path, text: str, name: str = "scenario.yaml") -> str:
    return str(written(folder / name, text))


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> str:
    document, folder = next(documents("storyE")), tmp_path_factory.mktemp("incident")
    target = folder / f"{document['catalog']}.gz"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes((FOLDER / f"{document['catalog']}.gz").read_bytes())
    return str(written(folder / "incident.json", document))


def test_less_memory_overhead_allows_a_cheaper_type(tmp_path: Path, run: Run) -> None:
    path = write(tmp_path, OVERHEAD)
    (document,) = run.json_lines("simulate", STORIES, "--scenario", path)
    assert document["scenario"] == "less overhead"
    assert document["priceDeltaPerHour"] < 0
    assert document["newNodeClaims"][0]["instanceTypes"][0]["name"] == "r5a.16xlarge"
    assert document["karpenterModelled"] == "1.15.0"
    text = run("simulate", STORIES, "--scenario", path).out
    assert "  New nodes no longer launched: " in text
    assert "approximated: " in text


def test_the_replay_flag_selects_the_mode(tmp_path: Path, snapshot: str, run: Run) -> None:
    path = write(tmp_path, CHAOS)
    for mode in ("pending", "scratch", "remove", "next"):
        (document,) = run.json_lines("simulate", snapshot, "--scenario", path, "--replay", mode)
        assert document["replay"] == mode
        assert ("nextAfter" in document) == (mode == "next")
    assert "Karpenter's next command, edited" in run("simulate", snapshot, "--scenario", path, "--replay", "next").out


@pytest.mark.parametrize(("conditions", "answer"), [
    (["drift", "pending"], (3, "--fail-on drift: ", "--fail-on pending: ")),
    (["cost", "cost+10%", "cost+0.5"], (0,)),
])  # fmt: skip
def test_fail_on_reports_the_conditions_that_are_met(
    conditions: list[str], answer: tuple[int, *tuple[str, ...]], tmp_path: Path, snapshot: str, run: Run
) -> None:
    status, *texts = answer
    words = [word for condition in conditions for word in ("--fail-on", condition)]
    path = write(tmp_path, CHAOS)
    shown = run("simulate", snapshot, "--scenario", path, "--replay", "scratch", *words, status=status)
    assert [text for text in texts if text not in shown.err] == []
    assert "  Would drift: " in shown.out


def test_fail_on_cost_compares_with_a_limit(tmp_path: Path, run: Run) -> None:
    path = write(tmp_path, "edits: [{edit: copies, object: Pod/trino/worker-0, count: 9}]\n")
    for condition, status in (("cost", 3), ("cost+10%", 3), ("cost+1.5", 3), ("cost+999", 0), ("cost+9999%", 0)):
        err = run("simulate", STORIES, "--scenario", path, "--fail-on", condition, status=status).err
        assert ("costs rise by" in err) == bool(status)


def test_an_edit_that_the_api_server_rejects_is_reported(tmp_path: Path, run: Run) -> None:
    text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: new}\nspec: {weight: 400}\n"
    edits = [{"edit": "object", "text": text}]
    path = write(tmp_path, json.dumps({"edits": edits}))
    shown = run("simulate", STORIES, "--scenario", path, "--fail-on", "refused", status=3)
    assert "the API server refuses NodePool new: spec.template: required" in shown.out.splitlines()[1]
    assert "--fail-on refused: the API server refuses NodePool new" in shown.err


def test_several_files_and_snapshots(tmp_path: Path, snapshot: str, run: Run) -> None:
    text, two = write(tmp_path, OVERHEAD), write(tmp_path, "name: a\n---\nname: b\n", "two.yaml")
    bad = write(tmp_path, "{", "bad.json")
    result = run.json_lines("simulate", snapshot, bad, "--scenario", text, "--scenario", two, status=1)
    assert [line["scenario"] for line in result] == ["less overhead", "a", "b"] * 2
    assert ["error" in line for line in result] == [False] * 3 + [True] * 3
    assert main(["simulate", bad, "--scenario", text]) == 1


@pytest.mark.parametrize("command", [["simulate"], ["forward", "--instant"], ["packing"]], ids=lambda words: words[0])
def test_an_edit_of_a_missing_object_is_an_error(command: list[str], tmp_path: Path, snapshot: str, run: Run) -> None:
    words = [*command, snapshot, "--scenario", write(tmp_path, "edits: [{edit: cordonNode, name: nobody}]\n")]
    assert run.json(*words, status=1)["error"] == "edit 1: there is no Node nobody"
    assert "there is no Node nobody" in "".join(run(*words, status=1))


def test_a_scenario_from_standard_input_on_the_demo(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(CHAOS))
    (document,) = run.json_lines("simulate", "--demo", "--scenario", "-")
    assert document["name"] == "demo"
    assert document["driftGained"]


def test_self_check_as_text_and_json(
    snapshot: str, tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["simulate", snapshot, "--self-check"])
    text = capsys.readouterr().out
    assert "NodeClaims" in text.splitlines()[0]
    (document,) = run.json_lines("simulate", snapshot, "--self-check", status=status)
    assert document["comparable"] >= document["reproduced"]
    assert document["nodeClaims"]
    bad = write(tmp_path, "{", "bad.json")
    assert main(["simulate", bad, "--self-check"]) == 1


# Sweeps


def test_sweep_as_text_json_and_csv(run: Run) -> None:
    words = ["sweep", STORIES, "--set", "VM_MEMORY_OVERHEAD_PERCENT=0.03,0.075", "--jobs", "1"]
    (document,) = run.json_lines(*words)
    assert document["parameter"] == "VM_MEMORY_OVERHEAD_PERCENT"
    assert [point["value"] for point in document["points"]] == ["0.03", "0.075"]
    assert document["points"][0]["pricePerHour"] < document["points"][1]["pricePerHour"]
    assert "Recommended: 0.03: the lowest cost: no pod pending, $3.62/h" in run(*words).out
    header, *rows = run(*words, "-o", "csv").out.splitlines()
    assert (
        header
        == "name,parameter,value,nodes,launched,pricePerHour,pending,drifted,unpriced,unpricedAtMostPerHour,problem"
    )
    assert len(rows) == 2


def test_sweep_reports_invalid_values(tmp_path: Path, run: Run) -> None:
    words = ["sweep", STORIES, "--set", "VM_MEMORY_OVERHEAD_PERCENT=x,0.05", "--jobs", "1"]
    scenario = write(tmp_path, "replay: scratch\n")
    text = run(*words, "--scenario", scenario, status=1).out
    assert "(from scratch)" in text
    assert "edit 1: VM_MEMORY_OVERHEAD_PERCENT is 'x', which Karpenter cannot parse" in text
    assert "Only 0.05 can be set: " in text
    bad = write(tmp_path, "{", "bad.json")
    assert main(["sweep", bad, "--set", "A=1", "--jobs", "1"]) == 1
    assert main(["sweep", bad, "--set", "A=1", "--jobs", "1", "-o", "csv"]) == 1


def test_progress_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert main(["sweep", STORIES, "--set", "RESERVED_ENIS=0,1", "--jobs", "1"]) == 0
    assert "1 of 2" in capfd.readouterr().err


def test_the_table_shows_every_kind_of_result(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.views.whatif.result.MAX_LINES", 4)
    pool = (
        "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: other}, spec: {weight: 99, template: {spec: {"
        "requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}}}}"
    )
    text = f"""
edits:
- {{edit: delete, object: NodePool/spare}}
- {{edit: object, text: {pool}}}
- {{edit: set, object: NodePool/general, path: spec.disruption.consolidateAfter, value: Never}}
- {{edit: set, object: NodePool/general, path: spec.disruption.budgets, value: [{{nodes: "0"}}]}}
- {{edit: set, object: NodePool/runners, path: spec.disruption.budgets, value: [{{nodes: "3", reasons: [Empty]}}]}}
- {{edit: removeNode, name: NODE}}
"""
    nodes = run.json("nodes", "--demo")
    name = next(node["name"] for node in nodes if node["pool"] == "general" and node["status"] == "Ready")
    path = write(tmp_path, text.replace("NODE", name))
    shown = run("simulate", "--demo", "--scenario", path).out
    for part in ("  new", "Placed elsewhere: ", "no limit", " more: -o json has all", "Blockers added: "):
        assert part in shown


def test_assumptions_about_a_snapshot_are_printed(tmp_path: Path, run: Run) -> None:
    bare = write(tmp_path, "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", "bare.yaml")
    scenario = write(tmp_path, "replay: next\n")
    shown = run("simulate", bare, "--scenario", scenario)
    assert "it has no time of capture" in shown.err
    assert "no node passes the gates" in shown.out
    assert "it has no time of capture" in run("sweep", bare, "--set", "RESERVED_ENIS=0", "--jobs", "1").err


def test_the_best_of_several_scenarios_is_named(tmp_path: Path, run: Run) -> None:
    paths = [write(tmp_path, OVERHEAD), write(tmp_path, "name: nothing\nedits: []\n", "nothing.yaml")]
    flags = [word for path in paths for word in ("--scenario", path)]
    result = run.json_lines("simulate", STORIES, *flags)
    assert [document["place"] for document in result] == [1, 2]
    assert {document["comparison"] for document in result} == {result[0]["comparison"]}
    assert result[0]["comparison"].startswith("less overhead is best: ")
    assert run("simulate", STORIES, *flags).out.rstrip().splitlines()[-1] == result[0]["comparison"]
    assert "comparison" not in run.json_lines("simulate", STORIES, *flags[:2])[0]
