"""Karpenter's Deployment is found, read and read again, over a loopback API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from loopback import Call, LoopbackServer

from karptui.aws.region_facts import FactPhase
from karptui.clock import FrozenClock
from karptui.karpenter.controller import ControllerInfo
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.base import SourceError
from karptui.sources.cluster.errors import ApiError
from karptui.sources.cluster.transport import Transport
from karptui.sources.controller.reader import ControllerError, read_controller
from karptui.sources.controller.source import ControllerSource
from sources.cluster.live import transport_to
from tests.sources.turns import Turns

NOW = 1_795_259_891_000_000_000
DEPLOYMENTS, PODS = "/apis/apps/v1/deployments", "/api/v1/pods"


def deployment(
    name: str = "karpenter", *, namespace: str = "kube-system", replicas: int = 2, **env: str
) -> dict[str, Any]:
    variables = [{"name": key, "value": value} for key, value in env.items()]
    container = {"name": "controller", "image": "karpenter/controller:1.14.1", "env": variables}
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [container]}}},
    }


def pod(name: str, phase: str, **env: str) -> dict[str, Any]:
    spec = deployment(**env)["spec"]["template"]["spec"]
    return {"metadata": {"name": name, "namespace": "karpenter"}, "spec": spec, "status": {"phase": phase}}


class Api:
    """Lists what it is given; forbids everything else."""

    def __init__(self) -> None:
        self.lists: dict[str, Any] = {}
        self.calls: list[tuple[str, dict[str, str]]] = []
        self.status = 403

    def __call__(self, call: Call) -> None:
        self.calls.append((call.path, call.query))
        found = self.lists.get(call.path)
        if found is None:
            call.error(self.status)
        elif isinstance(found, bytes):
            call.text(found)
        else:
            call.json({"items": found})


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def client(api: Api) -> Iterator[Transport]:
    with LoopbackServer(api) as server:
        transport = transport_to(server)
        yield transport
        transport.close()


def test_the_deployment_wherever_it_is(api: Api, client: Transport) -> None:
    api.lists[DEPLOYMENTS] = [deployment("z", RESERVED_ENIS="9", replicas=0), deployment(RESERVED_ENIS="1")]
    found = read_controller(client)
    assert found == ControllerInfo(
        title="Deployment kube-system/karpenter",
        version="1.14.1",
        version_source="image of Deployment kube-system/karpenter",
        settings={"RESERVED_ENIS": "1"},
    )
    assert api.calls == [(DEPLOYMENTS, {"labelSelector": "app.kubernetes.io/name=karpenter", "limit": "20"})]


def test_one_namespace_is_enough(api: Api, client: Transport) -> None:
    api.lists["/apis/apps/v1/namespaces/kube-system/deployments"] = []
    api.lists["/apis/apps/v1/namespaces/karpenter/deployments"] = [deployment(namespace="karpenter")]
    assert read_controller(client).title == "Deployment karpenter/karpenter"


def test_a_pod_where_deployments_may_not_be_listed(api: Api, client: Transport) -> None:
    api.lists[PODS] = [pod("a", "Failed", RESERVED_ENIS="1"), pod("b", "Running", RESERVED_ENIS="2")]
    found = read_controller(client)
    assert (found.title, found.settings) == ("Pod karpenter/b", {"RESERVED_ENIS": "2"})


def test_nothing_may_be_listed(client: Transport) -> None:
    with pytest.raises(ControllerError, match="need permission to list deployments or pods in its namespace"):
        read_controller(client)


def test_nothing_is_there(api: Api, client: Transport) -> None:
    api.lists[DEPLOYMENTS] = api.lists[PODS] = []
    with pytest.raises(ControllerError, match="no Deployment or pod is labelled"):
        read_controller(client)


def test_a_server_in_trouble(api: Api, client: Transport) -> None:
    api.status = 500
    with pytest.raises(ApiError, match="500"):
        read_controller(client)


@pytest.mark.parametrize("body", [b"<html>", b'{"items": 5}'])
def test_an_answer_that_is_none(api: Api, client: Transport, body: bytes) -> None:
    api.lists[DEPLOYMENTS] = body
    with pytest.raises(SourceError, match="cannot be read"):
        read_controller(client)


def test_hostile_shapes(api: Api, client: Transport) -> None:
    api.lists[DEPLOYMENTS] = [{"spec": "x", "metadata": [], "status": 5}]
    assert read_controller(client).settings == {}


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(NOW)


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def source(client: Transport, clock: FrozenClock, turns: Turns) -> Iterator[ControllerSource]:
    made = ControllerSource(client, clock=clock, wait=turns.wait)
    yield made
    turns.end(made)


def test_an_equal_reading_is_no_news(api: Api, source: ControllerSource, turns: Turns, clock: FrozenClock) -> None:
    assert source.latest().status.phase is FactPhase.WAITING
    api.lists[DEPLOYMENTS] = [deployment(RESERVED_ENIS="1")]
    first = turns.read(source)
    assert first.info is not None
    assert (first.status.phase, first.status.as_of_ns, turns.seconds) == (FactPhase.LIVE, NOW, [60.0])
    clock.instant_ns += 60 * NS_PER_SECOND
    assert turns.read(source) is first
    api.lists[DEPLOYMENTS] = [deployment(RESERVED_ENIS="2")]
    second = turns.read(source)
    assert second.info is not None
    assert second.info.settings == {"RESERVED_ENIS": "2"}
    assert second.status.as_of_ns == clock.instant_ns


def test_what_was_read_stays_when_reading_fails(api: Api, source: ControllerSource, turns: Turns) -> None:
    api.lists[DEPLOYMENTS] = [deployment()]
    first = turns.read(source)
    api.lists.clear()
    second = turns.read(source)
    assert second.info is first.info
    assert (second.status.phase, second.status.as_of_ns) == (FactPhase.CACHED, NOW)
    assert "need permission" in second.status.sentence
    assert second.status.retry_at_ns == NOW + 300 * NS_PER_SECOND
    assert turns.read(source) is second
    api.status = 500
    third = turns.read(source)
    assert "500" in third.status.sentence
    assert turns.seconds[-1] == 60.0
    api.lists[DEPLOYMENTS] = [deployment()]
    last = turns.read(source)
    assert last.info is first.info
    assert last.status.phase is FactPhase.LIVE


def test_a_refusal_from_the_start(source: ControllerSource, turns: Turns) -> None:
    news = turns.read(source)
    assert (news.info, news.status.phase) == (None, FactPhase.UNAVAILABLE)


def test_what_is_not_known_is_said(api: Api, source: ControllerSource, turns: Turns) -> None:
    secret = deployment()
    secret["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "RESERVED_ENIS", "valueFrom": {"secretKeyRef": {"name": "enis"}}}
    ]
    api.lists[DEPLOYMENTS] = [secret]
    assert turns.read(source).status.sentence == "RESERVED_ENIS comes from Secret enis, which is not read"
