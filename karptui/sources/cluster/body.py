"""The body of an answer: read within bounds of size and time, unpacked, and decoded."""

from __future__ import annotations

import io
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

import msgspec

from karptui.files import size_text
from karptui.sources.cluster.errors import UnreachableError, one_line
from karptui.sources.unpacking import BombError, Unpacker

if TYPE_CHECKING:
    import urllib3

MOST_BYTES: Final = 128 << 20
"""One answer, unpacked: metrics-server's answer for 100,000 pods, without pages, takes half of it."""
BUDGET_BYTES: Final = 160 << 20
"""All answers together, with what their objects and lists take once they are decoded."""
COLLECTION_BYTES: Final = 64
"""Minimum size of an object, list or XML tag in memory."""
SMALL_BYTES: Final = 16 << 20
"""One answer that is not read within `answers_counted`."""
ERROR_BYTES: Final = 64 << 10
"""Maximum size of an error's body; no API server writes a longer one."""
BODY_SECONDS: Final = 300.0
"""From the first byte of a body to its last, however steadily it drips."""
PIECE: Final = 1 << 16

ShapeT = TypeVar("ShapeT")


class ListMetadata(msgspec.Struct, rename={"next": "continue"}):
    """A list's continue token."""

    next: str | None = None
    """The token of the next page; nothing at its end."""


class TooLargeError(UnreachableError):
    """An answer exceeds its size limit."""


class UnreadableError(UnreachableError):
    """An answer has an unexpected shape."""


class _Budget(threading.local):
    """Bytes of answers that the present thread holds, and the sum of all threads."""

    lock = threading.Lock()
    used = 0
    is_counting = False
    held = 0

    def charge(self, count: int) -> bool:
        """Count bytes, negative ones to give them back; return whether they are within the budget."""
        with self.lock:
            if count > 0 and _Budget.used + count > BUDGET_BYTES:
                return False
            _Budget.used += count
        self.held += count
        return True


_BUDGET: Final = _Budget()


@contextmanager
def answers_counted() -> Iterator[None]:
    """Count what this thread reads of large answers until the block ends: they are decoded within it."""
    if _BUDGET.is_counting:
        yield
        return
    _BUDGET.is_counting = True
    try:
        yield
    finally:
        _BUDGET.charge(-_BUDGET.held)
        _BUDGET.is_counting = False


def charged(part: bytes, collections: int) -> bool:
    """Count a part of an answer with its objects, lists or XML tags; return whether the budget allows it.

    Answers that are not read within ``answers_counted`` are not counted.
    """
    return not _BUDGET.is_counting or _BUDGET.charge(len(part) + COLLECTION_BYTES * collections)


def read_body(
    response: urllib3.BaseHTTPResponse,
    server: str,
    *,
    most_bytes: int = MOST_BYTES,
    monotonic: Callable[[], float],
    is_cut: bool = False,
) -> bytes:
    """Return the unpacked body of an answer.

    Args:
        most_bytes: Maximum size, unpacked.
        is_cut: Whether the beginning suffices if there is more.

    Raises:
        TooLargeError: if there is more, or all answers together would take too much memory.
        UnreachableError: if it takes too long, or has an unexpected encoding.
    """
    until = monotonic() + BODY_SECONDS
    packing = response.headers.get("Content-Encoding", "").strip().lower()
    if packing not in ("", "identity", "gzip"):
        raise UnreachableError(f"{server} answered in an encoding that was not asked for: {one_line(packing, 40)}")
    unpacker = Unpacker(is_packed=packing == "gzip")
    most_bytes = min(most_bytes, MOST_BYTES if _BUDGET.is_counting else SMALL_BYTES)
    # On an error the buffer is emptied: a traceback that is kept somewhere would keep it too.
    with answers_counted(), io.BytesIO() as body:
        held = _BUDGET.held
        try:
            while piece := response.read1(PIECE, decode_content=False):
                for part in unpacker.parts(piece):
                    if _is_full(body, part, unpacker.part_collections, server, most_bytes, is_cut=is_cut):
                        return body.getvalue()
                if monotonic() > until:
                    _give_up(server)
        except BaseException as error:
            _BUDGET.charge(held - _BUDGET.held)
            if isinstance(error, BombError):
                raise TooLargeError(f"{server} sent an answer that {error}") from None
            if isinstance(error, zlib.error):
                raise UnreachableError(f"{server} sent an answer that cannot be unpacked: {error}") from None
            raise
        if not unpacker.is_complete and body.tell():
            raise UnreachableError(f"{server} cut the connection")
        # The buffer's own bytes: nothing is copied.
        return body.getvalue()


def _give_up(server: str) -> NoReturn:
    raise UnreachableError(f"{server} did not finish an answer within {BODY_SECONDS:.0f} s")


def _is_full(body: io.BytesIO, part: bytes, collections: int, server: str, most_bytes: int, *, is_cut: bool) -> bool:
    """Add a part to a body; return whether the body is cut there."""
    room = most_bytes - body.tell()
    if len(part) > room and not is_cut:
        raise TooLargeError(f"{server} sent an answer of more than {size_text(most_bytes)}")
    if not charged(part, collections):
        raise TooLargeError(f"{server} sent answers that take more than {size_text(BUDGET_BYTES)} at the same time")
    body.write(part[:room])
    return len(part) > room


def decoded(data: bytes, shape: type[ShapeT], problem: str) -> ShapeT:
    """Return the decoded body.

    Args:
        problem: Beginning of the error message: ``metrics-server's answer cannot be read``.

    Raises:
        UnreadableError: if it is no JSON, has another shape, or is nested too deeply.
    """
    try:
        return msgspec.json.decode(data, type=shape)
    except RecursionError:
        why = "it is nested too deeply"
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why = one_line(str(error), 160)
    del data  # not kept by a traceback
    raise UnreadableError(f"{problem}: {why}")
