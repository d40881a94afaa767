"""Time from the command to the first rows: ``python benchmarks/ui_first_frame.py [RUNS] [--live] [-- ARGUMENTS]``.

Runs karptui on a pseudo-terminal and waits for three marks in its output: the first frame (drawn before the heavy
imports), the frame of the app (the header of its table), and the first node. ``--live`` opens a cluster on loopback
with 100 nodes and 1,500 pods (goal: 0.5 s of processor time to the first rows); without arguments, a small snapshot is
made and opened. ``--program FILE`` measures an installed karptui instead of this checkout. CPU is the processor time of
the process up to each mark; compare this figure on a busy machine. Modules are compiled by the warm-up run, like those
of an installed karptui.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from reference import note, print_reference
from soak import NO_AWS, live_cluster

MARKS = {"first frame": "…".encode(), "the app's own frame": b"STATUS", "first node": b"ip-10-0-"}
SECONDS = 20
LIVE_NODES, LIVE_PODS = 100, 1_500


def small_snapshot(folder: Path) -> Path:
    """Write a snapshot of one node."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "ip-10-0-0-1", "creationTimestamp": "2026-11-20T11:00:00Z"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "58"}},
    }
    path = folder / "one.json"
    path.write_text(json.dumps({"karptui": 1, "capturedAt": "2026-11-20T12:00:00Z", "objects": [node]}))
    return path


def cpu_seconds(process_id: int) -> float:
    """Return the processor time that a process has used."""
    user, system = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def one_run(command: list[str], compiled: str) -> dict[str, tuple[float, float]]:
    """Return the elapsed and processor seconds to each mark.

    Args:
        command: karptui with its arguments.
        compiled: folder for compiled modules.
    """
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        **NO_AWS,
        "PYTHONPYCACHEPREFIX": compiled,
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    )
    os.close(slave)
    seen, found = b"", {}
    while len(found) < len(MARKS) and time.perf_counter() - began < SECONDS:
        if select.select([master], [], [], 0.05)[0]:
            try:
                seen += os.read(master, 65_536)
            except OSError:
                break
        for name, mark in MARKS.items():
            if name not in found and mark in seen:
                found[name] = (time.perf_counter() - began, cpu_seconds(process.pid))
    leave(process, master)
    return found


def leave(process: subprocess.Popen[bytes], terminal: int) -> None:
    """End a run; read its remaining output, because a full terminal would block it."""
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(OSError):
        while process.poll() is None:
            if select.select([terminal], [], [], 0.05)[0]:
                os.read(terminal, 65_536)
    process.wait()
    os.close(terminal)


def main(runs: int, program: list[str], arguments: list[str], *, is_live: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        if is_live:
            arguments = stack.enter_context(live_cluster(LIVE_PODS, LIVE_NODES, is_quiet=True))
        arguments = arguments or ["--snapshot", str(small_snapshot(Path(folder))), "--disable-pricing"]
        compiled = str(Path(folder) / "compiled")
        one_run([*program, *arguments], compiled)
        results = [one_run([*program, *arguments], compiled) for _ in range(runs)]
    print(f"karptui {' '.join(arguments)}, {runs} runs after one to warm up")
    for name in MARKS:
        taken = [result[name][0] * 1000 for result in results if name in result]
        if taken:
            cpu = [result[name][1] * 1000 for result in results if name in result]
            figures = (statistics.median(taken), min(taken), max(taken), statistics.median(cpu), min(cpu))
            note(name, statistics.median(cpu) / 1000)
            print(
                "{:<22} median {:6.0f} ms  best {:6.0f}  worst {:6.0f}   cpu {:5.0f} ms  best {:5.0f}".format(
                    name, *figures
                )
            )
        else:
            print(f"{name:<22} not seen within {SECONDS} s")
    print_reference()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="?", type=int, default=10)
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--program")
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_intermixed_args()
    started = [options.program] if options.program else [sys.executable, "-m", "karptui"]
    main(options.runs, started, options.arguments, is_live=options.live)
