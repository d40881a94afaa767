"""Writes values as YAML; text that kubectl would not read as text, such as ``y`` or ``0o17``, is quoted."""

from __future__ import annotations

from typing import Any, Final

import yaml

from karptui.kube.hidden_text import HIDDEN, escaped
from karptui.kube.yaml_scalars import resolve_plain

_TAG: Final = "tag:yaml.org,2002:"
_TAGS: Final[dict[type, str]] = {
    str: f"{_TAG}str",
    bool: f"{_TAG}bool",
    int: f"{_TAG}int",
    float: f"{_TAG}float",
    type(None): f"{_TAG}null",
}
_YAML11: Any = yaml.resolver.Resolver


class _Dumper(yaml.CSafeDumper):
    """Writes a scalar plain only if the reader reads it back as the same value."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """Return the tag of a value that has none."""
        if kind is yaml.ScalarNode:
            if implicit[0] and value == "<<":
                return f"{_TAG}merge"
            return _TAGS[type(resolve_plain(value))] if implicit[0] else _TAGS[str]
        return f"{_TAG}seq" if kind is yaml.SequenceNode else f"{_TAG}map"


class _BlockDumper(_Dumper):
    """Writes multi-line text as a block."""


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    is_block = isinstance(dumper, _BlockDumper) and "\n" in value
    # Only double quotes allow escapes for hidden characters.
    style = '"' if HIDDEN.search(value) else "|" if is_block else None
    return dumper.represent_scalar(_TAGS[str], value, style=style)


_Dumper.add_representer(str, _text)
_BlockDumper.add_representer(str, _text)


def to_yaml(value: Any, *, width: int = 160, has_blocks: bool = False) -> str:
    """Return a value as YAML with its keys in order and hidden characters escaped."""
    dumper = _BlockDumper if has_blocks else _Dumper
    text: str = yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=width)
    return escaped(text)


def is_text_in_yaml11(text: str) -> bool:
    """Return whether YAML 1.1 readers read a plain scalar as text."""
    resolvers = _YAML11.yaml_implicit_resolvers.get(text[0], ())
    return not any(tag != _TAGS[str] and pattern.match(text) for tag, pattern in resolvers)
