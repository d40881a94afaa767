"""Parsing files into documents: encodings, compression, YAML and JSON, and error messages."""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from karptui.files import read_file, read_stream, size_text
from karptui.kube.yaml_reader import YamlError, load_documents
from karptui.sources.base import SourceError
from karptui.sources.unpacking import BombError, Unpacker

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
_PROBE: Final = 4096
_BEGINNING: Final = 1 << 16
"""Text whose first bytes contain neither a key nor a list is rejected."""
_STRUCTURE: Final = re.compile(rb"[:{\[]|(?:^|\n)- ")
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
    """Return JSON with U+FFFD for lone surrogate escapes, as Go reads it: they cannot be printed."""
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


STDIN: Final = "-"
SUFFIXES: Final = (".json", ".yaml", ".yml", ".json.gz", ".yaml.gz", ".yml.gz")
NO_NAME: Final = "the name of a snapshot is empty; . is the current directory, - standard input"
MAX_BYTES: Final = 1 << 30
"""Of one file, unpacked: 100,000 pods take half of it."""
MAX_OBJECT_BYTES: Final = 8 << 20
"""Of one object; etcd takes 1.5 MiB. Decoded, a dense one takes twenty times as much."""
_PIECE: Final = 1 << 16
_GZIP_MAGIC: Final = b"\x1f\x8b"
_AS_TEXT: Final = frozenset({"items", "objects"})
_FIELD_TEXTS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEM_TEXTS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_BYTE: Final = re.compile(r" \(byte (\d+)\)$")


class SnapshotDocument(msgspec.Struct, frozen=True):
    """One document of a file."""

    value: Any
    where: str
    """Name in messages: the file, and the number of the document if there are several."""
    folder: Path
    """What paths inside it are relative to."""
    given: str = ""
    """Its path as given: a file, a directory or ``-``."""
    text: bytes = b""

    def decode(self, item: msgspec.Raw) -> Any:
        """Return the value of an item that was left as text.

        Raises:
            SnapshotError: if it cannot be read, with the line in the file, or is larger than any object of a cluster.
        """
        if memoryview(item).nbytes > MAX_OBJECT_BYTES:
            problem = f"holds an object of more than {size_text(MAX_OBJECT_BYTES)}; it is no snapshot"
            raise SnapshotError(sentence(self.where, problem))
        try:
            return msgspec.json.decode(item)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            parse_json(self.text, self.where)
            raise


def documents(
    paths: Sequence[str | Path], *, stdin: BinaryIO | None = None, has_text_items: bool = False
) -> Iterator[SnapshotDocument]:
    """Return every document of files, directories (all that is JSON or YAML in them) and ``-``.

    Args:
        paths: files, directories and ``-``.
        stdin: what ``-`` reads.
        has_text_items: leave the objects of JSON lists and recordings as text, for ``SnapshotDocument.decode``: all of
            them decoded at the same time take several times the memory of the file.

    Raises:
        SnapshotError: when one cannot be read as JSON or YAML.
    """
    for path in paths:
        if not str(path).strip():
            raise SnapshotError(NO_NAME)
        if str(path) == STDIN:
            if stdin is None and sys.stdin is None:
                raise SnapshotError(sentence("standard input", "is closed"))
            try:
                data = read_stream(
                    stdin or sys.stdin.buffer, MAX_BYTES, look=lambda begin: _look(begin, "standard input")
                )
            except OSError as error:
                raise SnapshotError(sentence("standard input", error.strerror or error)) from None
            yield from _parse(data, "standard input", Path(), STDIN, is_yaml=False, has_text_items=has_text_items)
            continue
        for file in _files(Path(path)):
            data, is_yaml = read_bytes(file), _is_yaml(file)
            yield from _parse(data, str(file), file.parent, str(path), is_yaml=is_yaml, has_text_items=has_text_items)


def read_bytes(file: Path, *, is_regular: bool = False) -> bytes:
    """Return the content of a file; with ``is_regular`` of no pipe or device.

    Raises:
        SnapshotError: when it cannot be read.
    """
    try:
        return read_file(file, MAX_BYTES, is_regular=is_regular, look=lambda begin: _look(begin, str(file)))
    except OSError as error:
        raise SnapshotError(sentence(str(file), f"cannot be read: {error.strerror or error}")) from None


def _look(begin: bytes, where: str) -> None:
    """Reject a file by its first bytes, whatever its size.

    Raises:
        SnapshotError: if it is binary, or text without any JSON or YAML syntax.
    """
    mark, encoding = _encoding(begin)
    if mark or encoding != "utf-8" or begin.startswith(_GZIP_MAGIC):
        return
    if b"\x00" in begin[:_PROBE]:
        raise _binary(where)
    if len(begin) >= _BEGINNING and _STRUCTURE.search(begin) is None:
        raise SnapshotError(sentence(where, "is neither JSON nor YAML"))


