"""Candidates: nodes that passed the gates, with the values that methods compare.

Rules: ``NewCandidate`` in ``pkg/controllers/disruption/types.go``; ``DeepCopyNodes`` in
``pkg/controllers/state/cluster.go``, whose order may survive unstable sorts; ``shuffleCandidates`` in
``pkg/controllers/disruption/singlenodeconsolidation.go``.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cached_property
from typing import Final

import msgspec

from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.disruption.gates import first_failure, is_overridden
from karptui.disruption.launch_price import ReckonedPrices
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import Pod
from karptui.provisioning.state_node import StateNode


class Candidate:
    """A node that passed the gates and may be disrupted."""

    def __init__(self, fleet: Fleet, node: StateNode, pool: NodePool, book: ReckonedPrices) -> None:
        assert node.claim is not None
        self.node = node
        self.claim: NodeClaim = node.claim
        self.pool = pool
        self.book = book
        self._fleet = fleet

    @property
    def reschedulable_pods(self) -> tuple[Pod, ...]:
        """Pods that must be rescheduled."""
        return self._fleet.reschedulable_pods(self.node)

    @property
    def disruption_cost(self) -> float:
        """1 plus the positive eviction costs of the pods that must be rescheduled."""
        return self._fleet.moving_cost(self.node)

    @property
    def is_buffered(self) -> bool:
        """Whether it has capacity for a CapacityBuffer."""
        return self.name in self._fleet.buffered

    @property
    def name(self) -> str:
        """The state node's name: the Node's, or the NodeClaim's without one."""
        return self.node.name

    @property
    def type_name(self) -> str:
        """Value of the instance type label; empty without it."""
        return self.node.labels.get(INSTANCE_TYPE, "")

    @property
    def capacity_type(self) -> str:
        """Value of the capacity type label; empty without it."""
        return self.node.labels.get(CAPACITY_TYPE, "")

    @property
    def is_type_guessed(self) -> bool:
        """Whether its instance type was derived from nodes only."""
        instance_type = self.instance_type
        return instance_type is not None and instance_type.is_guessed

    @property
    def instance_type(self) -> InstanceType | None:
        """Its instance type as the NodePool lists it now; None if it does not."""
        instance_type = self.book.types.get(self.type_name)
        is_guessed = instance_type is not None and instance_type.is_guessed
        is_unlisted = is_guessed and (self.pool.name, self.type_name) in self._fleet.unlisted_types
        return None if is_unlisted else instance_type

    @cached_property
    def price(self) -> float:
        """Price per hour of the node's offering; 0 if unknown."""
        return self.book.price(self.type_name, self.node.labels.get(ZONE, ""), self.capacity_type)

    @property
    def is_price_known(self) -> bool:
        """Whether the offering's price is known and not assumed."""
        return self.book.known_price(self.type_name, self.node.labels.get(ZONE, ""), self.capacity_type) is not None

    @property
    def savings_ratio(self) -> float:
        """Price per disruption cost: consolidation takes the greatest first."""
        return self.price / self.disruption_cost

    @property
    def is_empty(self) -> bool:
        """Whether no pod of positive cost must be rescheduled."""
        return self._fleet.is_empty(self.node)


class Candidates(msgspec.Struct, frozen=True, gc=False):
    """The candidates of the two classes of methods, sorted by name."""

    graceful: tuple[Candidate, ...]
    """For Emptiness and consolidation, which respect all blocking pods."""
    eventual: tuple[Candidate, ...]
    """For Drift and StaticDrift, which ignore blocking pods if the NodeClaim's grace period bounds the drain."""


def graceful_candidate(fleet: Fleet, node: StateNode) -> Candidate | None:
    """Return a candidate for Emptiness and consolidation, or None if a gate is closed."""
    return None if first_failure(fleet, node) is not None else _candidate(fleet, node)


def _candidate(fleet: Fleet, node: StateNode) -> Candidate:
    resolved = fleet.resolved(node.nodepool_name)
    assert resolved is not None
    return Candidate(fleet, node, *resolved)


def find_candidates(fleet: Fleet, recorder: Recorder) -> Candidates:
    """Return the nodes that pass the gates, and record Karpenter's events about the others."""
    graceful: list[Candidate] = []
    eventual: list[Candidate] = []
    for node in fleet.nodes:
        failure = first_failure(fleet, node, recorder)
        if failure is not None:
            if failure.message:
                recorder.blocked(node, failure.message)
            if not is_overridden(failure.gate, node):
                continue
        candidate = _candidate(fleet, node)
        eventual.append(candidate)
        if failure is None:
            graceful.append(candidate)
    return Candidates(tuple(graceful), tuple(eventual))


_GROUP: Final = 8
"""Slots of a small Go map: an iteration starts at a random one and continues in insertion order."""


class Chance:
    """Draws the orders that Karpenter leaves to Go's map iteration.

    Without a generator, equal nodes are ordered by name and NodePools by insertion.
    """

    def __init__(self, rng: random.Random | None = None) -> None:
        self._rng = rng

    def nodes(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return candidates in the order before sorting."""
        ordered = sorted(candidates, key=lambda candidate: candidate.name)
        if self._rng is not None:
            self._rng.shuffle(ordered)
        return ordered

    def pools(self, entered: Iterable[str]) -> list[str]:
        """Return the names of NodePools in the order of a map iteration.

        Args:
            entered: In the order of insertion into the map.
        """
        names = list(entered)
        if self._rng is None:
            return names
        if len(names) > _GROUP:
            self._rng.shuffle(names)
            return names
        first = self._rng.randrange(_GROUP)
        return names[first:] + names[:first]


LIKELIEST: Final = Chance()
