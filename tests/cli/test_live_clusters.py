"""Live clusters: sources of settings and prices, and several contexts at once."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from karptui.cli.contexts import fleet_of
from karptui.cli.evidence import evidence_source
from karptui.cli.main import main
from karptui.cli.parser import build_parser
from karptui.clock import SystemClock
from karptui.config import Config
from karptui.decode.kinds import Kind
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.paths import history_file, own_command
from karptui.session.fleet import FleetRow
from karptui.sources.cluster.connection import Connection
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.history.store import Change
from karptui.sources.history.writer import HistoryWriter
from tests.builders import a_manifest, present
from tests.builders.manifests import READY, a_pool_manifest, one_of
from tests.cli.conftest import Run
from tests.cli.files import a_node_manifest, a_pod_manifest, kubeconfig
from tests.fake_api_server import Answered, Call, LoopbackServer
from tests.sources.cluster.test_reflectors import Cluster, karpenter
from tests.workers.test_near import is_running

OVERHEAD = "VM_MEMORY_OVERHEAD_PERCENT"
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema" / "verdict.json").read_text())
HOSTILE = "-o\x1b[31m json\u202e,x"


def a_deployment(*env: dict[str, Any], image: str = "karpenter/controller:1.13.0") -> dict[str, Any]:
    containers = [{"name": "controller", "image": image, "env": list(env)}]
    spec = {"template": {"spec": {"containers": containers}}}
    return a_manifest("Deployment", "karpenter", namespace="kube-system", spec=spec)


@pytest.fixture
def cluster() -> Cluster:
    result = karpenter()
    result.put("/apis/karpenter.sh/v1/nodepools", POOL)
    result.put("/apis/karpenter.k8s.aws/v1/ec2nodeclasses", NODECLASS)
    return result


@pytest.fixture
def flags(cluster: Cluster, tmp_path: Path) -> Iterator[list[str]]:
    with LoopbackServer(cluster) as server:
        yield ["--kubeconfig", kubeconfig(tmp_path, server.url), "--no-aws"]


POOL = a_pool_manifest(
    "trino",
    nodes={
        "requirements": [
            one_of("node.kubernetes.io/instance-type", "r5a.8xlarge"),
            one_of("karpenter.sh/capacity-type", "on-demand"),
        ]
    },
    status=READY,
)
NODECLASS = a_manifest(
    "EC2NodeClass",
    "default",
    api_version="karpenter.k8s.aws/v1",
    spec={"amiSelectorTerms": [{"alias": "al2023@latest"}], "role": "nodes"},
    status={"subnets": [{"id": "subnet-1", "zone": "us-east-1a", "zoneID": "use1-az1"}], **READY},
)


def ledger(flags: list[str], run: Run, *more: str) -> str:
    return run("types", "--pool", "trino", "--ledger", "r5a.8xlarge", *flags, *more).out


def test_defaults_are_used_if_karpenter_is_not_found(flags: list[str], run: Run) -> None:
    told = ledger(flags, run)
    assert "VM overhead 0.075 (Karpenter's defaults)" in told
    assert "no Deployment or pod is labelled app.kubernetes.io/name=karpenter" in told


def test_settings_are_read_from_the_deployment(cluster: Cluster, flags: list[str], run: Run) -> None:
    cluster.put("/apis/apps/v1/deployments", a_deployment({"name": OVERHEAD, "value": "0.0488"}))
    told = ledger(flags, run)
    assert "VM overhead 0.0488 (Deployment kube-system/karpenter)" in told
    assert "249,351" in told, "the AWS provider computes this memory with that overhead"
    assert "Karpenter 1.13.0 is not modelled: the nearest, 1.14.1, is used" in told
    explicit = ledger(flags, run, "--karpenter-setting", f"{OVERHEAD}=0.1")
    assert "VM overhead 0.1 (the configuration)" in explicit


def test_recordings_hold_settings_and_version(cluster: Cluster, flags: list[str], tmp_path: Path, run: Run) -> None:
    env = ({"name": OVERHEAD, "value": "0.0488"}, {"name": "TOKEN", "value": "hunter2"})
    elsewhere = {"name": "RESERVED_ENIS", "valueFrom": {"secretKeyRef": {"name": "enis", "key": "n"}}}
    cluster.put("/apis/apps/v1/deployments", a_deployment(*env, elsewhere))
    out = tmp_path / "out.json"
    assert "RESERVED_ENIS comes from Secret enis, which is not read" in run("record", str(out), *flags).err
    document = json.loads(out.read_text())
    assert (document["settings"], document["karpenterVersion"]) == ({OVERHEAD: "0.0488"}, "1.13.0")
    assert "hunter2" not in out.read_text()
    told = ledger(["--snapshot", str(out)], run)
    assert "VM overhead 0.0488 (Deployment kube-system/karpenter)" in told
    assert "Karpenter 1.13.0 is not modelled" in told
    both = ledger(["--snapshot", str(out), "--karpenter-setting", "RESERVED_ENIS=1"], run)
    assert "RESERVED_ENIS=1 (the configuration)" in both
    assert "VM overhead 0.0488 (Deployment kube-system/karpenter)" in both


def test_record_reports_that_karpenter_is_not_found(flags: list[str], tmp_path: Path, run: Run) -> None:
    assert "no Deployment or pod is labelled" in run("record", str(tmp_path / "out.json"), *flags).err
    assert "karpenterVersion" not in json.loads((tmp_path / "out.json").read_text())


def test_pools_names_the_columns_that_need_pods(cluster: Cluster, flags: list[str], run: Run) -> None:
    cluster.forbid("/api/v1/pods")
    result = run("pools", *flags, status=1)
    assert "trino" in result.out
    assert "overlap and budgets are left out: pods may not be listed" in result.err
    assert "overlap: unknown: pods may not be listed" in result.err


def test_unreadable_settings_are_reported(cluster: Cluster, flags: list[str], tmp_path: Path, run: Run) -> None:
    def fail(call: Call) -> None:
        if call.query.get("labelSelector"):
            call.error(500, "no")
            raise Answered

    cluster.fault = fail
    assert "karptui record: the API server answered 500" in run("record", str(tmp_path / "out.json"), *flags).err


def test_flags_select_the_sources_of_prices_and_settings() -> None:
    live = ClusterSource(Connection(server="https://127.0.0.1:1", context="test"))
    asked = evidence_source(live, Config(aws=True))
    assert asked._metrics is not None
    assert asked._aws is not None
    assert asked._controller is not None
    alone = evidence_source(live, Config(aws=False, disable_pricing=True))
    assert alone._aws is None
    assert alone.latest().price_settings.is_disabled
    assert evidence_source(live, Config(aws=True, disable_pricing=True))._aws is not None
    assert evidence_source(None, Config(karpenter_settings={OVERHEAD: "0.02"})).latest().origin_of(OVERHEAD) == (
        "the configuration"
    )


def test_the_verdict_of_a_live_cluster_names_an_edit_in_its_local_history(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now_ns = SystemClock().now_ns() // NS_PER_SECOND * NS_PER_SECOND
    minute_ns = 60 * NS_PER_SECOND
    broken = copy.deepcopy(NODECLASS)
    broken["spec"]["role"] = "gone"
    broken["status"]["conditions"][0] |= {
        "status": "False", "reason": "NotReady", "message": "no role",
        "lastTransitionTime": format_timestamp(now_ns - 5 * minute_ns),
    }  # fmt: skip
    cluster.put("/apis/karpenter.k8s.aws/v1/ec2nodeclasses", broken)
    with LoopbackServer(cluster) as server:
        words = ["verdict", "--kubeconfig", kubeconfig(tmp_path, server.url), "--no-aws", "--no-simulate"]
        assert main(words) in (0, 1)
        assert "EC2NodeClass default" in (without := capsys.readouterr().out)
        assert "; after" not in without
        writer = HistoryWriter(history_file("test", server.url), "test")
        place = Kind.NODECLASS, "EC2NodeClass/default"
        writer.write_key([Change(now_ns - 20 * minute_ns, *place, "", msgspec.Raw(json.dumps(NODECLASS).encode()))])
        writer.finish_key(now_ns - 20 * minute_ns)
        writer.write([Change(now_ns - 6 * minute_ns, *place, "argocd", msgspec.Raw(json.dumps(broken).encode()))])
        writer.close()
        assert main(words) in (0, 1)
        assert "; after role of EC2NodeClass/default nodes → gone at" in capsys.readouterr().out


def a_cluster() -> Cluster:
    cluster = karpenter()
    cluster.put(
        "/apis/karpenter.sh/v1/nodepools", a_manifest("NodePool", "general", api_version="karpenter.sh/v1", spec={})
    )
    cluster.put("/api/v1/nodes", a_node_manifest("node-1"))
    cluster.put("/api/v1/pods", a_pod_manifest("api-1", node="node-1"))
    return cluster


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[list[str]]:
    with LoopbackServer(a_cluster()) as good, LoopbackServer(lambda call: call.stall()) as silent:
        urls = {"good": good.url, "silent": silent.url, HOSTILE: "http://127.0.0.1:9"}
        yield ["--kubeconfig", kubeconfig(tmp_path, urls), "--no-aws", "--request-timeout", "3s"]


def test_one_line_of_json_for_each_context(clusters: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verdict", "--contexts", "all", "-o", "json", *clusters]) == 1
    output, error = capfd.readouterr()
    good, silent, gone = map(json.loads, output.splitlines())
    assert [line["name"] for line in (good, silent, gone)] == ["good", "silent", HOSTILE]
    Draft202012Validator(SCHEMA).validate(good["findings"])
    assert "stopped sending data" in silent["error"]
    assert "refuses connections" in gone["error"]
    assert "\x1b" not in output + error
    assert "\u202e" not in error
    assert "karptui verdict: silent: " in error


def test_text_has_a_title_for_each_context_and_the_worst_exit_status(
    clusters: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["verdict", "--context", "good", *clusters]) in (0, 1)
    alone = capfd.readouterr().out
    assert "✘" in alone
    assert main(["verdict", "--contexts", "good,silent,good", "--fail-on", "warning", *clusters]) == 4
    output = capfd.readouterr().out
    assert output == f"good:\n{alone}\n"


def pid_of(context: str) -> int:
    """Return the id of the child process that follows a context."""
    listed = subprocess.check_output(["ps", "-ww", "-o", "pid=,args=", "--ppid", str(os.getpid())], text=True)
    (pid,) = (int(line.split()[0]) for line in listed.splitlines() if f"--context={context} " in line)
    return pid


def test_a_killed_process_or_a_silent_cluster_does_not_delay_others(clusters: list[str]) -> None:
    fleet = fleet_of(build_parser().parse_args(["--contexts", "all", *clusters]))

    def row(name: str) -> FleetRow:
        return next(row for row in fleet.rows if row.name == name)

    def wait(is_so: object, seconds: float = 90) -> None:
        assert callable(is_so)
        deadline = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < deadline, fleet.rows
            time.sleep(0.05)

    fleet.start()
    try:
        wait(lambda: row("good").is_current(time.time_ns()))
        wait(lambda: row("silent").trouble)
        good = present(row("good").line.figures)
        assert good.nodes == 1
        wait(lambda: row(HOSTILE).trouble)
        for name in ("silent", HOSTILE):
            figures = row(name).line.figures
            assert not row(name).is_current(time.time_ns())
            assert figures is None or (figures.nodes, figures.per_hour, figures.pending) == (None, None, None)
        silent = pid_of("silent")
        os.kill(pid_of("good"), signal.SIGKILL)
        wait(lambda: row("good").ended)
        assert row("good").trouble == "its process was ended by SIGKILL; it is started again after 1 s"
        assert row("good").line.figures is not None, "the last figures stay visible"
        wait(lambda: not row("good").trouble and row("good").is_current(time.time_ns()))
        assert pid_of("silent") == silent
    finally:
        fleet.stop()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_verdict_leaves_no_process_running(number: signal.Signals, clusters: list[str]) -> None:
    words = [sys.executable, "-m", "karptui", "verdict", "--contexts", "silent", *clusters[:-1], "60s"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        numbers: list[int] = []
        deadline = time.monotonic() + 60
        while not numbers:
            assert time.monotonic() < deadline
            listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent.pid)], capture_output=True, check=False)
            numbers = [int(pid) for pid in listed.stdout.split()]
            time.sleep(0.1)
        parent.send_signal(number)
        parent.communicate(timeout=30)
    while any(map(is_running, numbers)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_single_file_starts_its_own_child_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_command("verdict") == [sys.executable, "-m", "karptui", "verdict"]
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert own_command("verdict") == [sys.executable, "verdict"]
