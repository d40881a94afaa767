"""Standard input and output as they are handed over: closed, or in an encoding that lacks some of what is printed."""

from __future__ import annotations

import codecs
import fcntl
import io
import os
import sys
from typing import Final

_HANDLER: Final = "karptui.plain"
_PLAIN: Final = {
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{MIDDLE DOT}": "-",
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{BOX DRAWINGS LIGHT HORIZONTAL}": "-",
    "\N{BOX DRAWINGS LIGHT VERTICAL}": "|",
    "\N{BOX DRAWINGS LIGHT VERTICAL AND RIGHT}": "|",
    "\N{BOX DRAWINGS LIGHT UP AND RIGHT}": "`",
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{LEFTWARDS ARROW}": "<-",
    "\N{NOT EQUAL TO}": "!=",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{ALMOST EQUAL TO}": "~",
    "\N{GREEK CAPITAL LETTER DELTA}": "diff",
    "\N{HEAVY BALLOT X}": "x",
    "\N{HEAVY MULTIPLICATION X}": "x",
    "\N{HEAVY CHECK MARK}": "+",
    "\N{BLACK UP-POINTING TRIANGLE}": "!",
    "\N{WHITE CIRCLE}": "o",
    "\N{BLACK CIRCLE}": "*",
    "\N{INFINITY}": "inf",
    "\N{MICRO SIGN}": "u",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{LEFT DOUBLE QUOTATION MARK}": '"',
    "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
}
_BARS: Final = range(0x2581, 0x2590)
"""Blocks that charts are drawn with."""


def prepare_streams() -> None:
    """See to it that something stands behind every standard stream, and that all that is printed can be.

    What is printed to a closed standard output fails, as it would with other programs; what is said on a closed
    standard error is lost.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # Else the next file that is opened takes its number, and what is printed ends up in there.
            os.open(os.devnull, os.O_RDONLY if descriptor == 1 else os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8", errors="replace")
    codecs.register_error(_HANDLER, _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors=_HANDLER)


def is_output_closed() -> bool:
    """Return whether nothing can be printed, as standard output was closed before the start, or is for reading."""
    try:
        flags = fcntl.fcntl(sys.stdout.fileno(), fcntl.F_GETFL)
    except (OSError, ValueError):
        return False
    return flags & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR) == os.O_RDONLY


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Return plain characters for those that an encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join("#" if ord(one) in _BARS else _PLAIN.get(one, "?") for one in missing), error.end
