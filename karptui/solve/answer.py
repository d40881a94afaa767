"""Result of a search: the best change, the runner-up and why it lost, changes not tried, and its manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec

from karptui.aws.money import LEAST_CHANGE, per_hour_text
from karptui.karpenter.inventory import NotCounted
from karptui.karpenter.settings import Settings
from karptui.kube.units import counted
from karptui.whatif.edits import AnyEdit, ObjectRef, SetField
from karptui.whatif.export import Change, changes_of, export_commands, export_yaml
from karptui.whatif.scenario import Replay, Scenario
from karptui.whatif.schema.schema import shipped_schemas
from karptui.whatif.situation import WhatIfBase
from karptui.whatif.yaml.splice import REMOVE, EditRefusedError, set_value
from karptui.whatif.yaml.tree import parse
from karptui.whatif.yaml.write import as_document

MOST_NOTED: Final = 20
"""Shown changes, the best first."""
_LONGEST_NAME: Final = 60
"""Of a scenario."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of the cluster with a change, or without one."""

    pending: int
    """Unschedulable pods."""
    lost: tuple[str, ...] = ()
    """Pods of those, ``namespace/name``, that are schedulable without the change."""
    nodes: int
    """Nodes of Karpenter, new ones included."""
    price_per_hour: float
    """Price of these nodes, with spot of unknown price as on-demand; of a forecast the mean over its time.

    With prices off, Karpenter's own prices decide.
    """
    unpriced: int = 0
    """Nodes without a known price; those on spot count as on demand."""
    drifts: int = 0
    """NodeClaims that the change drifts: Karpenter replaces their nodes as budgets allow."""
    wanted: int | None = None
    """Number of the requested pods that the NodePool gets."""
    moved: int | None = None
    """Other pods that change their NodePool."""
    evictions: int | None = None
    """Of a play: pods evicted within a day."""
    not_counted: NotCounted = NotCounted()
    """Nodes that the counts of the present cluster leave out."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """A change that was tried."""

    parts: tuple[str, ...]
    """Its edits as text: ``NodePool spot: weight 20``."""
    outcome: str
    """Its result apart from the price: ``nothing pending``."""
    edits: tuple[AnyEdit, ...]
    figures: Figures
    is_enough: bool
    """Whether it reaches the goal."""
    why_not: str = ""
    """Why it is worse than the answer, if it is not the answer."""

    @property
    def words(self) -> str:
        """Its edits in one line."""
        return together(self.parts)


def together(parts: Sequence[str]) -> str:
    """Return changes in a line, each object named once: ``NodePool spot: allow m5a, r5a; NodePool x: weight 4``."""
    return "; ".join(by_object(parts))


def by_object(parts: Sequence[str]) -> list[str]:
    """Return changes as a text for each object: ``NodePool spot: allow m5a, r5a``, ``NodePool x: weight 4``."""
    names_by_change: dict[str, list[str]] = {}
    for part in parts:
        subject, colon, words = part.partition(": ")
        names_by_change.setdefault(subject if colon else "", []).append(words if colon else part)
    return [
        f"{subject}: {', '.join(_verb_once(words))}" if subject else "; ".join(words)
        for subject, words in names_by_change.items()
    ]


def _verb_once(words: Sequence[str]) -> list[str]:
    """Return the edits of one object, without repeating words of the previous edit."""
    parts = [words[0]]
    for before, word in pairwise(words):
        head, _, last = word.rpartition(" ")
        parts.append(last if head and head == before.rpartition(" ")[0] else word)
    return parts


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """Extent of a search."""

    tried: int
    all: int
    """Of how many."""
    how: str
    not_tried: tuple[str, ...] = ()
    """Messages about changes that were not tried."""
    is_monotone: bool | None = None
    """Of values on a line: whether more was never better again once it had been worse; None of sets."""


class Solved(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a goal."""

    goal: str = ""
    question: str = ""
    replay: Replay
    """Replay mode of the answer in the what-if."""
    now: Figures
    best: Tried | None
    """The best change; None if nothing helps or nothing has to change."""
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
    """Effects of the answer that are not modelled and can undo it."""
    on_top_of: Scenario | None = None
    """Edits that were made before; ``now`` is the cluster with them, and every change opens with them."""
    has_prices: bool = True

    @property
    def scenario(self) -> Scenario:
        """The change, as the what-if opens it."""
        return scenario_of(self, self.best)


def scenario_of(solved: Solved, tried: Tried | None) -> Scenario:
    """Return a change as a scenario; without edits if there is none."""
    before = solved.on_top_of.edits if solved.on_top_of is not None else ()
    if tried is None:
        return Scenario(f"solve {solved.goal}", solved.replay, before)
    return Scenario(tried.words[:_LONGEST_NAME], solved.replay, (*before, *tried.edits))


class Criterion(msgspec.Struct, frozen=True):
    """A property for comparing changes; the lower the better."""

    value: Callable[[Tried], float]
    says: Callable[[float, float], str]
    """Describes why the second value is worse."""
    tolerance: Callable[[float], float] = lambda _least: 0.0
    """From the least value to how much more counts as nearly the same: then the next criteria decide."""
    better: Callable[[float, float], str] = lambda _ours, _theirs: ""
    """Describes why the second value is better, if a later criterion decides against it."""


def key_of(criteria: Sequence[Criterion]) -> Callable[[Tried], tuple[float, ...]]:
    """Return the sort key of changes: the first criterion first."""
    return lambda tried: tuple(criterion.value(tried) for criterion in criteria)


