"""Fixed reference for all benchmarks: processor time of json.loads for one page of 500 pods (2.7 MB)."""

from __future__ import annotations

import gc
import json
import time

import pods


def reference_seconds() -> float:
    """Return the processor time of the reference, best of five, measured without garbage collection."""
    (page,) = pods.pages(500)
    was_enabled = gc.isenabled()
    gc.disable()
    times: list[float] = []
    for _ in range(5):
        began = time.process_time()
        json.loads(page)
        times.append(time.process_time() - began)
    if was_enabled:
        gc.enable()
    return min(times)


def print_reference(**seconds: float) -> None:
    """Print the reference, and the given times as multiples of it; multiples compare between machines."""
    reference = reference_seconds()
    multiples = "".join(f"; {name.replace('_', ' ')} {value / reference:,.2f}x" for name, value in seconds.items())
    print(f"reference (json.loads of 2.7 MB): {reference * 1000:.1f} ms of processor time{multiples}")
