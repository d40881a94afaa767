"""A scenario's answer: the difference, how long it took, or why there is none."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from karptui.provisioning.reporter import Reporter, silent
from karptui.whatif.difference import Difference, difference
from karptui.whatif.disruption_difference import BlockerLine, blocker_changes
from karptui.whatif.edits import EditError
from karptui.whatif.edits.apply import apply
from karptui.whatif.honesty import Honesty, honesty
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Scenario
from karptui.whatif.situation import Edited, WhatIfBase


class Answer(msgspec.Struct, frozen=True, eq=False):
    """What came of a question."""

    scenario: Scenario
    base: WhatIfBase | None = None
    edited: Edited | None = None
    difference: Difference | None = None
    honesty: Honesty | None = None
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


def answer(
    base: WhatIfBase, scenario: Scenario, reporter: Reporter = silent, clock: Callable[[], float] = no_clock
) -> Answer:
    """Return what a scenario changes.

    Args:
        base: The cluster as it is.
        scenario: The edits, and what is replayed.
        reporter: Told of progress; may raise `Cancelled`.
        clock: Tells seconds, for how long it takes.

    Raises:
        Cancelled: when the reporter does.
    """
    replay(base, scenario.replay, reporter)
    began = clock()
    try:
        edited = apply(base, scenario.edits)
    except EditError as error:
        return Answer(scenario, base, problem=str(error), seconds=clock() - began)
    found = difference(base, edited, scenario.replay, reporter)
    return Answer(scenario, base, edited, found, honesty(base, edited, scenario.replay), clock() - began)


def with_blockers(known: Answer, reporter: Reporter = silent) -> Answer:
    """Return an answer with the blockers that its edits bring and take away.

    Raises:
        Cancelled: when the reporter does.
    """
    if known.base is None or known.edited is None or not known.scenario.edits:
        return replace(known, blockers_gained=(), blockers_lost=())
    gained, lost = blocker_changes(known.base, known.edited, reporter)
    return replace(known, blockers_gained=gained, blockers_lost=lost)
