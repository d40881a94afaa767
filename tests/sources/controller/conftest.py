"""A loopback API server with or without Karpenter's Deployment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from karptui.sources.cluster.transport import Transport
from tests.fake_api_server import Call
from tests.sources.cluster.live import transport_that_hears

DEPLOYMENTS, PODS = "/apis/apps/v1/deployments", "/api/v1/pods"
LEASES = "/apis/coordination.k8s.io/v1/leases"


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
    spec = deployment("karpenter", namespace="kube-system", replicas=2, **env)["spec"]["template"]["spec"]
    return {"metadata": {"name": name, "namespace": "karpenter"}, "spec": spec, "status": {"phase": phase}}


def _is_in(result: Any, namespace: str) -> bool:
    metadata = result.get("metadata")
    return not isinstance(metadata, dict) or metadata.get("namespace") == namespace


class Api:
    """An API server that lists the given objects and forbids everything else."""

    def __init__(self) -> None:
        self.lists: dict[str, Any] = {}
        self.answers: dict[str, Any] = {}
        """Responses by path, such as single objects."""
        self.calls: list[tuple[str, dict[str, str]]] = []
        self.status = 403

    def __call__(self, call: Call) -> None:
        self.calls.append((call.path, call.query))
        if call.path in self.answers:
            call.json(self.answers[call.path])
            return
        result = self.lists.get(call.path)
        within = re.fullmatch(r"(.*)/namespaces/([^/]+)(/[^/]+)", call.path)
        if result is None and within is not None:
            result = self.lists.get(within[1] + within[3])
            if isinstance(result, list):
                result = [item for item in result if _is_in(item, within[2])]
        if result is None:
            call.error(self.status)
        elif isinstance(result, bytes):
            call.text(result)
        else:
            call.json({"items": result})


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def client(api: Api) -> Iterator[Transport]:
    with transport_that_hears(api) as transport:
        yield transport
