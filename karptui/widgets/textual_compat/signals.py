"""Signals that end or stop the program: the terminal is given back first.

Textual hears of none that ends it: the terminal stays raw, on the alternate screen, and goes on to report the mouse.
After a stop that could not be caught (SIGSTOP) it reads keys with two threads, and hangs when it is left.

Could become upstream: "Restore the terminal on SIGTERM and SIGHUP", and "SIGCONT without SIGTSTP starts a second input
thread". Measured by tests/terminal/test_leaving.py.
"""

from __future__ import annotations

import os
import signal
import sys
import termios
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Iterator
    from types import FrameType

    from textual.app import App
    from textual.driver import Driver

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""What ends a program unless it says otherwise."""
ENDS_WITHIN_SECONDS: Final = 1.0
"""Time for the terminal to accept the last output before a second signal ends the program, in seconds."""
STUCK_SECONDS: Final = 5.0
"""Time after which a terminal that accepts nothing counts as unread, in seconds."""


class Signals:
    """Hears signals for an app, from before it runs until it has ended."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._ended_by = 0
        self._asked_at = 0.0
        self._is_stopped = False

    def hear_ends(self, loop: AbstractEventLoop) -> None:
        """End the app on a signal; end the program if the loop cannot handle it."""
        for number in heard():
            loop.add_signal_handler(number, self._end, number)
            signal.signal(number, self._end_without_loop)

    def hear_stops(self, loop: AbstractEventLoop) -> None:
        """Give the terminal back while the program is stopped; called when the app runs, as Textual hears stops too."""
        loop.add_signal_handler(signal.SIGTSTP, self._stop)
        loop.add_signal_handler(signal.SIGCONT, self._go_on)

    def die(self) -> None:
        """End the program by the signal that ended the app."""
        if self._ended_by:
            die_of(self._ended_by)

    def _end(self, number: int) -> None:
        self._ended_by = number
        self._app.exit()

    def _end_without_loop(self, number: int, _: FrameType | None) -> None:
        """End the program if there is nothing to restore, or on a second signal during a blocked write."""
        now = time.monotonic()
        if not self._asked_at:
            self._asked_at = now
            threading.Thread(target=self._insist, args=(number,), name="ending", daemon=True).start()
        if (number == signal.SIGHUP and not _has_terminal()) or now - self._asked_at > ENDS_WITHIN_SECONDS:
            self._give_back_modes()
            die_of(number)

    def _insist(self, number: int) -> None:
        """Send a signal again if the terminal accepts no output: the app would wait for ever."""
        while True:
            before = self._being_written()
            time.sleep(STUCK_SECONDS)
            if before is not None and before is self._being_written():
                os.kill(os.getpid(), number)

    def _being_written(self) -> object:
        """Return the write that the terminal has not accepted yet; None if there is none."""
        file = getattr(getattr(self._app, "_driver", None), "_file", None)
        return file.writing if isinstance(file, _Terminal) else None

    def _give_back_modes(self) -> None:
        """Restore the terminal's line discipline; escape sequences would not be read."""
        modes = getattr(getattr(self._app, "_driver", None), "attrs_before", None)
        if modes is not None and sys.__stdin__ is not None:
            with suppress(OSError, ValueError, termios.error):
                termios.tcsetattr(sys.__stdin__.fileno(), termios.TCSANOW, modes)

    def _stop(self) -> None:
        self._is_stopped = True
        with self._app.suspend():
            os.kill(os.getpid(), signal.SIGSTOP)

    def _go_on(self) -> None:
        """Set up the terminal again: another program may have changed it."""
        if self._is_stopped:
            self._is_stopped = False
        else:
            with self._app.suspend():
                pass


def heard() -> list[signal.Signals]:
    """Return the signals that end the program and that its parent has not ignored."""
    return [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]


def die_of(number: int) -> None:
    """Die of a signal by its default action, so that a shell or a service sees the cause."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def driver_of(driver: type[Driver]) -> type[Driver]:
    """Return a driver that ends the program if its terminal is gone; drivers without a terminal as they are."""
    if sys.platform == "win32":
        return driver
    from textual.drivers.linux_driver import LinuxDriver  # noqa: PLC0415 - not there on Windows

    if driver is not LinuxDriver:
        return driver

    class TerminalDriver(LinuxDriver):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self._file: Any = _Terminal(self._file)

    return TerminalDriver


class _Terminal:
    """Output to the terminal; ends the program if the terminal is gone, since Textual would wait for it."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.writing: object = None
        """Marker of the current write; None if there is none."""

    def write(self, text: str) -> int:
        with self._taking():
            return self._file.write(text)

    def flush(self) -> None:
        with self._taking():
            self._file.flush()

    @contextmanager
    def _taking(self) -> Iterator[None]:
        self.writing = object()
        try:
            yield
        except OSError:
            _hang_up()
            # The window is closed: Textual's output thread ends without a crash report.
            raise SystemExit(128 + signal.SIGHUP) from None
        finally:
            self.writing = None

    def fileno(self) -> int:
        return self._file.fileno()


def _hang_up() -> None:
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        os._exit(128 + signal.SIGHUP)
    os.kill(os.getpid(), signal.SIGHUP)


def _has_terminal() -> bool:
    try:
        return sys.__stdin__ is not None and bool(os.ttyname(sys.__stdin__.fileno()))
    except (OSError, ValueError):
        return False
