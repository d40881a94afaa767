"""`karptui rightsize --prometheus`: queries, requests from usage, a complete answer, and failing servers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.decode.prometheus import FIRST, Answer, PrometheusError, of_usage, queries
from karptui.sources.prometheus import Prometheus
from karptui.sources.source import SourceError
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.fake_api_server import Call, LoopbackServer
from tests.story_d import story_document
from tests.studies.test_rightsize import a_pod

HOUR = 3600.0
NOW = 1_000_000.0
WORKLOAD = "StatefulSet/shop/web"
PODS = [a_pod("web-0", "n0"), a_pod("web-1", "n1")]


SHORT = ("--no-aws", "--horizon", "1h")


def series(*values: float) -> Answer:
    return Answer({("shop", f"web-{at}", "app"): value for at, value in enumerate(values)})


def sized(cpu: Answer, memory: Answer, first: Answer) -> Any:
    answers = {"cpu": cpu, "memory": memory, FIRST: first}
    return of_usage(answers, {WORKLOAD: PODS}, percentile=95, hours=168, now_ns=int(NOW * 1e9))


def test_queries_have_percentile_and_window() -> None:
    asked = queries(99, 12)
    by, containers = "by (namespace, pod, container)", '{container!="",container!="POD"}'
    cpu, memory = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
    assert asked["cpu"] == f"max {by} (quantile_over_time(0.99, rate({cpu}{containers}[5m])[12h:5m]))"
    assert asked["memory"] == f"max {by} (max_over_time({memory}{containers}[12h]))"
    assert asked[FIRST] == f"min {by} (min_over_time(timestamp({memory}{containers})[12h:1h]))"


def test_the_history_begins_with_the_oldest_pod_or_the_window() -> None:
    result = sized(series(0.1), series(1e6, 2e6), series(NOW - 3 * HOUR, NOW - 9 * HOUR))
    assert (result.known_hours, result.items[0].is_unsure) == ((9.0, 9.0), True)
    assert sized(series(0.1), series(1e6), series(0)).known_hours == (168.0, 168.0)
    assert sized(series(0.1), series(1e6), series()).known_hours == (0.0, 0.0)
    cpu_only = sized(series(0.1), Answer({("a", "b", "c"): 1.0}), series())
    assert (cpu_only.known_hours, set(cpu_only.items[0].requests)) == (None, {"cpu"})
    assert not cpu_only.items[0].is_unsure


AMOUNTS = st.lists(st.floats(0, 1e12), min_size=2, max_size=2)


@given(AMOUNTS, AMOUNTS)
def test_a_request_is_never_below_the_usage_of_a_pod(cpu: list[float], memory: list[float]) -> None:
    (item,) = sized(series(*cpu, 9e15), series(*memory, 9e15), series()).items  # the third value is a deleted pod's
    for resource, values in (("cpu", cpu), ("memory", memory)):
        assert max(values) * (1 - 1e-12) <= item.requests[resource].nano / 1e9 <= max(values) * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("amount", [math.nan, math.inf, -1.0])
def test_an_invalid_amount_names_the_container(amount: float) -> None:
    with pytest.raises(PrometheusError, match="as cpu of pod shop/web-1, container app"):
        sized(series(0.1, amount), series(1e6), series())


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    document = story_document()
    for manifest in document["objects"]:
        if manifest["kind"] == "Pod":
            for container in manifest["spec"]["containers"]:
                container["name"] = "app"
    return written(tmp_path_factory.mktemp("story") / "story.json", document)


def vector(*samples: tuple[str, str], **more: Any) -> dict[str, Any]:
    """Return Prometheus' answer with these values for pods of trino."""
    result = [
        {"metric": {"namespace": "trino", "pod": pod, "container": "app"}, "value": [1.5, value]}
        for pod, value in samples
    ]
    return {"status": "success", "data": {"resultType": "vector", "result": result}, **more}


