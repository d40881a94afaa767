from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from karptui.clock import FrozenClock
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.kube.usage import ContainerSample, Sample
from karptui.sources.cluster.transport import Transport
from karptui.sources.source import SourceError
from karptui.sources.usage import IDLE_SECONDS, ROOT, LiveUsageError, UsageSource, read_nodes, read_pods
from tests.fake_api_server import Call
from tests.sources.cluster.live import transport_that_hears
from tests.sources.conftest import NOW_NS
from tests.sources.turns import Turns

MI = 1 << 20


def measured(name: str, *amounts: tuple[str, str], ago: int = 5, window: str = "20s", **fields: Any) -> dict[str, Any]:
    namespace, _, text = name.rpartition("/")
    item: dict[str, Any] = {
        "metadata": {"name": text, **({"namespace": namespace} if namespace else {})},
        "timestamp": format_timestamp(NOW_NS - ago * NS_PER_SECOND),
        "window": window,
        **fields,
    }
    parts = [{"cpu": cpu, "memory": memory} for cpu, memory in amounts]
    if namespace:
        return {**item, "containers": [{"name": f"c{at}", "usage": part} for at, part in enumerate(parts)]}
    return {**item, "usage": parts[0]}


class Api:
    """A metrics API that answers with the given pages, or with an error."""

    def __init__(self) -> None:
        self.pages: dict[str, list[Any]] = {"nodes": [[]], "pods": [[]]}
        self.status = 200
        self.calls: list[tuple[str, dict[str, str]]] = []

    def __call__(self, call: Call) -> None:
        self.calls.append((call.path, call.query))
        resource = call.path.removeprefix(f"{ROOT}/")
        if self.status != 200:
            call.error(self.status, "the server could not find the requested resource")
            return
        at = int(call.query.get("continue", "0"))
        page = self.pages[resource][at]
        if isinstance(page, bytes):
            call.text(page)
            return
        more = {"continue": str(at + 1)} if at + 1 < len(self.pages[resource]) else {}
        call.json({"metadata": more, "items": page})


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def client(api: Api) -> Iterator[Transport]:
    with transport_that_hears(api) as transport:
        yield transport


@pytest.fixture
def source(client: Transport, clock: FrozenClock, turns: Turns) -> Iterator[UsageSource]:
    source = UsageSource(client, clock=clock, wait=turns.wait)
    yield source
    turns.end(source)


def test_usage_of_nodes_is_read_in_millicores_and_bytes(api: Api, client: Transport) -> None:
    api.pages["nodes"] = [[measured("node-1", ("1204567891n", "3482916Ki")), measured("node-2", ("250m", "1Gi"))]]
    reading = read_nodes(client)
    assert reading.samples == {
        "node-1": Sample(NOW_NS - 5 * NS_PER_SECOND, 1205, 3482916 << 10),
        "node-2": Sample(NOW_NS - 5 * NS_PER_SECOND, 250, 1 << 30),
    }
    assert reading.window_ns == 20 * NS_PER_SECOND
    assert api.calls == [(f"{ROOT}/nodes", {"limit": "500"})]


def test_usage_of_pods_is_read_by_page_and_summed_over_containers(api: Api, client: Transport) -> None:
    api.pages["pods"] = [
        [measured("web/a", ("1500u", "10Mi"), ("2m", "5Mi"))],
        [measured("db/b", ("0", "7Mi"), window="10s"), measured("db/c")],
    ]
    reading = read_pods(client)
    assert reading.samples["web/a"] == Sample(NOW_NS - 5 * NS_PER_SECOND, 4, 15 * MI)
    assert reading.samples["db/c"] == Sample(NOW_NS - 5 * NS_PER_SECOND, 0, 0)
    assert reading.containers["web/a"] == (ContainerSample("c0", 2, 10 * MI), ContainerSample("c1", 2, 5 * MI))
    assert [query for _, query in api.calls] == [{"limit": "500"}, {"limit": "500", "continue": "1"}]


def test_unreadable_measurements_are_skipped(api: Api, client: Transport) -> None:
    api.pages["nodes"] = [
        [
            measured("a", ("much", "1Gi")),
            measured("b", ("1", "1Gi"), window="soon"),
            measured("c", ("1", "1Gi"), timestamp="yesterday"),
            measured("d", ("1", "1Gi")),
        ]
    ]
    assert list(read_nodes(client).samples) == ["d"]


