"""Unpacks gzip in small parts, and stops at content that no snapshot and no API server has.

A few megabytes can unpack to gigabytes, and ``[{},{},…]`` takes a hundred times its size once it is decoded. Both are
refused while they are unpacked, before they take memory.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

from karptui.files import size_text

GZIP: Final = 16 + zlib.MAX_WBITS
FREE_BYTES: Final = 2 << 20
"""Unpacked bytes that are allowed for any packed size."""
MAX_RATIO: Final = 200
"""How many times its packed size a part may unpack to; lists of like pods reach 40, of copies of one pod 100."""
MIN_BYTES_PER_COLLECTION: Final = 8
"""Bytes of text for each object and list, on average; real objects have 30 or more."""
FREE_COLLECTIONS: Final = 100_000
_PART: Final = 1 << 18
_WINDOW: Final = 1 << 14
"""Packed bytes whose ratio is judged together, so that nothing can hide among text that packs badly."""


class BombError(ValueError):
    """Content that takes far more memory than its size; the message is a predicate: "unpacks to …"."""


class Unpacker:
    """Takes the packed pieces of one text in turn and gives its parts; text that is not packed is only checked."""

    def __init__(self, *, is_packed: bool) -> None:
        self._gzip = zlib.decompressobj(GZIP) if is_packed else None
        self._packed = 0
        """Packed bytes of the present window."""
        self._window = 0
        """Bytes that the present window unpacked to."""
        self._bytes = 0
        self._collections = 0
        self.part_collections = 0
        """Number of objects and lists that begin in the latest part; counting them takes longer than copying."""

    @property
    def is_complete(self) -> bool:
        """Whether the gzip stream is complete."""
        return self._gzip is None or self._gzip.eof

    def parts(self, piece: bytes) -> Iterator[bytes]:
        """Yield the content of a piece in small parts."""
        if self._gzip is None:
            self._check(piece)
            yield piece
            return
        while piece:
            if self._gzip.eof:
                piece = piece.lstrip(b"\0")
                if not piece:
                    return
                self._gzip = zlib.decompressobj(GZIP)  # another member follows
            part = self._gzip.decompress(piece, _PART)
            rest = self._gzip.unused_data if self._gzip.eof else self._gzip.unconsumed_tail
            self._packed += len(piece) - len(rest)
            self._window += len(part)
            piece = rest
            self._check(part)
            if self._bytes > FREE_BYTES and self._window > MAX_RATIO * max(self._packed, _WINDOW):
                raise BombError(f"unpacks to more than {MAX_RATIO} times its size")
            if self._packed > _WINDOW:
                self._packed = self._window = 0
            yield part

    def _check(self, part: bytes) -> None:
        self._bytes += len(part)
        self.part_collections = part.count(b"{") + part.count(b"[")
        self._collections += self.part_collections
        if self._collections > FREE_COLLECTIONS + self._bytes // MIN_BYTES_PER_COLLECTION:
            raise BombError(f"has {self._collections:,} objects and lists in {size_text(self._bytes)}")