def why_lost(criteria: Iterable[Criterion], best: Tried, other: Tried) -> str:
    """Return a change's first disadvantage compared with the answer, and any advantage."""
    better = ""
    for criterion in criteria:
        ours, theirs = criterion.value(best), criterion.value(other)
        if theirs > ours:
            return criterion.says(ours, theirs) + better
        if theirs < ours:
            better = criterion.better(ours, theirs)
    return "same result, but tried later"


def _best_of(tried: Sequence[Tried], criteria: Sequence[Criterion]) -> Tried:
    """Return the best change: each criterion in turn keeps the best, within its tolerance."""
    left = tried
    for criterion in criteria:
        least = min(map(criterion.value, left))
        left = [each for each in left if criterion.value(each) <= least + criterion.tolerance(least)]
    return min(left, key=key_of(criteria))


def ranked(
    tried: Sequence[Tried], criteria: Sequence[Criterion]
) -> tuple[Tried | None, Tried | None, tuple[Tried, ...]]:
    """Return the best change, the next that does not contain it, and the others with the reason why they lost."""
    in_order = sorted(tried, key=key_of(criteria))
    if not in_order:
        return None, None, ()
    best = _best_of(in_order, criteria)
    rest = [attempt for attempt in in_order if attempt is not best]
    losers = [msgspec.structs.replace(attempt, why_not=why_lost(criteria, best, attempt)) for attempt in rest]
    held = set(map(repr, best.edits))
    runner_up = next((attempt for attempt in losers if not held <= set(map(repr, attempt.edits))), None)
    return best, runner_up, tuple(attempt for attempt in losers if attempt is not runner_up)[:MOST_NOTED]


def _difference_text(ours: float, theirs: float, noun: str) -> str:
    """Return the increase to the second value: ``2 pods``, or ``2 more pods`` if the first is not zero."""
    return counted(int(theirs - ours), f"more {noun}" if ours else noun)


def costs_more(more: float, *, has_prices: bool) -> str:
    """Return that a change costs more, with the amount if prices are on."""
    if more < LEAST_CHANGE:
        return "costs a little more"
    return f"costs {per_hour_text(more)} more" if has_prices else "costs more"


def cheaper(*, has_prices: bool) -> Criterion:
    """Return the criterion of dollars, which says them or only that another change costs more."""
    return Criterion(
        lambda attempt: round(attempt.figures.price_per_hour, 4),
        lambda ours, theirs: costs_more(theirs - ours, has_prices=has_prices),
    )


def nearly_cheapest(now: Figures, *, has_prices: bool) -> Criterion:
    """Return the price criterion that treats prices within ``NEARLY_SAME`` as equal.

    Args:
        now: The cluster without a change: the tolerance is a share of the added or saved price.
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
"""Price per hour, or share of the cheapest change's difference, that is too small to drift nodes for."""
FEWER_WAIT: Final = Criterion(
    lambda attempt: attempt.figures.pending,
    lambda ours, theirs: f"leaves {_difference_text(ours, theirs, 'pod')} unschedulable",
)
FEWER_LOSE: Final = Criterion(
    lambda attempt: len(attempt.figures.lost),
    lambda ours, theirs: f"takes the place of {_difference_text(ours, theirs, 'pod')} away",
)
FEWER_DRIFT: Final = Criterion(
    lambda attempt: attempt.figures.drifts, lambda ours, theirs: f"drifts {_difference_text(ours, theirs, 'node')}"
)
FEWER_CHANGES: Final = Criterion(
    lambda a: len(a.parts), lambda ours, theirs: f"makes {counted(int(theirs), 'change')}, not {int(ours):,}"
)


def manifests_text(base: WhatIfBase, solved: Solved) -> str:
    """Return the edited NodePools and NodeClasses as YAML."""
    changes, rest = _changes(base, solved.scenario.edits)
    text = export_yaml(changes)
    if rest:
        text += f"# and {len(rest)} edits that are no manifest: -o patch has them\n"
    return text or "# nothing is edited\n"


def commands_text(base: WhatIfBase, solved: Solved) -> str:
    """Return kubectl commands that make the edits."""
    changes, rest = _changes(base, solved.scenario.edits)
    settings: Settings = base.settings
    commands = export_commands(changes, rest, shipped_schemas(settings.rules.crds), gates=settings.gates)
    return f"# Nothing has been applied. Check each line before you run it.\n{commands}"


def _changes(base: WhatIfBase, edits: Iterable[AnyEdit]) -> tuple[tuple[Change, ...], tuple[AnyEdit, ...]]:
    documents = base.documents()
    originals: dict[ObjectRef, Mapping[str, Any]] = {}
    texts: dict[ObjectRef, str] = {}
    rest: list[AnyEdit] = []
    for edit in edits:
        raw = documents.get(edit.object) if isinstance(edit, SetField) else None
        if raw is None or not isinstance(edit, SetField):
            rest.append(edit)
            continue
        originals.setdefault(edit.object, raw)
        text = texts.get(edit.object) or as_document(raw)
        try:
            texts[edit.object] = set_value(text, edit.object, edit.path, REMOVE if edit.value is None else edit.value)
        except EditRefusedError:
            rest.append(edit)
    changes = [change for text in texts.values() for change in changes_of(parse(text), originals)]
    return tuple(changes), tuple(rest)
