"""Parsing files into documents: encodings, compression, YAML and JSON, and error messages."""

from __future__ import annotations

import io
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from karptui.files import read_file, read_stream, size_text
from karptui.kube.yaml_reader import OpenCollection, YamlError, YamlReader
from karptui.sources.snapshot.text import (
    GZIP_MAGIC,
    HALF_CHARACTER,
    PROBE,
    MemoryLimit,
    SnapshotError,
    as_utf8,
    binary,
    check_utf8,
    encoding_of,
    sentence,
    without_lone_surrogates,
)
from karptui.sources.unpacking import BombError, Unpacker

_BEGINNING: Final = 1 << 16
"""Text whose first bytes contain neither a key nor a list is rejected."""
_STRUCTURE: Final = re.compile(rb"[:{\[]|(?:^|\n)- ")
STDIN: Final = "-"
SUFFIXES: Final = (".json", ".yaml", ".yml", ".json.gz", ".yaml.gz", ".yml.gz")
NO_NAME: Final = "the name of a snapshot is empty; . is the current directory, - standard input"
MAX_BYTES: Final = 1 << 30
"""Of one file, unpacked: 100,000 pods take half of it."""
MAX_OBJECT_BYTES: Final = 8 << 20
"""Of one object; etcd takes 1.5 MiB. Decoded, a dense one takes twenty times as much."""
_PIECE: Final = 1 << 16
_AS_TEXT: Final = frozenset({"items", "objects"})
_ITEM_TEXTS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_ITEM_BYTES: Final = 80
"""Memory for one item of a list that is left as text."""
_COUNTED: Final = 4096
_SKIP: Final = msgspec.json.Decoder(msgspec.Raw)
_REST: Final = re.compile(r"trailing characters \(byte (\d+)\)")
_SPACE: Final = re.compile(rb"[ \t\n\r]*")
_BYTE: Final = re.compile(r" \(byte (\d+)\)$")


class SnapshotDocument(msgspec.Struct, frozen=True):
    """One document of a file."""

    value: Any
    where: str
    """Name in messages: the file, and the number of the document if there are several."""
    folder: Path
    """What paths inside it are relative to."""
    limit: MemoryLimit
    """Memory that the file may take; ``check_step`` belongs into each loop over its objects."""
    given: str = ""
    """Its path as given: a file, a directory or ``-``."""
    text: bytes = b""

    def decode(self, item: msgspec.Raw) -> Any:
        """Return the value of an item that was left as text."""
        view = memoryview(item)
        if view.nbytes > MAX_OBJECT_BYTES:
            problem = f"holds an object of more than {size_text(MAX_OBJECT_BYTES)}; it is no snapshot"
            raise SnapshotError(sentence(self.where, problem))
        try:
            self.limit.check_decoding(view)
            return msgspec.json.decode(item)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            line = self.text.count(b"\n", 0, max(self.text.find(view), 0)) + 1
            raise _no_json(error, bytes(view), self.where, line) from None


