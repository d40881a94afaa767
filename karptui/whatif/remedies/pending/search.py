"""Try changes one after the other, a run of the engine at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from karptui.kube.pod import Pod
from karptui.provisioning import PodExplanation, Reporter, Solution
from karptui.provisioning.reporter import silent
from karptui.provisioning.solution import solve
from karptui.whatif.remedies.pending.nodes import node_trials
from karptui.whatif.remedies.pending.pods import pod_trials
from karptui.whatif.remedies.pending.pools import pool_trials
from karptui.whatif.remedies.pending.remedy import Gain, Remedy, RemedyReport, Trial, UnplacedPods, attempt
from karptui.whatif.situation import WhatIfBase

MOST_TRIALS: Final = 80
"""Changes that are tried for one pod."""
FIXED_TYPES: Final = (
    "instance types came with the snapshot: settings and EC2NodeClass fields that shape them cannot be tried"
)


class RemedySearch:
    """Finds the single changes that give pods a place.

    Args:
        base: The cluster.
        pods: Pods that no rule tells apart and that find no place.
        explanation: Of the first of them; None where Karpenter does not look at it.
        solution: The run of the engine on the cluster as it is; made where None.
    """

    def __init__(
        self,
        base: WhatIfBase,
        pods: Sequence[Pod],
        explanation: PodExplanation | None,
        solution: Solution | None = None,
    ) -> None:
        self._question = UnplacedPods(base, tuple(pods), explanation)
        self._solution = solution
        self._trials: list[Trial] = []
        self._tried = 0
        self._found: list[tuple[int, Remedy]] = []
        self._left_out: list[str] = [FIXED_TYPES] if base.types.is_fixed else []
        self._reporter: Reporter = silent
        self._work = self._steps()
        self._is_listed = False
        self.is_complete = False

    @property
    def report(self) -> RemedyReport:
        """What has been found so far."""
        found = [remedy for _, remedy in sorted(self._found, key=_order)]
        return RemedyReport(
            pods=tuple(pod.key for pod in self._question.pods),
            tried=self._tried,
            to_try=len(self._trials) if self._is_listed else self._tried + 1,
            found=tuple(found),
            left_out=tuple(self._left_out),
        )

    def step(self, reporter: Reporter = silent) -> bool:
        """Run the engine once more and return whether there was anything left to do.

        Args:
            reporter: Told of progress; may raise `Cancelled`, after which the search cannot go on.

        Raises:
            Cancelled: when the reporter does.
        """
        self._reporter = reporter
        if not self.is_complete and next(self._work, None) is None:
            self.is_complete = True
        return not self.is_complete

    def _steps(self) -> Iterator[bool]:
        if self._solution is None:
            self._solution = solve(self._question.prepared, reporter=self._reporter)
        yield True
        trials: list[Trial] = []
        for trial in chain(node_trials(self._question), pool_trials(self._question), pod_trials(self._question)):
            trials.append(trial)
            yield True
        if len(trials) > MOST_TRIALS:
            self._left_out.append(f"{len(trials) - MOST_TRIALS} of {len(trials)} changes are left out")
        self._trials, self._is_listed = trials[:MOST_TRIALS], True
        for index, trial in enumerate(self._trials):
            found: list[Remedy] = []
            for _ in self._try(trial, found):
                yield True
            self._tried += 1
            self._found += [(index, remedy) for remedy in found]
            yield True

    def _try(self, trial: Trial, found: list[Remedy]) -> Iterator[bool]:
        """Find the gentlest step that places as many pods as the strongest, and put it into a list."""
        known: dict[int, Gain | None] = {}

        def gain(position: int) -> Gain | None:
            if position not in known:
                known[position] = self._gain(trial, position)
            return known[position]

        def is_enough(position: int, most: int) -> bool:
            one = gain(position)
            return one is not None and one.placed >= most

        last = len(trial.steps) - 1
        best = gain(last)
        yield True
        if best is None:
            return
        low, high = 0, last
        for probe in _probes(trial, last):
            if low <= probe < high:
                low, high = (low, probe) if is_enough(probe, best.placed) else (probe + 1, high)
                yield True
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if is_enough(middle, best.placed) else (middle + 1, high)
            yield True
        chosen = gain(high)
        assert chosen is not None
        step = trial.steps[high]
        found.append(Remedy(trial.kind, trial.subject, step.words, step.edits, chosen))

    def _gain(self, trial: Trial, position: int) -> Gain | None:
        assert self._solution is not None
        question = self._question
        edits = trial.steps[position].edits
        return attempt(question.base, edits, question.pods, self._solution.errors, self._reporter)


def _probes(trial: Trial, last: int) -> Iterable[int]:
    """Return the positions around a guess: it, and the next gentler one that should not be enough."""
    if trial.guess is None or trial.guess >= last:
        return ()
    return (trial.guess, trial.guess - 1)


def _order(one: tuple[int, Remedy]) -> tuple[object, ...]:
    index, remedy = one
    gain = remedy.gain
    return -gain.placed, bool(gain.displaced), gain.price_per_hour or 0.0, index
