"""Runs a what-if: the effect of a scenario on a cluster, and its duration, or why it is unknown."""

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
    """Notes on edits with less obvious effects."""
    has_prices: bool = True
    """Whether prices are shown at all."""
    seconds: float = 0.0
    """From the edit to the difference."""
    problem: str = ""
    """Why there is no difference; empty if there is one."""
    blockers_gained: tuple[BlockerLine, ...] | None = None
    """None until they have been worked out, which comes after the difference."""
    blockers_lost: tuple[BlockerLine, ...] | None = None


def no_clock() -> float:
    """Return 0, for callers that need no duration."""
    return 0.0


def answers(
    base: WhatIfBase,
    scenario: Scenario,
    reporter: Reporter = silent,
    clock: Callable[[], float] = no_clock,
    *,
    edited: EditedCluster | None = None,
) -> Iterator[Answer]:
    """Yield the effect of a scenario, and then the same with the blockers that its edits add and remove."""
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
