"""Decompression bombs are refused early: the peak memory of the process stays under 300 MB."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from karptui.sources.cluster.body import TooLargeError, answers_counted
from tests.cli.files import kubeconfig
from tests.fake_api_server import Call, LoopbackServer
from tests.sources.cluster.live import transport_to

MIB = 1 << 20
STATUS = Path("/proc/self/status")
PROGRAM = """
import contextlib, io, json, sys
from karptui.cli.main import main
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as error:
        status = main(words)
    peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(json.dumps([status, int(peak) // 1024, error.getvalue()]))
"""

pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="the peak of a process is read from /proc")


@cache
def spaces() -> bytes:
    """Return gzip data that unpacks to 100 MiB of spaces."""
    return gzip.compress(b" " * (100 * MIB))


def packed_spaces() -> bytes:
    """Return 3 MB of gzip data that unpack to 3 GB of spaces."""
    return gzip.compress(b"[") + spaces() * 30


def packed_objects() -> bytes:
    """Return gzip data that unpacks to 8 MiB of empty objects: 1 GB of memory once decoded."""
    return gzip.compress(b'{"items":[{}' + b",{}" * (8 * MIB // 3) + b"]}")


def hidden() -> bytes:
    """Return 2.9 MB of incompressible data followed by a bomb."""
    filler = gzip.compress(b'["' + os.urandom(MIB).hex().encode() + b'",')
    return filler * 2 + spaces() * 4


@cache
def numbers_as_objects() -> bytes:
    """Return two million small objects, separated by commas."""
    objects = [b'{"a":%d}' % (100 + number) for number in range(256)]
    return b",".join(objects[number] for number in os.urandom(2 * MIB))


def dense() -> bytes:
    """Return 3 MB of small objects, just below the density limit, that compress no better than real ones."""
    return gzip.compress(b'{"metadata":{},"items":[' + numbers_as_objects() + b"]}", 6)


def dense_object() -> bytes:
    """Return a recording of one object with two copies of the small objects of ``dense``."""
    parts = b",".join([numbers_as_objects()] * 2)
    return gzip.compress(b'{"kind":"List","items":[{"kind":"Pod","spec":[' + parts + b"]}]}", 1)


def small_pods() -> bytes:
    """Return 0.5 MB of valid, empty pods: 160 MB of memory once decoded."""
    pods = (b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%d"}}' % number for number in range(200_000))
    return gzip.compress(b'{"kind":"List","items":[' + b",".join(pods) + b"]}")


def small_measurements() -> bytes:
    """Return a recording of half a million measurements: 300 MB of memory once decoded."""
    pods = (b'"%x":[1,2,3]' % number for number in range(500_000))
    return gzip.compress(b'{"karptui":1,"objects":[],"usage":{"pods":{' + b",".join(pods) + b"}}}")


def peaks_of(*commands: list[str]) -> list[tuple[int, int, str]]:
    """Run commands in one child process; return each exit status, the peak in MB so far, and standard error."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return [(status, peak, error) for status, peak, error in map(json.loads, done.stdout.splitlines())]


BOMBS = (packed_spaces, packed_objects, hidden, dense_object, small_pods, small_measurements)


def test_a_bomb_as_snapshot_is_refused(tmp_path: Path) -> None:
    """One process reads all bombs, because starting a process takes longer than refusing a bomb."""
    files = {bomb.__name__: tmp_path / f"{bomb.__name__}.json.gz" for bomb in BOMBS}
    for bomb in BOMBS:
        files[bomb.__name__].write_bytes(bomb())
    read = peaks_of(*(["nodes", "--snapshot", str(file)] for file in files.values()))
    for name, (status, peak, error) in zip(files, read, strict=True):
        assert (status, error.count("\n")) == (2, 1), name
        assert "it is no snapshot" in error or "MiB of memory, more than a snapshot of" in error, name
        assert peak < 300, name


@pytest.mark.parametrize("bomb", [packed_spaces, dense])
def test_a_bomb_in_any_api_server_response_is_refused(bomb: Callable[[], bytes], tmp_path: Path) -> None:
    content = bomb()

    def answer(call: Call) -> None:
        if call.is_watch:
            call.error(400)
        else:
            call.text(content, Content_Encoding="gzip")

    with LoopbackServer(answer) as server:
        flags = ["--kubeconfig", kubeconfig(tmp_path, server.url), "--request-timeout", "5s"]
        [(status, peak, error)] = peaks_of(["nodes", *flags])
    assert status != 0
    assert "sent an answer that" in error or "sent answers that take more than" in error
    assert peak < 300


def test_all_api_server_responses_share_one_memory_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.sources.cluster.body.BUDGET_BYTES", 3 * MIB)
    content = b"0" * (2 * MIB)
    with LoopbackServer(lambda call: call.text(content)) as server:
        transport = transport_to(server)
        with ThreadPoolExecutor(1) as other, answers_counted():
            assert transport.get("/api") == content
            with pytest.raises(TooLargeError, match="answers that take more than 3 MiB at the same time"):
                other.submit(transport.get, "/api").result()
        assert transport.get("/api") == content
        transport.close()
