"""Sentences for what urllib3 raises, and the error that an answer with an error status stands for."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
from collections.abc import Iterator
from typing import Any, Final

import urllib3
from urllib3 import exceptions as known

from karptui.sources.cluster.errors import ApiError, one_line

BROKEN: Final = (known.HTTPError, OSError, ValueError, AttributeError)
"""What a failing request raises; the last two come of reading a TLS socket that another thread shuts."""


_SENTENCES: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (ssl.SSLCertVerificationError, "the certificate of {server} is not trusted: {detail}"),
    (known.ProxyError, "the proxy on the way to {server} does not work: {detail}"),
    (socket.gaierror, "the host name of {server} cannot be resolved"),
    (ConnectionRefusedError, "{server} refuses connections"),
    (known.ConnectTimeoutError, "{server} did not accept a connection in time"),
    (TimeoutError, "{server} has fallen silent"),
    (known.ReadTimeoutError, "{server} has fallen silent"),
    (ssl.SSLError, "no secure connection to {server}: {detail}"),
)
"""What to say of the first of these found among a failure's causes, the most telling first."""


def is_tls_failure(error: Exception) -> bool:
    """Whether a request failed for a certificate or a key."""
    return any(isinstance(link, ssl.SSLError) for link in _chain(error))


def why(error: Exception, server: str) -> str:
    """Return the sentence for a request that failed without an answer."""
    chain = tuple(_chain(error))
    for type_, sentence in _SENTENCES:
        for link in chain:
            # urllib3 derives "cannot connect" from "timed out while connecting".
            if isinstance(link, type_) and not isinstance(link, known.NewConnectionError):
                return sentence.format(server=server, detail=one_line(_detail(link), 160))
    if isinstance(error, known.ProtocolError | ConnectionError | AttributeError | ValueError):
        return f"{server} cut the connection"
    return f"{server} cannot be reached: {one_line(str(error), 200)}"


def api_error(response: urllib3.BaseHTTPResponse, body: bytes) -> ApiError:
    """Return the error of an answer; its body is a Status object unless something in between wrote it."""
    reason, message = "", ""
    after: Any = None
    with contextlib.suppress(ValueError, AttributeError):
        status = json.loads(body)
        reason, message = str(status.get("reason") or ""), str(status.get("message") or "")
        after = (status.get("details") or {}).get("retryAfterSeconds")
    seconds = None
    with contextlib.suppress(ValueError, TypeError):
        seconds = float(response.headers.get("Retry-After") or after)
    words = one_line(message) or one_line(response.reason or "", 80) or "no reason given"
    return ApiError(response.status, one_line(reason, 80), words, seconds)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it came of, outermost first, reasons that urllib3 keeps as arguments included."""
    todo, seen = [error], set[int]()
    while todo:
        link = todo.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        inner = (getattr(link, "reason", None), getattr(link, "original_error", None), link.__cause__, link.__context__)
        todo.extend(cause for cause in inner if isinstance(cause, BaseException))


def _detail(error: BaseException) -> str:
    if isinstance(error, known.ProxyError):
        # What it came of says it best: "Connection refused", "Tunnel connection failed: 403 Forbidden".
        *_, last = _chain(error)
        return str(getattr(last, "strerror", None) or last)
    return str(getattr(error, "verify_message", "") or getattr(error, "reason", "") or error)
