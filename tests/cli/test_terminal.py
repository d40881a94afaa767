"""The app in a terminal: keys come from it also when standard input is a pipe, and without one a sentence is said."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from karptui.cli import terminal
from karptui.cli.main import main
from karptui.cli.source import UsageError
from tests.troubles import troubles_document

START = (
    "import os, sys; os.close(os.open(os.ttyname(2), os.O_RDWR)); "
    "from karptui.cli.main import main; sys.exit(main(sys.argv[1:]))"
)
# The first terminal that the leader of a session opens is the one that /dev/tty means.
PATIENCE_SECONDS = 60.0


def test_nothing_is_drawn_where_nobody_sees_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "__stderr__", io.StringIO())
    assert main(["--demo"]) == 2
    assert capsys.readouterr().err == f"karptui: {terminal.NO_TERMINAL}\n"
    monkeypatch.setattr(sys, "__stderr__", None)
    assert main(["--demo"]) == 2


def test_without_a_terminal_there_are_no_keys(tmp_path: Path) -> None:
    with (tmp_path / "in").open("w+b") as file, pytest.raises(UsageError, match="needs a terminal"):
        terminal.take_keys(str(tmp_path / "no tty"), descriptor=file.fileno())


def test_keys_come_from_the_terminal_instead_of_a_pipe() -> None:
    main_end, terminal_end = pty.openpty()
    reading, writing = os.pipe()
    terminal.take_keys(os.ttyname(terminal_end), descriptor=reading)
    assert os.isatty(reading)
    terminal.take_keys("/nowhere", descriptor=reading)  # it is a terminal already
    for descriptor in (main_end, terminal_end, reading, writing):
        os.close(descriptor)


def test_a_snapshot_in_a_pipe_leaves_the_keys_to_the_terminal() -> None:
    """Pipes a snapshot into the app on a pseudo terminal of its own, and leaves it by a key."""
    import msgspec

    main_end, terminal_end = pty.openpty()
    app = subprocess.Popen(
        [sys.executable, "-c", START, "--snapshot", "-"],
        stdin=subprocess.PIPE,
        stdout=terminal_end,
        stderr=terminal_end,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    os.close(terminal_end)
    assert app.stdin is not None
    app.stdin.write(msgspec.json.encode(troubles_document()))
    app.stdin.close()
    seen, is_left = b"", False
    deadline = time.monotonic() + PATIENCE_SECONDS
    try:
        while app.poll() is None and time.monotonic() < deadline:
            if select.select([main_end], [], [], 0.1)[0]:
                try:
                    seen += os.read(main_end, 65536)
                except OSError:
                    break
            if b"spot-1" in seen and not is_left:
                is_left = os.write(main_end, b"q") > 0
        assert b"spot-1" in seen
        assert app.wait(timeout=PATIENCE_SECONDS) == 0
    finally:
        if app.poll() is None:
            app.kill()
            app.wait()
        os.close(main_end)
