from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from types import MappingProxyType

import pytest

from karptui.workers.near import NearWorkers, workers_at
from karptui.workers.workers import WorkersError, in_order
from tests.workers import questions


@pytest.mark.parametrize("count", [1, 2])
def test_results_come_in_the_order_of_the_items(count: int) -> None:
    common = MappingProxyType({"by": 3})
    result = list(in_order(NearWorkers(count).run(questions.times, common, range(12))))
    assert result == [3 * item for item in range(12)]
    assert list(NearWorkers(count).run(questions.times, common, ())) == []


def test_what_is_ready_is_not_held_back() -> None:
    assert {position for position, _ in NearWorkers(2).run(questions.late, None, range(3))} == {0, 1, 2}
    assert list(in_order([(2, "c"), (0, "a"), (3, "d"), (1, "b")])) == ["a", "b", "c", "d"]


def test_one_worker_is_this_process() -> None:
    assert list(NearWorkers(1).run(questions.who, None, [0])) == [(0, os.getpid())]
    assert os.getpid() not in dict(NearWorkers(2).run(questions.who, None, range(4))).values()


def test_a_process_that_dies_costs_a_retry_and_nothing_else(tmp_path: Path) -> None:
    deadly = 3
    result = list(in_order(NearWorkers(2).run(questions.dies_once, (str(tmp_path), deadly), range(8))))
    assert result == list(range(8))
    assert (tmp_path / str(deadly)).exists()


def test_processes_that_die_over_and_over_are_given_up() -> None:
    with pytest.raises(WorkersError, match="3 processes in a row have died at work"):
        list(NearWorkers(2).run(questions.dies, None, range(4)))


def test_an_error_is_that_of_the_question() -> None:
    with pytest.raises(KeyError):
        list(NearWorkers(2).run(questions.fails, None, range(4)))


def test_cancelling_ends_what_is_under_way() -> None:
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
    """A worker that lives on holds the pipe, so that whoever reads the parent's output waits for ever."""
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
def test_what_workers_are_not(text: str) -> None:
    with pytest.raises(WorkersError, match="is neither a number of processes nor the address of a Dask scheduler"):
        workers_at(text)


def test_a_number_is_that_many_processes() -> None:
    workers = workers_at("7")
    assert (workers.count, workers.sees_files) == (7, True)
    workers.close()
