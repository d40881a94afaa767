"""`karptui plan`: the effects of applying manifests."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from karptui.cli.main import main
from tests.builders import a_manifest
from tests.builders.files import written
from tests.builders.manifests import READY, a_pool_manifest, a_type_manifest, one_of
from tests.cli.conftest import Run
from tests.cli.files import a_file

ROOT = Path(__file__).resolve().parents[2]


def pools() -> list[dict[str, Any]]:
    """Return the manifests of two NodePools."""
    return [a_pool_manifest(name) for name in ("general", "spare")]


def a_closed_pool(nodes: str = "0", **spec: Any) -> dict[str, Any]:
    """Return the demo's NodePool general with one disruption budget."""
    node_class = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    template = {"expireAfter": "720h", "nodeClassRef": node_class, "requirements": []}
    disruption = {"budgets": [{"nodes": nodes}], "consolidateAfter": "0s"}
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"}}
    return {**pool, "spec": {"disruption": disruption, "template": {"spec": template}, **spec}}


def test_pausing_disruption_leaves_expirations_and_interruptions(tmp_path: Path, run: Run) -> None:
    """A budget of 0 stops consolidation and drift; nodes still expire, and spot instances are still interrupted."""
    path = tmp_path / "pause.yaml"
    path.write_text(json.dumps(a_closed_pool()))
    plan = run.json("plan", "-f", str(path), "--demo", "--horizon", "10m")
    (risk,) = (risk for risk in plan["risks"] if "pause disruption" in risk)
    expired = [step for step in plan["rollout"]["steps"] if step["kind"] == "expire"]
    assert risk.startswith("the budgets of general pause disruption, but not expiration and interruption: ")
    assert "spot nodes at any time" in risk
    assert (f"{len(expired)} node" in risk) == bool(expired)
    path.write_text(json.dumps(a_closed_pool("1")))
    assert "pause disruption" not in run("plan", "-f", str(path), "--demo", "--horizon", "10m", "-o", "json").out


