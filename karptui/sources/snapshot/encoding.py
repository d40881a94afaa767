"""How text is encoded, told from its first bytes, as in YAML 1.2, section 5.2: shells of Windows write UTF-16."""

from __future__ import annotations

import codecs
import re
from typing import Final

from karptui.sources.snapshot.errors import SnapshotError, sentence

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks; those of UTF-32 come before those of UTF-16 that they begin with."""
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
_PROBE: Final = 4096
_BLANKS: Final = "\t\n\r"


def as_utf8(data: bytes, where: str) -> bytes:
    """Return text as UTF-8 without a byte order mark.

    Raises:
        SnapshotError: when it is binary.
    """
    mark, encoding = _encoding(data)
    text = data.removeprefix(mark)
    if encoding != "utf-8":
        try:
            decoded = text.decode(encoding)
        except UnicodeError:
            raise _binary(where) from None
        if any(character < " " and character not in _BLANKS for character in decoded[:_PROBE]):
            raise _binary(where)
        return decoded.encode()
    if b"\x00" in text[:_PROBE]:
        raise _binary(where)
    return text


def without_lone_surrogates(text: bytes) -> bytes:
    """Return JSON with U+FFFD for escapes that stand for half a character, as Go reads it: nothing could print them."""
    if b"\\ud" not in text and b"\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], text)


def check_utf8(text: bytes, where: str) -> None:
    """Refuse text in one of the older encodings; asked only of what could not be read.

    Raises:
        SnapshotError: naming the line.
    """
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise SnapshotError(
            sentence(where, f"is not UTF-8: line {line} holds the byte 0x{text[error.start]:02x}; save it as UTF-8")
        ) from None


def _encoding(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark that data begins with, and the encoding."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return mark, encoding
    zeros = tuple(byte == 0 for byte in data[:4])
    return b"", next((encoding for pattern, encoding in _ZEROS if zeros == pattern), "utf-8")


def _binary(where: str) -> SnapshotError:
    return SnapshotError(sentence(where, "is binary, not JSON or YAML"))
