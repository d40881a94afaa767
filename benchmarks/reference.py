"""Fixed reference for all benchmarks: processor time of json.loads for one page of 500 pods (2.7 MB).

Benchmarks `note` their results, and print them as multiples of the reference at the end. Multiples are comparable
between machines.
"""

from __future__ import annotations

import gc
import json
import time

import pods

_NOTED: dict[str, float] = {}


def note(name: str, seconds: float) -> None:
    """Remember a measured time, to be printed as a multiple of the reference."""
    _NOTED[name] = seconds


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
    """Print the reference, and each noted or given time as a multiple of it."""
    reference = reference_seconds()
    print(f"reference (json.loads of 2.7 MB): {reference * 1000:.1f} ms of processor time")
    for name, value in {**_NOTED, **seconds}.items():
        print(f"  {name.replace('_', ' ')}: {value / reference:,.2f} times the reference")
