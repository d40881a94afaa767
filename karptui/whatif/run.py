"""Run a what-if: what a scenario changes about a cluster, how long that took, or why it cannot be said."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from karptui.provisioning.reporter import Reporter, silent
from karptui.whatif.accuracy import Accuracy, accuracy_of
from karptui.whatif.difference import BlockerLine, Difference, blocker_changes, difference
from karptui.whatif.edits import EditError
from karptui.whatif.edits.apply import apply
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Scenario
from karptui.whatif.situation import EditedCluster, WhatIfBase


class Answer(msgspec.Struct, frozen=True):
    """What came of a question; a value that holds nothing of the cluster."""

    scenario: Scenario
    difference: Difference | None = None
    accuracy: Accuracy | None = None
    notes: tuple[str, ...] = ()
    """What the edits mean here that is not plain, in sentences."""
    has_prices: bool = True
    """Whether prices are shown at all."""
    seconds: float = 0.0
    """From the edit to the difference."""
    problem: str = ""
    """Why there is no difference, in a sentence; empty where there is one."""
    blockers_gained: tuple[BlockerLine, ...] | None = None
    """None until they have been worked out, which comes after the difference."""
    blockers_lost: tuple[BlockerLine, ...] | None = None


def no_clock() -> float:
    """Return 0: nobody asks how long it takes."""
    return 0.0


def answers(
    base: WhatIfBase,
    scenario: Scenario,
    reporter: Reporter = silent,
    clock: Callable[[], float] = no_clock,
    *,
    edited: EditedCluster | None = None,
) -> Iterator[Answer]:
    """Yield what a scenario changes, and then the same with the blockers that its edits bring and take away.

    Args:
        base: The cluster as it is.
        scenario: The edits, and what is replayed.
        reporter: Told of progress; may raise `Cancelled`.
        clock: Tells seconds, for how long it takes.
        edited: The cluster with the scenario's edits, where somebody has made it already.

    Raises:
        Cancelled: when the reporter does.
    """
    replay(base, scenario.replay, reporter)
    began = clock()
    try:
        edited = edited or apply(base, scenario.edits)
    except EditError as error:
        yield Answer(scenario, problem=str(error), seconds=clock() - began)
        return
    first = Answer(
        scenario,
        difference(base, edited, scenario.replay, reporter),
        accuracy_of(base, edited, scenario.replay),
        notes=edited.notes,
        has_prices=base.has_prices,
        seconds=clock() - began,
    )
    yield first
    gained, lost = blocker_changes(base, edited, reporter) if scenario.edits else ((), ())
    yield replace(first, blockers_gained=gained, blockers_lost=lost)


def answer(
    base: WhatIfBase, scenario: Scenario, reporter: Reporter = silent, clock: Callable[[], float] = no_clock
) -> Answer:
    """Return the first of `answers`, without blockers."""
    return next(answers(base, scenario, reporter, clock))
