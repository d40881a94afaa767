"""Floating-point numbers as Go's ``strconv.ParseFloat`` reads them."""

from __future__ import annotations

import math
import re
from typing import Final

_DIGITS: Final = "[0-9](?:_?[0-9])*"
_HEX_DIGITS: Final = "[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_DECIMAL: Final = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEXADECIMAL: Final = re.compile(
    rf"[+-]?0[xX](?:_?{_HEX_DIGITS}(?:\.(?:{_HEX_DIGITS})?)?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}"
)
_NAMED: Final = re.compile(r"[+-]?(inf|infinity)|nan", re.IGNORECASE | re.ASCII)


def parse_float(text: str) -> float | None:
    """Return the number that Go's ``strconv.ParseFloat`` reads (``1_000`` is valid), or None if it rejects the text."""
    if _NAMED.fullmatch(text):
        return float(text)
    digits = text.replace("_", "")
    if _DECIMAL.fullmatch(text):
        value = float(digits)
    elif _HEXADECIMAL.fullmatch(text):
        try:
            value = float.fromhex(digits)
        except OverflowError:
            return None
    else:
        return None
    return None if math.isinf(value) else value
