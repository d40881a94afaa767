"""JSON as commands print it: ASCII only, as names from a cluster may hold what a terminal would act on."""

from __future__ import annotations

import re
from typing import Any, Final

_NOT_PLAIN: Final = re.compile(r"[^\x20-\x7e]")


def json_text(document: Any) -> str:
    """Return a document on one line.

    Args:
        document: plain values.
    """
    import msgspec

    text: str = msgspec.json.encode(document).decode()
    return _NOT_PLAIN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    # Outside of strings JSON is plain already, so this is always within one.
    return "".join(f"\\u{unit:04x}" for unit in _utf16(match[0]))


def _utf16(char: str) -> tuple[int, ...]:
    code = ord(char)
    if code < 0x10000:
        return (code,)
    code -= 0x10000
    return (0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))
