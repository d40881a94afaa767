"""Simulates the removal of several nodes together: their pods compete for the same free capacity."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Final

from karptui.aws.prices import LIST_PRICES, PriceSettings
from karptui.disruption.candidate import Candidate
from karptui.disruption.fleet import Fleet
from karptui.disruption.joint_saving import JointRemoval
from karptui.disruption.removal import EngineSimulator
from karptui.disruption.simulation import Simulation, SimulationError
from karptui.karpenter.nodeclaim import node_key
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.state_node import StateNode

MOST_NODES: Final = 500
"""Largest set that is simulated; it takes about a second."""
_MOST_RUNS: Final = 8
"""Simulations for one set."""


class JointRemovals:
    """Simulates joint removals on one cluster, as if nothing blocked the nodes' pods."""

    def __init__(
        self,
        prepared: Prepared,
        fleet: Fleet,
        *,
        prices: PriceSettings = LIST_PRICES,
        before: Callable[[], None] | None = None,
    ) -> None:
        """Prepare for simulations on a cluster.

        Args:
            prices: The user's prices, compared with Karpenter's.
            before: Called before each simulation, to let other threads run.
        """
        self._fleet = fleet
        self._prices = prices
        self._engine = EngineSimulator(prepared, fleet, before=before)
        self._nodes = {node_key(node.claim, node.name): node for node in fleet.nodes}

    def of(self, keys: Collection[str]) -> JointRemoval | None:
        """Return the joint removal of some nodes that saves most.

        None if a node is gone, a price is unknown, there are too many nodes, or no NodePool can take the pods.
        """
        nodes = [self._nodes[key] for key in sorted(keys) if key in self._nodes]
        if len(nodes) < len(keys) or len(nodes) > MOST_NODES:
            return None
        deleting = [node for node in nodes if node.is_marked_for_deletion]
        candidates = [
            candidate for node in nodes if not node.is_marked_for_deletion and (candidate := self._candidate(node))
        ]
        gone = [candidate for node in deleting if (candidate := self._candidate(node))]
        if len(candidates) + len(gone) < len(nodes) or not all(candidate.price for candidate in (*candidates, *gone)):
            return None
        try:
            by_price = sorted(candidates, key=lambda candidate: (-candidate.price, candidate.name))
            return self._best(by_price, gone)
        except SimulationError:
            return None

    def _candidate(self, node: StateNode) -> Candidate | None:
        resolved = self._fleet.resolved(node.nodepool_name)
        return Candidate(self._fleet, node, *resolved) if resolved and node.claim and node.node else None

    def _best(self, candidates: Sequence[Candidate], gone: Sequence[Candidate]) -> JointRemoval | None:
        """Return the best removal among all nodes, those whose pods all fit elsewhere, and ever smaller halves."""
        best = self._removal((), gone, 0, 0.0)
        for _ in range(_MOST_RUNS):
            if not candidates:
                break
            simulation = self._without(candidates)
            stuck = {pod.uid for pod, _ in simulation.blocking_errors}
            if stuck:
                fitting = [
                    candidate
                    for candidate in candidates
                    if stuck.isdisjoint(pod.uid for pod in candidate.reschedulable_pods)
                ]
                candidates = fitting if len(fitting) < len(candidates) else candidates[: len(candidates) // 2]
                continue
            launched = self._launched(simulation)
            if launched is None:
                return None
            removal = self._removal(candidates, gone, launched[0] - self._base[0], launched[1] - self._base[1])
            best = max(best, removal, key=lambda joint: joint.saves_per_hour)
            if launched[0] <= self._base[0]:
                break
            candidates = candidates[: len(candidates) // 2]
        return best

    def _removal(
        self, candidates: Sequence[Candidate], gone: Sequence[Candidate], new_nodes: int, new_price: float
    ) -> JointRemoval:
        removed = (*candidates, *gone)
        price = sum(candidate.price for candidate in removed)
        return JointRemoval(
            frozenset(node_key(candidate.node.claim, candidate.node.name) for candidate in removed),
            self._prices.saved(price, len(removed)),
            self._prices.saved(price - new_price, len(removed) - new_nodes),
        )

    def _without(self, candidates: Sequence[Candidate]) -> Simulation:
        return self._engine.remove(candidates, is_consolidation=False, with_blocked=True)

    @cached_property
    def _base(self) -> tuple[int, float]:
        """Number and price of new nodes needed anyway, for pending pods and nodes being deleted."""
        return self._launched(self._without(())) or (0, 0.0)

    @staticmethod
    def _launched(simulation: Simulation) -> tuple[int, float] | None:
        """Return the number of launched nodes and their price; None if a price is unknown."""
        prices = [node.estimated_price() if node.type_names else 0.0 for node in simulation.new_nodes]
        return None if 0.0 in prices else (len(prices), sum(prices))
