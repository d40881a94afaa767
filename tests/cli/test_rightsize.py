"""`karptui rightsize`: recommendations of VPAs, KRR and history, output formats, and invalid input."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from karptui.kube.usage import Measured, UsagePeriod, add_reading
from karptui.paths import history_file
from karptui.session.rightsizing import live_vpas, recommendations_of
from karptui.sources.cluster.errors import ApiError
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.source import SourceError
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.histories import BEGIN_NS, demo_history, record_demo, write_usage
from tests.story_d import story_document


def krr(*scans: tuple[str, Any, Any], **settings: Any) -> dict[str, Any]:
    """Return a KRR result; each scan is a workload, cores and bytes."""
    result = []
    for workload, cpu, memory in scans:
        kind, namespace, name = workload.split("/")
        result.append(
            {
                "object": {
                    "cluster": None, "name": name, "container": "app", "pods": [], "hpa": None,
                    "namespace": namespace, "kind": kind, "allocations": {"requests": {}, "limits": {}, "info": {}},
                },
                "recommended": {
                    "requests": {
                        "cpu": {"value": cpu, "severity": "OK"}, "memory": {"value": memory, "severity": "UNKNOWN"},
                    },
                    "limits": {"cpu": {"value": None, "severity": "OK"}},
                    "info": {"cpu": None, "memory": None},
                },
                "severity": "OK", "metrics": {},
            }
        )  # fmt: skip
    return {
        "scans": result,
        "score": 50,
        "resources": ["cpu", "memory"],
        "strategy": {"name": "simple", "settings": settings},
    }


WORKER = "StatefulSet/trino/worker"
SETTINGS = {"history_duration": 336.0, "cpu_percentile": 95.0, "memory_buffer_percentage": 15.0, "allow_hpa": False}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write story D with VerticalPodAutoscalers and containers named ``app``, and return its path."""
    document = story_document()
    for manifest in document["objects"]:
        if manifest["kind"] == "Pod":
            for container in manifest["spec"]["containers"]:
                container["name"] = "app"
    target = {"kind": "StatefulSet", "name": "worker"}
    recommended = {"containerRecommendations": [{"containerName": "app", "target": {"cpu": "2", "memory": "8Gi"}}]}
    document["objects"] += [
        {
            "apiVersion": "autoscaling.k8s.io/v1",
            "kind": "VerticalPodAutoscaler",
            "metadata": {"name": name, "namespace": "trino"},
            "spec": {"targetRef": target if name == "worker" else {}, "updatePolicy": {"updateMode": "Off"}},
            "status": {"recommendation": recommended} if name == "worker" else {},
        }
        for name in ("worker", "new")
    ]
    return written(tmp_path_factory.mktemp("story") / "story.json", document)


def printed(run: Run, story: Path, *words: str) -> str:
    return run("rightsize", "--snapshot", str(story), "--no-aws", "--horizon", "1h", *words).out


def test_vpas_of_a_snapshot_are_read_and_all_formats_agree(run: Run, story: Path) -> None:
    document = json.loads(printed(run, story, "-o", "json"))
    (row,) = document["workloads"]
    assert (row["workload"], row["updateMode"], row["cpuMillisAfter"]) == (WORKER, "Off", 2000)
    assert row["memoryBytesAfter"] == 8 * 2**30 < row["memoryBytesBefore"]
    assert document["patches"][0]["metadata"] == {"name": "worker", "namespace": "trino"}
    assert document["source"].startswith("VPA targets: their percentile and history are settings of the recommender")
    (line,) = csv.DictReader(io.StringIO(printed(run, story, "-o", "csv")))
    assert (line["workload"], line["containers"]) == (WORKER, "1")
    text = printed(run, story)
    assert "1 workload (" in text.splitlines()[0]
    assert "; 1 VPA without a recommendation yet" in text
    assert "memory is not compared with current usage" in text
    assert "  assumed: Karpenter runs: while it is down" in text
    assert "  not modelled: the rollout that a patch causes: pods have the new requests at once" in text


