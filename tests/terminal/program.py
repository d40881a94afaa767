"""A program in a pseudo-terminal: tests press keys and read the screen."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self

from tests.terminal.emulator import Emulator

PATIENCE_SECONDS: Final = 90.0
"""Timeout for something to appear; on an idle machine it takes a fraction of a second."""
FRAME_SECONDS: Final = 0.03
"""Time for a frame after a key."""
REST_SECONDS: Final = 5.0
"""Maximum time for the rest of a frame; a program that is stopped or killed within one never finishes it."""
AGAIN_SECONDS: Final = 2.0
"""Time after which a key is pressed again, if the row that it reached has moved."""
KEYS: Final = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "backspace": "\x7f",
}
SHELL: Final = Path(__file__).with_name("shell.py")
CURSOR: Final = "▌"
_ROW: Final = re.compile(r"[ ▌][ ✓].*\S.")
_TITLE: Final = re.compile(r"─ (\w[\w' -]*?) (?:\[(\d+)|─|·|\()")


class View:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    @property
    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.lines)

    @property
    def has_dialog(self) -> bool:
        """Whether a dialog covers the list."""
        return any("╭" in line and not line.startswith("╭") for line in self.lines)

    @property
    def title(self) -> str:
        """The word in the line above the list; empty if there is none."""
        match = next((match for line in self.lines if (match := _TITLE.match(line))), None)
        return match[1] if match else ""

    @property
    def count(self) -> int:
        """The number of rows in the title; 0 if it has none."""
        match = next((match for line in self.lines if (match := _TITLE.match(line))), None)
        return int(match[2] or 0) if match else 0

    @property
    def rows(self) -> list[str]:
        """The visible rows of the list, without the scroll bar."""
        start = next((y for y, line in enumerate(self.lines) if _TITLE.match(line)), len(self.lines))
        rows: list[str] = []
        for line in self.lines[start + 2 :]:
            if not _ROW.match(line):
                break
            rows.append(line[:-1].rstrip())
        return rows

    @property
    def cursor(self) -> int:
        """Index of the row under the cursor among the visible ones; -1 if it is not visible."""
        return next((at for at, row in enumerate(self.rows) if row.startswith(CURSOR)), -1)

    @property
    def under_cursor(self) -> str:
        """The name of the row under the cursor; of a host name the part that is shown at every width."""
        return self.rows[self.cursor][1:].removeprefix("✓").split()[0].partition(".")[0] if self.cursor >= 0 else ""


class Program:
    """A running program, closed at the end of the block."""

    def __init__(
        self, *command: str, columns: int = 120, lines: int = 30, environment: Mapping[str, str] | None = None
    ) -> None:
        self.emulator = Emulator(columns, lines)
        self._master, self.terminal = pty.openpty()
        self._set_size(columns, lines)
        self.before = termios.tcgetattr(self.terminal)
        self._reports, reports = os.pipe()
        orders, self._orders = os.pipe()
        self._life, life = os.pipe()
        self._shell = subprocess.Popen(
            [sys.executable, "-S", "-E", str(SHELL), str(reports), str(orders), str(life), *command],
            stdin=self.terminal,
            stdout=self.terminal,
            stderr=self.terminal,
            pass_fds=(reports, orders, life),
            start_new_session=True,
            env={**without_size(os.environ), "TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})},
        )
        for passed in (reports, orders, life):
            os.close(passed)
        self._told = ""
        self.pid = int(self.report("started").split()[1])

    # Input

    def press(self, *keys: str) -> None:
        """Press keys: characters, names such as ``pagedown``, or ``ctrl+t``."""
        for key in keys:
            ctrl = key.removeprefix("ctrl+")
            self.type(chr(ord(ctrl) & 31) if ctrl != key else KEYS.get(key, key))

    def type(self, text: str) -> None:
        data = text.encode()
        while data:
            self._take_in(0)
            data = data[os.write(self._master, data) :]

    def press_unread(self, *keys: str, times: int) -> None:
        """Press keys one after the other, with time for a frame each, without reading the output."""
        for _ in range(times):
            for key in keys:
                os.write(self._master, key.encode())
                select.select([], [], [], FRAME_SECONDS)

    def click(self, x: int, y: int) -> None:
        self.type(f"\x1b[<0;{x + 1};{y + 1}M\x1b[<0;{x + 1};{y + 1}m")

    def wheel(self, x: int, y: int, *, lines: int) -> None:
        """Turn the mouse's wheel down, or up if the number of lines is negative."""
        self.type(f"\x1b[<{65 if lines > 0 else 64};{x + 1};{y + 1}M" * abs(lines))

    def resize(self, columns: int, lines: int) -> None:
        """Make the terminal larger or smaller."""
        self._take_in(0)
        self.emulator.resize(lines, columns)
        self._set_size(columns, lines)

    def _set_size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def go_on(self) -> None:
        """Resume the stopped program, as ``fg`` does."""
        os.write(self._orders, b"\n")

    def hang_up(self) -> None:
        """Close the terminal, as if its window was closed."""
        os.close(self._master)
        os.close(self.terminal)
        self._master = self.terminal = -1

    # Output

    @property
    def view(self) -> View:
        """The screen now."""
        return View(list(self.emulator.display))

    def look_on(self, seconds: float) -> None:
        """Wait for output at most this long, and read all of it."""
        self._take_in(seconds)

    def wait(self, what: str, is_so: Callable[[View], object], *, seconds: float = PATIENCE_SECONDS) -> View:
        """Wait until the screen fulfils a condition, and return that screen."""
        until = time.monotonic() + seconds
        view = self.view
        while not is_so(view):
            left = until - time.monotonic()
            if left < 0 or not self._take_in(left):
                raise AssertionError(f"not seen: {what}\n{view.text}")
            view = self.view
        return view

    def reach(self, what: str, is_so: Callable[[View], object], *keys: str) -> View:
        """Press keys until the screen fulfils a condition; again if new rows moved the row that they reached."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            self.press(*keys)
            again = time.monotonic() + AGAIN_SECONDS
            while not is_so(view := self.view):
                if time.monotonic() > until:
                    raise AssertionError(f"not seen: {what}\n{view.text}")
                if not self._take_in(again - time.monotonic()) or time.monotonic() > again:
                    break
            else:
                return view

    def report(self, word: str) -> str:
        """Wait until the shell reports something, and return that line."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not self._told.endswith("\n") or not self._told.splitlines()[-1].startswith(word):
            sources = [self._reports, *([self._master] if self._master >= 0 else [])]
            ready = ready_of(sources, until - time.monotonic())
            if not ready:
                raise AssertionError(f"the shell said {self._told!r}, not {word!r}\n{self.view.text}")
            if self._reports in ready:
                data = os.read(self._reports, 1024)
                if not data:
                    raise AssertionError(f"the shell ended after {self._told!r}\n{self.view.text}")
                self._told += data.decode()
            if self._master in ready:
                self._take_in(0)
        self._take_in(0)
        return self._told.splitlines()[-1]

    def has_ended(self, *, seconds: float = PATIENCE_SECONDS) -> bool:
        """Wait until the program has ended, and return whether it has."""
        return bool(ready_of([self._life], seconds))

    def _take_in(self, seconds: float) -> bool:
        """Wait for output, read all of it and the rest of a started frame, and return whether there was any."""
        result = False
        while ready_of([self._master], REST_SECONDS if self.emulator.is_drawing else 0 if result else seconds):
            self.emulator.feed(os.read(self._master, 1 << 16))
            result = True
            if self.emulator.answers:
                os.write(self._master, self.emulator.answers)
                self.emulator.answers = b""
        return result

    # How it ends

    def leftovers(self) -> list[str]:
        """Return the differences of the terminal to its state before."""
        after = termios.tcgetattr(self.terminal)
        names = ("input flags", "output flags", "control flags", "local flags", "speed", "speed", "characters")
        changed = [name for name, old, new in zip(names, self.before, after, strict=True) if old != new]
        return [*self.emulator.leftovers(), *changed]

    def close(self) -> None:
        """Kill the program, and close its terminal."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        os.close(self._orders)
        self._shell.wait(PATIENCE_SECONDS)
        os.close(self._reports)
        os.close(self._life)
        if self._master >= 0:
            self.hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def ready_of(descriptors: Iterable[int], seconds: float) -> list[int]:
    """Wait until files can be read, and return these; works with many open files."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(max(seconds, 0) * 1000)]


def without_size(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without LINES and COLUMNS, so that a program asks the terminal for its size."""
    return {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES")}


SCRIPT: Final = Path(sys.executable).with_name("karptui")
"""The console script of the environment that runs the tests."""


def karptui(*arguments: str, environment: Mapping[str, str], **given: Any) -> Program:
    """Open the installed program in a terminal."""
    return Program(str(SCRIPT), *arguments, environment={"ESCDELAY": "25", **environment}, **given)


IMPATIENT: Final = """
import sys
from karptui.cli.main import main
from karptui.widgets.textual_compat import signals
signals.STUCK_SECONDS = 0.5
sys.exit(main())
"""


def impatient(*arguments: str, environment: Mapping[str, str]) -> Program:
    """Open the installed program; it waits half a second for a terminal that does not read."""
    return Program(sys.executable, "-c", IMPATIENT, *arguments, environment=environment)


def run_karptui(*arguments: str, environment: Mapping[str, str]) -> str:
    """Run a command of the installed program, and return its output."""
    command = [str(SCRIPT), *arguments]
    return subprocess.run(
        command, env={**os.environ, **environment}, check=True, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    ).stdout
