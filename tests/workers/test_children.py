from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from karptui.workers import children
from karptui.workers.children import Children
from tests.workers.test_near import is_running

ALIVE = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"


class Heard:
    """What is heard of children, and a way to wait for it."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, bytes]] = []
        self.ends: list[tuple[str, str, float]] = []
        self.news = threading.Condition()
        self.is_good: Callable[[bytes], bool] = lambda _: True

    def line(self, name: str, line: bytes) -> bool:
        with self.news:
            self.lines.append((name, line))
            self.news.notify_all()
        return self.is_good(line)

    def ended(self, name: str, why: str, seconds: float) -> None:
        with self.news:
            self.ends.append((name, why, seconds))
            self.news.notify_all()

    def wait(self, is_so: Callable[[], object]) -> None:
        with self.news:
            assert self.news.wait_for(is_so, 60)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    monkeypatch.setattr(children, "FIRST_WAIT_SECONDS", 0.01)
    return Heard()


@pytest.fixture
def run(heard: Heard) -> Iterator[Callable[..., Children]]:
    started: list[Children] = []

    def begin(**programs: str) -> Children:
        commands = {name: [sys.executable, "-c", program] for name, program in programs.items()}
        started.append(Children(commands, heard.line, heard.ended))
        started[-1].start()
        return started[-1]

    yield begin
    for item in started:
        item.stop()


def test_a_killed_child_is_started_again_and_others_go_on(run: Callable[..., Children], heard: Heard) -> None:
    running = run(a=ALIVE, b=ALIVE)
    heard.wait(lambda: len(heard.lines) == 2)
    first = dict(heard.lines)
    os.kill(int(first["a"]), signal.SIGKILL)
    heard.wait(lambda: [name for name, _ in heard.lines].count("a") == 2)
    assert heard.ends == [("a", "its process was ended by SIGKILL", 0.01)]
    assert ("b", first["b"]) == [line for line in heard.lines if line[0] == "b"][-1]
    assert is_running(int(first["b"]))
    running.stop()
    deadline = time.monotonic() + 30
    while any(is_running(int(pid)) for _, pid in heard.lines):
        assert time.monotonic() < deadline


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("raise SystemExit(3)", "its process ended with status 3"),
        ("print('bad', flush=True); input()", "its process printed something else"),
        ("print('x' * 70_000, flush=True); input()", "its process printed a line that is too long"),
        ("import sys\nwhile True: sys.stdout.write('x' * 9999)", "its process printed a line that is too long"),
        ("import sys; sys.stdin.read()", "its process was silent for 0 s"),
    ],
)
def test_a_bad_child_is_killed_and_tried_more_and_more_rarely(
    program: str, why: str, run: Callable[..., Children], heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "silent" in why:
        monkeypatch.setattr(children, "SILENT_SECONDS", 0.3)
    heard.is_good = lambda line: line != b"bad"
    running = run(a=program)
    heard.wait(lambda: len(heard.ends) >= 3)
    assert {end[1] for end in heard.ends} == {why}
    assert [end[2] for end in heard.ends[:3]] == [0.01, 0.02, 0.04]
    running.stop()


def test_a_name_that_no_command_line_can_hold_is_a_sentence(heard: Heard) -> None:
    commands = {"a": [sys.executable, "-c", "pass", "\0"], "b": ["/no/such/program"]}
    running = Children(commands, heard.line, heard.ended)
    running.start()
    heard.wait(lambda: {name for name, *_ in heard.ends} == {"a", "b"})
    running.stop()
    assert all(why.startswith("its process cannot be started: ") for _, why, _ in heard.ends)


PARENT = """
import signal, sys, time
from karptui.workers.children import Children

signal.signal(signal.SIGHUP, signal.SIG_DFL)
program = '''
import os, subprocess, sys, time
from pathlib import Path
from karptui.workers.children import end_with_parent
end_with_parent()
plugin = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
for pid in (os.getpid(), plugin.pid):
    Path(sys.argv[1], str(pid)).touch()
while True:
    time.sleep(1)
'''
one = Children({str(n): [sys.executable, "-c", program, sys.argv[1]] for n in range(2)}, lambda *_: True, print)
one.start()
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda number: number.name)
def test_no_child_outlives_its_parent(tmp_path: Path, number: signal.Signals) -> None:
    """Nor does a plugin that it has started."""
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE) as parent:
        while len(list(tmp_path.iterdir())) < 4:
            assert parent.poll() is None
            time.sleep(0.02)
        parent.send_signal(number)
        parent.wait(20)
    deadline = time.monotonic() + 30
    while [path.name for path in tmp_path.iterdir() if is_running(int(path.name))]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
