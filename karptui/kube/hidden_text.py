"""Characters that are invisible or that a terminal acts on: controls, direction overrides, zero-width characters."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Matches a single hidden character; line ends and tabs do not count."""


def escaped(text: str) -> str:
    r"""Return text with each hidden character escaped as in quoted YAML and JSON, such as ``\u202e``."""
    return HIDDEN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
