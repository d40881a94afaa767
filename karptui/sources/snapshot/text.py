"""Text of snapshots: encodings, error messages of one line, and the memory that reading a file may take."""

from __future__ import annotations

import codecs
import os
import re
import resource
import sys
from pathlib import Path
from typing import Final

from karptui.files import size_text
from karptui.sources.source import SourceError

_MAX_LENGTH: Final = 400


class SnapshotError(SourceError):
    """A snapshot cannot be read; the text names the file, and the object and field if there is one."""


def sentence(where: str, problem: object) -> str:
    """Return ``where: problem`` on one line, shortened: the problem may quote megabytes."""
    text = " ".join(f"{where}: {problem}".split())
    return text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]}…"


_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks; UTF-32 precedes UTF-16, because its marks begin with theirs."""
_ZEROS: Final = (
    ((False, True, True, True), "utf-32-le"),
    ((True, True, True, False), "utf-32-be"),
    ((False, True, False, True), "utf-16-le"),
    ((True, False, True, False), "utf-16-be"),
)
"""Where the zeros are among the first four bytes of text that has no mark and begins with two characters of ASCII."""
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
"""An escape of JSON, a pair of surrogates as one; the group is a surrogate alone."""
HALF_CHARACTER: Final = re.compile(rb"\\u[dD]")
"""The beginning of an escaped surrogate."""
PROBE: Final = 4096
"""Bytes that are searched for zeros."""
_BLANKS: Final = "\t\n\r"


def as_utf8(data: bytes, where: str) -> bytes:
    """Return text as UTF-8 without a byte order mark."""
    mark, encoding = encoding_of(data)
    text = data.removeprefix(mark)
    if encoding != "utf-8":
        try:
            decoded = text.decode(encoding)
        except UnicodeError:
            raise binary(where) from None
        if any(character < " " and character not in _BLANKS for character in decoded[:PROBE]):
            raise binary(where)
        return decoded.encode()
    if b"\x00" in text[:PROBE]:
        raise binary(where)
    return text


def without_lone_surrogates(text: bytes) -> bytes:
    """Return JSON with U+FFFD for lone surrogate escapes, as Go reads it: they cannot be printed."""
    if HALF_CHARACTER.search(text) is None:
        return text
    return _ESCAPE.sub(lambda match: b"\\ufffd" if match[1] else match[0], text)


def check_utf8(text: bytes, where: str, *, first_line: int = 1) -> None:
    """Refuse text in one of the older encodings; asked only of what could not be read.

    Raises:
        SnapshotError: naming the line.
    """
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + first_line
        raise SnapshotError(
            sentence(where, f"is not UTF-8: line {line} holds the byte 0x{text[error.start]:02x}; save it as UTF-8")
        ) from None


def encoding_of(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark that data begins with, and the encoding."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return mark, encoding
    zeros = tuple(byte == 0 for byte in data[:4])
    return b"", next((encoding for pattern, encoding in _ZEROS if zeros == pattern), "utf-8")


def binary(where: str) -> SnapshotError:
    """Return the error for a binary file."""
    return SnapshotError(sentence(where, "is binary, not JSON or YAML"))


FREE_BYTES: Final = 128 << 20
"""Memory that a file of any size may take."""
BYTES_PER_BYTE: Final = 32
"""Additional memory for each byte of the file as stored; a packed recording of 100,000 pods needs 370 MB for 8.8."""
GZIP_MAGIC: Final = b"\x1f\x8b"
_MAPPING_BYTES: Final = 200
_VALUE_BYTES: Final = 80
_SMALL_BYTES: Final = 1 << 18
_STEPS: Final = 256
_STATM: Final = Path("/proc/self/statm")


class MemoryLimit:
    """Memory that reading one file may take, measured as growth of the process."""

    def __init__(self, data: bytes, where: str, *, size_bytes: int | None = None) -> None:
        """Begin to measure.

        Args:
            data: Content of the file as stored, packed or not, or its beginning.
            size_bytes: Size of the whole content, if ``data`` is its beginning.
        """
        size_bytes = len(data) if size_bytes is None else size_bytes
        self._most_bytes = FREE_BYTES + BYTES_PER_BYTE * size_bytes
        hint = "; if you trust it, unpack it first" if data.startswith(GZIP_MAGIC) else ""
        self._message = sentence(
            where,
            f"takes more than {size_text(self._most_bytes)} of memory, more than a snapshot of "
            f"{size_text(size_bytes)} needs{hint}",
        )
        self._before_bytes = _resident_bytes()
        self._steps = 0

    def check(self, more_bytes: int = 0) -> None:
        """Check that there is memory left."""
        if _resident_bytes() - self._before_bytes + more_bytes > self._most_bytes:
            raise SnapshotError(self._message)

    def check_step(self) -> None:
        """Check from time to time; cheap enough for each object."""
        self._steps += 1
        if self._steps % _STEPS == 0:
            self.check()

    def check_decoding(self, text: memoryview, *, times: float = 1) -> None:
        """Check that there is memory left for the values in a JSON text.

        Args:
            times: How many times the decoded size is needed.
        """
        if text.nbytes > _SMALL_BYTES:
            data = bytes(text)
            values = data.count(b",") + data.count(b"[")
            self.check(int(times * (len(data) + _MAPPING_BYTES * data.count(b"{") + _VALUE_BYTES * values)))


def _resident_bytes() -> int:
    """Return the memory that the process uses, or its peak on systems that show only that."""
    try:
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
