"""YAML read as kubectl reads it, into what JSON could hold: no dates, no sexagesimal numbers, text keys.

Rules: go.yaml.in/yaml/v2 resolve.go, and sigs.k8s.io/yaml for keys.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any, ClassVar, Final

import yaml

MAX_EXPANDED_NODES: Final = 5_000_000
"""Values that a document may come to once its aliases are followed."""
MAX_DEPTH: Final = 200
"""Levels of nesting that are read; real objects stay far below."""

_BOOLEANS: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "y": True,
    "false": False,
    "no": False,
    "off": False,
    "n": False,
}
_DEEP_INDENT: Final = re.compile(rb"^(?: {%d,}|(?:[-?] ){%d,})" % (MAX_DEPTH, MAX_DEPTH // 2), re.MULTILINE)
"""Only text that is indented or dashed this far can be nested too deep without brackets."""
_TAG: Final = "tag:yaml.org,2002:"
_LONGEST_NUMBER: Final = 400
"""Characters of an integer; no field of any object takes as many."""
_NUMBER_STARTS: Final = "-+0123456789."
_INTEGER: Final = re.compile(
    r"(?:[-+]_*)?(?:0|[1-9][0-9_]*|0[0-7_]+|0o_*[0-7][0-7_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*|0b_*[01][01_]*)"
    # as strconv.ParseInt with base 0
)
_FLOAT: Final = re.compile(
    # Underscores are left out of what starts with a sign or digit, not of what starts with a dot.
    r"\.[0-9]+(?:[eE][-+]?[0-9]+)?|(?:[-+]_*\._*[0-9][0-9_]*|(?:[-+]_*)?[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?_*[0-9][0-9_]*)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)


class YamlError(ValueError):
    """Text that is not YAML, or YAML that no API object can be; the message tells the line."""


class _Loader(yaml.CSafeLoader):
    """The C parser with kubectl's rules for plain scalars."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}  # type: ignore[misc]


def load_documents(text: bytes) -> list[Any]:
    """Return the documents of a YAML stream; empty ones are left out.

    Raises:
        YamlError: when it is not YAML, or its aliases multiply without end.
    """
    try:
        _check_depth(text)
        documents = [document for document in yaml.load_all(text, Loader=_Loader) if document is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise YamlError(f"{where}{error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise YamlError(str(error)) from None
    if b"*" in text and b"&" in text:
        for document in documents:
            _check_size(document)
    return documents


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


def _check_size(document: Any) -> None:
    """Refuse documents whose aliases, once followed, come to more than can be meant."""
    sizes: dict[int, int] = {}

    def size(value: Any) -> int:
        if not isinstance(value, dict | list):
            return 1
        known = sizes.get(id(value))
        if known is None:
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


def _key(key: Hashable, node: yaml.Node) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if key is None:
        return "null"
    if isinstance(key, int | float):
        return str(key)
    raise _misfit(node, "a key")


def _boolean(_: _Loader, node: yaml.Node) -> bool:
    found = _BOOLEANS.get(_scalar(node).lower())
    if found is None:
        raise _misfit(node, "true or false")
    return found


def _integer(_: _Loader, node: yaml.Node) -> int:
    text = _scalar(node)
    if not _INTEGER.fullmatch(text) or len(text) > _LONGEST_NUMBER:
        raise _misfit(node, "a whole number")
    text = text.replace("_", "")
    sign, digits = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567":
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def _float(_: _Loader, node: yaml.Node) -> float:
    text = _scalar(node)
    if not _FLOAT.fullmatch(text):
        raise _misfit(node, "a number")
    return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))


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


def _resolve(kind: str, pattern: str | re.Pattern[str], first: str) -> None:
    compiled = re.compile(rf"(?:{pattern if isinstance(pattern, str) else pattern.pattern})\Z")
    _Loader.add_implicit_resolver(_TAG + kind, compiled, list(first))


_words = "|".join(form for word in _BOOLEANS for form in {word, word.capitalize(), word.upper()})
_resolve("bool", _words, "tTyYoOfFnN")
_resolve("null", "~|null|Null|NULL|", "~nN")
_Loader.add_implicit_resolver(_TAG + "null", re.compile(r"\Z"), [""])
_resolve("int", _INTEGER, _NUMBER_STARTS)
_resolve("float", _FLOAT, _NUMBER_STARTS)
_resolve("merge", "<<", "<")
_Loader.add_constructor(_TAG + "map", _mapping)
_Loader.add_constructor(_TAG + "bool", _boolean)
_Loader.add_constructor(_TAG + "int", _integer)
_Loader.add_constructor(_TAG + "float", _float)
_Loader.add_constructor(_TAG + "timestamp", _text)
for _tag in (*(_TAG + name for name in ("binary", "set", "omap", "pairs")), None):
    _Loader.add_constructor(_tag, _foreign)


class Dumper(yaml.CSafeDumper):
    """Quotes text that the loader would read as something else, such as ``y`` and ``0o17``."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers
