"""A goal asked of a cluster: its parameters, the measure of a change, and several changes merged into one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from karptui.errors import RequestError
from karptui.karpenter.inventory import NotCounted
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import Pod
from karptui.kube.quantity import Quantity, QuantityError, parse_quantity
from karptui.kube.units import first_of
from karptui.provisioning.pool_order import usable_pools
from karptui.provisioning.reporter import Ask, Each, Reporter, one_by_one, silent
from karptui.solve.answer import Criterion, Effort, Figures, Solved, Tried, key_of, ranked
from karptui.solve.catalogue import Goal, with_defaults
from karptui.solve.search import Chosen, Sets, search_sets
from karptui.whatif.accuracy import Accuracy, accuracy_of
from karptui.whatif.drift.drift import drift_changes
from karptui.whatif.edits import AnyEdit, EditError, ObjectRef, SetField, SetSetting
from karptui.whatif.edits.apply import apply
from karptui.whatif.field_path import value_at
from karptui.whatif.outcome import ReplayOutcome, not_counted
from karptui.whatif.remedies.pending.remedy import quantity_text, whole_nano
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import WhatIfBase

KeyT = TypeVar("KeyT")
LESS_MEMORY: Final = "new nodes may have less memory than Karpenter then assumes, so that pods do not fit on them"
"""The risk of a percent that is lower than today's."""
TOO_LOW: Final = (
    "the real memory of instances: if the percentage is too low, Karpenter launches nodes on which the pods do not fit"
)


