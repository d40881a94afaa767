"""Files into plain documents: JSON, YAML, gzip, directories, standard input."""

from __future__ import annotations

import gzip
import re
import sys
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

STDIN: Final = "-"
SUFFIXES: Final = (".json", ".json.gz", ".yaml", ".yml", ".yaml.gz", ".yml.gz")
"""Names that are read from a directory."""
MAX_DEPTH: Final = 200
"""Levels of nesting that are read; real objects stay far below."""
_GZIP_MAGIC: Final = b"\x1f\x8b"
_DEEP_INDENT: Final = re.compile(rf"^(?: {{{MAX_DEPTH},}}|(?:- ){{{MAX_DEPTH // 2},}})", re.MULTILINE)
"""Only text that is indented or dashed this far can be nested too deep without brackets."""


class SnapshotError(ValueError):
    """A file that cannot be used at all; a sentence that names it."""


def expand(path: str) -> tuple[Path | str, ...]:
    """Return the files that an argument stands for: itself, the readable files of a directory, or standard input.

    Raises:
        SnapshotError: when there is no such file, or nothing readable in the directory.
    """
    if path == STDIN:
        return (STDIN,)
    place = Path(path)
    if not place.is_dir():
        return (place,)
    files = sorted(file for file in place.rglob("*") if file.is_file() and file.name.endswith(SUFFIXES))
    if not files:
        raise SnapshotError(f"{path}: the directory holds no JSON or YAML file")
    return tuple(files)


def read_documents(file: Path | str) -> list[Any]:
    """Return the documents of a file: one of JSON, any number of YAML.

    Raises:
        SnapshotError: when it cannot be read, or is neither JSON nor YAML.
    """
    name = "standard input" if file == STDIN else str(file)
    data = _bytes(file, name)
    text = data.lstrip()
    if not text:
        raise SnapshotError(f"{name}: is empty")
    if text[:1] in (b"{", b"["):
        try:
            return [msgspec.json.decode(text)]
        except msgspec.DecodeError as error:
            # YAML in flow style also begins with a bracket.
            if not str(file).endswith((".yaml", ".yml")):
                raise SnapshotError(f"{name}: is not valid JSON: {error}") from None
    return _yaml(data, name)


def _bytes(file: Path | str, name: str) -> bytes:
    try:
        data = sys.stdin.buffer.read() if isinstance(file, str) else file.read_bytes()
    except OSError as error:
        raise SnapshotError(f"{name}: cannot be read: {error.strerror or error}") from None
    if data[:2] != _GZIP_MAGIC:
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise SnapshotError(f"{name}: is not a whole gzip file: {error}") from None


def _yaml(data: bytes, name: str) -> list[Any]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise SnapshotError(f"{name}: is neither JSON nor YAML: it is not text") from None
    try:
        _check_depth(text, name)
        return [document for document in yaml.load_all(text, Loader=_loader()) if document is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise SnapshotError(f"{name}: is not valid YAML{where}: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise SnapshotError(f"{name}: is not valid YAML: {error}") from None


def _check_depth(text: str, name: str) -> None:
    """Refuse nesting that would end the process inside the C loader, which knows no limit."""
    if text.count("[") + text.count("{") < MAX_DEPTH and not _DEEP_INDENT.search(text):
        return
    depth = 0
    for event in yaml.parse(text, Loader=_loader()):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise SnapshotError(f"{name}: is nested more than {MAX_DEPTH} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


@lru_cache(maxsize=1)
def _loader() -> type[Any]:
    """Return the C loader that leaves timestamps as text, as the API's own reader does."""
    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolvers = {
        first: [(tag, pattern) for tag, pattern in entries if tag != "tag:yaml.org,2002:timestamp"]
        for first, entries in base.yaml_implicit_resolvers.items()
    }
    return type("KubernetesLoader", (base,), {"yaml_implicit_resolvers": resolvers})


def objects_of(document: Any, name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a document: a single one, the items of a List, or a plain array.

    Raises:
        SnapshotError: when the document holds something else.
    """
    if isinstance(document, list):
        for index, item in enumerate(document):
            yield from objects_of(item, f"{name}: item {index}")
        return
    if not isinstance(document, dict):
        raise SnapshotError(f"{name}: expected a Kubernetes object, found {_noun(document)}")
    kind = document.get("kind")
    items = document.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        for index, item in enumerate(items):
            if isinstance(item, dict) and "kind" not in item and kind != "List":
                item = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List"), **item}  # noqa: PLW2901
            yield from objects_of(item, f"{name}: item {index}")
        return
    yield document


def _noun(value: object) -> str:
    return {str: "text", int: "a number", float: "a number", bool: "true or false", type(None): "nothing"}.get(
        type(value), f"a {type(value).__name__}"
    )
