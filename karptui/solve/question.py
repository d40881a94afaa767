"""A goal that is asked of a cluster: what is given with it, and how a change is measured."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import Pod
from karptui.kube.units import first_of
from karptui.provisioning.pool_order import usable_pools
from karptui.provisioning.reporter import Ask, Each, Reporter, one_by_one, silent
from karptui.solve.answer import Criterion, Effort, Figures, Solved, Tried, ranked
from karptui.solve.catalogue import Goal, SolveError, with_defaults
from karptui.whatif.accuracy import Accuracy, accuracy_of
from karptui.whatif.drift.drift import drift_changes
from karptui.whatif.edits import AnyEdit, EditError
from karptui.whatif.edits.apply import apply
from karptui.whatif.outcome import ReplayOutcome
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import WhatIfBase

KeyT = TypeVar("KeyT")
LESS_MEMORY: Final = "new nodes may have less memory than Karpenter then reckons with, and pods not fit on them"
"""The risk of a percent that is lower than today's."""
TOO_LOW: Final = (
    "what instances really have: with a percent that is too low Karpenter launches nodes on which the pods do not fit"
)


class GoalQuestion:
    """One goal asked of one cluster.

    Args:
        base: The cluster as it is.
        goal: What is asked for.
        given: Values by the names of the goal's parameters; what is missing is as by default.
        reporter: Told how many changes were tried, and of how many; may raise ``Cancelled``.
        each: Measures changes, here or side by side elsewhere.
        has_prices: Whether the answer says dollars.

    Raises:
        SolveError: where something is given that the goal does not take, or missing.
    """

    def __init__(
        self,
        base: WhatIfBase,
        goal: Goal,
        given: Mapping[str, str],
        reporter: Reporter = silent,
        each: Each = one_by_one,
        *,
        has_prices: bool = True,
    ) -> None:
        self.base = base
        self.goal = goal
        self.has_prices = has_prices
        self._given = with_defaults(goal, given)
        self._reporter = reporter
        self._each = each
        self.asked = goal.title
        """What is asked, in words."""
        self.tried = 0
        """Changes that were measured."""
        self.to_try = 1
        """About how many will be, for whoever watches."""

    def text(self, name: str) -> str:
        """Return what is given as a parameter; its default where nothing is."""
        return self._given[name]

    def count(self, name: str) -> int:
        """Return a parameter that is a number."""
        return int(self._given[name])

    def pool(self, name: str) -> NodePool:
        """Return the NodePool that is given as a parameter.

        Raises:
            SolveError: where it is not there, or takes no part in provisioning.
        """
        wanted = self._given[name]
        usable = {pool.name: pool for pool in usable_pools(self.base.inventory.nodepools)}
        if wanted not in usable:
            there = f"there are {', '.join(sorted(usable))}" if usable else "there is none"
            why = (
                "takes no part: it is static, not ready, being deleted, or another provider's"
                if wanted in {pool.name for pool in self.base.inventory.nodepools}
                else "is not there"
            )
            raise SolveError(f"NodePool {wanted!r:.80} {why}; {there}")
        return usable[wanted]

    def report(self, done: int = 0, total: int = 0) -> None:  # noqa: ARG002 - an engine's own progress is not shown
        """Say how far the search is; the reporter of runs."""
        self._reporter(min(self.tried, self.to_try), max(self.to_try, 1))

    def as_it_is(self, mode: Replay) -> ReplayOutcome:
        """Return what the cluster comes to without a change."""
        return replay(self.base, mode, self.report)

    def measured(
        self, changes: Iterable[tuple[KeyT, tuple[AnyEdit, ...]]], modes: tuple[Replay, ...]
    ) -> Iterator[tuple[KeyT, tuple[Figures, ...] | None]]:
        """Yield what each change comes to in some ways of replaying it; None for one that cannot be made.

        Args:
            changes: Each with what it is known by.
            modes: The ways.

        Raises:
            Cancelled: when the reporter does.
        """
        return self.asked_of_each(_figures_of_change, modes, changes)

    def asked_of_each(
        self, ask: Ask, given: object, items: Iterable[tuple[KeyT, object]]
    ) -> Iterator[tuple[KeyT, Any]]:
        """Yield what is found of each item, in their order.

        Args:
            ask: A function of a module, called with the cluster and what is given as one, and an item.
            given: What all items have in common.
            items: What is tried, each with what it is known by; the next is taken when it can be worked on.

        Raises:
            Cancelled: when the reporter does.
        """
        keys = deque[KeyT]()

        def taken() -> Iterator[object]:
            for key, item in items:
                keys.append(key)
                yield item

        self.report()
        for found in self._each(ask, (self.base, given), taken(), self.report):
            self.tried += 1
            self.report()
            yield keys.popleft(), found

    def now(self, mode: Replay) -> Figures:
        """Return the cluster as it is in figures."""
        outcome = self.as_it_is(mode)
        return figures_of(outcome, outcome)

    def accuracy(self, edits: Iterable[AnyEdit], mode: Replay) -> Accuracy:
        """Return how far an answer can be trusted."""
        return accuracy_of(self.base, apply(self.base, tuple(edits)), mode)

    def settled(self, mode: Replay, now: Figures, because: str) -> Solved:
        """Return that nothing has to be changed."""
        effort = Effort(tried=0, all=0, how="nothing had to be tried")
        return Solved(
            goal=self.goal.name,
            question=self.asked,
            replay=mode,
            now=now,
            best=None,
            runner_up=None,
            is_reached=True,
            because=because,
            effort=effort,
            has_prices=self.has_prices,
        )

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
        """Return the best of what was tried; it may fall short of the goal.

        Args:
            mode: How the answer is replayed where it is opened.
            now: The cluster as it is.
            tried: The changes, in the order in which they were tried.
            criteria: What they are compared by.
            effort: How far the search went.
            because: Why it falls short, where that is known.
        """
        best, runner_up, others = ranked(tried, criteria)
        accuracy = self.accuracy(best.edits if best is not None else (), mode)
        return Solved(
            goal=self.goal.name,
            question=self.asked,
            replay=mode,
            now=now,
            best=best,
            runner_up=runner_up,
            is_reached=best is not None and best.is_enough,
            others=others,
            because=because,
            effort=effort,
            has_prices=self.has_prices,
            approximated=accuracy.approximated,
            not_modelled=accuracy.not_modelled,
        )


