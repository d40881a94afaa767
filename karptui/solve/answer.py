"""What a search came to: the change that reaches the goal, the runner-up and why it lost, and what was not tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from karptui.aws.money import per_hour_text
from karptui.kube.units import counted, verb
from karptui.whatif.edits import AnyEdit
from karptui.whatif.scenario import Replay, Scenario

MOST_NOTED: Final = 20
"""Changes that are shown of those that were tried, the best first."""
_LONGEST_NAME: Final = 60
"""Of a scenario."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What the cluster comes to with a change, or without one."""

    pending: int
    """Pods without a place."""
    lost: tuple[str, ...] = ()
    """Those of them, ``namespace/name``, that have one as it is."""
    nodes: int
    """Nodes of Karpenter, new ones included."""
    price_per_hour: float
    """Dollars of these nodes, spot of unknown price as on demand; of a play the mean over its time.

    Where no dollars are said, those of Karpenter's own prices: answers go by them.
    """
    unpriced: int = 0
    """Nodes without a known price; those on spot count as on demand."""
    drifts: int = 0
    """NodeClaims that the change drifts: Karpenter replaces their nodes as budgets allow."""
    wanted: int | None = None
    """Of the pods that are to come to a NodePool, those that do."""
    moved: int | None = None
    """Other pods that come to another NodePool than as it is."""
    evictions: int | None = None
    """Of a play: pods evicted within a day."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """A change that was tried."""

    parts: tuple[str, ...]
    """What it does, a change each: ``NodePool spot: weight 20``."""
    outcome: str
    """What it comes to, beside dollars: ``nothing pending``."""
    edits: tuple[AnyEdit, ...]
    figures: Figures
    is_enough: bool
    """Whether it reaches the goal."""
    why_not: str = ""
    """Of one that was not taken: in what it is worse than the answer."""

    @property
    def words(self) -> str:
        """What it does, in a line."""
        return together(self.parts)


def together(parts: Sequence[str]) -> str:
    """Return changes in a line, each object named once: ``NodePool spot: allow m5a, r5a; NodePool x: weight 4``."""
    return "; ".join(by_object(parts))


def by_object(parts: Sequence[str]) -> list[str]:
    """Return changes as a text for each object: ``NodePool spot: allow m5a, r5a``, ``NodePool x: weight 4``."""
    found: dict[str, list[str]] = {}
    for one in parts:
        subject, colon, words = one.partition(": ")
        found.setdefault(subject if colon else "", []).append(words if colon else one)
    return [
        f"{subject}: {', '.join(_verb_once(words))}" if subject else "; ".join(words)
        for subject, words in found.items()
    ]


def _verb_once(words: Sequence[str]) -> list[str]:
    """Return what is done to one object; of neighbours that differ in their last word only that."""
    said = [words[0]]
    for before, one in pairwise(words):
        head, _, last = one.rpartition(" ")
        said.append(last if head and head == before.rpartition(" ")[0] else one)
    return said


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """How far the search went."""

    tried: int
    all: int
    """Of how many."""
    how: str
    """What was tried, in words."""
    not_tried: tuple[str, ...] = ()
    """What was left out, in sentences."""
    is_monotone: bool | None = None
    """Of values on a line: whether more was never better again once it had been worse; None of sets."""

    @property
    def is_whole(self) -> bool:
        """Whether everything was tried."""
        return self.tried >= self.all and not self.not_tried


class Solved(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a goal."""

    goal: str
    """Its name, as the command has it."""
    question: str
    """What was asked, in words."""
    replay: Replay
    """How the answer is replayed where it is opened."""
    now: Figures
    """The cluster as it is."""
    best: Tried | None
    """The change; None where nothing helps, or nothing has to be changed."""
    runner_up: Tried | None
    is_reached: bool
    """Whether the goal is reached, by the change or without one."""
    others: tuple[Tried, ...] = ()
    """What else was tried, the best first; not all of it."""
    because: str = ""
    """Why nothing has to be changed, or why nothing helps."""
    effort: Effort
    approximated: tuple[str, ...] = ()
    not_modelled: tuple[str, ...] = ()
    risk: str = ""
    """What the answer may bring about that is not modelled, where that can undo it."""
    on_top_of: Scenario | None = None
    """Edits that were made before; ``now`` is the cluster with them, and every change opens with them."""
    has_prices: bool = True
    """Whether dollars are said at all."""

    @property
    def scenario(self) -> Scenario:
        """The change, as the what-if opens it."""
        return scenario_of(self, self.best)


def scenario_of(solved: Solved, tried: Tried | None) -> Scenario:
    """Return a change as the what-if opens it; no edits where there is none."""
    before = solved.on_top_of.edits if solved.on_top_of is not None else ()
    if tried is None:
        return Scenario(f"solve {solved.goal}", solved.replay, before)
    return Scenario(tried.words[:_LONGEST_NAME], solved.replay, (*before, *tried.edits))


