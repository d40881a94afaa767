"""Make text from a cluster safe for a terminal, and short.

Names, messages and annotations are untrusted: escape sequences, control characters and direction overrides become
visible marks of one cell, and zero-width characters are dropped.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NewType

from karptui.kube.hidden_text import escaped

LIMIT: Final = 2_000
"""Characters kept of one string: more than any screen shows, less than a hostile annotation costs."""
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
ELLIPSIS: Final = "…"
_NEWLINE: Final = "⏎"
_MAX_MARKS: Final = 2
_SELECTORS: Final = range(0xFE00, 0xFE10)
_INVISIBLE: Final = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_CONTROLS: Final = {chr(code): chr(0x2400 + code) for code in range(0x20)} | {
    "\n": _NEWLINE,
    "\r": "",
    "\t": " ",
    "\x7f": "␡",
}
_BREAKS: Final = frozenset("\u2028\u2029\x85")
_ESCAPED: Final = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>()#+!|~"})


SafeText = NewType("SafeText", str)
"""Text that a terminal shows and does not act on; only this module and JSON in ASCII make it."""


def page(text: str) -> SafeText:
    """Return text of any length and number of lines with escapes in the place of hidden characters."""
    return SafeText(escaped(text.replace("\t", "    ")))


def clean(text: str, *, limit: int = LIMIT) -> SafeText:
    """Return the text on one line without anything a terminal would act on.

    Args:
        text: any string, even one with lone surrogates.
        limit: characters kept; a longer text ends with an ellipsis.
    """
    if len(text) > limit:
        text = text[: limit - 1] + ELLIPSIS
    if text.isascii() and text.isprintable():
        return SafeText(text)
    kept: list[str] = []
    marks = 0
    for char in text:
        shown = _visible(char)
        is_mark = shown != "" and unicodedata.category(char) in ("Mn", "Me")
        marks = marks + 1 if is_mark else 0
        if marks <= _MAX_MARKS:
            kept.append(shown)
    return SafeText("".join(kept))


def clean_lines(text: str) -> list[SafeText]:
    """Return the lines of a longer text, each one clean; tabs become four spaces."""
    return [clean(line.replace("\t", "    ")) for line in text.replace("\r\n", "\n").split("\n")]


def _visible(char: str) -> str:
    """Return a character, its visible mark, or an empty string."""
    code = ord(char)
    if code <= 0x7F:
        return _CONTROLS.get(char, char)
    if char in _BREAKS:
        return _NEWLINE
    if char in _INVISIBLE or code in _SELECTORS:
        return ""
    category = unicodedata.category(char)
    if category == "Zs":
        return " "
    if category in ("Cc", "Cf", "Cs", "Co", "Cn"):
        return REPLACEMENT
    return char


_ZONE: Final = re.compile(r"^(?P<region>.*?(?P<digit>\d))-?(?P<letter>[a-z0-9]+)$")
_LONGEST_ZONE: Final = 63
"""Maximum length of a zone label that is matched, to bound the pattern's running time."""


def short_zone(zone: str) -> str:
    """Return the part of a zone that differs within a region.

    ``us-east-1a`` is ``1a``, ``europe-west1-b`` is ``1b``.
    """
    match = _ZONE.match(zone) if len(zone) <= _LONGEST_ZONE else None
    return f"{match['digit']}{match['letter']}" if match else zone


def short_name(name: str) -> str:
    """Return a node name without the domain that a cloud puts behind every one."""
    return name.partition(".")[0] if name.endswith(".internal") else name


def markdown_text(text: str) -> str:
    """Return cluster text as markdown without markup, mentions or line breaks."""
    return text.translate(_ESCAPED).replace("@", "@<!-- -->").replace("\n", " ")
