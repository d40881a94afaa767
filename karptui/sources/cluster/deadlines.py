"""Answers with a total timeout: urllib3 restarts its timeout with every byte, so that a slow answer never ends.

Our connections and botocore's use it.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import time
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    import urllib3
    from _typeshed import WriteableBuffer

ANSWER_SECONDS: Final = 300.0
"""From the end of an answer's headers to its last byte, the sizes of chunks and trailers included."""


class TooSlowError(TimeoutError):
    """An answer comes, but too slowly."""


class TooMuchError(OSError):
    """An answer has more bytes than are read of one."""


class TimedReads(io.RawIOBase):
    """Reads from a socket, until a deadline if there is one, and limited in size."""

    def __init__(
        self, raw: io.RawIOBase, sock: socket.socket, most_bytes: float, received: Callable[[bytes], None]
    ) -> None:
        self.untimed: Final = raw
        """The same, without a limit."""
        self._sock = sock
        self._silence = sock.gettimeout()
        self._until: float | None = None
        self._left = most_bytes
        self._received = received

    def end_within(self, seconds: float | None) -> None:
        """Set the deadline to some seconds from now; None for none."""
        self._until = None if seconds is None else time.monotonic() + seconds
        self._sock.settimeout(self._silence)

    def allow_silence(self, seconds: float) -> None:
        """Set the read timeout, without a total deadline."""
        self._silence = seconds
        with contextlib.suppress(OSError):  # closed meanwhile
            self.end_within(None)

    def readable(self) -> bool:
        """Return that it is there to be read."""
        return True

    def readinto(self, space: WriteableBuffer) -> int | None:
        """Read once.

        Raises:
            TooSlowError: when the time is up.
            TimeoutError: when nothing comes.
            TooMuchError: when there is more than is read of an answer.
        """
        if self._until is not None:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TooSlowError
            if self._silence is None or left < self._silence:
                self._sock.settimeout(left)
        count = self.untimed.readinto(space)
        self._left -= count or 0
        if self._left < 0:
            raise TooMuchError
        if count:
            self._received(memoryview(space)[:count].tobytes())
        return count

    def close(self) -> None:
        """Let go of the socket."""
        self.untimed.close()
        super().close()


class TimedResponse(http.client.HTTPResponse):
    """An answer whose headers, and by default body, have a total timeout."""

    answer_seconds: ClassVar[float] = ANSWER_SECONDS
    most_bytes: ClassVar[float] = float("inf")

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.reads: Final = TimedReads(self.fp.detach(), sock, self.most_bytes, self.received)
        self.fp = io.BufferedReader(self.reads)
        # An answer of a proxy to CONNECT is read without begin().
        self.reads.end_within(sock.gettimeout())

    @staticmethod
    def received(part: bytes) -> None:
        """Handle a part that was read; subclasses raise to stop."""

    def begin(self) -> None:
        """Read the headers."""
        super().begin()
        self.reads.end_within(self.answer_seconds)


def with_time_limits(pool: urllib3.PoolManager) -> urllib3.PoolManager:
    """Have all connections of a pool give their answers a time."""
    classes: dict[str, Any] = pool.pool_classes_by_scheme
    pool.pool_classes_by_scheme = {scheme: _timed(one) for scheme, one in classes.items()}
    return pool


def _timed(pool_class: Any) -> Any:
    """Return the same class of connections but for their answers; by its own name, as errors tell it."""
    plain = pool_class.ConnectionCls
    connection_class = type(plain.__name__, (plain,), {"response_class": TimedResponse})
    return type(pool_class.__name__, (pool_class,), {"ConnectionCls": connection_class})