class Criterion(msgspec.Struct, frozen=True):
    """One thing by which two changes are compared; the less the better."""

    value: Callable[[Tried], float]
    says: Callable[[float, float], str]
    """Tells of what is compared, of the answer and of another, in what the other is worse."""
    tolerance: Callable[[float], float] = lambda _least: 0.0
    """From the least value to how much more counts as nearly the same: then the next criteria decide."""
    better: Callable[[float, float], str] = lambda _ours, _theirs: ""
    """Tells, like ``says``, in what the other is better, if a later criterion decides against it."""


def key_of(criteria: Sequence[Criterion]) -> Callable[[Tried], tuple[float, ...]]:
    """Return what changes are sorted by: the first criterion first."""
    return lambda tried: tuple(one.value(tried) for one in criteria)


def why_lost(criteria: Iterable[Criterion], best: Tried, other: Tried) -> str:
    """Return the first thing in which a change is worse than the answer, and in what it is better."""
    better = ""
    for one in criteria:
        ours, theirs = one.value(best), one.value(other)
        if theirs > ours:
            return one.says(ours, theirs) + better
        if theirs < ours:
            better = one.better(ours, theirs)
    return "comes to the same, and stands later in the order in which changes are tried"


def _best_of(tried: Sequence[Tried], criteria: Sequence[Criterion]) -> Tried:
    """Return the best change: each criterion in turn keeps those that are best by it, or nearly so."""
    left = tried
    for one in criteria:
        least = min(map(one.value, left))
        left = [each for each in left if one.value(each) <= least + one.tolerance(least)]
    return min(left, key=key_of(criteria))


def ranked(
    tried: Sequence[Tried], criteria: Sequence[Criterion]
) -> tuple[Tried | None, Tried | None, tuple[Tried, ...]]:
    """Return the best change, the next that is not merely more of it, and the others; each loser says why it lost.

    Args:
        tried: The changes, in the order in which they were tried.
        criteria: What they are compared by.
    """
    in_order = sorted(tried, key=key_of(criteria))
    if not in_order:
        return None, None, ()
    best = _best_of(in_order, criteria)
    rest = [one for one in in_order if one is not best]
    losers = [msgspec.structs.replace(one, why_not=why_lost(criteria, best, one)) for one in rest]
    held = set(map(repr, best.edits))
    runner_up = next((one for one in losers if not held <= set(map(repr, one.edits))), None)
    return best, runner_up, tuple(one for one in losers if one is not runner_up)[:MOST_NOTED]


def _wait(ours: float, theirs: float) -> str:
    count = int(theirs - ours)
    more = "more " if ours else ""
    return f"leaves {count:,} {more}{verb(count, 'pod', 'pods')} without a place"


def _lose(ours: float, theirs: float) -> str:
    count = int(theirs - ours)
    more = "more " if ours else ""
    return f"takes the place of {count:,} {more}{verb(count, 'pod', 'pods')} away"


def _drift(ours: float, theirs: float) -> str:
    count = int(theirs - ours)
    more = "more " if ours else ""
    return f"drifts {count:,} {more}{verb(count, 'node', 'nodes')}"


def costs_more(more: float, *, has_prices: bool) -> str:
    """Return that a change costs more, and how much where dollars are said.

    Args:
        more: Dollars per hour.
        has_prices: Whether dollars are said.
    """
    if more < LEAST_CHANGE:
        return "costs a little more"
    return f"costs {per_hour_text(more)} more" if has_prices else "costs more"


def cheaper(*, has_prices: bool) -> Criterion:
    """Return the criterion of dollars, which says them or only that another change costs more."""
    return Criterion(
        lambda one: round(one.figures.price_per_hour, 4),
        lambda ours, theirs: costs_more(theirs - ours, has_prices=has_prices),
    )


def nearly_cheapest(now: Figures, *, has_prices: bool) -> Criterion:
    """Return the criterion of dollars that takes costs within ``NEARLY_SAME`` as the same.

    Args:
        now: The cluster without a change: the tolerance is a share of what a change adds or saves.
        has_prices: Whether dollars are said.
    """

    def better(ours: float, theirs: float) -> str:
        if ours - theirs < LEAST_CHANGE:
            return ""
        return f" to save {per_hour_text(ours - theirs)}" if has_prices else " to cost a little less"

    return msgspec.structs.replace(
        cheaper(has_prices=has_prices),
        tolerance=lambda least: max(NEARLY_SAME, NEARLY_SAME_SHARE * abs(least - now.price_per_hour)),
        better=better,
    )


NEARLY_SAME: Final = 0.10
NEARLY_SAME_SHARE: Final = 0.01
"""Dollars per hour, or the share of what the cheapest change adds or saves, that are too little to drift nodes for."""
LEAST_CHANGE: Final = 0.005
"""Dollars per hour from which on a difference can be seen in two digits."""
FEWER_WAIT: Final = Criterion(lambda one: one.figures.pending, _wait)
FEWER_LOSE: Final = Criterion(lambda one: len(one.figures.lost), _lose)
FEWER_DRIFT: Final = Criterion(lambda one: one.figures.drifts, _drift)
FEWER_CHANGES: Final = Criterion(
    lambda one: len(one.parts), lambda ours, theirs: f"makes {counted(int(theirs), 'change')}, not {int(ours):,}"
)
