"""The answer to a watch, line by line as it arrives."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import urllib3
from urllib3.exceptions import ProtocolError

from karptui.sources.cluster.chunks import Line, LineBuffer
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

    def batches(self) -> Iterator[list[Line]]:
        """Yield the lines that have arrived, without their line ends; they are good until the next are asked for.

        Raises:
            UnreachableError: when the stream breaks, falls silent for longer than the read time-out, or is shut.
        """
        read_into, is_chunked = self._reader()
        buffer = LineBuffer(READ_SIZE, is_chunked=is_chunked)
        try:
            while not buffer.is_ended:
                count = read_into(buffer.space())
                if not count:
                    if is_chunked:
                        raise ProtocolError("the stream ended in the middle")
                    break
                self._heard()
                lines = buffer.take(count)
                if lines:
                    yield lines
        except BROKEN as error:
            raise UnreachableError(why(error, self._server)) from error
        finally:
            self._response.close()
        if buffer.is_within_line:
            raise UnreachableError(f"{self._server} ended the stream in the middle of a line")

    def _reader(self) -> tuple[Callable[[memoryview], int], bool]:
        """Return what reads at most once from the connection, and whether chunks come out of it."""
        response: Any = self._response
        # What http.client reads from: urllib3 itself would read chunk by chunk.
        reader = getattr(getattr(response, "_fp", None), "fp", None)
        if reader is not None and getattr(response, "chunked", False):
            return _reads_of(reader), True
        # A proxy has taken the chunks apart; stream() would wait for the end.
        return lambda space: _put(response.read1(len(space), decode_content=False), space), False

    def allow_silence(self, seconds: float) -> None:
        """Change how long the stream may be silent before it counts as broken."""
        connection: Any = self._response.connection
        if connection is not None and connection.sock is not None:
            connection.sock.settimeout(seconds)

    def shut(self) -> None:
        """Wake a reader in another thread, who then finds the stream broken."""
        with contextlib.suppress(ValueError, RuntimeError, OSError):
            self._response.shutdown()


def _reads_of(reader: io.BufferedReader) -> Callable[[memoryview], int]:
    """Return what reads once: first what came with the headers, then from the socket straight into its place."""
    is_first = True

    def read_into(space: memoryview) -> int:
        nonlocal is_first
        if is_first:
            is_first = False
            return _put(reader.read1(len(space)), space)
        # The reader's own readinto1 reads again, and waits, where it had less than was asked for.
        return cast("io.RawIOBase", reader.raw).readinto(space) or 0

    return read_into


def _put(data: bytes, space: memoryview) -> int:
    space[: len(data)] = data
    return len(data)
