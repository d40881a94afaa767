"""A decision's memory is freed with its last reference, because it contains no reference cycles.

karptui runs the garbage collector rarely, so cycles would stay for long.
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
    """Return the types and numbers of our objects that only the garbage collector can free."""
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


def test_a_decision_is_freed_with_its_last_reference(no_collector: None) -> None:
    for seed in range(12):
        assert [reference() for reference in decide(seed)] == [None] * 3
    assert cycles() == Counter()