def measure(
    base: WhatIfBase, edits: tuple[AnyEdit, ...], mode: Replay, reporter: Reporter
) -> tuple[Figures, ReplayOutcome]:
    """Return what a change comes to, in figures and whole.

    Args:
        base: The cluster as it is.
        edits: The change.
        mode: How it is replayed.
        reporter: Called now and then; may raise ``Cancelled``.

    Raises:
        EditError: where it cannot be made.
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
    """Return what a replay comes to.

    Args:
        outcome: The replay.
        as_it_is: The same of the cluster without a change.
    """
    figures = outcome.pools.values()
    before = waiting_keys(as_it_is)
    return Figures(
        pending=len(outcome.unplaced),
        lost=tuple(sorted(waiting_keys(outcome) - before)),
        nodes=sum(one.nodes for one in figures),
        price_per_hour=sum(one.price_per_hour + one.unpriced_at_most_per_hour for one in figures),
        unpriced=sum(one.unpriced for one in figures),
    )


def waiting_keys(outcome: ReplayOutcome) -> frozenset[str]:
    """Return ``namespace/name`` of every pod without a place."""
    return frozenset(pod.key for pod in outcome.unplaced)


def names_of(pods: Iterable[Pod | str], most: int = 2) -> str:
    """Return some pods by name: ``a/b, a/c and 3 more``."""
    return first_of([one if isinstance(one, str) else one.key for one in pods], most)