class GoalQuestion:
    """One goal asked of one cluster.

    Args:
        given: Values of the goal's parameters; defaults apply to missing ones.
        reporter: Called with the number of changes tried and in all; may raise ``Cancelled``.

    Raises:
        RequestError: A value is unknown, invalid or missing.
    """

    def __init__(
        self,
        base: WhatIfBase,
        goal: Goal,
        parameters: Mapping[str, str],
        reporter: Reporter = silent,
        each: Each = one_by_one,
        *,
        has_prices: bool = True,
    ) -> None:
        self.base = base
        self.goal = goal
        self.has_prices = has_prices
        self._given = with_defaults(goal, parameters)
        self._reporter = reporter
        self._each = each
        self.asked = goal.title
        """The question as text."""
        self.tried = 0
        """Changes that were measured."""
        self.to_try = 1
        """About how many will be, for whoever watches."""

    def text(self, name: str) -> str:
        """Return a parameter's value, or its default."""
        return self._given[name]

    def count(self, name: str) -> int:
        """Return a parameter that is a number."""
        return int(self._given[name])

    def pool(self, name: str) -> NodePool:
        """Return the NodePool of a parameter.

        Raises:
            RequestError: It does not exist, or does not provision.
        """
        pool_name = self._given[name]
        usable = {pool.name: pool for pool in usable_pools(self.base.inventory.nodepools)}
        if pool_name not in usable:
            there = f"there are {', '.join(sorted(usable))}" if usable else "there is none"
            why = (
                "is excluded: it is static, not ready, being deleted, or another provider's"
                if pool_name in {pool.name for pool in self.base.inventory.nodepools}
                else "does not exist"
            )
            raise RequestError(f"NodePool {pool_name!r:.80} {why}; {there}")
        return usable[pool_name]

    def report(self, done: int = 0, total: int = 0) -> None:  # noqa: ARG002 - an engine's own progress is not shown
        """Report the progress of the search; used as reporter."""
        self._reporter(min(self.tried, self.to_try), max(self.to_try, 1))

    def as_it_is(self, mode: Replay) -> ReplayOutcome:
        """Return the figures without a change."""
        return replay(self.base, mode, self.report)

    def measured(
        self, changes: Iterable[tuple[KeyT, tuple[AnyEdit, ...]]], modes: tuple[Replay, ...]
    ) -> Iterator[tuple[KeyT, tuple[Figures, ...] | None]]:
        """Yield the figures of each change in some replay modes; None if it is invalid."""
        return self.asked_of_each(_figures_of_change, modes, changes)

    def asked_of_each(
        self, ask: Ask, arguments: object, items: Iterable[tuple[KeyT, object]]
    ) -> Iterator[tuple[KeyT, Any]]:
        """Yield the answer for each item, in order.

        Args:
            ask: A function of a module, called with the cluster and ``given``, and an item.
            items: Items with their keys, taken when they can be worked on.
        """
        keys = deque[KeyT]()

        def taken() -> Iterator[object]:
            for key, item in items:
                keys.append(key)
                yield item

        self.report()
        for answer in self._each(ask, (self.base, arguments), taken(), self.report):
            self.tried += 1
            self.report()
            yield keys.popleft(), answer

    def search(
        self,
        changes: Sequence[tuple[AnyEdit, ...]],
        largest: int,
        mode: Replay,
        criteria: Sequence[Criterion],
        attempt: Callable[[Chosen, tuple[AnyEdit, ...], Figures], Tried],
    ) -> tuple[list[Tried], Sets]:
        """Try sets of changes, each change alone and the best with one more, within the limit of tries.

        Args:
            changes: The edits of each change.
            attempt: Returns the result of a set, of its positions, its edits and their figures.

        Returns:
            The valid sets in the order of trying, and the extent of the search.
        """
        tried: list[Tried] = []
        most = self.count("tries")
        self.tried, self.to_try = 0, most

        def edits_of(chosen: Chosen) -> tuple[AnyEdit, ...] | None:
            return composed(self.base, [changes[index] for index in chosen])

        def values(sets: Iterable[Chosen]) -> Iterator[tuple[float, ...]]:
            with_edits = ((chosen, edits_of(chosen) or ()) for chosen in sets)
            for (chosen, edits), measured in self.measured(((each, each[1]) for each in with_edits), (mode,)):
                if measured is None:
                    yield (float("inf"),)
                else:
                    tried.append(attempt(chosen, edits, measured[0]))
                    yield key_of(criteria)(tried[-1])

        return tried, search_sets(len(changes), largest, most, values, lambda chosen: edits_of(chosen) is None)

    def now(self, mode: Replay) -> Figures:
        """Return the figures without a change."""
        outcome = self.as_it_is(mode)
        return figures_of(outcome, outcome)

    def accuracy(self, edits: Iterable[AnyEdit], mode: Replay) -> Accuracy:
        """Return the accuracy of an answer."""
        return accuracy_of(self.base, apply(self.base, tuple(edits)), mode)

    def settled(self, mode: Replay, now: Figures, because: str) -> Solved:
        """Return that nothing has to be changed."""
        effort = Effort(tried=0, all=0, how="no change had to be tried")
        return Solved(replay=mode, now=now, best=None, runner_up=None, is_reached=True, because=because, effort=effort)

    def answer(
        self,
        mode: Replay,
        now: Figures,
        tried: Sequence[Tried],
        criteria: Sequence[Criterion],
        effort: Effort,
        *,
        because: str = "",
    ) -> Solved:
        """Return the best change; it may not reach the goal.

        Args:
            tried: The changes, in the order of trying.
            because: Why it does not reach the goal, if known.
        """
        best, runner_up, others = ranked(tried, criteria)
        accuracy = self.accuracy(best.edits if best is not None else (), mode)
        return Solved(
            replay=mode,
            now=now,
            best=best,
            runner_up=runner_up,
            is_reached=best is not None and best.is_enough,
            others=others,
            because=because,
            effort=effort,
            approximated=accuracy.approximated,
            not_modelled=accuracy.not_modelled,
        )


def measure(
    base: WhatIfBase, edits: tuple[AnyEdit, ...], mode: Replay, reporter: Reporter
) -> tuple[Figures, ReplayOutcome]:
    """Return a change's figures and its replay.

    Raises:
        EditError: An edit is invalid.
    """
    edited = apply(base, edits)
    outcome = replay(edited, mode, reporter)
    gained, _ = drift_changes(base, edited)
    return replace(figures_of(outcome, replay(base, mode, reporter)), drifts=len(gained)), outcome


def _figures_of_change(common: Any, edits: Any, reporter: Reporter) -> tuple[Figures, ...] | None:
    base, modes = common
    try:
        return tuple(measure(base, edits, mode, reporter)[0] for mode in modes)
    except EditError:
        return None


