"""Finding Karpenter's controller: its pods and Service, if something proves that they are Karpenter's.

Names: charts/karpenter of Karpenter's AWS provider; other providers' charts follow it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from karptui.decode.controller import OWN_NAMESPACE
from karptui.karpenter.controller import KarpenterVersion, chart_version, image_version, parse_version
from karptui.sources.cluster.body import decoded
from karptui.sources.cluster.errors import ApiError
from karptui.sources.recognition import SELECTOR, ProxyClient, path_in, places

PORT_NAME: Final = "http-metrics"
DEFAULT_PORT: Final = 8080
LIST_LIMIT: Final = "50"


class Endpoint(msgspec.Struct, frozen=True):
    """A place that serves metrics."""

    title: str
    """For people: ``pod karpenter/karpenter-6f9-abcde``."""
    path: str
    """Under the API server's address."""
    is_service: bool = False
    """Whether each request may be answered by another replica."""


class Controller(msgspec.Struct, frozen=True):
    """Karpenter's installation."""

    endpoints: tuple[Endpoint, ...] = ()
    """Pods first: only the leader knows prices, and a Service picks any replica."""
    version: KarpenterVersion | None = None


class _Port(msgspec.Struct, rename="camel"):
    name: str = ""
    container_port: int = 0


class _ContainerSpec(msgspec.Struct):
    name: str = ""
    image: str = ""
    ports: list[_Port] = []


class _LabelledName(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class _PodSpec(msgspec.Struct, rename="camel"):
    containers: list[_ContainerSpec] = []
    service_account_name: str = ""


class _PodStatus(msgspec.Struct):
    phase: str = ""


class _Pod(msgspec.Struct):
    metadata: _LabelledName = msgspec.field(default_factory=_LabelledName)
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


class _ServicePort(msgspec.Struct):
    name: str = ""
    port: int = 0


class _ServiceSpec(msgspec.Struct):
    ports: list[_ServicePort] = []


class _Service(msgspec.Struct):
    metadata: _LabelledName = msgspec.field(default_factory=_LabelledName)
    spec: _ServiceSpec = msgspec.field(default_factory=_ServiceSpec)


class _PodList(msgspec.Struct):
    items: list[_Pod] = []


class _ServiceList(msgspec.Struct):
    items: list[_Service] = []


_Shape = TypeVar("_Shape", _PodList, _ServiceList)


def find_controller(client: ProxyClient, *, read_seconds: float) -> Controller:
    """Ask the API server where Karpenter is; nothing found is an answer too.

    Raises:
        SourceError: when neither pods nor Services may be listed, or the server does not answer.
    """
    refusals: list[ApiError] = []
    asked = 0
    for place in places(client, read_seconds=read_seconds):
        pods = _list(client, place.namespace, "pods", _PodList, read_seconds)
        services = _list(client, place.namespace, "services", _ServiceList, read_seconds)
        asked += 2
        refusals += [one for one in (pods, services) if isinstance(one, ApiError)]
        named = [] if isinstance(pods, ApiError) else pods.items
        own = [pod for pod in named if place.is_proven_by(pod.metadata.name, pod.spec.service_account_name)]
        if place.namespace != OWN_NAMESPACE and not isinstance(pods, ApiError) and not own:
            continue
        running = [pod for pod in own if pod.status.phase == "Running"]
        found = [] if isinstance(services, ApiError) else services.items
        endpoints = (*map(_pod_endpoint, running), *(e for service in found for e in _service_endpoints(service)))
        if endpoints:
            return Controller(endpoints, _version(running, found))
    if len(refusals) == asked:
        raise refusals[0]
    return Controller()


def _list(
    client: ProxyClient, namespace: str, resource: str, shape: type[_Shape], read_seconds: float
) -> _Shape | ApiError:
    """Return the labelled objects of a namespace, or the error."""
    query = {"labelSelector": SELECTOR, "limit": LIST_LIMIT}
    try:
        return _decode(client.get(path_in("/api/v1", namespace, resource), query, read_seconds=read_seconds), shape)
    except ApiError as error:
        return error


def _decode(body: bytes, shape: type[_Shape]) -> _Shape:
    return decoded(body, shape, "the API server's answer cannot be read")


def _pod_endpoint(pod: _Pod) -> Endpoint:
    ports = [port for container in pod.spec.containers for port in container.ports]
    number = next((port.container_port for port in ports if port.name == PORT_NAME), DEFAULT_PORT)
    return _endpoint("pod", pod.metadata, str(number))


def _service_endpoints(service: _Service) -> Iterator[Endpoint]:
    for port in service.spec.ports:
        if port.name == PORT_NAME or port.port == DEFAULT_PORT:
            yield _endpoint("service", service.metadata, port.name or str(port.port))
            return


def _endpoint(kind: str, metadata: _LabelledName, port: str) -> Endpoint:
    namespace, name = quote(metadata.namespace, safe=""), quote(metadata.name, safe="")
    return Endpoint(
        f"{kind} {metadata.namespace}/{metadata.name}",
        f"/api/v1/namespaces/{namespace}/{kind}s/{name}:{quote(port, safe='')}/proxy/metrics",
        is_service=kind == "service",
    )


def _version(pods: list[_Pod], services: list[_Service]) -> KarpenterVersion | None:
    """Return the version by the best evidence: a label shows the chart's version, not the running one."""
    for pod in pods:
        for container in pod.spec.containers:
            if container.name == "controller" or "karpenter" in container.image:
                version = image_version(container.image)
                if version:
                    return KarpenterVersion(version, f"image of pod {pod.metadata.namespace}/{pod.metadata.name}")
    for metadata in (*(pod.metadata for pod in pods), *(service.metadata for service in services)):
        for label, parse in (("app.kubernetes.io/version", parse_version), ("helm.sh/chart", chart_version)):
            version = parse(metadata.labels.get(label, ""))
            if version:
                return KarpenterVersion(version, f"label {label} of {metadata.namespace}/{metadata.name}")
    return None
