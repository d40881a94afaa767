"""What follows from replays and plays: one study at a time, on a cluster of its own, in the thread that asks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeVar

from karptui.plan.drill import drills
from karptui.plan.headroom import headroom, headrooms, pool_samples
from karptui.plan.plan import plan
from karptui.plan.policies import PolicyError, compare
from karptui.plan.rehearsal import RehearsalError, rehearsals
from karptui.plan.samples import HeadroomError, sample_of, samples
from karptui.plan.sheet import PlanSheet, objects_of
from karptui.plan.unreached import unreached
from karptui.provisioning.reporter import Cancelled, Reporter
from karptui.session.cluster_view import ClusterView
from karptui.session.pace import Turns
from karptui.session.prepare import base_of
from karptui.session.study_questions import (
    DrillsFound,
    DrillsWanted,
    HeadroomsFound,
    HeadroomsWanted,
    PlanFound,
    PlanWanted,
    PoliciesFound,
    PoliciesWanted,
    RehearsalsFound,
    RehearsalsWanted,
    SolvedFound,
    SolveWanted,
    StudyProgressFound,
    StudyProgressWanted,
    UnreachedFound,
    UnreachedWanted,
)
from karptui.solve.catalogue import SolveError
from karptui.solve.run import solve_goal
from karptui.views.plan import blocker_lines, markdown_lines, price_text, rollout_lines
from karptui.views.plan import headline as plan_headline
from karptui.whatif.edits import EditError, ObjectRef
from karptui.whatif.situation import WhatIfBase

FoundT = TypeVar("FoundT")


class Studies:
    """Answers one question at a time; a newer one, or somebody who gives up, ends the one that is at work."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._numbers = itertools.count(1)
        self._newest = 0
        self._progress = StudyProgressFound()

    def progress(self, _: ClusterView, wanted: StudyProgressWanted) -> StudyProgressFound:
        """Return how far the newest study has come."""
        if wanted.gives_up:
            self._newest = next(self._numbers)
            self._progress = StudyProgressFound()
        return self._progress

    def drills(self, view: ClusterView, wanted: DrillsWanted) -> DrillsFound:
        """Take each zone, capacity type and NodePool away."""
        found = self._worked_out(view, wanted.now_ns, lambda base, reporter: drills(base, reporter=reporter))
        return DrillsFound(found=found or ())

    def solved(self, view: ClusterView, wanted: SolveWanted) -> SolvedFound:
        """Look for the change that reaches a goal."""

        def looked(base: WhatIfBase, reporter: Reporter) -> SolvedFound:
            try:
                given = dict(wanted.given)
                return SolvedFound(found=solve_goal(base, wanted.goal, given, reporter, on_top_of=wanted.on_top_of))
            except SolveError as error:
                return SolvedFound(problem=str(error))

        return self._worked_out(view, wanted.now_ns, looked) or SolvedFound()

    def headrooms(self, view: ClusterView, wanted: HeadroomsWanted) -> HeadroomsFound:
        """Add pods until nothing more fits."""

        def added(base: WhatIfBase, reporter: Reporter) -> HeadroomsFound:
            try:
                if wanted.kind == "NodePool":
                    of = pool_samples(base, wanted.key)
                    return HeadroomsFound(found=headrooms(base, of, pool=wanted.key, reporter=reporter))
                if not wanted.kind:
                    return HeadroomsFound(found=headrooms(base, samples(base.inventory), reporter=reporter))
                namespace, _, name = wanted.key.rpartition("/")
                sample = sample_of(base, ObjectRef(wanted.kind, name, namespace))
                return HeadroomsFound(found=(headroom(base, sample, reporter=reporter),))
            except (HeadroomError, EditError) as error:
                return HeadroomsFound(problem=str(error))

        return self._worked_out(view, wanted.now_ns, added) or HeadroomsFound()

    def policies(self, view: ClusterView, wanted: PoliciesWanted) -> PoliciesFound:
        """Play the cluster under every policy."""

        def compared(base: WhatIfBase, reporter: Reporter) -> PoliciesFound:
            try:
                found = compare(
                    base,
                    pools=wanted.pools,
                    afters=wanted.afters,
                    horizon_ns=wanted.horizon_ns,
                    seeds=wanted.seeds,
                    reporter=reporter,
                )
                return PoliciesFound(found=found)
            except (PolicyError, EditError) as error:
                return PoliciesFound(problem=str(error))

        return self._worked_out(view, wanted.now_ns, compared) or PoliciesFound()

    def unreached(self, view: ClusterView, wanted: UnreachedWanted) -> UnreachedFound:
        """See how far a pass of consolidation comes."""
        metrics = view.evidence.metrics
        found = self._worked_out(
            view, wanted.now_ns, lambda base, reporter: unreached(base, metrics=metrics, reporter=reporter)
        )
        return UnreachedFound(found=found)

    def rehearsals(self, view: ClusterView, wanted: RehearsalsWanted) -> RehearsalsFound:
        """Drain every node group in imagination."""

        def rehearsed(base: WhatIfBase, reporter: Reporter) -> RehearsalsFound:
            try:
                found = rehearsals(
                    base,
                    manifests=wanted.manifests,
                    at_once=wanted.at_once,
                    horizon_ns=wanted.horizon_ns,
                    reporter=reporter,
                )
                return RehearsalsFound(found=found)
            except (RehearsalError, EditError) as error:
                return RehearsalsFound(problem=str(error))

        return self._worked_out(view, wanted.now_ns, rehearsed) or RehearsalsFound()

    def plan(self, view: ClusterView, wanted: PlanWanted) -> PlanFound:
        """Plan a scenario."""

        def planned(base: WhatIfBase, reporter: Reporter) -> PlanFound:
            edits = wanted.scenario.edits
            try:
                found = plan(base, edits, horizon_ns=wanted.horizon_ns, reporter=reporter)
            except EditError as error:
                return PlanFound(problem=str(error))
            return PlanFound(
                found=PlanSheet(
                    headline=plan_headline(found),
                    risks=tuple(found.risks()),
                    blockers=tuple(blocker_lines(found)),
                    rollout=tuple(rollout_lines(found)),
                    costs=price_text(found),
                    edited=found.edited,
                    markdown="\n".join(markdown_lines(wanted.scenario.name, objects_of(edits), found)),
                )
            )

        return self._worked_out(view, wanted.now_ns, planned) or PlanFound()

    def _worked_out(
        self, view: ClusterView, now_ns: int, work: Callable[[WhatIfBase, Reporter], FoundT]
    ) -> FoundT | None:
        """Return what a study comes to, None where it is no longer wanted."""
        number = self._newest = next(self._numbers)
        self._progress = StudyProgressFound()

        def pause() -> None:
            if self._newest != number:
                raise Cancelled
            self._turns.take()

        def report(done: int, total: int) -> None:
            pause()
            self._progress = StudyProgressFound(done=done, total=total)

        try:
            # Of its own: what-ifs share theirs, and would wait for each other.
            return work(base_of(view, now_ns, pause), report)
        except Cancelled:
            return None
