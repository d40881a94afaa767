"""Lines of a streaming response, and messages for interrupted responses."""

from __future__ import annotations

import contextlib
import io
import json
import math
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import urllib3
from urllib3 import exceptions as urllib3_errors
from urllib3.exceptions import ProtocolError

from karptui.files import size_text
from karptui.sources.cluster.connection_pool import TimedReads, TooSlowError
from karptui.sources.cluster.errors import ApiError, UnreachableError, one_line

BROKEN: Final = (urllib3_errors.HTTPError, OSError, ValueError, AttributeError)
"""Exceptions of failing requests; the last two come from reading a TLS socket that another thread closes."""


_SENTENCES: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (ssl.SSLCertVerificationError, "the certificate of {server} is not trusted: {detail}"),
    (urllib3_errors.ProxyError, "the proxy for {server} does not work: {detail}"),
    (socket.gaierror, "the host name of {server} cannot be resolved"),
    (ConnectionRefusedError, "{server} refuses connections"),
    (TooSlowError, "{server} did not finish an answer in time"),
    (urllib3_errors.ConnectTimeoutError, "{server} did not accept a connection in time"),
    (TimeoutError, "{server} stopped sending data"),
    (urllib3_errors.ReadTimeoutError, "{server} stopped sending data"),
    (ssl.SSLError, "no secure connection to {server}: {detail}"),
)
"""Messages by exception; the first exception found among a failure's causes decides."""


def is_tls_failure(error: Exception) -> bool:
    """Whether a request failed for a certificate or a key."""
    return any(isinstance(link, ssl.SSLError) for link in _chain(error))


def why(error: Exception, server: str) -> str:
    """Return the sentence for a request that failed without an answer."""
    chain = tuple(_chain(error))
    for type_, sentence in _SENTENCES:
        for link in chain:
            # urllib3 derives "cannot connect" from "timed out while connecting".
            if isinstance(link, type_) and not isinstance(link, urllib3_errors.NewConnectionError):
                return sentence.format(server=server, detail=one_line(_detail(link), 160))
    if isinstance(error, urllib3_errors.ProtocolError | ConnectionError | AttributeError | ValueError):
        return f"{server} cut the connection"
    return f"{server} cannot be reached: {one_line(str(error), 200)}"


_MOST_CAUSES: Final = 20


def api_error(response: urllib3.BaseHTTPResponse, body: bytes) -> ApiError:
    """Return the error of an answer; its body is a Status object unless something in between wrote it."""
    reason, message = "", ""
    after: Any = None
    causes: list[tuple[str, str]] = []
    with contextlib.suppress(ValueError, AttributeError, RecursionError):
        status = json.loads(body)
        reason, message = str(status.get("reason") or ""), str(status.get("message") or "")
        details = status.get("details") or {}
        after = details.get("retryAfterSeconds")
        causes = [
            (one_line(str(cause.get("field") or ""), 200), one_line(str(cause.get("message") or "")))
            for cause in (details.get("causes") or ())[:_MOST_CAUSES]
        ]
    seconds = None
    with contextlib.suppress(ValueError, TypeError):
        seconds = float(response.headers.get("Retry-After") or after)
    words = one_line(message or _failed_checks(body)) or one_line(response.reason or "", 80) or "no reason given"
    return ApiError(response.status, one_line(reason, 80), words, seconds, causes)


