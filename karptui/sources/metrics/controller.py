"""Finding Karpenter's controller: its pods and Service, if something proves that they are Karpenter's.

Names: charts/karpenter of Karpenter's AWS provider; other providers' charts follow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec

from karptui.decode.controller import OWN_NAMESPACE, VERSION_LABELS
from karptui.decode.loose import mappings, text
from karptui.karpenter.controller import KarpenterVersion, image_version
from karptui.sources.cluster.errors import ApiError
from karptui.sources.karpenter_identity import SELECTOR, ProxyClient, list_items, path_in, places

PORT_NAME: Final = "http-metrics"
DEFAULT_PORT: Final = 8080
LIST_LIMIT: Final = "50"
_NAME: Final = ("metadata", "name")
_NAMESPACE: Final = ("metadata", "namespace")
_CONTAINERS: Final = ("spec", "containers")


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


def find_controller(client: ProxyClient, *, read_seconds: float) -> Controller:
    """Ask the API server where Karpenter is; nothing found is an answer too.

    Raises:
        SourceError: when neither pods nor Services may be listed, or the server does not answer.
    """
    refusals: list[ApiError] = []
    asked = 0
    for place in places(client, read_seconds=read_seconds):
        pods = _list(client, place.namespace, "pods", read_seconds)
        services = _list(client, place.namespace, "services", read_seconds)
        asked += 2
        refusals += [one for one in (pods, services) if isinstance(one, ApiError)]
        named = [] if isinstance(pods, ApiError) else pods
        documents = [
            pod for pod in named if place.is_proven_by(text(pod, *_NAME), text(pod, "spec", "serviceAccountName"))
        ]
        if place.namespace != OWN_NAMESPACE and not isinstance(pods, ApiError) and not documents:
            continue
        running = [pod for pod in documents if text(pod, "status", "phase") == "Running"]
        items = [] if isinstance(services, ApiError) else services
        endpoints = (*map(_pod_endpoint, running), *(e for service in items for e in _service_endpoints(service)))
        if endpoints:
            return Controller(endpoints, _version(running, items))
    if len(refusals) == asked:
        raise refusals[0]
    return Controller()


def _list(client: ProxyClient, namespace: str, resource: str, read_seconds: float) -> list[dict[str, Any]] | ApiError:
    """Return the labelled objects of a namespace, or the error."""
    query = {"labelSelector": SELECTOR, "limit": LIST_LIMIT}
    try:
        return list_items(client, path_in("/api/v1", namespace, resource), read_seconds, query)
    except ApiError as error:
        return error


def _pod_endpoint(pod: Mapping[str, Any]) -> Endpoint:
    ports = [port for container in mappings(pod, *_CONTAINERS) for port in mappings(container, "ports")]
    number = next((port.get("containerPort") for port in ports if port.get("name") == PORT_NAME), DEFAULT_PORT)
    return _endpoint("pod", pod, str(number))


def _service_endpoints(service: Mapping[str, Any]) -> Iterator[Endpoint]:
    for port in mappings(service, "spec", "ports"):
        if port.get("name") == PORT_NAME or port.get("port") == DEFAULT_PORT:
            yield _endpoint("service", service, text(port, "name") or str(port.get("port")))
            return


def _endpoint(kind: str, document: Mapping[str, Any], port: str) -> Endpoint:
    namespace, name = text(document, *_NAMESPACE), text(document, *_NAME)
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/{kind}s/{quote(name, safe='')}:{quote(port, safe='')}"
    return Endpoint(f"{kind} {namespace}/{name}", f"{path}/proxy/metrics", is_service=kind == "service")


def _version(pods: list[dict[str, Any]], services: list[dict[str, Any]]) -> KarpenterVersion | None:
    """Return the version by the best evidence: a label shows the chart's version, not the running one."""
    for pod in pods:
        for container in mappings(pod, *_CONTAINERS):
            image = text(container, "image")
            if (container.get("name") == "controller" or "karpenter" in image) and (version := image_version(image)):
                return KarpenterVersion(version, f"image of pod {text(pod, *_NAMESPACE)}/{text(pod, *_NAME)}")
    for document in (*pods, *services):
        for label, parse in VERSION_LABELS:
            if version := parse(text(document, "metadata", "labels", label)):
                where = f"{text(document, *_NAMESPACE)}/{text(document, *_NAME)}"
                return KarpenterVersion(version, f"label {label} of {where}")
    return None