def figures_of(outcome: ReplayOutcome, as_it_is: ReplayOutcome) -> Figures:
    """Return the figures of a replay.

    Args:
        as_it_is: The replay without a change.
    """
    figures = outcome.pools.values()
    before = waiting_keys(as_it_is)
    return Figures(
        pending=len(outcome.unplaced),
        lost=tuple(sorted(waiting_keys(outcome) - before)),
        nodes=sum(figure.nodes for figure in figures),
        price_per_hour=sum(figure.price_per_hour + figure.unpriced_at_most_per_hour for figure in figures),
        unpriced=sum(figure.unpriced for figure in figures),
        not_counted=not_counted(outcome.prepared) if outcome is as_it_is else NotCounted(),
    )


def waiting_keys(outcome: ReplayOutcome) -> frozenset[str]:
    """Return ``namespace/name`` of every unschedulable pod."""
    return frozenset(pod.key for pod in outcome.unplaced)


def names_of(pods: Iterable[Pod | str], most: int = 2) -> str:
    """Return some pods by name: ``a/b, a/c and 3 more``."""
    return first_of([pod if isinstance(pod, str) else pod.key for pod in pods], most)


_LIMITS = ("spec", "limits")


def composed(base: WhatIfBase, changes: Sequence[tuple[AnyEdit, ...]]) -> tuple[AnyEdit, ...] | None:
    """Return the edits of several changes as one; None if two of them conflict.

    Lists get all additions and lose all removals; limits get the sum of the increases; the lower overhead and the
    higher number win.
    """
    edits: dict[object, AnyEdit] = {}
    for edit in chain.from_iterable(changes):
        place = _place(edit)
        edit_there = edits.get(place)
        both = edit if edit_there is None else _joint_edit(base, edit_there, edit)
        if both is None:
            return None
        edits[place] = both
    # An item that is taken out of a list moves those after it: such edits come last, the last item first.
    stay = [edit for edit in edits.values() if not _takes_item(edit)]
    gone = [edit for edit in edits.values() if isinstance(edit, SetField) and _takes_item(edit)]
    return (*stay, *sorted(gone, key=lambda field: str(field.path[:-1]) + f"{field.path[-1]:>8}", reverse=True))


def _place(edit: AnyEdit) -> object:
    match edit:
        case SetField():
            return edit.object, edit.path
        case SetSetting():
            return edit.name
        case _:
            return repr(edit)


def _takes_item(edit: AnyEdit) -> bool:
    return isinstance(edit, SetField) and edit.value is None and isinstance(edit.path[-1], int)


def _joint_edit(base: WhatIfBase, edit: AnyEdit, two: AnyEdit) -> AnyEdit | None:
    if edit == two:
        return edit
    if isinstance(edit, SetSetting) and isinstance(two, SetSetting):
        return _lower(edit, two)
    if not isinstance(edit, SetField) or not isinstance(two, SetField):
        return None
    before = value_at(_raw(base, edit.object), edit.path)
    value: Any = None
    if isinstance(edit.value, list) and isinstance(two.value, list):
        value = _lists(before if isinstance(before, list) else [], edit.value, two.value)
    elif edit.path[:-1] == _LIMITS and isinstance(edit.path[-1], str):
        value = _limits(edit.path[-1], before, edit.value, two.value)
    elif isinstance(edit.value, int) and isinstance(two.value, int):
        value = max(edit.value, two.value)
    return None if value is None else SetField(edit.object, edit.path, value)


def _raw(base: WhatIfBase, ref: ObjectRef) -> Any:
    of_kind = base.inventory.nodepools if ref.kind == "NodePool" else base.inventory.nodeclasses
    return next((manifest.raw for manifest in of_kind if manifest.name == ref.name), {})


def _lower(setting: SetSetting, two: SetSetting) -> SetSetting | None:
    try:
        return min(setting, two, key=lambda setting: float(setting.value))
    except ValueError:
        return None


def _lists(before: list[Any], first: list[Any], second: list[Any]) -> list[Any] | None:
    if all(item in first for item in before) and all(item in second for item in before):
        return [*first, *(item for item in second if item not in first)]
    if all(item in before for item in (*first, *second)):
        return [item for item in first if item in second] or None
    return None


def _limits(resource: str, before: Any, former: Any, latter: Any) -> str | None:
    try:
        was, first, second = (parse_quantity(str(value)) for value in (before, former, latter))
    except QuantityError:
        return None
    raised: Quantity = first + (second - was)
    return quantity_text(resource, whole_nano(resource, raised.nano, is_up=True))
