"""Commands over a live cluster: who is asked for settings and prices, and what is said of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from karptui.cli.evidence import evidence_source
from karptui.cli.main import main
from karptui.clock import SystemClock
from karptui.config import Config
from karptui.decode.kinds import Kind
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.paths import history_file
from karptui.sources.cluster.connection import Connection
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.history.store import Change
from karptui.sources.history.writer import HistoryWriter
from tests.builders import a_manifest
from tests.builders.manifests import READY, a_pool_manifest, one_of
from tests.cli.conftest import Run
from tests.cli.files import kubeconfig
from tests.fake_api_server import Answered, Call, LoopbackServer
from tests.sources.cluster.test_reflectors import Cluster, karpenter

OVERHEAD = "VM_MEMORY_OVERHEAD_PERCENT"


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


def test_defaults_where_karpenter_is_not_found(flags: list[str], run: Run) -> None:
    told = ledger(flags, run)
    assert "VM overhead 0.075 (Karpenter's defaults)" in told
    assert "no Deployment or pod is labelled app.kubernetes.io/name=karpenter" in told


def test_the_deployment_tells(cluster: Cluster, flags: list[str], run: Run) -> None:
    cluster.put("/apis/apps/v1/deployments", a_deployment({"name": OVERHEAD, "value": "0.0488"}))
    told = ledger(flags, run)
    assert "VM overhead 0.0488 (Deployment kube-system/karpenter)" in told
    assert "249,351" in told, "what the provider itself computes with that percent"
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


def test_a_recording_without_karpenter_says_so(flags: list[str], tmp_path: Path, run: Run) -> None:
    assert "no Deployment or pod is labelled" in run("record", str(tmp_path / "out.json"), *flags).err
    assert "karpenterVersion" not in json.loads((tmp_path / "out.json").read_text())


def test_pools_without_pods_say_what_is_missing(cluster: Cluster, flags: list[str], run: Run) -> None:
    def forbid(call: Call) -> None:
        if call.path == "/api/v1/pods":
            call.error(403, 'pods is forbidden: User "u" cannot list resource "pods"', "Forbidden")
            raise Answered

    cluster.fault = forbid
    result = run("pools", *flags, status=1)
    assert "trino" in result.out
    assert "overlap and budgets are left out: pods may not be listed" in result.err
    assert "overlap: unknown: pods may not be listed" in result.err


def test_settings_that_cannot_be_read_are_named(cluster: Cluster, flags: list[str], tmp_path: Path, run: Run) -> None:
    def fail(call: Call) -> None:
        if call.query.get("labelSelector"):
            call.error(500, "no")
            raise Answered

    cluster.fault = fail
    assert "karptui record: the API server answered 500" in run("record", str(tmp_path / "out.json"), *flags).err


def test_who_is_asked_beside_a_live_cluster() -> None:
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