def documents(
    paths: Sequence[str | Path], *, stdin: BinaryIO | None = None, has_text_items: bool = False
) -> Iterator[SnapshotDocument]:
    """Return every document of files, directories (all that is JSON or YAML in them) and ``-``.

    Args:
        has_text_items: leave the objects of JSON lists and recordings as text, for ``SnapshotDocument.decode``: all of
            them decoded at the same time take several times the memory of the file.
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
    """Return the content of a file; with ``is_regular`` of no pipe or device."""
    try:
        return read_file(file, MAX_BYTES, is_regular=is_regular, look=lambda begin: _look(begin, str(file)))
    except OSError as error:
        raise SnapshotError(sentence(str(file), f"cannot be read: {error.strerror or error}")) from None


def _look(begin: bytes, where: str) -> None:
    """Reject a file by its first bytes, whatever its size."""
    mark, encoding = encoding_of(begin)
    if mark or encoding != "utf-8" or begin.startswith(GZIP_MAGIC):
        return
    if b"\x00" in begin[:PROBE]:
        raise binary(where)
    if len(begin) >= _BEGINNING and _STRUCTURE.search(begin) is None:
        raise SnapshotError(sentence(where, "is neither JSON nor YAML"))


def unpack(data: bytes, where: str, limit: MemoryLimit | None = None) -> bytes:
    """Return the content of a gzip file, or other data unchanged."""
    limit = limit or MemoryLimit(data, where)
    is_packed = data.startswith(GZIP_MAGIC)
    unpacker, unpacked = Unpacker(is_packed=is_packed), io.BytesIO()
    try:
        for start in range(0, len(data), _PIECE):
            for part in unpacker.parts(data[start : start + _PIECE]):
                if not is_packed:
                    continue
                limit.check(len(part))
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


def _no_json(error: Exception, text: bytes, where: str, first_line: int) -> SnapshotError:
    """Return the error for JSON text that begins on a line of a file and cannot be decoded."""
    if isinstance(error, RecursionError):
        return SnapshotError(sentence(where, "is nested too deeply"))
    if "truncated" in str(error):
        return SnapshotError(sentence(where, "is cut off: the JSON ends early"))
    try:
        check_utf8(text, where, first_line=first_line)
    except SnapshotError as problem:
        return problem
    return SnapshotError(sentence(where, f"is not JSON: {_malformed(str(error), text, first_line)}"))


_OPENING_BRACKET, _CLOSING_BRACKET, _OPENING_BRACE, _CLOSING_BRACE, _COMMA = b"[]{},"


def _json_documents(text: bytes, where: str, limit: MemoryLimit, *, has_text_items: bool) -> Iterator[Any]:
    """Return the values of JSON texts that follow each other, as several kubectl calls into one file leave them."""
    position, view = _after_space(text, 0), memoryview(text)
    while position < len(text):
        try:
            end = _value_end(view, position)
            if has_text_items and text[position] == _OPENING_BRACKET:
                yield _item_texts(text, position, end, limit)
            elif has_text_items and text[position] == _OPENING_BRACE:
                yield _fields(text, position, limit)
            else:
                limit.check_decoding(view[position:end])
                yield msgspec.json.decode(view[position:end])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _no_json(error, text[position:], where, text.count(b"\n", 0, position) + 1) from None
        position = end


def _fields(text: bytes, start: int, limit: MemoryLimit) -> dict[str, Any]:
    """Return the fields of a valid JSON object; the lists of objects in it are left as text."""
    view, fields = memoryview(text), {}
    position = _after_space(text, start + 1)
    while text[position] != _CLOSING_BRACE:
        limit.check_step()
        key_end = _value_end(view, position)
        name = msgspec.json.decode(view[position:key_end], type=str)
        position = _after_space(text, key_end + 1)
        end = _value_end(view, position)
        if name in _AS_TEXT and text[position] == _OPENING_BRACKET:
            fields[name] = _item_texts(text, position, end, limit)
        else:
            # The records built from these fields take memory too.
            limit.check_decoding(view[position:end], times=1.5)
            fields[name] = msgspec.json.decode(view[position:end])
        position = _after_space(text, end + (text[end] == _COMMA))
    return fields


def _item_texts(text: bytes, start: int, end: int, limit: MemoryLimit) -> list[msgspec.Raw]:
    """Return the items of a valid JSON list as texts; they are counted first, because a list of numbers has many."""
    view, count = memoryview(text), 0
    position = _after_space(text, start + 1)
    while text[position] != _CLOSING_BRACKET:
        count += 1
        if count % _COUNTED == 0:
            limit.check(count * _ITEM_BYTES)
        item_end = _value_end(view, position)
        position = _after_space(text, item_end + (text[item_end] == _COMMA))
    return _ITEM_TEXTS.decode(view[start:end])


def _value_end(view: memoryview, start: int) -> int:
    """Return the end of the JSON value that begins at a position, or of the space after it.

    Raises:
        msgspec.DecodeError: if it is invalid.
    """
    try:
        _SKIP.decode(view[start:])
    except msgspec.DecodeError as error:
        match = _REST.search(str(error))
        if match is None:
            raise
        return start + int(match[1]) - 1
    return len(view)


def _after_space(text: bytes, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match is not None else position


def _malformed(problem: str, data: bytes, first_line: int) -> str:
    """Return the JSON error, with the line instead of the byte."""
    problem = problem.removeprefix("JSON is malformed: ").partition(" - at ")[0]
    match = _BYTE.search(problem)
    if match is None:
        return problem
    line = data.count(b"\n", 0, int(match[1])) + first_line
    return f"line {line}: {problem[: match.start()]}"


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    paths = sorted(file for file in path.rglob("*") if _counts(file, path))
    if not paths:
        raise SnapshotError(sentence(str(path), f"no file in it ends in {', '.join(SUFFIXES)}"))
    return paths


def _counts(file: Path, root: Path) -> bool:
    parts = file.relative_to(root).parts
    return file.name.lower().endswith(SUFFIXES) and not any(part.startswith(".") for part in parts) and file.is_file()


def _is_yaml(file: Path) -> bool:
    return file.name.lower().removesuffix(".gz").endswith((".yaml", ".yml"))


def _parse(
    data: bytes, where: str, folder: Path, argument: str, *, is_yaml: bool, has_text_items: bool
) -> Iterator[SnapshotDocument]:
    limit = MemoryLimit(data, where)
    text = unpack(data, where, limit)
    del data
    if encoding_of(text)[1] != "utf-8":
        limit.check(4 * len(text))
    text = as_utf8(text, where)
    if text.lstrip()[:1] in (b"{", b"[") and not is_yaml:
        limit.check(2 * len(text) if HALF_CHARACTER.search(text) else 0)
        text = without_lone_surrogates(text)
        values = _json_documents(text, where, limit, has_text_items=has_text_items)
    else:
        values = _yaml_documents(text, where, limit)
    beginning = [*islice(values, 2)]
    if not beginning:
        raise SnapshotError(sentence(where, "is empty"))
    for number, value in enumerate(chain(beginning, values), 1):
        name = where if len(beginning) == 1 else f"{where}, document {number}"
        yield SnapshotDocument(value, name, folder, limit, argument, text)


def _yaml_documents(text: bytes, where: str, limit: MemoryLimit) -> Iterator[Any]:
    try:
        yield from (document for document in _LimitedReader(text, limit).documents() if document is not None)
    except YamlError as error:
        check_utf8(text, where)
        raise SnapshotError(sentence(where, f"is not YAML: {error}")) from None


class _LimitedReader(YamlReader):
    """Reads YAML as long as it takes no more memory than the file may."""

    def __init__(self, text: bytes, limit: MemoryLimit) -> None:
        super().__init__(text)
        self._limit = limit

    def collection(self, opened: OpenCollection, end: Any, value: Any) -> Any:
        self._limit.check_step()
        return super().collection(opened, end, value)
