"""Asks Prometheus: instant queries by GET, without redirects."""

from __future__ import annotations

import time
from typing import Final
from urllib.parse import urlencode

import urllib3

from karptui import __version__
from karptui.decode.prometheus import Answer, PrometheusError, read_answer
from karptui.sources.cluster.body import answers_counted, read_body
from karptui.sources.cluster.connection import Connection
from karptui.sources.cluster.connection_pool import connection_pool
from karptui.sources.cluster.errors import one_line
from karptui.sources.cluster.stream import BROKEN, why
from karptui.sources.source import SourceError

TOKEN_VARIABLE: Final = "KARPTUI_PROMETHEUS_TOKEN"  # noqa: S105  a name
CONNECT_SECONDS: Final = 5.0
READ_SECONDS: Final = 150.0
"""Longer than the two minutes after which Prometheus gives a query up."""
_MOST_BYTES: Final = 64 << 20


class Prometheus:
    """A Prometheus server."""

    def __init__(self, url: str, token: str = "", *, read_seconds: float = READ_SECONDS) -> None:
        self._url = url
        self._headers = {"Accept": "application/json", "User-Agent": f"karptui/{__version__}"}
        self._headers |= {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=read_seconds)
        self._pool = connection_pool(Connection(server=url, context=""), None, None)

    def query(self, expression: str, at_ns: int) -> Answer:
        """Return the values of an expression at an instant.

        Raises:
            SourceError: It cannot be reached, refuses, or answers something else.
        """
        address = f"{self._url}/api/v1/query?{urlencode({'query': expression, 'time': f'{at_ns / 1e9:.3f}'})}"
        try:
            response = self._pool.request(
                "GET", address, headers=self._headers, preload_content=False, redirect=False, timeout=self._timeout
            )
            with answers_counted():
                body = read_body(response, self._url, most_bytes=_MOST_BYTES, monotonic=time.monotonic)
                return _answer(response, body)
        except PrometheusError as error:
            raise SourceError(f"{self._url} {one_line(str(error))}") from None
        except BROKEN as error:
            raise SourceError(why(error, self._url)) from None
        finally:
            self._pool.clear()


def _answer(response: urllib3.BaseHTTPResponse, body: bytes) -> Answer:
    status = response.status
    if status in (401, 403):
        raise PrometheusError(f"refuses the request ({status}): a bearer token is read from {TOKEN_VARIABLE}")
    if 300 <= status < 400:
        raise PrometheusError(f"redirects ({status}), which karptui does not follow: give the final address")
    if not body.lstrip().startswith(b"{"):
        content = response.headers.get("Content-Type", "no content type")[:60]
        raise PrometheusError(f"answered {status} and no JSON ({content}): is it the address of a Prometheus?")
    return read_answer(body)
