"""What one replay comes to: where pods go, which nodes there are, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import msgspec

from karptui.disruption.next_pass import NextPass
from karptui.kube.pod import Pod
from karptui.provisioning.solution import NewClaim, Solution
from karptui.whatif.claim_types import ClaimTypes
from karptui.whatif.place import ABSENT, NOWHERE, Place, PlaceKind
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import Situation

__all__ = ["ABSENT", "NOWHERE", "Outcome", "Place", "PlaceKind", "PoolFigures"]


class PoolFigures(msgspec.Struct, frozen=True, gc=False):
    """The nodes of a NodePool after a replay; those on their way out do not count."""

    nodes: int = 0
    """Nodes that exist and stay, and those that would be launched."""
    launched: int = 0
    """Those of them that would be launched."""
    price_per_hour: float = 0.0
    """Dollars: nodes by their labels, new ones at the cheapest offering of any of their types."""
    unpriced: int = 0
    """Nodes of which no price is known; they are left out of the dollars."""
    unpriced_at_most_per_hour: float = 0.0
    """What those of them on spot would cost on demand."""


class Outcome:
    """What a replay of one side comes to.

    Args:
        situation: The side.
        mode: What was replayed.
        replayed: The cluster that it was replayed on: the situation, or one made of it, such as without its nodes.
        solution: Where pods go; None of `Replay.NEXT`.
        next: The next disruption; only of `Replay.NEXT`.
    """

    def __init__(
        self,
        situation: Situation,
        mode: Replay,
        replayed: Situation,
        solution: Solution | None,
        next_pass: NextPass | None = None,
        *,
        gone: frozenset[str] = frozenset(),
        moved: tuple[Pod, ...] = (),
    ) -> None:
        self.situation = situation
        self.mode = mode
        self.replayed = replayed
        self.solution = solution
        self.next_pass = next_pass
        self.gone = gone
        """Provider ids of the nodes that the replay takes away."""
        self.moved = moved
        """Their pods."""

    @property
    def claim_types(self) -> ClaimTypes:
        """The types of its claims in price order."""
        return self.situation.claim_types

    @property
    def claims(self) -> tuple[NewClaim, ...]:
        """NodeClaims that would be created for pods."""
        return () if self.solution is None else self.solution.claims

    @cached_property
    def places(self) -> Mapping[str, Place]:
        """By ``namespace/name`` where each pod of the replay goes; `NOWHERE` for those without a place."""
        found: dict[str, Place] = {}
        if self.solution is None:
            return found
        for filled in self.solution.nodes:
            place = Place(PlaceKind.NODE, filled.state.nodepool_name, filled.state.name)
            found.update((pod.key, place) for pod in filled.pods)
        by_pool: dict[str, Place] = {}
        for claim in self.solution.claims:
            place = by_pool.setdefault(claim.nodepool_name, Place(PlaceKind.CLAIM, claim.nodepool_name))
            found.update((pod.key, place) for pod in claim.pods)
        for pod in self.waiting:
            found.setdefault(pod.key, NOWHERE)
        return found

    @cached_property
    def waiting(self) -> tuple[Pod, ...]:
        """The pods that look for a place, those that Karpenter passes over included; not those of CapacityBuffers."""
        prepared = self.replayed.prepared
        virtual = {pod.uid for pod in prepared.buffer_pods}
        ignored = [one.pod for one in prepared.ignored]
        return tuple(
            pod for pod in (*prepared.pending, *ignored, *prepared.leaving, *self.moved) if pod.uid not in virtual
        )

    @cached_property
    def unplaced(self) -> tuple[Pod, ...]:
        """Those of them that find none; of `Replay.NEXT`, which places none, all that are pending."""
        if self.solution is None:
            return tuple(pod for pod in self.waiting if not pod.node_name)
        places = self.places
        return tuple(pod for pod in self.waiting if places[pod.key] is NOWHERE)

    @cached_property
    def pools(self) -> Mapping[str, PoolFigures]:
        """By name, every NodePool that exists or has nodes."""
        from karptui.whatif.figures import pool_figures  # noqa: PLC0415 - figures are made of outcomes

        return pool_figures(self)
