"""Karpenter's two loops in a forecast: provisioning of pending pods, and disruption."""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from typing import Final

from karptui.disruption.candidate import Chance
from karptui.disruption.command import Command, Method, MethodResult
from karptui.disruption.events import Recorder
from karptui.disruption.methods import MethodRun, NextPass, next_pass
from karptui.disruption.removal import EngineSimulator
from karptui.disruption.validation import VALIDATED, validated
from karptui.forward.calendar import Agenda, Turn
from karptui.forward.command_queue import CommandQueue
from karptui.forward.durations import Durations
from karptui.forward.launching import Launches, order_of
from karptui.forward.observation import Observation
from karptui.forward.result import Failure, StepKind
from karptui.forward.world import World
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.run import UNCONCERNED
from karptui.provisioning.solution import NewClaim, solve

_TO_EVICTION_NS: Final = NS_PER_SECOND // 2
"""From a command to its first eviction: controllers delete NodeClaim and Node, and taint it, one after the other."""


class DisruptionLoop:
    """Passes of disruption, one after the other."""

    def __init__(
        self,
        world: World,
        agenda: Agenda,
        observation: Observation,
        queue: CommandQueue,
        *,
        durations: Durations,
        chance: Chance,
        only: Container[str] | None = None,
    ) -> None:
        """Begin without a pass.

        Args:
            only: Names of the nodes that it may take; None for all.
        """
        self._world = world
        self._agenda = agenda
        self._observation = observation
        self._queue = queue
        self._durations = durations
        self._chance = chance
        self._only = only
        self._is_due = self._is_busy = False
        self.is_following = False
        """Whether the look that follows a command at once is yet to come."""
        self._evicting_ns = agenda.now_ns
        """When the pods of the nodes of a command begin to be evicted, however long the looks that follow take."""
        self._seen = -1
        self._looked_ns = agenda.now_ns - durations.poll_ns
        """When disruption last found nothing to do."""
        self._simulated = 0
        """Removals that the last pass has simulated."""

    def advance(self) -> None:
        """Schedule the next pass if something has changed."""
        if not self._is_due and not self._is_busy and self._is_news():
            self._look_at(self._next_look_ns())

    def _follow(self) -> None:
        """Look again at once after a command, before the first pod of its nodes is evicted."""
        if not self.is_following:
            self._evicting_ns = self._agenda.now_ns + _TO_EVICTION_NS
        self.is_following = self._durations.poll_ns > 0
        self._look_at(self._agenda.now_ns)

    def _look_at(self, at_ns: int) -> None:
        self._is_due = True
        self._agenda.at(at_ns, self._disrupt, Turn.DISRUPTION)

    def _next_look_ns(self) -> int:
        """Return the time of the next pass: a fixed interval after an idle pass."""
        poll_ns = self._durations.poll_ns
        if not poll_ns:
            return self._agenda.now_ns
        return self._looked_ns + max(1, -((self._looked_ns - self._agenda.now_ns) // poll_ns)) * poll_ns

    def _is_news(self) -> bool:
        return self._seen != self._world.news or self._agenda.is_woken

    def _disrupt(self, after: Method | None = None) -> None:
        """Run the methods in turn, or only those after a method with an invalid command."""
        if self._queue.has_ended:
            return
        is_following = self.is_following
        self._is_due = self._agenda.is_woken = self.is_following = False
        self._seen = self._world.news
        acting = self.find(after).acting
        taken_ns = self._simulated * self._durations.simulation_ns
        if acting is None:
            self._looked_ns = self._agenda.now_ns + taken_ns
            if after is not None:
                self._seen = -1
            return
        if acting.method in VALIDATED and self._durations.is_validating:
            self._is_busy = True
            (command,) = acting.commands
            look = partial(self._validate, acting.method, command)
            self._agenda.at(self._agenda.now_ns + taken_ns + self._durations.validation_ns, look)
        elif taken_ns:
            self._is_busy = True
            self.is_following = is_following and self._agenda.now_ns + taken_ns < self._evicting_ns
            self._agenda.at(self._agenda.now_ns + taken_ns, partial(self._carry_out, acting), Turn.DISRUPTION)
        else:
            self._carry_out(acting)

    def _carry_out(self, acting: MethodResult) -> None:
        self._is_busy = False
        executed = [self._queue.execute(acting.method, command) for command in acting.commands]
        if any(executed):
            self._follow()
        else:
            self._looked_ns = self._agenda.now_ns

    def find(self, after: Method | None = None) -> NextPass:
        """Return the result of a pass, and count its simulations."""
        prepared, fleet = self._observation.prepared(), self._observation.fleet()
        self._simulated = 0
        simulator = EngineSimulator(prepared, fleet, is_brief=True, before=self._count_removal)
        return next_pass(prepared, fleet, simulator, after=after, chance=self._chance, only=self._only)

    def _count_removal(self) -> None:
        self._simulated += 1

    def _validate(self, method: Method, command: Command) -> None:
        self._is_busy = False
        prepared, fleet = self._observation.prepared(), self._observation.fleet()
        simulator = EngineSimulator(prepared, fleet)
        checked = validated(MethodRun(fleet, simulator, Recorder()), simulator, method, command)
        if checked is None:
            names = tuple(sorted(candidate.name for candidate in command.candidates))
            self._agenda.note(StepKind.REJECT, method=str(method), nodes=names, because=Failure.NO_LONGER_VALID)
            self._disrupt(method)
        elif self._queue.execute(method, checked):
            self._follow()


_RENEWED_NS: Final = 10 * NS_PER_SECOND
"""Interval of passes for unschedulable pods: ``RequeueAfter`` of its triggers."""


class ProvisioningLoop:
    """When provisioning runs, and the nodes on which it expects pods."""

    def __init__(
        self, world: World, agenda: Agenda, observation: Observation, launches: Launches, durations: Durations
    ) -> None:
        self._world = world
        self._agenda = agenda
        self._observation = observation
        self._launches = launches
        self._durations = durations
        self._is_due = False
        self._seen = -1
        """The version of the cluster of the last run."""
        self._expected: frozenset[str] = frozenset()
        """Nodes on which provisioning expects pods since its last pass."""
        self._expected_ns = agenda.now_ns

    def advance(self) -> None:
        """Schedule a pass if a pod is pending, and stop expecting pods if none is."""
        if not self._is_due and self._seen != self._world.version and self._has_homeless():
            self._is_due = True
            self._agenda.at(self._agenda.now_ns + self._durations.batch_ns, self._provision, Turn.PROVISIONING)
        if self._expected and not self._has_homeless():
            self._expect(frozenset())

    def look_again(self) -> None:
        """Seek a place for every pod again, although the cluster is the same."""
        self._seen = -1

    def _has_homeless(self) -> bool:
        """Return whether a pod is pending, or on a node that is being removed."""
        if self._world.leaving or self._world.commanded:
            return True
        return any(pod.scheduled_reason == "Unschedulable" for pod in self._world.unbound())

    def _provision(self) -> None:
        self._is_due = False
        if not self._has_homeless():
            return
        if any(not claim.provider_id and not claim.is_deleting for claim in self._world.claims.values()):
            self._seen = self._world.version  # Karpenter waits until it knows every instance
            return
        prepared = self._observation.prepared()
        solution = solve(prepared, watch=UNCONCERNED)
        self._seen = self._world.version
        self._expect(frozenset(filled.state.name for filled in solution.nodes if filled.pods))
        if claims := [claim for claim in solution.claims if self._launch(claim)]:
            self._agenda.note(
                StepKind.PROVISION,
                claims=tuple(claim.as_json() for claim in claims),
                pods=tuple(sorted(pod.key for claim in claims for pod in claim.pods)),
            )

    def _launch(self, claim: NewClaim) -> bool:
        prepared = self._launches.prepare(order_of(claim))
        if prepared is not None:
            self._launches.add(prepared)
        return prepared is not None

    def _expect(self, names: frozenset[str]) -> None:
        """Leave nodes alone for as long as provisioning finds, again and again, that pods go there."""
        window_ns, now_ns = self._durations.nomination_ns, self._agenda.now_ns
        for name in sorted(self._expected - names):
            self._observation.nominate(name, window_ns - (now_ns - self._expected_ns) % _RENEWED_NS)
        self._expected_ns = now_ns
        if window_ns:
            self._expected = names
            self._observation.expect(names)
