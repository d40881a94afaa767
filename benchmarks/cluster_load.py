"""Load time and memory of a large cluster, and the delay of the screen's event loop meanwhile.

    python benchmarks/cluster_load.py [PODS] [NODES]

benchmarks/loopback_api_server.py serves PODS (100,000) and NODES (5,000) from another process. They are followed as in
the application: a thread merges the mailbox into the state, and a 4 ms ticker measures the delay of the event loop.
"Own max" is the worst delay during which this process itself used the processor. "Beside" is the worst delay of the
same ticker in an idle process. Streaming lists and pages are measured in a new process each. CPU is the time of this
process only; two columns show the threads that read pods and merge changes. Memory is the growth after the imports.
Goals: complete within 6 s, 150 MB, the loop at most 30 ms late.

"Json" is the processor time of json.loads for the same pods, in a separate process without garbage collection: it shows
the current speed of the machine. "Cpu/json" is comparable between machines, even busy ones (goal: 0.45). An interpreter
built without profile-guided optimisation needs about a third longer for everything except json.loads.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import platform
import subprocess
import sys
import threading
import time
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pods
from reference import note, print_reference

HERE = Path(__file__).resolve().parent
JSON_SAMPLE = 10_000
TICK_SECONDS, DRAIN_SECONDS, LIMIT_SECONDS = 0.004, 0.25, 120.0


def main() -> None:
    """Print one row per list method."""
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(asyncio.run(_measure(sys.argv[2]))))
        return
    if sys.argv[1:2] == ["--json"]:
        print(_json_seconds(int(sys.argv[2])))
        return
    if sys.argv[1:2] == ["--idle"]:
        print(json.dumps(asyncio.run(_idle())))
        return
    numbers = sys.argv[1:3]
    if not all(number.isdecimal() for number in numbers):
        sys.exit(__doc__)
    print(f"Python {platform.python_version()}, {platform.python_compiler()}")
    columns = ["nodes s", "pods s", "all s", "cpu s", "pods cpu", "reduce cpu", "memory MB", "late p50 ms"]
    columns += ["p99", "max", "own max", "beside p99", "max", "reduce max ms", "json s", "cpu/json"]
    print(f"{'':15s}", *(f"{column:>11s}" for column in columns))
    for title, flags in (("streaming list", []), ("pages of 500", ["--no-streaming-lists"])):
        with subprocess.Popen(
            [sys.executable, str(HERE / "loopback_api_server.py"), *numbers, *flags], stdout=PIPE, text=True
        ) as server:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            with subprocess.Popen([sys.executable, __file__, "--idle"], stdin=PIPE, stdout=PIPE, text=True) as idle:
                command = [sys.executable, __file__, "--measure", url]
                row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                beside = json.loads(idle.communicate("")[0])
            server.kill()
        yardstick = [sys.executable, __file__, "--json", *(numbers[:1] or ["100000"])]
        json_seconds = float(subprocess.run(yardstick, check=True, capture_output=True, text=True).stdout)
        late = (*row["late"], row["own"], *beside[1:3])
        took = (row["Node"], row["Pod"], row["all"], row["cpu"], row["karptui pods"], row["asyncio_0"])
        values = (*took, row["bytes"] / 1e6, *late, row["reduce"], json_seconds, row["cpu"] / json_seconds)
        print(f"{title:15s}", *(f"{value:11.2f}" for value in values))
        note(title, row["cpu"])
    print_reference()


async def _measure(url: str) -> dict[str, Any]:
    from karptui.session.throttle import MergeThrottle, keep_pauses_short
    from karptui.sources.cluster import reflectors  # noqa: F401  not counted: the empty application has it too
    from karptui.sources.cluster.connection import Connection
    from karptui.sources.cluster.source import ClusterSource
    from karptui.sources.source import Mailbox, Phase
    from karptui.state.cluster import EMPTY
    from karptui.state.reducer import reduce

    gc.collect()
    keep_pauses_short()
    before = _resident_bytes()
    lateness: list[tuple[float, float]] = []
    ticker = asyncio.create_task(_tick(lateness))
    mailbox, pace, source = Mailbox(), MergeThrottle(), ClusterSource(Connection(server=url, context="load"))
    state, took, drains = EMPTY, dict[str, float](), [0.0]
    began, began_cpu = time.perf_counter(), time.process_time()
    source.start(mailbox)
    while "all" not in took and time.perf_counter() - began < LIMIT_SECONDS:
        await asyncio.sleep(DRAIN_SECONDS if "Node" in took else 0.01)
        started = time.perf_counter()
        if not pace.is_due(started, has_news=mailbox.has_news):
            continue
        mail = mailbox.drain()
        if mail.batch.deltas:
            state = await asyncio.to_thread(reduce, state, mail.batch)
            pace.took(started, time.perf_counter())
            drains.append((time.perf_counter() - started) * 1000)
        for kind, status in mail.statuses.items():
            if status.phase is Phase.LIVE:
                took.setdefault(kind.value, time.perf_counter() - began)
        if "Pod" in took and "Event" in took:
            took["all"] = time.perf_counter() - began
    cpu, threads = time.process_time() - began_cpu, _thread_seconds()
    ticker.cancel()
    await asyncio.sleep(DRAIN_SECONDS)
    gc.collect()
    grown = _resident_bytes() - before
    source.stop()
    late, own = _shares([late for late, _ in lateness]), max(own for _, own in lateness)
    return {**took, **threads, "bytes": grown, "late": late, "own": own, "reduce": max(drains), "cpu": cpu}


def _json_seconds(pod_count: int) -> float:
    """Return the processor time of json.loads for a list of ``pod_count`` pods, from the best of three samples."""
    (page,) = pods.pages(JSON_SAMPLE, limit=JSON_SAMPLE)
    gc.disable()
    took = []
    for _ in range(3):
        began = time.process_time()
        json.loads(page)
        took.append(time.process_time() - began)
    return min(took) * pod_count / JSON_SAMPLE


async def _idle() -> list[float]:
    """Return the delay of an idle event loop, measured until standard input ends."""
    lateness: list[tuple[float, float]] = []
    ticker = asyncio.create_task(_tick(lateness))
    await asyncio.to_thread(sys.stdin.read)
    ticker.cancel()
    return _shares([late for late, _ in lateness])


def _shares(lateness: list[float]) -> list[float]:
    """Return median, 99th percentile and maximum."""
    ordered = sorted(lateness)
    return [ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99, 1.0)]


async def _tick(lateness: list[tuple[float, float]]) -> None:
    """Record the delay of each tick, and the processor time of this process meanwhile, in milliseconds."""
    while True:
        began, began_cpu = time.perf_counter(), time.process_time()
        await asyncio.sleep(TICK_SECONDS)
        late = (time.perf_counter() - began - TICK_SECONDS) * 1000
        lateness.append((late, min(late, (time.process_time() - began_cpu) * 1000)))


def _thread_seconds() -> dict[str, float]:
    """Return the processor time of each thread by name."""
    seconds: dict[str, float] = {}
    for thread in threading.enumerate():
        fields = Path(f"/proc/self/task/{thread.native_id}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        seconds[thread.name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def _resident_bytes() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
