"""A scenario's answer: the difference, how long it took, or why there is none."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from karptui.provisioning.reporter import Reporter
from karptui.whatif.apply import apply
from karptui.whatif.difference import Difference, difference
from karptui.whatif.errors import EditError
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Scenario
from karptui.whatif.situation import Edited, WhatIfBase


class Answer(msgspec.Struct, frozen=True, eq=False):
    """What came of a question."""

    scenario: Scenario
    base: WhatIfBase | None = None
    edited: Edited | None = None
    difference: Difference | None = None
    seconds: float = 0.0
    """From the edit to the difference."""
    problem: str = ""
    """Why there is no difference, in a sentence; empty where there is one."""


def answer(base: WhatIfBase, scenario: Scenario, reporter: Reporter, clock: Callable[[], float]) -> Answer:
    """Return what a scenario changes.

    Args:
        base: The cluster as it is.
        scenario: The edits, and what is replayed.
        reporter: Told of progress; may raise `Cancelled`.
        clock: Tells seconds, for how long it takes.

    Raises:
        Cancelled: when the reporter does.
    """
    before = replay(base, scenario.replay, reporter)
    began = clock()
    try:
        edited = apply(base, scenario.edits)
    except EditError as error:
        return Answer(scenario, base, problem=str(error), seconds=clock() - began)
    after = replay(edited, scenario.replay, reporter)
    found = difference(before, after)
    return Answer(scenario, base, edited, found, clock() - began)
