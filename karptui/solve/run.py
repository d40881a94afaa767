"""Ask a goal of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from karptui.provisioning.reporter import Each, Reporter, one_by_one, silent
from karptui.solve.answer import Solved
from karptui.solve.catalogue import GOALS, SolveError
from karptui.solve.goals import consolidate_after, families, overhead, pending, weight
from karptui.solve.question import Question
from karptui.whatif.situation import WhatIfBase

_FINDERS: Final[Mapping[str, Callable[[Question], Solved]]] = MappingProxyType(
    {
        "pending": pending.find,
        "overhead": overhead.find,
        "weight": weight.find,
        "families": families.find,
        "consolidate-after": consolidate_after.find,
    }
)
"""By the name of the goal."""


def solve_goal(
    base: WhatIfBase,
    goal: str,
    given: Mapping[str, str],
    reporter: Reporter = silent,
    each: Each = one_by_one,
) -> Solved:
    """Return the change that reaches a goal.

    Args:
        base: The cluster as it is.
        goal: Its name.
        given: Values by the names of its parameters; what is missing is as by default.
        reporter: Told how many changes were tried, and of about how many; may raise ``Cancelled``.
        each: Measures changes, here or side by side elsewhere; the answer is the same.

    Raises:
        SolveError: where the question cannot be asked of this cluster.
        Cancelled: when the reporter does.
    """
    known = GOALS.get(goal)
    if known is None:
        raise SolveError(f"there is no goal {goal!r:.60}; there are {', '.join(GOALS)}")
    return _FINDERS[goal](Question(base, known, given, reporter, each))
