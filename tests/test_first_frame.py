from __future__ import annotations

import io
import os
import pty
import subprocess
import sys

import pytest

from karptui.first_frame import FirstFrame

_PROGRAM = (
    "from karptui.first_frame import FirstFrame; import sys; f = FirstFrame(); f.draw(sys.argv[1]); f.wipe(); f.wipe()"
)


def drawn_on_a_terminal(title: str, **environment: str) -> str:
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    import fcntl
    import struct
    import termios

    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm", **environment}
    subprocess.run([sys.executable, "-c", _PROGRAM, title], stderr=slave, check=True, env=environment)
    try:
        return os.read(master, 100_000).decode()
    except BlockingIOError:
        return ""
    finally:
        os.close(master)
        os.close(slave)


def test_it_is_drawn_on_the_alternate_screen_and_wiped_once() -> None:
    text = drawn_on_a_terminal("prod-eu-1\x1b[2J")
    assert text.startswith("\x1b[?1049h")
    assert " prod-eu-1[2J " in text
    assert "connecting…" in text
    assert text.endswith("\x1b[?25h\x1b[?1049l")
    assert text.count("\x1b[?1049l") == 1


def test_a_dumb_terminal_gets_nothing() -> None:
    assert drawn_on_a_terminal("x", TERM="dumb") == ""


def test_no_terminal_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    frame = FirstFrame(file)
    frame.draw("x")
    frame.wipe()
    assert file.getvalue() == ""
    monkeypatch.setattr(sys, "__stderr__", None)
    FirstFrame().draw("x")


def test_a_terminal_without_a_size_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(io.StringIO):
        def isatty(self) -> bool:
            return True

        def fileno(self) -> int:
            raise OSError

    monkeypatch.setenv("TERM", "xterm")
    file = Odd()
    FirstFrame(file).draw("x")
    assert file.getvalue() == ""