def test_rightsize_with_a_working_server(run: Run, story: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pods = [manifest for manifest in json.loads(story.read_text())["objects"] if manifest["kind"] == "Pod"]
    names = [pod["metadata"]["name"] for pod in pods if pod["metadata"]["namespace"] == "trino"]

    def answer(call: Call) -> None:
        if "quantile" in call.query["query"]:
            call.json(vector((names[0], "1.2"), (names[1], "1.4001"), ("gone", "99")))
        elif "timestamp" in call.query["query"]:
            call.json(vector((names[0], str(float(call.query["time"]) - 50 * HOUR))))
        else:
            call.json(vector((names[0], "3e9"), warnings=["store \x1b[31m10.0.0.1 is down"]))

    monkeypatch.setenv("KARPTUI_PROMETHEUS_TOKEN", "s3cret")
    with LoopbackServer(answer) as server:
        words = ("--prometheus", f"{server.url}/prom/", "--window", "14d", "--percentile", "90", "-o", "json")
        out, err = run("rightsize", "--snapshot", str(story), *SHORT, *words, status=1)
    document = json.loads(out)
    (row,) = [workload for workload in document["workloads"] if workload["workload"] == "StatefulSet/trino/worker"]
    assert (row["cpuMillisAfter"], row["memoryBytesAfter"]) == (1401, 2862 * 2**20)
    assert document["source"] == (
        "Prometheus: cpu at percentile 90 of 5-minute averages, the highest memory, without a margin (pods above "
        "their request are evicted and OOM-killed first), of the pod that uses most; 2d2h of usage, 14d asked for"
    )
    assert "Prometheus warns that its answer may be incomplete: store [31m10.0.0.1 is down" in err
    assert [(call.method, call.path, call.token) for call in server.calls] == [
        ("GET", "/prom/api/v1/query", "s3cret")
    ] * 3
    assert "s3cret" not in out + err


FAILED = {"status": "error", "errorType": "execution", "error": "too many\x1b samples"}


ANSWERS: list[tuple[Any, str]] = [
    (lambda call: call.json(FAILED, 422), "reports error execution: too many samples"),
    (lambda call: call.text("no", 401), "refuses the request (401): a bearer token is read from KARPTUI_PROM"),
    (lambda call: call.text("<html>", Content_Type="text/html"), "answered 200 and no JSON (text/html): is it"),
    (lambda call: call.text("", 302, Location="http://127.0.0.1:1/"), "redirects (302), which karptui does not"),
    (lambda call: call.json({"status": "success", "data": {"result": 3}}), "answered no result of a query: Exp"),
    (lambda call: call.json({"status": "success"}), "has no container_cpu_usage_seconds_total of a named con"),
    (lambda call: call.json(vector(("w", "many"))), "answered no result of a query: could not convert string"),
    (lambda call: call.json(vector()), "has no container_cpu_usage_seconds_total of a named container in 168 h"),
    (lambda call: call.json(vector(("w", "1"))), "has no measurements of this cluster's pods: is it the Prom"),
    (lambda call: call.cut(), "cut the connection"),
]


@pytest.mark.parametrize(("answer", "problem"), ANSWERS)
def test_a_failing_server_gives_a_message(answer: Any, problem: str, run: Run, story: Path) -> None:
    with LoopbackServer(answer) as server:
        out, err = run("rightsize", "--snapshot", str(story), *SHORT, "--prometheus", server.url, status=2)
    assert out == ""
    assert f"{server.url} {problem}" in err
    assert "\x1b" not in err


def test_a_silent_or_unreachable_server_is_named() -> None:
    with (
        LoopbackServer(Call.stall) as server,
        pytest.raises(SourceError, match=r"127\.0\.0\.1:\d+ stopped sending data"),
    ):
        Prometheus(server.url, read_seconds=0.1).query("up", 0)
    with pytest.raises(SourceError, match=f"{server.url} refuses connections"):
        Prometheus(server.url).query("up", 0)
