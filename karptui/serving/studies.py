"""Studies: questions that need many replays or forecasts, one at a time, on a cluster of their own."""

# ruff: noqa: PLC0415 - the first rows wait for no engine: each is imported in the thread that asks

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from karptui.serving.one_at_a_time import OneAtATime
from karptui.session.answers import StudyAnswer

if TYPE_CHECKING:
    from karptui.plan.drill import Drill
    from karptui.plan.headroom import Headroom
    from karptui.plan.policies import Comparison
    from karptui.plan.rehearsal import Rehearsal
    from karptui.plan.sheet import PlanSheet
    from karptui.plan.unreached import Unreached
    from karptui.provisioning.reporter import Reporter
    from karptui.session.cluster_view import ClusterView
    from karptui.solve.answer import Solved
    from karptui.whatif.edits import AnyEdit
    from karptui.whatif.scenario import Scenario
    from karptui.whatif.situation import WhatIfBase

AnswerT = TypeVar("AnswerT")


class Studies(OneAtATime):
    """Answers one study at a time."""

    def __init__(self, view: Callable[[], ClusterView]) -> None:
        """Begin without any.

        Args:
            view: Returns the newest generation of the cluster.
        """
        super().__init__()
        self._view = view

    def drills(self, now_ns: int) -> StudyAnswer[tuple[Drill, ...]]:
        """Return what is left without each zone, capacity type and NodePool."""
        from karptui.plan.drill import drills

        return self._answer(now_ns, lambda base, reporter: drills(base, reporter=reporter))

    def solve(
        self, goal: str, given: Sequence[tuple[str, str]], on_top_of: Scenario | None, now_ns: int
    ) -> StudyAnswer[Solved]:
        """Return the change that reaches a goal."""
        from karptui.solve.catalogue import SolveError
        from karptui.solve.run import solve_goal

        return self._answer(
            now_ns, lambda base, report: solve_goal(base, goal, dict(given), report, on_top_of=on_top_of), SolveError
        )

    def headrooms(self, kind: str, key: str, now_ns: int) -> StudyAnswer[tuple[Headroom, ...]]:
        """Return how many more of a pod fit, of the pods on a NodePool, or of every workload."""
        from karptui.plan.headroom import headroom, headrooms, pool_samples
        from karptui.plan.samples import HeadroomError, sample_of, samples
        from karptui.whatif.edits import EditError, ObjectRef

        def added(base: WhatIfBase, reporter: Reporter) -> tuple[Headroom, ...]:
            if kind == "NodePool":
                return headrooms(base, pool_samples(base, key), pool=key, reporter=reporter)
            if not kind:
                return headrooms(base, samples(base.inventory), reporter=reporter)
            namespace, _, name = key.rpartition("/")
            return (headroom(base, sample_of(base, ObjectRef(kind, name, namespace)), reporter=reporter),)

        return self._answer(now_ns, added, HeadroomError, EditError)

    def policies(
        self, pools: Sequence[str], afters: Sequence[str], horizon_ns: int, seeds: int, now_ns: int
    ) -> StudyAnswer[Comparison]:
        """Return what consolidation policies save, and how many pods they evict."""
        from karptui.plan.policies import PolicyError, compare
        from karptui.whatif.edits import EditError

        def compared(base: WhatIfBase, reporter: Reporter) -> Comparison:
            return compare(
                base, pools=tuple(pools), afters=tuple(afters), horizon_ns=horizon_ns, seeds=seeds, reporter=reporter
            )

        return self._answer(now_ns, compared, PolicyError, EditError)

    def unreached(self, now_ns: int) -> StudyAnswer[Unreached]:
        """Return which nodes consolidation does not evaluate before its timeout."""
        from karptui.plan.unreached import unreached

        metrics = self._view().evidence.metrics
        return self._answer(now_ns, lambda base, reporter: unreached(base, metrics=metrics, reporter=reporter))

    def rehearsals(
        self, manifests: Sequence[AnyEdit], at_once: int, horizon_ns: int, now_ns: int
    ) -> StudyAnswer[tuple[Rehearsal, ...]]:
        """Return the outcome of moving each node group to Karpenter, and all of them."""
        from karptui.plan.rehearsal import RehearsalError, rehearsals
        from karptui.whatif.edits import EditError

        def rehearsed(base: WhatIfBase, reporter: Reporter) -> tuple[Rehearsal, ...]:
            return rehearsals(
                base, manifests=tuple(manifests), at_once=at_once, horizon_ns=horizon_ns, reporter=reporter
            )

        return self._answer(now_ns, rehearsed, RehearsalError, EditError)

    def plan(self, scenario: Scenario, horizon_ns: int, now_ns: int) -> StudyAnswer[PlanSheet]:
        """Return the effects of applying a scenario: risks, rollout and its order, the text for a pull request."""
        from karptui.plan.plan import plan
        from karptui.plan.sheet import PlanSheet, objects_of
        from karptui.views import plan as views
        from karptui.whatif.edits import EditError

        def planned(base: WhatIfBase, reporter: Reporter) -> PlanSheet:
            edits = scenario.edits
            result = plan(base, edits, horizon_ns=horizon_ns, reporter=reporter)
            return PlanSheet(
                headline=views.headline(result),
                risks=tuple(result.risks()),
                blockers=tuple(views.blocker_lines(result)),
                rollout=tuple(views.rollout_lines(result)),
                costs=views.price_text(result),
                edited=result.edited,
                markdown="\n".join(views.markdown_lines(scenario.name, objects_of(edits), result)),
            )

        return self._answer(now_ns, planned, EditError)

    def _answer(
        self, now_ns: int, work: Callable[[WhatIfBase, Reporter], AnswerT], *errors: type[Exception]
    ) -> StudyAnswer[AnswerT]:
        """Return the answer to a study; nothing if it was cancelled.

        Args:
            now_ns: The instant to look at the cluster from.
            work: Answers it.
            errors: What it may raise, with a message for the user.
        """
        from karptui.session.prepare import base_of

        view = self._view()
        try:
            # A base of its own: what-ifs share theirs, and would wait for each other.
            found = self._run(lambda pause, report: work(base_of(view, now_ns, pause), report))
        except errors as error:
            return StudyAnswer(problem=str(error))
        return StudyAnswer(found)