def unpack(data: bytes, where: str) -> bytes:
    """Return the content of a gzip file, or other data unchanged.

    Raises:
        SnapshotError: if the gzip stream is truncated or damaged, or expands too much.
    """
    is_packed = data.startswith(_GZIP_MAGIC)
    unpacker, unpacked = Unpacker(is_packed=is_packed), io.BytesIO()
    try:
        for start in range(0, len(data), _PIECE):
            for part in unpacker.parts(data[start : start + _PIECE]):
                if not is_packed:
                    continue
                unpacked.write(part)
                if unpacked.tell() > MAX_BYTES:
                    raise SnapshotError(sentence(where, f"is larger than {size_text(MAX_BYTES)} unpacked"))
    except BombError as error:
        raise SnapshotError(sentence(where, f"{error}; it is no snapshot")) from None
    except zlib.error as error:
        raise SnapshotError(sentence(where, f"is damaged: {error}")) from None
    if not unpacker.is_complete:
        raise SnapshotError(sentence(where, "is cut off: the gzip stream ends early"))
    # The buffer's own bytes: nothing is copied.
    return unpacked.getvalue() if is_packed else data


def parse_json(data: bytes, where: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        SnapshotError: when it is not JSON.
    """
    try:
        return msgspec.json.decode(without_lone_surrogates(data))
    except RecursionError:
        raise SnapshotError(sentence(where, "is nested too deeply")) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if "truncated" in str(error):
            raise SnapshotError(sentence(where, "is cut off: the JSON ends early")) from None
        check_utf8(data, where)
        raise SnapshotError(sentence(where, f"is not JSON: {_malformed(str(error), data)}")) from None


def _outline(data: bytes, where: str) -> Any:
    """Return the value of a JSON text; the objects of a list or a recording are left as text."""
    try:
        fields = _FIELD_TEXTS.decode(without_lone_surrogates(data))
        return {
            name: (_ITEM_TEXTS.decode if name in _AS_TEXT else msgspec.json.decode)(text)
            for name, text in fields.items()
        }
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return parse_json(data, where)


def _malformed(problem: str, data: bytes) -> str:
    """Return the JSON error, with the line instead of the byte."""
    problem = problem.removeprefix("JSON is malformed: ").partition(" - at ")[0]
    found = _BYTE.search(problem)
    if found is None:
        return problem
    line = data.count(b"\n", 0, int(found[1])) + 1
    return f"line {line}: {problem[: found.start()]}"


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if _counts(file, path))
    if not found:
        raise SnapshotError(sentence(str(path), f"no file in it ends in {', '.join(SUFFIXES)}"))
    return found


def _counts(file: Path, root: Path) -> bool:
    parts = file.relative_to(root).parts
    return file.name.lower().endswith(SUFFIXES) and not any(part.startswith(".") for part in parts) and file.is_file()


def _is_yaml(file: Path) -> bool:
    return file.name.lower().removesuffix(".gz").endswith((".yaml", ".yml"))


def _parse(
    data: bytes, where: str, folder: Path, given: str, *, is_yaml: bool, has_text_items: bool
) -> Iterator[SnapshotDocument]:
    text = as_utf8(unpack(data, where), where)
    del data
    values = _values(text, where, is_yaml=is_yaml, has_text_items=has_text_items)
    if not values:
        raise SnapshotError(sentence(where, "is empty"))
    for number, value in enumerate(values, 1):
        yield SnapshotDocument(value, where if len(values) == 1 else f"{where}, document {number}", folder, given, text)


def _values(text: bytes, where: str, *, is_yaml: bool, has_text_items: bool) -> list[Any]:
    begins_like_json = text.lstrip()[:1] in (b"{", b"[")
    if begins_like_json and not is_yaml:
        try:
            return [(_outline if has_text_items else parse_json)(text, where)]
        except SnapshotError:
            several = _json_sequence(text)
            if several is not None:
                return several
            raise
    try:
        return load_documents(text)
    except YamlError as error:
        check_utf8(text, where)
        raise SnapshotError(sentence(where, f"is not YAML: {error}")) from None


def _json_sequence(text: bytes) -> list[Any] | None:
    """Return the values of JSON texts that follow each other, as several kubectl calls into one file leave them."""
    try:
        rest = without_lone_surrogates(text).decode().strip()
    except UnicodeDecodeError:
        return None
    decoder, values, position = json.JSONDecoder(), [], 0
    try:
        while position < len(rest):
            value, position = decoder.raw_decode(rest, position)
            values.append(value)
            while position < len(rest) and rest[position].isspace():
                position += 1
    except (ValueError, RecursionError):
        return None
    return values
