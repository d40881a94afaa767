"""One line on a terminal that shows progress, or the working time of a command that has printed nothing yet."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from types import FrameType, SimpleNamespace
from typing import Final

FIRST_SECONDS: Final = 2.0
STDERR: Final = 2
_CLEAR: Final = "\r\x1b[K"
_STATE: Final = SimpleNamespace(command="", is_shown=False, since=0.0)


def start(command: str) -> None:
    """Show the working time if standard error is a terminal.

    By a timer signal, because a thread would make worker processes start slowly.
    """
    if not _is_terminal() or threading.current_thread() is not threading.main_thread():
        return
    _STATE.command, _STATE.is_shown, _STATE.since = command, False, time.monotonic()
    signal.signal(signal.SIGALRM, _beat)
    signal.setitimer(signal.ITIMER_REAL, FIRST_SECONDS, 1.0)


def show(progress: str) -> None:
    """Show progress instead of the working time, in place of the progress before."""
    stop()
    if _is_terminal():
        _STATE.is_shown = True
        _write(f"{_CLEAR}{progress}")


def clear() -> None:
    """Clear the line: called before a message is printed to standard error."""
    if _STATE.is_shown:
        _write(_CLEAR)
    _STATE.is_shown = False


def stop() -> None:
    """Clear the line and no longer show the working time; called before a result is printed."""
    if _STATE.command:
        signal.setitimer(signal.ITIMER_REAL, 0)
        _STATE.command = ""
    clear()


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _beat(_number: int, _frame: FrameType | None) -> None:
    if _STATE.command:
        _STATE.is_shown = True
        seconds = time.monotonic() - _STATE.since
        _write(f"{_CLEAR}karptui {_STATE.command}: working for {seconds:.0f} s; ctrl-c cancels")


def _write(text: str) -> None:
    # Past the buffer of standard error, which the interrupted code may be writing to.
    with suppress(OSError):
        os.write(STDERR, text.encode())
