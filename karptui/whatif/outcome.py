"""What one replay comes to: where pods go, which nodes there are, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import msgspec

from karptui.aws.prices import PriceBook
from karptui.disruption.next_pass import NextPass
from karptui.disruption.price import PriceBook as ReckonedPrices
from karptui.kube.pod import Pod
from karptui.provisioning import Prepared
from karptui.provisioning.solution import NewClaim, Solution
from karptui.whatif.claim_types import ClaimTypes
from karptui.whatif.place import ABSENT, NOWHERE, Place, PlaceKind
from karptui.whatif.scenario import Replay

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

    It does not hold the situation that it belongs to, which holds it.

    Args:
        mode: What was replayed.
        prepared: The cluster that it was replayed on: the side's, or one made of it, such as without its nodes.
        books: The prices that Karpenter decides by, by NodePool.
        prices: What nodes are said to cost; None to take the prices that Karpenter decides by.
        claim_types: The types of its claims in price order.
        solution: Where pods go; None of `Replay.NEXT`.
        next_pass: The next disruption; only of `Replay.NEXT`.
        gone: Provider ids of the nodes that the replay takes away.
        moved: Their pods.
    """

    def __init__(
        self,
        mode: Replay,
        *,
        prepared: Prepared,
        books: Mapping[str, ReckonedPrices],
        prices: PriceBook | None,
        claim_types: ClaimTypes,
        solution: Solution | None,
        next_pass: NextPass | None = None,
        gone: frozenset[str] = frozenset(),
        moved: tuple[Pod, ...] = (),
    ) -> None:
        self.mode = mode
        self.prepared = prepared
        self.books = books
        self.prices = prices
        self.claim_types = claim_types
        self.solution = solution
        self.next_pass = next_pass
        self.gone = gone
        self.moved = moved

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
        prepared = self.prepared
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