def test_the_patch_contains_only_the_requests(run: Run, story: Path) -> None:
    (patch,) = yaml.safe_load_all(printed(run, story, "--patch"))
    assert patch == {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "worker", "namespace": "trino"},
        "spec": {
            "template": {
                "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "2", "memory": "8Gi"}}}]}
            }
        },
    }
    assert printed(run, story, "--patch", "--filter", "nothing-like-it") == "# nothing changes\n"


def test_krr_replaces_vpas_and_its_percentile_and_history_are_shown(run: Run, story: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "krr.json", krr((WORKER, 1.5, "?"), ("Job/x/y", None, None), **SETTINGS))
    document = json.loads(printed(run, story, "--krr", str(path), "-o", "json"))
    (row,) = document["workloads"]
    assert (row["cpuMillisAfter"], row["updateMode"]) == (1500, None)
    assert row["memoryBytesAfter"] == row["memoryBytesBefore"]
    assert document["source"] == "KRR simple: cpu at percentile 95, highest memory +15%, up to 336h of usage"
    assert "; 1 container without a recommendation yet" in printed(run, story, "--krr", str(path))


@pytest.mark.parametrize(("text", "problem"), [
    ("{", "krr.json: is no result of krr -f json: "),
    ('{"scans": [{"object": 3}]}', "krr.json: is no result of krr -f json: Expected `object`, got `int`"),
    (json.dumps(krr((WORKER, "a lot", 1))), "StatefulSet trino/worker: container app: recommended.requests.cpu"),
    (json.dumps(krr((WORKER, -1, 1))), "recommended.requests.cpu.value is -1.0, no amount"),
    (json.dumps(krr((WORKER, "?", None))), "there are no recommendations: they come from"),
    (json.dumps(krr(("Deployment/no/where", 1, 1))), "none of the 1 workloads with recommendations has pods"),
])  # fmt: skip
def test_an_invalid_krr_file_gives_a_message(text: str, problem: str, run: Run, story: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "krr.json", text)
    out, err = run("rightsize", "--snapshot", str(story), "--no-aws", "--krr", str(path), status=2)
    assert out == ""
    assert problem in err


class Answering(ClusterSource):
    """A fake live cluster that answers one request."""

    def __init__(self, answer: bytes | Exception) -> None:
        self.answer = answer

    def get(self, path: str, query: Any = None, **_: Any) -> bytes:
        assert path == "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers"
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_vpas_of_a_live_cluster_are_listed_once() -> None:
    item = {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"targetRef": {"kind": "Deployment", "name": "web"}},
        "status": {"recommendation": {"containerRecommendations": [{"containerName": "c", "target": {"cpu": "25m"}}]}},
    }
    listed = live_vpas(Answering(json.dumps({"kind": "VerticalPodAutoscalerList", "items": [item]}).encode()))
    assert not isinstance(listed, SourceError)
    (vpa,) = listed
    assert (vpa.key, vpa.target_name, vpa.update_mode, len(vpa.targets)) == ("shop/web", "web", "Recreate", 1)
    assert live_vpas(Answering(b'{"items": []}')) == []
    assert live_vpas(Answering(ApiError(404, "NotFound", "the server could not find the requested resource"))) == []


@pytest.mark.parametrize(("answer", "problem"), [
    (ApiError(403, "Forbidden", "no"), "verticalpodautoscalers cannot be listed: the API server answered 403"),
    (b"<html>", "verticalpodautoscalers cannot be read: "),
    (b'{"items": [{"metadata": {}}]}', "cannot be read: VerticalPodAutoscaler (without a name): metadata.name"),
])  # fmt: skip
def test_vpas_that_cannot_be_listed_give_an_error(answer: bytes | Exception, problem: str) -> None:
    refused = live_vpas(Answering(answer))
    assert isinstance(refused, SourceError)
    assert problem in str(refused)


