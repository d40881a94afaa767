"""Time to decode pages of pods, their memory, and the duration of one garbage collection afterwards.

    python benchmarks/decode.py [PODS] [PAGE_LIMIT]

benchmarks/pods.py makes the pages (100,000 pods, 500 per page) beforehand; only decoding is timed. Each column is
measured in a new process: with Python's default garbage collection, and with gc.freeze before and after. Bytes per pod
are the growth of resident memory. The floor is the time to find the pods in the text without decoding them: more than
about 5 us means that the machine is busy. Decoding watch lines is measured too.
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

import msgspec
import pods
from reference import print_reference

PODS, LIMIT, LINE_PAGES = 100_000, 500, 20


def main() -> None:
    """Print one column per garbage collection setting."""
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(_measure(Path(sys.argv[2]), is_frozen=sys.argv[3] == "frozen")))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PODS
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else LIMIT
    print(f"{count:,} pods in pages of {limit}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages.json"
        path.write_bytes(b"\n".join(pods.pages(count, limit=limit)))
        rows = []
        for mode in ("default", "frozen"):
            command = [sys.executable, __file__, "--measure", str(path), mode]
            rows.append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    print(f"{'collector':<32}{'default':>10}{'frozen':>10}")
    for title, name, scale, places in (
        ("wall s", "wall", 1, 2),
        ("CPU s", "cpu", 1, 2),
        ("CPU us/pod", "cpu", 1e6 / count, 1),
        ("of json.loads of the same", "ratio", 1, 3),
        ("best page, us/pod", "best", 1e6, 1),
        ("floor, us/pod", "floor", 1e6, 1),
        ("watch line, CPU us", "line", 1e6, 1),
        ("retained bytes/pod", "bytes", 1 / count, 0),
        ("templates", "templates", 1, 0),
        ("one full collection, ms", "gc", 1e3, 1),
    ):
        print(f"{title:<32}" + "".join(f"{row[name] * scale:>10,.{places}f}" for row in rows))
    print_reference(all_pods=rows[0]["cpu"])


def _pages(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _measure(path: Path, *, is_frozen: bool) -> dict[str, Any]:
    from karptui.decode.kinds import Kind
    from karptui.decode.stream import StreamDecoder

    stream = StreamDecoder(Kind.POD)
    # The first page fills caches and the memory pools of the allocator.
    stream.page(next(_pages(path)))
    gc.collect()
    if is_frozen:
        gc.freeze()
    before = _resident_bytes()
    kept: list[Any] = []
    wall = cpu = json_cpu = 0.0
    best = float("inf")
    for page in _pages(path):
        started, started_cpu = time.perf_counter(), time.process_time()
        items = stream.page(page).items
        took, took_cpu = time.perf_counter() - started, time.process_time() - started_cpu
        wall, cpu, best = wall + took, cpu + took_cpu, min(best, took / len(items))
        kept.append(items)
        gc.disable()  # collections would count as time of json.loads
        started_cpu = time.process_time()
        json.loads(page)
        json_cpu += time.process_time() - started_cpu
        gc.enable()
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
        "ratio": cpu / json_cpu,
        "best": best,
        "bytes": grown,
        "templates": len(templates),
        "gc": collected,
        "floor": _floor_seconds(path),
        "line": _line_seconds(stream, path),
    }


def _floor_seconds(path: Path) -> float:
    """Return the shortest time per pod to find its start and end in the text, without decoding it."""
    shape = msgspec.defstruct("List", [("items", list[msgspec.Raw])])
    decoder = msgspec.json.Decoder(shape)
    best = float("inf")
    for page in _pages(path):
        started = time.perf_counter()
        items = decoder.decode(page).items
        best = min(best, (time.perf_counter() - started) / len(items))
    return best


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
