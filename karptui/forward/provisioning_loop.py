"""Karpenter's provisioner in a forecast: it collects a batch of pods, and runs again while some are unschedulable.

Rules: ``controller.go`` and ``batcher.go`` of ``pkg/controllers/provisioning``.
"""

from __future__ import annotations

from typing import Final

from karptui.forward.calendar import Agenda, Turn
from karptui.forward.durations import Durations
from karptui.forward.launching import Launches, order_of
from karptui.forward.observation import Observation
from karptui.forward.result import StepKind
from karptui.forward.world import World
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.run import UNCONCERNED
from karptui.provisioning.solution import NewClaim, solve

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
