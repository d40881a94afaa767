"""A cluster with Karpenter in it, on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from karptui.sources.cluster.connection import Connection, Grant
from karptui.sources.cluster.credentials import FixedCredentials
from karptui.sources.cluster.transport import Transport
from tests.fake_api_server import Call, LoopbackServer

from .exposition_text import KARPENTER

Answer = Callable[[Call], None]


def pod(name: str, *, namespace: str = "kube-system", image: str = "", phase: str = "Running", port: int = 8080) -> Any:
    """Return one of Karpenter's pods as the API server lists it."""
    ports = [{"name": "http", "containerPort": 8081}, {"name": "http-metrics", "containerPort": port}]
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/name": "karpenter"}},
        "spec": {"containers": [{"name": "controller", "image": image, "ports": ports}]},
        "status": {"phase": phase},
    }


def service(name: str = "karpenter", *, namespace: str = "kube-system", labels: Any = None, ports: Any = None) -> Any:
    """Return a Service as the API server lists it."""
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {"ports": ports if ports is not None else [{"name": "http-metrics", "port": 8080}]},
    }


NAMESPACES = ("kube-system", "karpenter", "platform", "shop")


def lease(namespace: str, holder: str, created: str = "2026-01-01T00:00:00Z", renewed: str = "") -> Any:
    """Return a leader-election lease."""
    metadata = {"name": "karpenter-leader-election", "namespace": namespace, "creationTimestamp": created}
    identity = f"{holder}_0b4f7d7e-6f0f-4a59-9a0e-3c1f1f2e9d11"
    return {"metadata": metadata, "spec": {"holderIdentity": identity, "renewTime": renewed or created}}


NODEPOOLS = "/apis/karpenter.sh/v1/nodepools"
EVENTS = "/api/v1/namespaces/default/events"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def managed(*managers: str, group: str = "karpenter.k8s.aws") -> Any:
    """Return a NodePool written by these field managers."""
    fields = [{"manager": name, "operation": "Update"} for name in managers]
    spec = {"template": {"spec": {"nodeClassRef": {"group": group, "kind": "EC2NodeClass", "name": "default"}}}}
    return {"metadata": {"name": "general", "managedFields": fields}, "spec": spec}


def binding(role: str, namespace: str, account: str, *, name: str = "") -> Any:
    """Return a ClusterRoleBinding of a service account."""
    subject = {"kind": "ServiceAccount", "namespace": namespace, "name": account}
    return {"metadata": {"name": name or role}, "subjects": [subject], "roleRef": {"kind": "ClusterRole", "name": role}}


def role(*verbs: str, group: str = "karpenter.sh", resource: str = "nodeclaims") -> Any:
    return {"rules": [{"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}]}


def _in(result: Any, namespace: str) -> bool:
    return bool(result["metadata"]["namespace"] == namespace)


class KarpenterCluster:
    """An API server that lists pods and Services and proxies to them."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.paths: list[str] = []
        self.queries: list[dict[str, str]] = []
        self.accepted: list[str] = []

    def pods(self, *items: Any) -> None:
        self._list("/api/v1", "pods", items)

    def services(self, *items: Any) -> None:
        self._list("/api/v1", "services", items)

    def leases(self, *items: Any) -> None:
        """Set the leases that have the name of Karpenter's."""
        self._list("/apis/coordination.k8s.io/v1", "leases", items)

    def at_work(self) -> None:
        """List a NodePool that Karpenter has written."""
        self.answers[NODEPOOLS] = lambda call: call.json({"items": [managed("kubectl", "karpenter")]})

    def _list(self, group: str, resource: str, items: tuple[Any, ...]) -> None:
        for namespace in NAMESPACES:
            self._answer(f"{group}/namespaces/{namespace}/{resource}", [item for item in items if _in(item, namespace)])
        self._answer(f"{group}/{resource}", list(items))

    def _answer(self, path: str, items: list[Any]) -> None:
        self.answers[path] = lambda call: call.json({"items": items})

    def metrics(self, endpoint: str, *texts: bytes) -> None:
        """Set the successive answers of an endpoint (``pods/a:8080``); the last one repeats."""
        left = list(texts)
        self.answers[f"/api/v1/namespaces/kube-system/{endpoint}/proxy/metrics"] = lambda call: call.text(
            left.pop(0) if len(left) > 1 else left[0]
        )

    def refuse(self, path: str, status: int = 403, message: str = "forbidden") -> None:
        self.answers[path] = lambda call: call.error(status, message)

    def refuse_lists(self, resource: str, status: int = 403, message: str = "forbidden") -> None:
        """Answer every list of a resource with an error."""
        for within in ("", *(f"namespaces/{namespace}/" for namespace in NAMESPACES)):
            self.refuse(f"/api/v1/{within}{resource}", status, message)

    def __call__(self, call: Call) -> None:
        self.paths.append(call.path)
        self.queries.append(call.query)
        self.accepted.append(call.headers.get("Accept") or "")
        answer = self.answers.get(call.path)
        if answer is None:
            call.error(404, f"{call.path} not found")
        else:
            answer(call)


@pytest.fixture
def cluster() -> KarpenterCluster:
    """Return a cluster with one Karpenter pod, the leader, and its Service."""
    cluster = KarpenterCluster()
    cluster.pods(pod("karpenter-a", image="public.ecr.aws/karpenter/controller:1.14.1@sha256:ea73"))
    cluster.services(service())
    cluster.leases()
    cluster.metrics("pods/karpenter-a:8080", KARPENTER)
    cluster.metrics("services/karpenter:http-metrics", KARPENTER)
    return cluster


@pytest.fixture
def client(cluster: KarpenterCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Transport]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with LoopbackServer(cluster) as server:
        transport = Transport(Connection(server=server.url, context="test"), FixedCredentials(Grant("Bearer t")))
        yield transport
        transport.close()
