"""Files, directories and standard input into documents: plain values as JSON could hold them."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from karptui.decode.yaml_text import YamlError, load_documents
from karptui.sources.snapshot.encoding import as_utf8, check_utf8, without_lone_surrogates
from karptui.sources.snapshot.errors import SnapshotError, sentence

STDIN: Final = "-"
SUFFIXES: Final = (".json", ".yaml", ".yml", ".json.gz", ".yaml.gz", ".yml.gz")
NO_NAME: Final = "the name of a snapshot is empty; . is the current directory, - standard input"
MAX_BYTES: Final = 4 << 30
"""Of one file, unpacked."""

_GZIP_MAGIC: Final = b"\x1f\x8b"
_BYTE: Final = re.compile(r" \(byte (\d+)\)$")


class Document(msgspec.Struct, frozen=True):
    """One document of a file."""

    value: Any
    where: str
    """What to call it in a sentence: the file, and the number of the document where there are several."""
    folder: Path
    """What paths inside it are relative to."""
    given: str = ""
    """The path it was found by: a file, a directory or ``-``, as it was given."""


def documents(paths: Sequence[str | Path], *, stdin: BinaryIO | None = None) -> Iterator[Document]:
    """Return every document of files, directories (all that is JSON or YAML in them) and ``-``.

    Raises:
        SnapshotError: when one cannot be read as JSON or YAML.
    """
    for path in paths:
        if not str(path).strip():
            raise SnapshotError(NO_NAME)
        if str(path) == STDIN:
            data = (stdin or sys.stdin.buffer).read()
            yield from _parse(data, "standard input", Path(), given=STDIN, is_yaml=False)
            continue
        for file in _files(Path(path)):
            yield from _parse(read_bytes(file), str(file), file.parent, given=str(path), is_yaml=_is_yaml(file))


def read_bytes(file: Path) -> bytes:
    """Return the content of a file.

    Raises:
        SnapshotError: when it cannot be read.
    """
    try:
        return file.read_bytes()
    except OSError as error:
        raise SnapshotError(sentence(str(file), f"cannot be read: {error.strerror or error}")) from None


def unpack(data: bytes, where: str) -> bytes:
    """Return the content of a gzip file, and anything else as it is.

    Raises:
        SnapshotError: when the gzip stream is cut off or damaged.
    """
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            unpacked = stream.read(MAX_BYTES + 1)
    except EOFError:
        raise SnapshotError(sentence(where, "is cut off: the gzip stream ends early")) from None
    except (OSError, zlib.error) as error:
        raise SnapshotError(sentence(where, f"is damaged: {error}")) from None
    if len(unpacked) > MAX_BYTES:
        raise SnapshotError(sentence(where, f"is larger than {MAX_BYTES >> 30} GiB unpacked"))
    return unpacked


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


def _malformed(problem: str, data: bytes) -> str:
    """Return what is wrong with JSON, with the line in place of the byte."""
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


def _parse(data: bytes, where: str, folder: Path, *, given: str, is_yaml: bool) -> Iterator[Document]:
    text = as_utf8(unpack(data, where), where)
    values = _values(text, where, is_yaml=is_yaml)
    if not values:
        raise SnapshotError(sentence(where, "is empty"))
    for number, value in enumerate(values, 1):
        yield Document(value, where if len(values) == 1 else f"{where}, document {number}", folder, given)


def _values(text: bytes, where: str, *, is_yaml: bool) -> list[Any]:
    begins_like_json = text.lstrip()[:1] in (b"{", b"[")
    if begins_like_json and not is_yaml:
        try:
            return [parse_json(text, where)]
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