@pytest.mark.parametrize(("status", "says", "is_refusal"), [
    (200, "metrics-server's answer cannot be read", False),
    (404, "metrics-server is not installed", True),
    (403, "needs permission to list nodes of metrics.k8s.io", True),
    (503, "metrics-server does not answer", False),
    (418, "the API server answered 418", False),
])  # fmt: skip
def test_errors_are_explained(api: Api, client: Transport, status: int, says: str, *, is_refusal: bool) -> None:
    api.status = status
    api.pages["nodes"] = [b"<html>"]
    with pytest.raises(SourceError, match=says) as caught:
        read_nodes(client)
    assert isinstance(caught.value, LiveUsageError) == is_refusal


def test_usage_is_read_only_while_wanted(api: Api, source: UsageSource, clock: FrozenClock, turns: Turns) -> None:
    api.pages["nodes"] = [[measured("node-1", ("1", "1Gi"))]]
    assert turns.read(source).read_at_ns == 0
    assert api.calls == []
    assert turns.seconds == [IDLE_SECONDS]
    source.want()
    usage = turns.read(source)
    assert (usage.nodes["node-1"].samples, usage.is_asked, usage.read_at_ns) == (1, True, NOW_NS)
    assert turns.seconds[-1] == 20.0
    clock.instant_ns += 61 * NS_PER_SECOND
    assert turns.read(source) is usage
    assert len(api.calls) == 2


def test_usage_for_a_history_is_read_each_minute_and_less_often_with_many_pods(
    api: Api, source: UsageSource, clock: FrozenClock, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.is_recorded = True
    api.pages["pods"] = [[measured(f"web/{number}", ("1", "1Gi")) for number in range(6)]]
    for seconds, calls in ((0, 2), (59, 2), (60, 4), (120, 6)):
        clock.instant_ns = NOW_NS + seconds * NS_PER_SECOND
        assert turns.read(source).read_at_ns
        assert len(api.calls) == calls
    monkeypatch.setattr("karptui.sources.usage.RECORDED_PODS", 0.05)
    for seconds, calls in ((180, 6), (239, 6), (240, 8)):
        clock.instant_ns = NOW_NS + seconds * NS_PER_SECOND
        turns.read(source)
        assert len(api.calls) == calls
    source.is_recorded = False
    clock.instant_ns += 600 * NS_PER_SECOND
    turns.read(source)
    assert len(api.calls) == 8


def test_the_peak_of_all_samples_is_kept(api: Api, source: UsageSource, turns: Turns) -> None:
    source.want()
    told = [("2", "1Gi", 30), ("1", "3Gi", 15), ("1", "3Gi", 15)]
    for cpu, memory, ago in told:
        api.pages["nodes"] = [[measured("node-1", (cpu, memory), ago=ago, window="5s")]]
        api.pages["pods"] = [[measured("web/a", (cpu, memory), ago=ago)] if ago == 30 else []]
        usage = turns.read(source)
    used = usage.nodes["node-1"]
    assert (used.latest.cpu_millis, used.latest.memory_bytes) == (1000, 3 << 30)
    assert (used.peak_cpu_millis, used.peak_memory_bytes) == (2000, 3 << 30)
    # A repeated measurement counts once.
    assert (used.samples, used.first_ns) == (2, NOW_NS - 30 * NS_PER_SECOND)
    assert usage.pods == {}
    assert turns.seconds[-1] == 15.0


@pytest.mark.parametrize(("status", "rest"), [(403, 300.0), (404, 300.0), (503, 60.0)])
def test_the_last_usage_is_kept_if_reading_fails(
    api: Api, source: UsageSource, turns: Turns, status: int, rest: float
) -> None:
    source.want()
    api.pages["nodes"] = [[measured("node-1", ("1", "1Gi"), window="10m0s")]]
    before = turns.read(source)
    assert turns.seconds[-1] == 60.0
    api.status = status
    after = turns.read(source)
    assert after.nodes is before.nodes
    assert (after.sentence != "", after.retry_at_ns) == (True, NOW_NS + int(rest) * NS_PER_SECOND)
    assert turns.seconds[-1] == rest
    api.status = 200
    assert turns.read(source).sentence == ""
