"""Values of unquoted YAML scalars as kubectl reads them, and values as YAML that reads back as the same.

YAML 1.1 without sexagesimal numbers: text that kubectl would not read as text, such as ``y`` or ``0o17``, is quoted.
Rules: ``resolve.go`` of go.yaml.in/yaml/v2, and ``convertToJSONableObject`` of sigs.k8s.io/yaml for keys.
"""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from typing import Any, Final, TypeAlias

import yaml

from karptui.kube.hidden_text import HIDDEN, escaped

Scalar: TypeAlias = str | int | float | bool | None

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_NUMBER_STARTS: Final = frozenset("+-.0123456789")
_INTEGER: Final = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[oO]?(?P<octal>[0-7]+)|0[bB](?P<binary>[01]+)"
    r"|(?P<decimal>0|[1-9][0-9]*))\Z"
)
_SIGNED_BINARY: Final = re.compile(r"0b([-+][01]+)\Z")
"""Go's reader parses the part after ``0b`` again, as a number that may have a sign."""
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_POINT_FIRST: Final = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?\Z")
"""``strconv.ParseFloat`` parses these directly: underscores are only valid between digits."""
_BASES: Final = {"hex": 16, "octal": 8, "binary": 2, "decimal": 10}
_LARGEST: Final = 1 << 64
_MOST_DIGITS: Final = 64


def resolve_plain(text: str) -> Scalar:
    """Return the value of an unquoted scalar, a string if it is nothing else.

    Timestamps, and numbers too large for a float, stay strings, as in the conversion to JSON.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    plain = text.replace("_", "")
    if text[0] == ".":
        is_float = _POINT_FIRST.match(text) is not None
    else:
        if (number := _integer(plain)) is not None:
            return number
        is_float = _FLOAT.match(plain) is not None
    value = float(plain) if is_float else math.inf
    return text if math.isinf(value) else value


def key_text(key: Scalar) -> str | None:
    """Return a key as JSON text; None if Kubernetes rejects such a key."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, float):
        return _float_key(key)
    return None if key is None or key >= _LARGEST // 2 else str(key)


def _integer(plain: str) -> int | None:
    match = _INTEGER.match(plain)
    if match is None:
        signed = _SIGNED_BINARY.match(plain)
        number = None if signed is None else _digits(signed[1].lstrip("+-"), 2)
        sign = signed[1][0] if signed is not None else ""
    else:
        kind = str(match.lastgroup)
        number = _digits(match[kind], _BASES[kind])
        sign = match["sign"]
    if number is None:
        return None
    if sign == "-":
        return -number if number <= _LARGEST // 2 else None
    return number if number < (_LARGEST // 2 if sign else _LARGEST) else None


def _digits(digits: str, base: int) -> int | None:
    digits = digits.lstrip("0") or "0"
    return int(digits, base) if len(digits) <= _MOST_DIGITS else None


def _float_key(value: float) -> str:
    """Return a float as ``strconv.FormatFloat(value, 'g', -1, 32)`` writes it; infinities as in YAML."""
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    single = _single(value)
    if math.isinf(single):
        return ".inf" if value > 0 else "-.inf"
    shortest = next(text for digits in range(9) if _single(float(text := f"{single:.{digits}e}")) == single)
    exponent = int(shortest.partition("e")[2])
    return shortest if exponent < -4 or exponent >= 6 else format(Decimal(shortest), "f")


def _single(value: float) -> float:
    """Return the nearest 32-bit float."""
    try:
        (single,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(single)


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