def _failed_checks(body: bytes) -> str:
    """Return the failed checks listed by ``/readyz``: ``etcd failed: reason withheld``."""
    lines = body.decode(errors="replace").splitlines()
    return ", ".join(line.removeprefix("[-]") for line in lines if line.startswith("[-]"))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, outermost first, including reasons that urllib3 keeps as arguments."""
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
    if isinstance(error, urllib3_errors.ProxyError):
        # The cause has the best message: "Connection refused", "Tunnel connection failed: 403 Forbidden".
        *_, last = _chain(error)
        return str(getattr(last, "strerror", None) or last)
    return str(getattr(error, "verify_message", "") or getattr(error, "reason", "") or error)


LONGEST_LINE: Final = 8 << 20
"""Of one event: etcd keeps no object of more than a few megabytes."""

LONGEST_SIZE_LINE: Final = 1 << 14
"""Of a size line with its extensions; longer ones are no chunked coding."""

FIRST_ROOM: Final = 1 << 14
"""Bytes to read at a time at first, as most streams are quiet; no less than a connection reads along with headers."""

Line = bytes | memoryview
"""A line without its end. A view is good until more bytes are read."""


class EndlessLineError(Exception):
    """A line exceeds the length limit."""


class LineBuffer:
    """Room to read an answer into, and the lines that are complete in it."""

    def __init__(self, room: int, *, is_chunked: bool) -> None:
        """Create the buffer.

        Args:
            room: Maximum size of a read, in bytes.
        """
        self.is_ended = False
        """Whether the last chunk has arrived; trailers are ignored."""
        self._most = room
        self._make_room(min(room, FIRST_ROOM))
        self._is_chunked = is_chunked
        self._left = 0
        """Remaining bytes of the current chunk."""
        self._framing = b""
        """The beginning of a size line whose end has not come, with the line end of the chunk before."""
        self._begun = bytearray()
        """The beginning of a line whose end has not come; one array, however small the pieces it comes in."""

    @property
    def is_within_line(self) -> bool:
        """Whether a line has begun and not ended."""
        return bool(self._begun)

    def space(self) -> memoryview:
        """Return the buffer for the next read; earlier lines become invalid."""
        if self._is_full and self._room < self._most:
            self._make_room(self._most)
        begin = len(self._framing)
        self._view[:begin] = self._framing
        return self._view[begin : begin + self._room]

    def take(self, count: int) -> list[Line]:
        """Return the non-empty lines completed by the next ``count`` bytes.

        Raises:
            ValueError: if a chunk size is invalid.
            EndlessLineError: if a line is too long.
        """
        self._is_full = count == self._room
        end = len(self._framing) + count
        lines: list[Line] = []
        if not self._is_chunked:
            self._cut(0, end, lines)
            return lines
        buffer, view, begun = self._buffer, self._view, self._begun
        position, self._framing = 0, b""
        while not self.is_ended:
            if self._left:
                stop = min(position + self._left, end)
                if not begun and position < stop - 1 == buffer.find(b"\n", position, stop):
                    # A chunk that is a line, as an API server sends them.
                    lines.append(view[position : stop - 1])
                else:
                    self._cut(position, stop, lines)
                self._left -= stop - position
                position = stop
                if self._left:
                    break
            # The line end of the chunk before, or the shortest size line: either way its own end is not within two.
            line_end = buffer.find(b"\n", position + 2, end)
            if line_end < 0:
                self._framing = bytes(view[position:end])
                if len(self._framing) > LONGEST_SIZE_LINE:
                    raise ValueError("a chunk without a size")
                break
            self._left = _size(buffer[position:line_end])
            self.is_ended = not self._left
            position = line_end + 1
        return lines

    def _make_room(self, room: int) -> None:
        self._buffer = bytearray(room + LONGEST_SIZE_LINE)
        self._view = memoryview(self._buffer)
        self._room, self._is_full = room, False

    def _cut(self, start: int, stop: int, lines: list[Line]) -> None:
        """Add the lines that end between two positions, and keep the unfinished line."""
        find, view, begun = self._buffer.find, self._view, self._begun
        while (line_end := find(b"\n", start, stop)) >= 0:
            if begun:
                begun += view[start:line_end]
                lines.append(bytes(begun))
                begun.clear()
            elif line_end > start:
                lines.append(view[start:line_end])
            start = line_end + 1
        begun += view[start:stop]
        if len(begun) > LONGEST_LINE:
            raise EndlessLineError


def _size(line: bytearray) -> int:
    """Return the size that a chunk's first line gives, the line end of the chunk before it included."""
    size = int(line.partition(b";")[0], 16)
    if size < 0:
        raise ValueError("a chunk of negative size")
    return size


