"""What becomes of the cluster, as it is and as scenarios make it: one after the other, in the thread that asks."""

from __future__ import annotations

import itertools

from karptui.forward.journal import Journal
from karptui.plan.rollout import Rollout, rollout
from karptui.provisioning.reporter import Cancelled
from karptui.session.cluster_view import ClusterView
from karptui.session.moments import KeptPlay, KeptPlays, lasting
from karptui.session.pace import Turns
from karptui.session.replays import SharedBase
from karptui.session.whatif_questions import PlayFound, PlayProgressFound, PlayProgressWanted, PlaysFound, PlaysWanted
from karptui.whatif.edits import EditError, TakeOut
from karptui.whatif.edits.apply import apply
from karptui.whatif.scenario import Scenario


class Plays:
    """Answers questions about plays; a newer one, or somebody who gives up, ends the one that is at work."""

    def __init__(self, shared_base: SharedBase, kept: KeptPlays) -> None:
        """Begin without any.

        Args:
            shared_base: The cluster made ready, which plays begin with.
            kept: Gets every play, so that its moments can be opened.
        """
        self._shared_base = shared_base
        self._kept = kept
        self._turns = Turns()
        self._numbers = itertools.count(1)
        self._newest = 0
        self._progress = PlayProgressFound()

    def progress(self, _: ClusterView, wanted: PlayProgressWanted) -> PlayProgressFound:
        """Return how far the newest play has come."""
        if wanted.gives_up:
            self._newest = next(self._numbers)
            self._progress = PlayProgressFound()
        return self._progress

    def played(self, view: ClusterView, wanted: PlaysWanted) -> PlaysFound:
        """Play the cluster as it is, and as each scenario makes it."""
        number = self._newest = next(self._numbers)
        try:
            found = tuple(self._play(view, scenario, wanted, number) for scenario in (None, *wanted.scenarios))
        except Cancelled:
            return PlaysFound()
        return PlaysFound(plays=found)

    def _play(self, view: ClusterView, scenario: Scenario | None, wanted: PlaysWanted, number: int) -> PlayFound:
        name = scenario.name if scenario is not None else ""

        def report(done: int, total: int) -> None:
            if self._newest != number:
                raise Cancelled
            self._progress = PlayProgressFound(name=name, seconds=done, total=total)
            self._turns.take()

        try:
            ready = self._ready(view, scenario, wanted.now_ns)
        except EditError as error:
            return PlayFound(name=name, problem=str(error))
        journal = Journal()
        metrics = view.evidence.metrics
        played = ready.play(
            horizon_ns=wanted.horizon_ns,
            seeds=wanted.seeds,
            simulation_seconds=metrics.seconds_per_removal if metrics is not None else None,
            journal=journal,
            reporter=report,
            pause=self._turns.take,
        )
        has_outage = any(isinstance(edit, TakeOut) for edit in scenario.edits) if scenario is not None else False
        kept = KeptPlay(ready.inventory, journal, lasting(view.evidence, ready.situation), has_outage)
        return PlayFound(name=name, played=played, number=self._kept.keep(kept))

    def _ready(self, view: ClusterView, scenario: Scenario | None, now_ns: int) -> Rollout:
        # Only making it ready reads what others use as well; the play itself has all to itself.
        with self._shared_base.borrowed(view, now_ns) as base:
            return rollout(base, apply(base, scenario.edits) if scenario is not None else None)
