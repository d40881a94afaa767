"""Standard streams, which may be closed or use an encoding that lacks some characters, and messages to the user."""

from __future__ import annotations

import codecs
import fcntl
import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Final, Literal

from karptui.cli import heartbeat
from karptui.errors import RequestError
from karptui.views.sanitize import SafeText, clean

_RUNNING: Final = SimpleNamespace(command="")


class UsageError(RequestError):
    """An invalid request; the message is for the user. ``main`` prints it and exits with status 2."""


def begin(command: str | None) -> None:
    """Name the command that is running; messages begin with its name."""
    _RUNNING.command = command or ""


def say(sentence: str) -> None:
    """Print a message to standard error."""
    heartbeat.clear()
    if sys.stderr is not None:
        name = f"karptui {_RUNNING.command}" if _RUNNING.command else "karptui"
        sys.stderr.write(clean(f"{name}: {sentence}") + "\n")


def show_progress(text: str) -> None:
    """Show progress on a terminal until something else is printed, in place of the progress before."""
    heartbeat.show(clean(f"karptui {_RUNNING.command}: {text}"))


def show_percent(done: int, total: int) -> None:
    """Show the progress of a forecast or a simulation, as its reporter."""
    show_progress(f"{done * 100 // max(total, 1)} %")


_NOTHING: Final = SafeText("")
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


def put(text: SafeText = _NOTHING, *, end: Literal["", "\n", "\n\n"] = "\n", is_error: bool = False) -> None:
    """Print to standard output or error; commands print nothing in any other way, so that no raw text gets there."""
    heartbeat.stop()
    stream = sys.stderr if is_error else sys.stdout
    if stream is not None:
        stream.write(text + end)


def prepare_streams() -> None:
    """Make sure that every standard stream is open and can encode all output.

    Writing to a closed standard output fails, as in other programs; messages on a closed standard error are lost.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # Otherwise the next opened file gets its number, and output ends up in it.
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


def given_text(name: str, most_bytes: int) -> str:
    """Return the text of a file that the command line names, or of standard input for ``-``.

    Raises:
        UsageError: when it cannot be read, is no text, or is larger.
    """
    from karptui.files import read_file, size_text

    where = "standard input" if name == "-" else name
    try:
        if name != "-":
            return read_file(Path(name), most_bytes).decode()
        if sys.stdin is None:
            raise UsageError(f"{where}: is closed")
        text = sys.stdin.read(most_bytes + 1)
    except OSError as error:
        raise UsageError(f"{where}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{where}: is not text in UTF-8") from error
    if len(text) > most_bytes:
        raise UsageError(f"{where}: it is larger than {size_text(most_bytes)}")
    return text


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join("#" if ord(character) in _BARS else _PLAIN.get(character, "?") for character in missing), error.end
