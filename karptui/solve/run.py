"""Answer a question the other way round: look for the change that reaches a goal, on a cluster as edits make it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from karptui.errors import no_such
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.provisioning.reporter import Each, Reporter, one_by_one, silent
from karptui.solve.answer import Solved
from karptui.solve.catalogue import GOALS
from karptui.solve.goals import consolidate_after, expirations, families, overhead, pending, weight, window
from karptui.solve.question import GoalQuestion
from karptui.whatif.drift.drift import with_drift
from karptui.whatif.edits import AnyEdit, TakeOut
from karptui.whatif.edits.apply import apply, without_offerings
from karptui.whatif.scenario import Scenario
from karptui.whatif.situation import TypesFor, TypesResult, WhatIfBase, without_nodes


def edited_base(base: WhatIfBase, edits: Sequence[AnyEdit]) -> WhatIfBase:
    """Return the cluster with edits: with the drift that they cause, and without the nodes that they remove.

    If prices are off, it has Karpenter's own, because they decide the answer.

    Raises:
        EditError: An edit is invalid.
    """
    if not edits and base.has_prices:
        return base
    edited = apply(base, edits)
    return WhatIfBase(
        without_nodes(with_drift(edited.inventory, base, edited), edited.removed),
        partial(_types, base.types_for, edited.outages),
        edited.settings,
        base.now_ns,
        karpenter_version=base.karpenter_version,
        prices=base.prices if base.has_prices else None,
        pause=base.pause,
    )


def _types(types_for: TypesFor, outages: tuple[TakeOut, ...], inventory: Inventory, settings: Settings) -> TypesResult:
    result = types_for(inventory, settings)
    return replace(result, types=without_offerings(result.types, outages)[0]) if outages else result


_FINDERS: Final[Mapping[str, Callable[[GoalQuestion], Solved]]] = MappingProxyType(
    {
        "pending": pending.find,
        "overhead": overhead.find,
        "weight": weight.find,
        "families": families.find,
        "consolidate-after": consolidate_after.find,
        "expirations": expirations.find,
        "window": window.find,
    }
)


def solve_goal(
    base: WhatIfBase,
    goal: str,
    parameters: Mapping[str, str],
    reporter: Reporter = silent,
    *,
    each: Each = one_by_one,
    on_top_of: Scenario | None = None,
) -> Solved:
    """Return the change that reaches a goal.

    Args:
        parameters: Values of its parameters; defaults apply to missing ones.
        reporter: Called with the number of changes tried and the approximate total; may raise ``Cancelled``.
        on_top_of: Edits that are applied first.

    Raises:
        RequestError: if the question does not apply to this cluster.
    """
    goal_found = GOALS.get(goal)
    if goal_found is None:
        raise no_such("goal", f"{goal:.60}", GOALS)
    start = edited_base(base, on_top_of.edits if on_top_of is not None else ())
    asking = GoalQuestion(start, goal_found, parameters, reporter, each, has_prices=base.has_prices)
    solution = _FINDERS[goal](asking)
    return replace(solution, goal=goal, question=asking.asked, on_top_of=on_top_of, has_prices=asking.has_prices)
