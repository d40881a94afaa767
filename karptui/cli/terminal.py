"""The terminal that the app needs: to draw on, and for keys also where standard input was a pipe."""

from __future__ import annotations

import os
import sys
from typing import Final

from karptui.cli.source import UsageError

TERMINAL: Final = "/dev/tty"
STDIN: Final = 0
NO_TERMINAL: Final = "the app needs a terminal; in scripts and pipes use a command, such as karptui nodes"


def check_screen() -> None:
    """Refuse to draw where nobody can see it: the app draws on standard error.

    Raises:
        UsageError: with a sentence.
    """
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        raise UsageError(NO_TERMINAL)


def take_keys(path: str = TERMINAL, *, descriptor: int = STDIN) -> None:
    """Have keys come from the terminal where standard input is a pipe or a file, which by now has been read.

    Args:
        path: the terminal.
        descriptor: of standard input.

    Raises:
        UsageError: when there is no terminal.
    """
    if os.isatty(descriptor):
        return
    try:
        terminal = os.open(path, os.O_RDWR)
    except OSError:
        raise UsageError(NO_TERMINAL) from None
    os.dup2(terminal, descriptor)
    os.close(terminal)
