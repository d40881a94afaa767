"""Ask a goal of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from karptui.provisioning.reporter import Each, Reporter, one_by_one, silent
from karptui.solve.answer import Solved
from karptui.solve.catalogue import GOALS, SolveError
from karptui.solve.goals import consolidate_after, families, overhead, pending, weight
from karptui.solve.question import Question
from karptui.whatif.edited_base import edited_base
from karptui.whatif.edits import EditError
from karptui.whatif.scenario import Scenario
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
    *,
    each: Each = one_by_one,
    on_top_of: Scenario | None = None,
) -> Solved:
    """Return the change that reaches a goal.

    Args:
        base: The cluster as it is.
        goal: Its name.
        given: Values by the names of its parameters; what is missing is as by default.
        reporter: Told how many changes were tried, and of about how many; may raise ``Cancelled``.
        each: Measures changes, here or side by side elsewhere; the answer is the same.
        on_top_of: Edits that are made before.

    Raises:
        SolveError: where the question cannot be asked of this cluster.
        Cancelled: when the reporter does.
    """
    known = GOALS.get(goal)
    if known is None:
        raise SolveError(f"there is no goal {goal!r:.60}; there are {', '.join(GOALS)}")
    try:
        start = edited_base(base, on_top_of.edits) if on_top_of is not None else base
    except EditError as error:
        raise SolveError(str(error)) from error
    found = _FINDERS[goal](Question(start, known, given, reporter, each))
    return replace(found, on_top_of=on_top_of) if on_top_of is not None else found
