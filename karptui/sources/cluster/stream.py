"""The answer to a watch, line by line as it arrives."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import urllib3
from urllib3.exceptions import ProtocolError

from karptui.sources.cluster.chunks import ChunkedBody
from karptui.sources.cluster.errors import UnreachableError
from karptui.sources.cluster.failures import BROKEN, why

READ_SIZE: Final = 1 << 18
"""Many events at once while a list streams in; an event that comes alone is not kept waiting for others."""


class LineStream:
    """The open answer to a watch: batches of complete lines, until the server or ``shut`` ends it."""

    def __init__(self, response: urllib3.BaseHTTPResponse, server: str, heard: Callable[[], None]) -> None:
        self._response = response
        self._server = server
        self._heard = heard

    def batches(self) -> Iterator[list[bytes]]:
        """Yield the lines that have arrived, without their line ends.

        Raises:
            UnreachableError: when the stream breaks, falls silent for longer than the read time-out, or is shut.
        """
        pieces: list[bytes] = []
        try:
            for chunk in self._chunks():
                self._heard()
                *lines, rest = chunk.split(b"\n")
                if lines and pieces:
                    lines[0] = b"".join((*pieces, lines[0]))
                    pieces.clear()
                if rest:
                    pieces.append(rest)
                if lines:
                    yield [line for line in lines if line]
        except BROKEN as error:
            raise UnreachableError(why(error, self._server)) from error
        finally:
            self._response.close()
        if pieces:
            raise UnreachableError(f"{self._server} ended the stream in the middle of a line")

    def _chunks(self) -> Iterator[bytes]:
        response: Any = self._response
        # What http.client reads from: urllib3 itself would read chunk by chunk.
        reader = getattr(getattr(response, "_fp", None), "fp", None)
        if reader is not None and getattr(response, "chunked", False):
            body = ChunkedBody()
            while not body.is_ended:
                data = reader.read1(READ_SIZE)
                if not data:
                    raise ProtocolError("the stream ended in the middle")
                yield b"".join(body.feed(data))
            return
        # A proxy has taken the chunks apart; stream() would wait for the end.
        while chunk := self._response.read1(READ_SIZE, decode_content=False):
            yield chunk

    def allow_silence(self, seconds: float) -> None:
        """Change how long the stream may be silent before it counts as broken."""
        connection: Any = self._response.connection
        if connection is not None and connection.sock is not None:
            connection.sock.settimeout(seconds)

    def shut(self) -> None:
        """Wake a reader in another thread, who then finds the stream broken."""
        with contextlib.suppress(ValueError, RuntimeError, OSError):
            self._response.shutdown()
