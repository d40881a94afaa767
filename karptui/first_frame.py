"""The frame that is on the screen while the app is still being imported.

Textual alone takes a good part of a quarter of a second to import. A person who starts a tool looks at the terminal at
once; these few lines need nothing but the standard library, look like the app's own first frame, and make way for it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import Any, TextIO

from karptui.widgets.textual_compat.signals import die_of, heard

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J"
_LEAVE = "\x1b[?25h\x1b[?1049l"
_BOLD = "\x1b[1m"
_DIM = "\x1b[2m"
_REVERSE = "\x1b[7m"
_RESET = "\x1b[0m"


class FirstFrame:
    """Draws on the alternate screen, which Textual also uses; does nothing without a terminal."""

    def __init__(self, file: TextIO | None = None) -> None:
        """Make a frame that is not drawn yet."""
        self._file = sys.__stderr__ if file is None else file
        self._is_drawn = False
        self._text = ""
        self._handlers: dict[signal.Signals, Any] = {}
        """What signals did before the frame was drawn."""

    def draw(self, title: str, doing: str = "connecting") -> None:
        """Draw the frame."""
        file = self._file
        if file is None or not file.isatty() or os.environ.get("TERM", "") in ("", "dumb"):
            return
        try:
            width, height = os.get_terminal_size(file.fileno())
        except OSError:
            return
        text = "".join(char for char in title if char.isprintable())[: max(width - 30, 0)]
        health = f"○ {doing}"
        top = f"{_REVERSE}{_BOLD} {text or 'karptui'} {_RESET}"
        lines = (
            f"\x1b[1;1H{top}\x1b[1;{max(width - len(health), 1)}H{_DIM}{health}{_RESET}",
            f"\x1b[3;1H{_DIM}{'─' * width}{_RESET}",
            f"\x1b[{max(height // 2, 4)};{max((width - len(doing)) // 2, 1)}H{doing}…",
        )
        self._handlers = {number: signal.signal(number, self._die) for number in heard()}
        if signal.getsignal(signal.SIGTSTP) is not signal.SIG_IGN:
            self._handlers[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._stop)
        self._is_drawn = True
        self._text = _ENTER + "".join(lines)
        file.write(self._text)
        file.flush()

    def hand_over(self) -> None:
        """Leave the terminal and the signals to the app, which draws over the frame."""
        self._is_drawn = False

    def wipe(self) -> None:
        """Restore the terminal; needed only if the app does not start."""
        if self._is_drawn and self._file is not None:
            self._file.write(_LEAVE)
            self._file.flush()
            self._is_drawn = False
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

    def _die(self, number: int, _frame: FrameType | None) -> None:
        """Give the terminal back when a signal ends the program."""
        self._write_at_once(_LEAVE)
        die_of(number)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        """Give the terminal back while the program is stopped (ctrl-z), and draw again once it goes on."""
        self._write_at_once(_LEAVE)
        os.kill(os.getpid(), signal.SIGSTOP)
        self._write_at_once(self._text)

    def _write_at_once(self, text: str) -> None:
        """Write to the terminal, if it accepts output."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):
            os.set_blocking(self._file.fileno(), False)
            os.write(self._file.fileno(), text.encode())
        with contextlib.suppress(OSError):
            os.set_blocking(self._file.fileno(), True)
