"""What a decision took is free as soon as nobody looks at it: no cycle waits for the garbage collector.

An application that keeps its large cluster out of the collector's observation runs it seldom.
"""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from karptui.provisioning.explain import explain
from karptui.provisioning.run import Run
from karptui.provisioning.solution import solve
from tests.goldens_loading import load
from tests.provisioning.scenarios import scenario


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def cycles() -> Counter[str]:
    """Return the kinds of our objects that only the collector can free."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        counts = Counter(type(item).__qualname__ for item in gc.garbage if type(item).__module__.startswith("karptui."))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    return counts


def decide(seed: int) -> list[weakref.ref[Any]]:
    prepared = load(scenario(seed))
    solution = solve(prepared)
    assert isinstance(solution.run, Run)
    for pod in [*solution.failed, *(pod for claim in solution.claims for pod in claim.pods)]:
        explain(solution, pod)
    return [weakref.ref(item) for item in (prepared, solution.run, prepared.interner)]


def test_a_decision_is_freed_with_its_last_reference_and_leaves_no_cycle(no_collector: None) -> None:
    for seed in range(12):
        assert [reference() for reference in decide(seed)] == [None] * 3
    assert cycles() == Counter()
