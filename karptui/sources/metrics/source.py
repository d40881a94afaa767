"""Finds the pods of Karpenter's controller, and keeps its metrics fresh in the background: one reading a minute."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final
from urllib.parse import quote

import msgspec

from karptui.aws.region import FactPhase, FactStatus
from karptui.clock import Clock
from karptui.decode.controller import OWN_NAMESPACE
from karptui.decode.loose import mappings, text
from karptui.karpenter.controller import LEADER_LEASE
from karptui.karpenter.metrics import ControllerMetrics
from karptui.sources.cluster.body import answers_counted
from karptui.sources.cluster.errors import ApiError, UnreachableError
from karptui.sources.karpenter_identity import SELECTOR, ProxyClient, list_items, path_in, places
from karptui.sources.metrics.reading import CONTENT_TYPE, read_metrics
from karptui.sources.periodic import REFRESH_SECONDS, PeriodicSource, Wait, failed_status
from karptui.sources.source import SourceError

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


def find_endpoints(client: ProxyClient, *, read_seconds: float) -> tuple[Endpoint, ...]:
    """Ask the API server where Karpenter is; nothing found is an answer too.

    Pods come first: only the leader knows prices, and a Service picks any replica.

    Raises:
        SourceError: when neither pods nor Services may be listed, or the server does not answer.
    """
    refusals: list[ApiError] = []
    attempts = 0
    for place in places(client, read_seconds=read_seconds):
        pods = _list(client, place.namespace, "pods", read_seconds)
        services = _list(client, place.namespace, "services", read_seconds)
        attempts += 2
        refusals += [answer for answer in (pods, services) if isinstance(answer, ApiError)]
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
            return endpoints
    if len(refusals) == attempts:
        raise refusals[0]
    return ()


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


READ_SECONDS: Final = 40.0
"""Maximum silence of the API server: it gives up on a pod after 30 s, and then sends the reason."""
SERVICE_TRIES: Final = 4
"""Requests through a Service until one of them meets the leader: with two replicas 15 in 16 do."""


class MetricsError(SourceError):
    """Karpenter's metrics are unavailable; the message has the cause and the remedy."""


class MetricsReader:
    """Reads the metrics again and again; remembers who answered last."""

    def __init__(self, client: ProxyClient, *, now_ns: Callable[[], int], read_seconds: float = READ_SECONDS) -> None:
        self._client = client
        self._now_ns = now_ns
        self._read_seconds = read_seconds
        self._leader: Endpoint | None = None

    def read(self) -> ControllerMetrics:
        """Return the metrics of the leading replica."""
        if self._leader is not None:
            try:
                metrics = self._ask(self._leader)
            except (ApiError, UnreachableError):
                self._leader = None
            else:
                if metrics.is_leader:
                    return metrics
        return self._search()

    def _search(self) -> ControllerMetrics:
        standby: ControllerMetrics | None = None
        refusals: list[tuple[Endpoint, ApiError]] = []
        for endpoint in self._find():
            for _ in range(SERVICE_TRIES if endpoint.is_service else 1):
                try:
                    metrics = self._ask(endpoint)
                except ApiError as error:
                    refusals.append((endpoint, error))
                    break
                except UnreachableError as error:
                    raise MetricsError(f"{endpoint.title} did not return metrics: {error}") from error
                if metrics.is_leader:
                    self._leader = endpoint
                    return metrics
                standby = metrics
        if standby is not None:
            raise MetricsError(
                f"only a standby replica of Karpenter answered ({standby.endpoint}); the leader knows the prices"
            )
        raise MetricsError(_why(refusals))

    def _find(self) -> tuple[Endpoint, ...]:
        try:
            endpoints = find_endpoints(self._client, read_seconds=self._read_seconds)
        except ApiError as error:
            if error.status != 403:
                raise
            raise MetricsError(
                "finding Karpenter's metrics needs permission to list pods or services in its namespace"
            ) from error
        if not endpoints:
            raise MetricsError(
                f"no running pod or service labelled {SELECTOR} is proven to be Karpenter's by its namespace or the "
                f"lease {LEADER_LEASE}: Karpenter runs outside this cluster, under another name, or not at all"
            )
        return endpoints

    def _ask(self, endpoint: Endpoint) -> ControllerMetrics:
        with answers_counted():
            text = self._client.get(endpoint.path, accept=CONTENT_TYPE, read_seconds=self._read_seconds)
            return read_metrics(text, endpoint=endpoint.title, read_at_ns=self._now_ns())


def _why(refusals: list[tuple[Endpoint, ApiError]]) -> str:
    endpoint, error = refusals[0]
    if all(refusal.status == 403 for _, refusal in refusals):
        return "reading Karpenter's metrics needs permission to get pods/proxy or services/proxy in its namespace"
    if error.status in (502, 503, 504):
        return (
            f"the API server cannot reach {endpoint.title} for its metrics ({error.message}); "
            "a security group between control plane and nodes may be in the way"
        )
    return f"{endpoint.title} refuses to return its metrics: {error}"


class MetricsNews(msgspec.Struct, frozen=True, eq=False):
    """The latest reading; compared by identity to detect changes."""

    status: FactStatus
    metrics: ControllerMetrics | None = None
    """The last reading, however old: the status has its age."""
    first: ControllerMetrics | None = None
    """The first reading of the same controller, without its offerings, as the base of its counters."""


class MetricsSource(PeriodicSource[MetricsNews]):
    """Reads Karpenter's metrics once a minute.

    Karpenter updates its offerings as often (pkg/controllers/metrics of its AWS provider).
    """

    thread_name: ClassVar[str] = "karpenter-metrics"
    lasting: ClassVar[type[SourceError]] = MetricsError

    def __init__(self, client: ProxyClient, *, clock: Clock | None = None, wait: Wait = threading.Event.wait) -> None:
        super().__init__(MetricsNews(FactStatus(phase=FactPhase.WAITING)), clock=clock, wait=wait)
        self._reader = MetricsReader(client, now_ns=self._clock.now_ns)

    def read(self) -> float:
        """Read the metrics."""
        before = self._news
        metrics = self._reader.read().after(before.metrics)
        sentence = "" if metrics.offerings else f"{metrics.endpoint} reports no prices: not Karpenter's AWS provider"
        status = FactStatus(phase=FactPhase.LIVE, sentence=sentence, as_of_ns=metrics.read_at_ns)
        self._news = MetricsNews(status, metrics, _first(before.first, metrics))
        return REFRESH_SECONDS

    def failed(self, error: SourceError, seconds: float) -> None:
        """Record that a reading failed; earlier results are kept."""
        before = self._news
        status = failed_status(before.status, error, now_ns=self._clock.now_ns(), rest_seconds=seconds)
        self._news = MetricsNews(status, before.metrics, before.first)


def _first(controller_metrics: ControllerMetrics | None, metrics: ControllerMetrics) -> ControllerMetrics:
    """Return the reading to compare counters with: another controller counts from zero again."""
    if controller_metrics is not None and (controller_metrics.endpoint, controller_metrics.started_at_ns) == (
        metrics.endpoint,
        metrics.started_at_ns,
    ):
        return controller_metrics
    return msgspec.structs.replace(metrics, offerings={}, cpu_cores={}, memory_bytes={})
