"""What an unquoted YAML scalar means to Kubernetes (``sigs.k8s.io/yaml``, YAML 1.1 without sexagesimal numbers)."""

from __future__ import annotations

import math
import re
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_LARGEST = 2**64


def resolve_plain(text: str) -> Scalar:
    """Gives the value of an unquoted scalar; what has no other meaning is a string.

    Timestamps stay strings, as they do on their way to JSON.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    plain = text if text[0] == "." else text.replace("_", "")
    if _INTEGER.match(plain):
        number = _integer(plain)
        if -_LARGEST // 2 <= number < _LARGEST:
            return number
    return float(plain) if _FLOAT.match(plain) else text


def _integer(text: str) -> int:
    digits = text.lstrip("+-")
    octal = digits.isdigit() and len(digits) > 1 and digits[0] == "0"
    number = int(digits, 8 if octal else 0)
    return -number if text[0] == "-" else number
