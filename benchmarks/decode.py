"""How long pages of pods take to decode, what they keep in memory, and how long one garbage collection takes after.

    python benchmarks/decode.py [PODS] [PAGE_LIMIT]

Pods (100,000) come in pages (of 500) that benchmarks/pods.py makes beforehand; only decoding is timed. Each row is
measured in a fresh process: with the collector as Python sets it, and with gc.freeze before and after. Bytes per pod
are what the resident memory grew by. Watch lines are timed as well.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pods

PODS, LIMIT, LINE_PAGES = 100_000, 500, 20


def main() -> None:
    """Print one row for each way of running."""
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(_measure(Path(sys.argv[2]), is_frozen=sys.argv[3] == "frozen")))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PODS
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else LIMIT
    print(f"{count:,} pods in pages of {limit}")
    print("collector    wall s   CPU s  us CPU/pod  best page us/pod  bytes/pod  templates  full gc ms  us/watch line")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages.json"
        path.write_bytes(b"\n".join(pods.pages(count, limit=limit)))
        for mode in ("default", "frozen"):
            command = [sys.executable, __file__, "--measure", str(path), mode]
            row = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            print(
                f"{mode:<10} {row['wall']:8.2f} {row['cpu']:7.2f} {row['cpu'] / count * 1e6:11.1f}"
                f" {row['best'] * 1e6:17.1f} {row['bytes'] / count:10.0f} {row['templates']:10,}"
                f" {row['gc'] * 1e3:11.1f} {row['line'] * 1e6:14.1f}"
            )


def _pages(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _measure(path: Path, *, is_frozen: bool) -> dict[str, Any]:
    from karptui.decode.kinds import Kind
    from karptui.decode.stream import StreamDecoder

    stream = StreamDecoder(Kind.POD)
    # The first page brings in what every later one finds: caches, memory the allocator keeps.
    stream.page(next(_pages(path)))
    gc.collect()
    if is_frozen:
        gc.freeze()
    before = _resident_bytes()
    kept: list[Any] = []
    wall = cpu = 0.0
    best = float("inf")
    for page in _pages(path):
        started, started_cpu = time.perf_counter(), time.process_time()
        items = stream.page(page).items
        took, took_cpu = time.perf_counter() - started, time.process_time() - started_cpu
        wall, cpu, best = wall + took, cpu + took_cpu, min(best, took / len(items))
        kept.append(items)
    del page, items
    grown = _resident_bytes() - before
    if is_frozen:
        gc.freeze()
    started = time.perf_counter()
    gc.collect()
    collected = time.perf_counter() - started
    templates = {id(one.template) for items in kept for one in items}
    return {
        "wall": wall,
        "cpu": cpu,
        "best": best,
        "bytes": grown,
        "templates": len(templates),
        "gc": collected,
        "line": _line_seconds(stream, path),
    }


def _line_seconds(stream: Any, path: Path) -> float:
    lines = [
        json.dumps({"type": "MODIFIED", "object": item}, separators=(",", ":")).encode()
        for page in islice(_pages(path), LINE_PAGES)
        for item in json.loads(page)["items"]
    ]
    started = time.process_time()
    for line in lines:
        stream.line(line)
    return (time.process_time() - started) / len(lines)


def _resident_bytes() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
