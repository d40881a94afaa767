"""The body of an answer: read within bounds of size and time, unpacked, and decoded."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from karptui.files import size_text
from karptui.sources.cluster.errors import UnreachableError, one_line

if TYPE_CHECKING:
    import urllib3

MOST_BYTES: Final = 128 << 20
"""Of one answer, unpacked: what a metrics-server without pages says of 100,000 pods takes half of it."""
ERROR_BYTES: Final = 64 << 10
"""Of the body of an error; what is longer was not written by an API server, and is not read to its end."""
BODY_SECONDS: Final = 300.0
"""From the first byte of a body to its last, however steadily it drips."""
PIECE: Final = 1 << 16
GZIP: Final = 16 + zlib.MAX_WBITS

ShapeT = TypeVar("ShapeT")


class ListMetadata(msgspec.Struct, rename={"next": "continue"}):
    """What a list says of where it goes on."""

    next: str | None = None
    """The token of the next page; nothing at its end."""


class TooLargeError(UnreachableError):
    """An answer goes on beyond what is read of one."""


class UnreadableError(UnreachableError):
    """An answer that says something else than what was asked for."""


def read_body(
    response: urllib3.BaseHTTPResponse,
    server: str,
    *,
    most_bytes: int = MOST_BYTES,
    monotonic: Callable[[], float],
    is_cut: bool = False,
) -> bytes:
    """Return the body of an answer, unpacked.

    Args:
        response: the answer, of which nothing has been read.
        server: for sentences.
        most_bytes: of the body, unpacked.
        monotonic: a clock in seconds.
        is_cut: whether the beginning will do where there is more.

    Raises:
        TooLargeError: when there is more.
        UnreachableError: when it takes too long, or is packed in another way than was asked for.
    """
    until = monotonic() + BODY_SECONDS
    packing = response.headers.get("Content-Encoding", "").strip().lower()
    if packing not in ("", "identity", "gzip"):
        raise UnreachableError(f"{server} answered in an encoding that was not asked for: {one_line(packing, 40)}")
    unpacker = zlib.decompressobj(GZIP) if packing == "gzip" else None
    body = io.BytesIO()
    while piece := response.read1(PIECE, decode_content=False):
        room = most_bytes - body.tell()
        try:
            part = piece if unpacker is None else unpacker.decompress(piece, room + 1)
        except zlib.error as error:
            raise UnreachableError(f"{server} sent an answer that cannot be unpacked: {error}") from error
        if len(part) > room:
            if not is_cut:
                raise TooLargeError(f"{server} sent an answer of more than {size_text(most_bytes)}")
            body.write(part[:room])
            return body.getvalue()
        body.write(part)
        if monotonic() > until:
            raise UnreachableError(f"{server} did not finish an answer within {BODY_SECONDS:.0f} s")
    if unpacker is not None and not unpacker.eof and body.tell():
        raise UnreachableError(f"{server} cut the connection")
    # The buffer's own bytes: nothing is copied.
    return body.getvalue()


def decoded(data: bytes, shape: type[ShapeT], problem: str) -> ShapeT:
    """Return what a body says.

    Args:
        data: JSON.
        shape: what it should say.
        problem: how the sentence begins where it does not: ``metrics-server's answer cannot be read``.

    Raises:
        UnreadableError: where it is no JSON, says something else, or is nested too deeply.
    """
    try:
        return msgspec.json.decode(data, type=shape)
    except RecursionError:
        raise UnreadableError(f"{problem}: it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableError(f"{problem}: {one_line(str(error), 160)}") from error
