"""YAML read as kubectl reads it, into what JSON could hold: no dates, no sexagesimal numbers, text keys.

What a scalar means is decided by ``yaml_scalars``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import yaml

from karptui.kube.yaml_scalars import Scalar, key_text, resolve_plain

MAX_EXPANDED_NODES: Final = 5_000_000
"""Values that a document may come to once its aliases are followed."""
MAX_DEPTH: Final = 200
"""Levels of nesting that are read; real objects stay far below."""

_DEEP_INDENT: Final = re.compile(rb"^(?: {%d,}|(?:[-?] ){%d,})" % (MAX_DEPTH, MAX_DEPTH // 2), re.MULTILINE)
"""Only text that is indented or dashed this far can be nested too deep without brackets."""
_TAG: Final = "tag:yaml.org,2002:"
_TAGS: Final[dict[type, str]] = {
    str: f"{_TAG}str",
    bool: f"{_TAG}bool",
    int: f"{_TAG}int",
    float: f"{_TAG}float",
    type(None): f"{_TAG}null",
}
_MERGE: Final = f"{_TAG}merge"


class YamlError(ValueError):
    """Text that is not YAML, or YAML that no API object can be; the message tells the line."""


class _Scalars:
    """Tells what a plain scalar is by kubectl's rule; both the parser and the writer ask."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """Return the tag of a value that has none."""
        if kind is yaml.ScalarNode:
            if implicit[0] and value == "<<":
                return _MERGE
            return _TAGS[type(resolve_plain(value))] if implicit[0] else _TAGS[str]
        return f"{_TAG}seq" if kind is yaml.SequenceNode else f"{_TAG}map"


class _Loader(_Scalars, yaml.CSafeLoader):
    """The C parser with kubectl's rule for plain scalars."""


class _StrictLoader(_Loader):
    """Refuses a mapping that says a key twice, of its own or by way of ``<<``."""


class Dumper(_Scalars, yaml.CSafeDumper):
    """Quotes text that the loader would read as something else, such as ``y`` and ``0o17``."""


def load_documents(text: bytes, loader: type[yaml.CSafeLoader] = _Loader) -> list[Any]:
    """Return the documents of a YAML stream; empty ones are left out.

    Args:
        text: the stream.
        loader: what a scalar means; kubectl's rule for objects by default.

    Raises:
        YamlError: when it is not YAML, or its aliases multiply without end.
    """
    with _one_error():
        _check_depth(text)
        documents = [document for document in yaml.load_all(text, Loader=loader) if document is not None]
    if b"*" in text and b"&" in text:
        for document in documents:
            _check_size(document)
    return documents


def load_first(text: bytes) -> Any:
    """Return the first document as strict readers of Kubernetes do: what follows is not looked at, no key stands twice.

    Raises:
        YamlError: as with `load_documents`, and for a key that stands twice in one mapping.
    """
    with _one_error():
        _check_depth(text)
        document = next(yaml.load_all(text, Loader=_StrictLoader), None)
    if b"*" in text and b"&" in text:
        _check_size(document)
    return document


@contextmanager
def _one_error() -> Iterator[None]:
    """Turn what PyYAML raises into the one error of this module."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise YamlError(f"{where}{error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise YamlError(str(error)) from None


def to_yaml(value: Any) -> str:
    """Return a value as YAML, keys in the order they have."""
    text: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=160)
    return text


def _check_depth(text: bytes) -> None:
    """Refuse nesting that would end the process inside the C loader, which knows no limit."""
    if text.count(b"[") + text.count(b"{") < MAX_DEPTH and not _DEEP_INDENT.search(text):
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise YamlError(f"is nested more than {MAX_DEPTH} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


_OPEN: Final = 0
"""The size of what is still being counted."""


def _check_size(document: Any) -> None:
    """Refuse documents whose aliases, once followed, come to more than can be meant."""
    sizes: dict[int, int] = {}

    def size(value: Any) -> int:
        if not isinstance(value, dict | list):
            return 1
        known = sizes.get(id(value))
        if known == _OPEN:
            raise YamlError("contains itself")
        if known is None:
            sizes[id(value)] = _OPEN
            parts = value.values() if isinstance(value, dict) else value
            known = sizes[id(value)] = 1 + sum(map(size, parts))
        return known

    total = size(document)
    if total > MAX_EXPANDED_NODES:
        raise YamlError(f"its aliases come to {total:,} values")


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    if not isinstance(node, yaml.MappingNode):
        raise _misfit(node, "a mapping")
    loader.flatten_mapping(node)
    return {
        _key(loader.construct_object(key, deep=True), key): loader.construct_object(value, deep=True)
        for key, value in node.value
    }


def _strict_mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    found = _mapping(loader, node)
    if len(found) < len(node.value):
        keys = [_key(loader.construct_object(key, deep=True), key) for key, _ in node.value]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise yaml.constructor.ConstructorError(
            problem=f"the key {twice!r:.60} stands twice in one mapping", problem_mark=node.start_mark
        )
    return found


def _key(key: Hashable, node: yaml.Node) -> str:
    text = key_text(key) if isinstance(key, Scalar) else None
    if text is None:
        raise _misfit(node, "a key")
    return text


def _constructor(kind: type, wanted: str) -> Callable[[_Loader, yaml.Node], Any]:
    """Return what makes values of one kind; the tag may be written out, and the text not fit it."""

    def construct(_: _Loader, node: yaml.Node) -> Any:
        value = resolve_plain(_scalar(node))
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            raise _misfit(node, wanted)
        return value

    return construct


def _scalar(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _misfit(node, "a single value")
    return str(node.value)


def _text(_: _Loader, node: yaml.Node) -> str:
    return _scalar(node)


def _foreign(_: _Loader, node: yaml.Node) -> Any:
    tag = node.tag.replace(_TAG, "!!")
    raise yaml.constructor.ConstructorError(
        problem=f"the tag {tag:.60} stands for nothing that a Kubernetes object can hold", problem_mark=node.start_mark
    )


def _misfit(node: yaml.Node, wanted: str) -> yaml.MarkedYAMLError:
    """Return the error for a value that its tag, or its place, does not allow."""
    shown = "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"
    if isinstance(node, yaml.ScalarNode):
        shown = str(node.value)
    return yaml.constructor.ConstructorError(problem=f"{shown:.60} cannot be {wanted}", problem_mark=node.start_mark)


_Loader.add_constructor(_TAG + "map", _mapping)
for _kind, _wanted in ((bool, "true or false"), (int, "a whole number"), (float, "a number"), (type(None), "null")):
    _Loader.add_constructor(_TAGS[_kind], _constructor(_kind, _wanted))
_Loader.add_constructor(_TAG + "timestamp", _text)
for _tag in (*(_TAG + name for name in ("binary", "set", "omap", "pairs")), None):
    _Loader.add_constructor(_tag, _foreign)
_StrictLoader.add_constructor(_TAG + "map", _strict_mapping)
