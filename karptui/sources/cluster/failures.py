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


def is_tls_failure(error: Exception) -> bool:
    """Whether a request failed for a certificate or a key."""
    return any(isinstance(link, ssl.SSLError) for link in _chain(error))


def why(error: Exception, server: str) -> str:
    """Return the sentence for a request that failed without an answer."""
    for link in _chain(error):
        match link:
            case ssl.SSLCertVerificationError():
                return f"the certificate of {server} is not trusted: {link.verify_message}"
            case known.ProxyError():
                return f"the proxy on the way to {server} does not work: {one_line(str(link), 160)}"
            case known.ConnectTimeoutError():
                return f"{server} did not accept a connection in time"
            case known.ReadTimeoutError() | TimeoutError():
                return f"{server} has fallen silent"
            case known.NameResolutionError() | socket.gaierror():
                return f"the host name of {server} cannot be resolved"
            case ConnectionRefusedError():
                return f"{server} refuses connections"
            case ssl.SSLError():
                return f"no secure connection to {server}: {one_line(link.reason or str(link), 160)}"
            case _:
                continue
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
