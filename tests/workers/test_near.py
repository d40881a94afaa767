from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import MappingProxyType

import pytest

from karptui.workers import children
from karptui.workers.children import Children
from karptui.workers.near import NearWorkers, workers_at
from karptui.workers.workers import WorkersError, in_order
from tests.workers import questions

ALIVE = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"


@pytest.mark.parametrize("count", [1, 2])
def test_results_come_in_the_order_of_the_items(count: int) -> None:
    common = MappingProxyType({"by": 3})
    result = list(in_order(NearWorkers(count).run(questions.times, common, range(12))))
    assert result == [3 * item for item in range(12)]
    assert list(NearWorkers(count).run(questions.times, common, ())) == []


def test_late_results_are_put_in_order() -> None:
    assert {position for position, _ in NearWorkers(2).run(questions.late, None, range(3))} == {0, 1, 2}
    assert list(in_order([(2, "c"), (0, "a"), (3, "d"), (1, "b")])) == ["a", "b", "c", "d"]


def test_one_worker_is_this_process() -> None:
    assert list(NearWorkers(1).run(questions.who, None, [0])) == [(0, os.getpid())]
    assert os.getpid() not in dict(NearWorkers(2).run(questions.who, None, range(4))).values()


def test_the_item_of_a_process_that_dies_is_retried(tmp_path: Path) -> None:
    deadly = 3
    result = list(in_order(NearWorkers(2).run(questions.dies_once, (str(tmp_path), deadly), range(8))))
    assert result == list(range(8))
    assert (tmp_path / str(deadly)).exists()


def test_repeatedly_dying_processes_are_an_error() -> None:
    with pytest.raises(WorkersError, match="3 processes in a row have died at work"):
        list(NearWorkers(2).run(questions.dies, None, range(4)))


def test_an_error_of_the_function_is_raised() -> None:
    with pytest.raises(KeyError):
        list(NearWorkers(2).run(questions.fails, None, range(4)))


def test_cancelling_ends_running_items() -> None:
    workers = NearWorkers(2)
    seen = []
    for position, _ in workers.run(questions.never_ends, None, range(50)):
        seen.append(position)
        workers.cancel()
    assert seen == [0]
    results = NearWorkers(2).run(questions.never_ends, None, range(50))
    assert next(results) == (0, 0)
    assert isinstance(results, Generator)
    results.close()


PARENT = """
import signal, sys, threading
from karptui.workers.near import NearWorkers
from tests.workers import questions

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored
if sys.argv[2] == "spawn":  # threads make worker processes start with spawn
    threading.Thread(target=threading.Event().wait, daemon=True).start()
list(NearWorkers(3).run(questions.busy, sys.argv[1], range(8)))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda number: number.name)
def test_no_worker_outlives_its_parent(tmp_path: Path, number: signal.Signals, method: str) -> None:
    """A surviving worker would keep the pipe open, and the reader of the parent's output would wait forever."""
    words = [sys.executable, "-c", PARENT, str(tmp_path), method]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as parent:
        while len(list(tmp_path.iterdir())) < 3:
            assert parent.poll() is None
        parent.send_signal(number)
        output, _ = parent.communicate(timeout=20)
    assert parent.returncode == -number
    assert b"Traceback" not in output
    assert not [path.name for path in tmp_path.iterdir() if is_running(int(path.name))]


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not just waiting to be reaped."""
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False).stdout
        return bool(state.strip()) and not state.startswith(b"Z")
    return False


@pytest.mark.parametrize("text", ["0", "-1", "257", "x", "", "http://x", "scheduler:8786", "²"])
def test_invalid_values_for_workers_are_refused(text: str) -> None:
    with pytest.raises(WorkersError, match="is neither a number of processes nor the address of a Dask scheduler"):
        workers_at(text)


def test_a_number_gives_this_number_of_processes() -> None:
    workers = workers_at("7")
    assert (workers.count, workers.sees_files) == (7, True)
    workers.close()


class Reports:
    """Collects reports of child processes, and waits for them."""

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
def heard(monkeypatch: pytest.MonkeyPatch) -> Reports:
    monkeypatch.setattr(children, "FIRST_WAIT_SECONDS", 0.01)
    return Reports()


@pytest.fixture
def run(heard: Reports) -> Iterator[Callable[..., Children]]:
    started: list[Children] = []

    def begin(**programs: str) -> Children:
        commands = {name: [sys.executable, "-c", program] for name, program in programs.items()}
        started.append(Children(commands, heard.line, heard.ended))
        started[-1].start()
        return started[-1]

    yield begin
    for item in started:
        item.stop()


def test_a_killed_child_is_restarted_and_the_others_continue(run: Callable[..., Children], heard: Reports) -> None:
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
def test_a_bad_child_is_killed_and_restarted_with_growing_delays(
    program: str, why: str, run: Callable[..., Children], heard: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "silent" in why:
        monkeypatch.setattr(children, "SILENT_SECONDS", 0.3)
    heard.is_good = lambda line: line != b"bad"
    running = run(a=program)
    heard.wait(lambda: len(heard.ends) >= 3)
    assert {end[1] for end in heard.ends} == {why}
    assert [end[2] for end in heard.ends[:3]] == [0.01, 0.02, 0.04]
    running.stop()


def test_a_command_that_cannot_be_started_gives_a_message(heard: Reports) -> None:
    commands = {"a": [sys.executable, "-c", "pass", "\0"], "b": ["/no/such/program"]}
    running = Children(commands, heard.line, heard.ended)
    running.start()
    heard.wait(lambda: {name for name, *_ in heard.ends} == {"a", "b"})
    running.stop()
    assert all(why.startswith("its process cannot be started: ") for _, why, _ in heard.ends)


PARENT_OF_CHILDREN = """
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
    """Plugin processes started by a child do not outlive the parent either."""
    with subprocess.Popen([sys.executable, "-c", PARENT_OF_CHILDREN, str(tmp_path)], stdout=subprocess.PIPE) as parent:
        while len(list(tmp_path.iterdir())) < 4:
            assert parent.poll() is None
            time.sleep(0.02)
        parent.send_signal(number)
        parent.wait(20)
    deadline = time.monotonic() + 30
    while [path.name for path in tmp_path.iterdir() if is_running(int(path.name))]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