LINE_SECONDS: Final = 100.0
"""Maximum time without a complete line while bytes arrive."""

READ_SIZE: Final = 1 << 18
"""Many events at once while a list streams in; an event that comes alone is not kept waiting for others."""


class LineStream:
    """The open answer to a watch: batches of complete lines, until the server or ``shut`` ends it."""

    def __init__(
        self,
        response: urllib3.BaseHTTPResponse,
        server: str,
        on_bytes: Callable[[], None],
        *,
        lasts_seconds: float = math.inf,
    ) -> None:
        """Set up without reading.

        Args:
            lasts_seconds: Maximum duration of the stream, if the server does not end it.
        """
        self._response = response
        self._server = server
        self._on_bytes = on_bytes
        self._until = time.monotonic() + lasts_seconds

    def batches(self) -> Iterator[list[Line]]:
        """Yield the lines that have arrived, without line ends; they are valid until the next batch.

        Raises:
            UnreachableError: if the stream breaks, is silent or without a line for too long, or is closed.
        """
        read_into, is_chunked = self._reader()
        buffer = LineBuffer(READ_SIZE, is_chunked=is_chunked)
        last_line = time.monotonic()
        try:
            while not buffer.is_ended:
                count = read_into(buffer.space())
                if not count:
                    if is_chunked:
                        raise ProtocolError("the stream ended in the middle")
                    break
                self._on_bytes()
                if lines := buffer.take(count):
                    yield lines
                    last_line = time.monotonic()
                elif time.monotonic() - last_line > LINE_SECONDS:
                    raise TooSlowError
                if time.monotonic() > self._until:
                    return
        except EndlessLineError:
            raise UnreachableError(f"{self._server} sent a line of more than {size_text(LONGEST_LINE)}") from None
        except BROKEN as error:
            raise UnreachableError(why(error, self._server)) from error
        finally:
            self._response.close()
        if buffer.is_within_line:
            raise UnreachableError(f"{self._server} ended the stream in the middle of a line")

    def _reader(self) -> tuple[Callable[[memoryview], int], bool]:
        """Return a function that reads from the connection once, and whether it returns chunks."""
        response: Any = self._response
        # What http.client reads from: urllib3 itself would read chunk by chunk.
        reader = getattr(getattr(response, "_fp", None), "fp", None)
        if reader is not None and getattr(response, "chunked", False):
            return _reads_of(reader), True
        # A proxy has taken the chunks apart; stream() would wait for the end.
        return lambda space: _put(response.read1(len(space), decode_content=False), space), False

    def allow_silence(self, seconds: float) -> None:
        """Change the maximum silence before the stream counts as broken; its maximum duration stays."""
        reads = getattr(getattr(self._response, "_fp", None), "reads", None)
        if isinstance(reads, TimedReads):
            reads.allow_silence(seconds)

    def shut(self) -> None:
        """Wake a reader in another thread, who then finds the stream broken."""
        with contextlib.suppress(ValueError, RuntimeError, OSError):
            self._response.shutdown()


def _reads_of(reader: io.BufferedReader) -> Callable[[memoryview], int]:
    """Return a function that reads once: first the bytes after the headers, then directly from the socket."""
    is_first = True
    raw = cast("io.RawIOBase", reader.raw)
    straight = raw.untimed if isinstance(raw, TimedReads) else raw

    def read_into(space: memoryview) -> int:
        nonlocal is_first
        if is_first:
            is_first = False
            return _put(reader.read1(len(space)), space)
        # The reader's readinto1 would wait for more bytes if it had fewer than requested.
        return straight.readinto(space) or 0

    return read_into


def _put(data: bytes, space: memoryview) -> int:
    space[: len(data)] = data
    return len(data)