def test_costs_of_the_rollout_include_multiplier_and_surcharge(snapshot: str, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text(json.dumps({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"}}))
    result = []
    for words in ([], ["--price-multiplier", "2"], ["--node-surcharge", "1"]):
        out = run("plan", "-f", str(path), snapshot, "--horizon", "10m", "-o", "json", *words).out
        result.append(json.loads(out)["pricePerHour"]["endEdited"])
    listed, doubled, surcharged = result
    assert listed > 0
    assert (doubled, surcharged) == (pytest.approx(2 * listed), pytest.approx(listed + 1))


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a snapshot of the NodePools and a pending pod."""
    nodeclass = a_manifest("EC2NodeClass", "default", api_version="karpenter.k8s.aws/v1", spec={}, status=READY)
    waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    pod = a_manifest(
        "Pod",
        "web-1",
        namespace="shop",
        spec={"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        status={"phase": "Pending", "conditions": [waits]},
    )
    types = [a_type_manifest("m5.large", 0.096, cpu="2", memory="8Gi", pods="29")]
    objects = [*({**pool, "status": READY} for pool in pools()), nodeclass, pod]
    return a_file(tmp_path_factory.mktemp("shop"), name="shop", objects=objects, instanceTypes=types, settings={})


@pytest.fixture
def closed(tmp_path: Path) -> str:
    """Write the NodePools with a taint that no pod tolerates, and return the file."""
    result = pools()
    for pool in result:
        pool["spec"]["template"]["spec"]["taints"] = [{"key": "closed", "effect": "NoSchedule"}]
    return str(written(tmp_path / "pools.yaml", yaml.safe_dump_all(result)))


def a_plan(run: Run, *words: str) -> dict[str, Any]:
    document: dict[str, Any] = run.json("plan", *words)
    return document


def test_the_same_manifest_changes_nothing(run: Run, snapshot: str, tmp_path: Path) -> None:
    same = written(tmp_path / "same.yaml", yaml.safe_dump_all(pools()))
    plan = a_plan(run, "-f", str(same), "--snapshot", snapshot)
    assert plan["risks"] == []
    assert plan["drift"] == []
    assert plan["decisions"]["now"] == plan["decisions"]["edited"]
    assert plan["pricePerHour"]["endNow"] == plan["pricePerHour"]["endEdited"]


def test_the_worst_risk_comes_first(run: Run, snapshot: str, closed: str) -> None:
    plan = a_plan(run, "-f", closed, "--snapshot", snapshot)
    assert plan["objects"] == [f"NodePool/{pool['metadata']['name']}" for pool in pools()]
    assert "unschedulable, such as" in plan["risks"][0]
    assert plan["rollout"]["end"]["pending"] > 0


def test_the_first_sentence_has_the_cost_at_the_end_if_it_differs(
    run: Run, capsys: pytest.CaptureFixture[str], snapshot: str, closed: str, tmp_path: Path
) -> None:
    same = written(tmp_path / "same.yaml", yaml.safe_dump_all(pools()))
    assert "At the end:" not in run("plan", "-f", str(same), "--snapshot", snapshot).out
    text = run("plan", "-f", closed, "--snapshot", snapshot).out.splitlines()[0]
    assert main(["plan", "-f", closed, "--snapshot", snapshot, "-o", "markdown"]) == 0
    assert "At the end: $0.00/h instead of $" in text
    assert "At the end:" in capsys.readouterr().out.splitlines()[2]


def test_fail_on_exits_with_3_if_its_condition_is_met(run: Run, snapshot: str, closed: str) -> None:
    printed = run("plan", "-f", closed, "--snapshot", snapshot, "--fail-on", "pending", status=3)
    assert "--fail-on pending" in printed.err
    first, second, third, *_ = printed.out.splitlines()
    assert first.startswith(snapshot)
    assert second == "  Risks, worst first"
    assert "unschedulable, such as" in third


def test_markdown_escapes_markup_in_names(capsys: pytest.CaptureFixture[str], snapshot: str, tmp_path: Path) -> None:
    pool = pools()[0]
    pool["metadata"]["name"] = "evil"
    pool["spec"]["template"]["metadata"] = {"labels": {"x": "<script>@everyone"}}
    path = written(tmp_path / "pool.yaml", yaml.safe_dump(pool))
    main(["plan", "-f", str(path), "--snapshot", snapshot, "-o", "markdown"])
    out = capsys.readouterr().out
    assert out.startswith("## Karpenter on ")
    assert not re.search(r"(?<!\\)<(?!/?(details|summary)>)", out)
    assert "@everyone" not in out


def test_manifests_are_read_from_folders_and_stdin(
    run: Run, snapshot: str, closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(closed).parent / "manifests"
    folder.mkdir()
    (folder / "pool.yml").write_text(Path(closed).read_text())
    (folder / "README.md").write_text("no manifest")
    assert len(a_plan(run, "-f", str(folder), "--snapshot", snapshot)["objects"]) == len(pools())
    monkeypatch.setattr("sys.stdin", io.StringIO(Path(closed).read_text()))
    assert a_plan(run, "-f", "-", "--snapshot", snapshot)["objects"]


REFUSED = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: new}
spec: {weight: 400, foo: 1}
"""


def test_a_manifest_that_the_api_server_rejects_is_the_worst_risk(run: Run, snapshot: str, tmp_path: Path) -> None:
    path = written(tmp_path / "new.yaml", REFUSED)
    plan = a_plan(run, "-f", str(path), "--snapshot", snapshot)
    (why,) = plan["refused"]
    assert plan["risks"][0] == why
    assert why.startswith("the API server refuses NodePool new: ")
    for part in ("spec.template: required, but missing", "spec.weight: must be at most 100", "unknown field foo"):
        assert part in why
    error = run("plan", "-f", str(path), "--snapshot", snapshot, "--fail-on", "refused", status=3).err
    assert "--fail-on refused: the API server refuses NodePool new" in error


def test_a_rejected_nodepool_has_no_other_effects(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "closed.yaml"

    def planned(**spec: Any) -> dict[str, Any]:
        path.write_text(json.dumps(a_closed_pool(**spec)))
        plan: dict[str, Any] = run.json("plan", "-f", str(path), "--demo", "--horizon", "10m")
        return plan

    assert planned()["drift"]
    plan = planned(weight=400)
    assert (
        plan["risks"]
        == plan["refused"]
        == ["the API server refuses NodePool general: spec.weight: must be at most 100"]
    )
    assert (plan["drift"], plan["newBlockers"], plan["advice"]) == ([], [], {"new": [], "gone": []})


def test_a_missing_field_of_an_existing_object_is_no_risk(run: Run, snapshot: str, tmp_path: Path) -> None:
    # The snapshot's NodeClass lacks a required field; the API server accepted it, so this is not reported.
    path = tmp_path / "class.yaml"
    texts = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"}}
    path.write_text(yaml.safe_dump({**texts, "spec": {"tags": {"team": "a"}}}))
    assert a_plan(run, "-f", str(path), "--snapshot", snapshot)["refused"] == []


SHIMS: Final = {
    "pip": 'echo "$@" > pip.txt',
    "gh": 'echo "$@" > gh.txt; cp plan.md commented.md',
    "karptui": f'exec "{sys.executable}" -m karptui "$@"',
}


def scripts_of_the_page() -> tuple[list[str], str]:
    """Return the steps of the GitHub workflow and the script of the GitLab job in the docs page."""
    page = (ROOT / "docs" / "plan.md").read_text()
    github, gitlab = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    steps = github["jobs"]["plan"]["steps"]
    always = [step.get("if") for step in steps if "run" in step]
    assert always == [None, None, "always()"]
    return [step["run"] for step in steps if "run" in step], "\n".join(gitlab["karpenter-plan"]["script"])


@pytest.mark.parametrize("is_gitlab", [False, True])
def test_ci_workflows_of_the_docs_run_as_written(snapshot: str, closed: str, tmp_path: Path, is_gitlab: bool) -> None:
    repository, shims = tmp_path / "repository", tmp_path / "bin"
    (repository / "karpenter").mkdir(parents=True)
    (repository / "karpenter" / "pools.yaml").write_text(Path(closed).read_text())
    (repository / "karpenter" / "prod.json.gz").write_bytes(gzip.compress(Path(snapshot).read_bytes()))
    shims.mkdir()
    for name, text in SHIMS.items():
        (shims / name).write_text(f"#!/bin/sh\n{text}\n")
        (shims / name).chmod(0o755)
    given = {
        **os.environ,
        "PATH": f"{shims}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PR": "7",
        "GH_TOKEN": "x",
        "KARPTUI": "karptui",
    }
    steps, script = scripts_of_the_page()
    # Like the real runners: GitHub starts a shell for each step with -e, GitLab one for all with -eo pipefail.
    calls = [["bash", "-eo", "pipefail", "-c", script]] if is_gitlab else [["bash", "-ec", step] for step in steps]
    statuses = [subprocess.run(call, cwd=repository, env=given, check=False).returncode for call in calls]
    assert statuses == ([3] if is_gitlab else [0, 3, 0])
    assert (repository / "pip.txt").read_text() == "install karptui\n"
    assert (repository / "plan.md").read_text().startswith("## Karpenter on")
    if not is_gitlab:
        assert (repository / "gh.txt").read_text() == "pr comment 7 --body-file plan.md\n"


def test_a_new_preferred_pool_changes_nothing_until_pods_are_recreated(run: Run, tmp_path: Path) -> None:
    allowed = {"sh/capacity-type": ["on-demand"], "k8s.aws/instance-family": ["m7i-flex"]}
    allowed["k8s.aws/instance-size"] = ["xlarge", "2xlarge"]
    nodes = {"requirements": [one_of(f"karpenter.{key}", *values) for key, values in allowed.items()]}
    written = tmp_path / "preferred.yaml"
    written.write_text(yaml.safe_dump(a_pool_manifest("general-preferred", nodes=nodes, weight=90)))
    first = run("plan", "-f", str(written), "--demo", "--horizon", "1m").out.splitlines()[0]
    assert first.startswith("demo: Nothing changes at once: ")
    assert "If every pod were placed again: 348 pods land on general-preferred instead of general" in first


def test_advice_that_differs_only_in_numbers_is_neither_new_nor_gone(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "general.yaml"
    only = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["m7i", "c7i", "r7i"]}
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"}}
    path.write_text(json.dumps({**pool, "spec": {"template": {"spec": {"requirements": [only]}}}}))
    advice = run.json("plan", "-f", str(path), "--demo", "--horizon", "1m")["advice"]
    new, gone = ({(item["rule"], *item["objects"]) for item in advice[key]} for key in ("new", "gone"))
    assert not new & gone
