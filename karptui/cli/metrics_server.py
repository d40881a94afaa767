"""Serves the metrics of `karptui watch` for Prometheus, and its health."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily

from karptui.views.metrics import METRICS, Metric, Values

MOST_REQUESTS: Final = 8
"""Requests at a time; further connections are closed."""
REQUEST_SECONDS: Final = 10.0
"""Longest duration of a request."""
_TEXT: Final = (("Content-Type", "text/plain; charset=utf-8"),)


class MetricsServer:
    """Answers ``/metrics`` and ``/healthz`` in threads until it is stopped."""

    def __init__(
        self,
        host: str,
        port: int,
        metrics: Callable[[], Mapping[Metric, Values]],
        unhealthy_because: Callable[[], str],
    ) -> None:
        """Listen, and begin to answer.

        Args:
            unhealthy_because: returns why the cluster is not followed; an empty string if it is.

        Raises:
            OSError: if the address cannot be listened on.
        """
        self._metrics = metrics
        self._unhealthy_because = unhealthy_because
        registry = CollectorRegistry()
        registry.register(self)
        self._exposition = make_wsgi_app(registry)
        server_class = _Server6 if ":" in host else _Server
        self._server = server_class((host, port), _Handler)
        self._server.set_app(self._answer)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def stop(self) -> None:
        """Listen no longer."""
        self._server.shutdown()
        self._server.server_close()

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return no names, so that registering asks for no values."""
        return ()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics of this moment."""
        values = self._metrics()
        for metric in METRICS:
            if values.get(metric):
                family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
                for labels, value in values[metric].items():
                    family.add_metric(labels, value)
                yield family

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if environ["REQUEST_METHOD"] != "GET":
            start_response("405 Method Not Allowed", [*_TEXT, ("Allow", "GET")])
            return [b"only GET is answered\n"]
        if path == "/metrics":
            answer: Iterable[bytes] = self._exposition(environ, start_response)
            return answer
        if path != "/healthz":
            start_response("404 Not Found", [*_TEXT])
            return [b"there are /metrics and /healthz\n"]
        reason = self._unhealthy_because()
        start_response("503 Service Unavailable" if reason else "200 OK", [*_TEXT])
        return [f"{reason or 'ok'}\n".encode(errors="replace")]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 16

    def __init__(self, address: tuple[str, int], handler: type[WSGIRequestHandler]) -> None:
        self._slots = threading.BoundedSemaphore(MOST_REQUESTS)
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind without asking a name server for the host's name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, or close the connection if too many are open."""
        if self._slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer within the time limit."""
        deadline = threading.Timer(REQUEST_SECONDS, _hang_up, (request,))
        deadline.daemon = True
        deadline.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            deadline.cancel()
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about clients that hang up."""


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    timeout = REQUEST_SECONDS

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is inherited
        """Write no log of requests."""


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
