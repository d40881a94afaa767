"""Requests to one API server as one user."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from urllib.parse import urlencode

import msgspec
import urllib3

from karptui import __version__
from karptui.sources.actions.permit import NotAllowedError, Permit, covers
from karptui.sources.cluster.body import ERROR_BYTES, MOST_BYTES, read_body
from karptui.sources.cluster.connection import Connection, Grant, Pem
from karptui.sources.cluster.connection_pool import connection_pool
from karptui.sources.cluster.credentials import Credentials
from karptui.sources.cluster.errors import UnreachableError
from karptui.sources.cluster.stream import BROKEN, LineStream, api_error, is_tls_failure, why

JSON: Final = "application/json"
REVIEWS: Final = frozenset(
    {
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    }
)
"""Paths of questions about the user, which are posted and change nothing."""
CONNECT_SECONDS: Final = 5.0
OPEN_SECONDS: Final = 20.0
"""Maximum silence of the server before a stream begins."""
READ_SECONDS: Final = 60.0
"""Maximum silence of the server during a response, except for streams."""


class _Request(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    path: str
    query: Mapping[str, str] | None = None
    accept: str = JSON
    body: bytes | None = None
    content_type: str = JSON
    read_seconds: float | None = None
    compress: bool = False


class Transport:
    """Sends requests as one user to one API server; safe to use from several threads."""

    def __init__(
        self,
        connection: Connection,
        credentials: Credentials,
        *,
        read_seconds: float = READ_SECONDS,
        connect_seconds: float = CONNECT_SECONDS,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.server: Final = connection.server
        self._connection = connection
        self._credentials = credentials
        self._read_seconds = read_seconds
        self._connect_seconds = connect_seconds
        self._now_ns = now_ns
        self._lock = threading.Lock()
        self._pool: tuple[tuple[Pem | None, Pem | None], urllib3.PoolManager] | None = None
        self._open: set[LineStream] = set()
        self._closed = False
        self.last_contact_ns = 0
        """When the server was last heard of: nanoseconds since the epoch, 0 for never."""

    def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        read_seconds: float | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> bytes:
        """Return the body of a GET.

        Raises:
            ApiError: if the server returns an error status.
            UnreachableError: if it does not answer, stops during the response, or never ends it.
            CredentialError: if no credential is available.
            KubeconfigError: if a certificate is invalid.
        """
        request = _Request(
            method="GET", path=path, query=query, accept=accept, read_seconds=read_seconds, compress=True
        )
        return self._body(self._answer(request), most_bytes)

    def review(self, path: str, body: bytes) -> bytes:
        """Return the answer to a review, which changes nothing; raises as ``get`` does."""
        if path not in REVIEWS:
            raise NotAllowedError(f"{path} is no review: only those are posted without a permit")
        return self._body(self._answer(_Request(method="POST", path=path, body=body)))

    def write(self, permit: Permit, method: str, path: str, body: bytes, *, content_type: str = JSON) -> bytes:
        """Return the answer to a request that may change the cluster; raises as ``get`` does.

        Raises:
            NotAllowedError: there is no permit for this server.
        """
        if not covers(permit, self.server):
            raise NotAllowedError("actions are not allowed on this server")
        return self._body(self._answer(_Request(method=method, path=path, body=body, content_type=content_type)))

    @contextlib.contextmanager
    def stream(
        self,
        path: str,
        query: Mapping[str, str],
        *,
        accept: str = JSON,
        silence_seconds: float,
        lasts_seconds: float = math.inf,
    ) -> Iterator[LineStream]:
        """Open a watch; raises as ``get`` does.

        Args:
            query: the query, ``watch`` included.
            silence_seconds: after this long without a byte the stream breaks.
            lasts_seconds: after this long it is over, if the server does not end it.
        """
        # A server begins a stream at once, however long it is silent after that.
        opens_within = min(silence_seconds, OPEN_SECONDS)
        response = self._answer(
            _Request(method="GET", path=path, query=query, accept=accept, read_seconds=opens_within)
        )
        stream = LineStream(response, self.server, self._note_contact, lasts_seconds=lasts_seconds)
        stream.allow_silence(silence_seconds)
        with self._lock:
            self._open.add(stream)
            closed = self._closed
        try:
            if closed:
                raise UnreachableError("the connection is closed")
            yield stream
        finally:
            with self._lock:
                self._open.discard(stream)
            response.close()

    def shut_streams(self) -> None:
        """Break every open stream, so that its reader connects again."""
        with self._lock:
            streams = tuple(self._open)
        for stream in streams:
            stream.shut()

    def close(self) -> None:
        """Close open connections and refuse new requests."""
        self._closed = True
        self._credentials.close()
        self.shut_streams()
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool[1].clear()

    def _note_contact(self) -> None:
        self.last_contact_ns = self._now_ns()

    def _body(self, response: urllib3.BaseHTTPResponse, most_bytes: int = MOST_BYTES, *, is_cut: bool = False) -> bytes:
        is_whole = False
        try:
            body = read_body(response, self.server, most_bytes=most_bytes, monotonic=time.monotonic, is_cut=is_cut)
            is_whole = not is_cut or len(body) < most_bytes
        except BROKEN as error:
            raise UnreachableError(why(error, self.server)) from error
        finally:
            self._note_contact()
            if not is_whole:
                # Its rest must not be read as the next response.
                response.close()
            response.release_conn()
        return body

    def _answer(self, request: _Request) -> urllib3.BaseHTTPResponse:
        grant = self._credentials.current()
        response = self._send(request, grant)
        if response.status == 401:
            # A client certificate in a file may have been rotated; the next pool reads it again.
            self._drop_pool()
            if self._credentials.refused(grant):
                self._error_body(response)
                response = self._send(request, self._credentials.current())
        if response.status >= 300:
            raise api_error(response, self._error_body(response))
        return response

    def _error_body(self, response: urllib3.BaseHTTPResponse) -> bytes:
        return self._body(response, ERROR_BYTES, is_cut=True)

    def _send(self, request: _Request, grant: Grant) -> urllib3.BaseHTTPResponse:
        if self._closed:
            raise UnreachableError("the connection is closed")
        try:
            response = self._pool_for(grant).request(
                request.method,
                f"{self.server}{request.path}{f'?{urlencode(request.query)}' if request.query else ''}",
                headers=self._headers(request, grant),
                body=request.body,
                preload_content=False,
                redirect=False,
                retries=False,
                timeout=urllib3.Timeout(connect=self._connect_seconds, read=request.read_seconds or self._read_seconds),
            )
        except BROKEN as error:
            if is_tls_failure(error):
                self._drop_pool()
            raise UnreachableError(why(error, self.server)) from error
        self._note_contact()
        return response

    def _headers(self, request: _Request, grant: Grant) -> urllib3.HTTPHeaderDict:
        headers = urllib3.HTTPHeaderDict({"Accept": request.accept, "User-Agent": f"karptui/{__version__}"})
        headers["Accept-Encoding"] = "gzip" if request.compress and self._connection.compress else "identity"
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        if grant.authorization:
            headers["Authorization"] = grant.authorization
        self._add_impersonation(headers)
        return headers

    def _add_impersonation(self, headers: urllib3.HTTPHeaderDict) -> None:
        whom = self._connection.impersonation
        if whom is None:
            return
        headers["Impersonate-User"] = whom.user
        if whom.uid:
            headers["Impersonate-Uid"] = whom.uid
        for group in whom.groups:
            headers.add("Impersonate-Group", group)
        for key, values in whom.extra.items():
            for value in values:
                headers.add(f"Impersonate-Extra-{key}", value)

    def _pool_for(self, grant: Grant) -> urllib3.PoolManager:
        pair = (grant.certificate, grant.key)
        with self._lock:
            if self._pool is None or self._pool[0] != pair:
                # Streams of the old pool live on with the certificate they were opened with.
                self._pool = (pair, connection_pool(self._connection, *pair))
            return self._pool[1]

    def _drop_pool(self) -> None:
        with self._lock:
            self._pool = None