MINUTE_NS = 60 * 10**9


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record two moments of the demo, 30 h apart, with measured usage in between."""
    path = demo_history(tmp_path_factory, 2)
    record_demo(path, 2, begin_ns=BEGIN_NS + 30 * 60 * MINUTE_NS)
    for hour in range(28):
        begin_ns = BEGIN_NS + hour * 60 * MINUTE_NS
        period = UsagePeriod(begin_ns, begin_ns)
        for minute in range(1, 60):
            peak = 500 if minute % 15 == 0 else 100
            measured = [Measured("StatefulSet/trino/trino-worker", "trino-worker", peak, hour << 20)]
            measured += [Measured("Deployment/web/api", "api", 20, 30 << 20)] if hour > 20 else []
            add_reading(period, begin_ns + minute * MINUTE_NS, measured)
        write_usage(path, period)
    return path


def recorded(run: Run, path: Path, *words: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        run("rightsize", "--snapshot", str(path), "--horizon", "1m", "--no-aws", "-o", "json", *words).out
    )
    return document


def test_recorded_usage_is_used_without_vpas(history: Path, run: Run) -> None:
    document = recorded(run, history)
    assert document["source"] == (
        "karptui's history: cpu at percentile 95 of the measurements of all pods of a workload together, the highest "
        "memory, without a margin (pods above their request are evicted and OOM-killed first); 6h53m to 27h measured "
        "in the last 7d; peaks between measurements are unknown"
    )
    rows = {row["workload"]: row for row in document["workloads"]}
    assert rows.keys() == {"StatefulSet/trino/trino-worker", "Deployment/web/api"}
    worker, api = rows["StatefulSet/trino/trino-worker"], rows["Deployment/web/api"]
    assert 500 <= worker["cpuMillisAfter"] <= 525, "5.1% of the minutes use 500m, so percentile 95 is 500m"
    assert worker["memoryBytesAfter"] == 27 << 20
    assert ("unsure" in api["caveats"], "unsure" in worker["caveats"]) == (True, False)
    lower = recorded(run, history, "--percentile", "90")
    (after,) = (row["cpuMillisAfter"] for row in lower["workloads"] if row["workload"] == worker["workload"])
    assert 100 <= after <= 105
    assert "percentile 90" in lower["source"]


def test_only_the_window_before_the_moment_counts(history: Path, run: Run) -> None:
    document = recorded(run, history, "--window", "8h")
    assert "measured in the last 8h" in document["source"]
    assert "4h55m measured" in document["source"], "only hours 23 to 27 are complete: hour 22 begins before the window"
    error = run("rightsize", "--snapshot", str(history), "--at", "-29h", "--window", "1h", status=2).err
    assert "there are no recommendations: they come from" in error


def test_recorded_usage_needs_a_history(story: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    error = run("rightsize", "--snapshot", str(story), "--percentile", "95", status=2).err
    assert "is not a history that karptui has recorded" in error
    error = run("rightsize", "--demo", "--horizon", "10m", status=2).err
    assert "from the usage in this cluster's history, or from karptui rightsize --krr FILE" in error
    record_demo(history_file("demo", "demo"), 10)
    assert "there are no recommendations" in run("rightsize", "--demo", "--window", "1d", status=2).err


def test_recorded_usage_is_used_if_vpas_may_not_be_listed(history: Path) -> None:
    refused = live_vpas(Answering(ApiError(403, "Forbidden", "no")))
    snapshot = SnapshotReader().read([history])
    now_ns, inventory = snapshot.captured_at_ns, snapshot.inventory
    recommendations = recommendations_of(inventory, refused, history, now_ns)
    assert {item.workload for item in recommendations.items} == {"StatefulSet/trino/trino-worker", "Deployment/web/api"}
    for path, at_ns in ((None, now_ns), (history, BEGIN_NS)):
        with pytest.raises(SourceError, match="cannot be listed"):
            recommendations_of(inventory, refused, path, at_ns)
    assert recommendations_of(inventory, (), None, now_ns).items == ()
