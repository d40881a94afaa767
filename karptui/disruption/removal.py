"""Simulates the removal of nodes with the provisioning engine.

Rules: ``SimulateScheduling`` in ``pkg/controllers/disruption/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from copy import copy
from functools import cached_property
from typing import Final

from msgspec.structs import replace

from karptui.disruption.candidate import Candidate
from karptui.disruption.consolidation import ceiling_of
from karptui.disruption.fleet import Fleet
from karptui.disruption.simulation import FutileError, NewNode, Simulation, SimulationError
from karptui.karpenter.labels import HOSTNAME, MIN_VALUES_RELAXED
from karptui.karpenter.pod_predicates import is_provisionable
from karptui.kube.pod import Pod
from karptui.provisioning.claim import Claim
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.rejection import PodError
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.run import Watch
from karptui.provisioning.solution import NewClaim, Solution, solve
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.type_index import NO_PRICE, PriceOrder

NO_NODEPOOLS: Final = "creating scheduler, no nodepools found"
_FEW: Final = (60, 0.03)
"""Nodes of a small cluster, and the measured seconds of a simulated removal in it: docs/forward.md."""
_MANY: Final = (1_000, 0.9)
"""The same for a large cluster, as reported by a user: kubernetes-sigs/karpenter, pull request 3271."""


def assumed_seconds(nodes: int) -> float:
    """Return the assumed duration of a simulated removal in seconds, if Karpenter's metrics do not provide it.

    It grows with the cluster, because Karpenter copies every node and recounts all topologies for each simulation.
    """
    (few, least), (many, most) = _FEW, _MANY
    return round(least + max(nodes - few, 0) * (most - least) / (many - few), 3)


class EngineSimulator:
    """Simulates provisioning without some nodes; pods do not wait for reservations or count on uninitialized nodes."""

    def __init__(
        self, prepared: Prepared, fleet: Fleet, *, is_brief: bool = False, before: Callable[[], None] | None = None
    ) -> None:
        """Prepare for simulations.

        Args:
            before: Called before each simulation; an exception from it ends the work.
        """
        self._prepared = prepared
        self._fleet = fleet
        self._is_brief = is_brief
        self._before = before
        self._lifted: Collection[str] = ()
        self._orders: dict[tuple[int, RequirementSet], PriceOrder | None] = {}
        """Price orders of new claims, by template and requirements; None if minValues may still change their types."""
        self._leaving = {pod.uid for pod in prepared.leaving}

    def lifting(self, pods: Collection[str]) -> EngineSimulator:
        """Return one with the same caches that treats these pods (uids) as evictable."""
        simulator = copy(self)
        simulator._lifted = pods  # noqa: SLF001 - of the same class
        return simulator

    def remove(
        self,
        candidates: Sequence[Candidate],
        *,
        is_consolidation: bool,
        with_blocked: bool = False,
        credited: str = "",
    ) -> Simulation:
        """Return the placement of pods without the candidates, except pods that may not be evicted now."""
        if self._before is not None:
            self._before()
        if not self._prepared.pools:
            raise SimulationError(NO_NODEPOOLS)
        predicates = self._fleet.pods
        pods = [
            pod
            for candidate in candidates
            for pod in candidate.reschedulable_pods
            if with_blocked or pod.uid in self._lifted or predicates.is_currently_reschedulable(pod)
        ]
        excluded = [candidate.node.provider_id for candidate in candidates]
        if not self._is_brief or not is_consolidation:
            return self._simulation(self._solve(pods, excluded, credited, is_consolidation=is_consolidation))
        ceiling = ceiling_of(candidates)
        removal = (*excluded, *[(pod.uid, pod.phase) for pod in pods])
        earlier = self._removals.get(removal)
        if isinstance(earlier, Simulation):
            return earlier
        if removal in self._removals or self._is_dear(pods, excluded, ceiling):
            raise FutileError
        try:
            solution = self._solve(pods, excluded, credited, is_consolidation=True, watch=_Futility(self, ceiling))
        except FutileError:
            self._removals[removal] = None
            raise
        simulation = self._simulation(solution)
        self._removals[removal] = replace(simulation, solution=None)
        return simulation

    @cached_property
    def _removals(self) -> dict[tuple[object, ...], object]:
        """Simulations, or None for ``FutileError``, kept while the cluster is the same for scheduling."""
        return self._prepared.findings.removals(self._prepared.scheduling_facts)

    def _solve(
        self,
        pods: Iterable[Pod],
        excluded: Iterable[str],
        credited: str,
        *,
        is_consolidation: bool,
        watch: Watch | None = None,
    ) -> Solution:
        return solve(
            self._prepared,
            pods,
            excluded=excluded,
            reserved_fallback=not credited,
            credited=credited,
            enforce_consolidate_after=is_consolidation,
            watch=watch,
        )

    def _is_dear(self, pods: Iterable[Pod], excluded: Iterable[str], ceiling: float) -> bool:
        """Return whether, by earlier runs, a pod fits no eligible node and no new node below the ceiling."""
        prepared = self._prepared
        index, least_prices = prepared.destination_index, prepared.findings.least_prices
        nodes = prepared.initialized_destinations & ~index.of(excluded)
        quiet = nodes & ~prepared.waiting_destinations
        for pod in pods:
            stage = prepared.first_stage(pod)
            if least_prices.get(stage, -NO_PRICE) < ceiling:
                continue
            if not index.suiting(stage) & (nodes if pod.phase == "Pending" else quiet):
                return True
        return False

    def end_if_dear(self, ceiling: float, claims: Sequence[Claim]) -> None:
        """Stop a run with two claims, or whose claim has no type below the ceiling.

        Claims are never removed and only narrow. Those with ``minValues`` are skipped: they may be removed at the end.
        """
        orders = [self._order_of(claim) for claim in claims]
        if None in orders:
            return
        claim, order = claims[0], orders[0]
        if len(claims) > 1 or (order is not None and not claim.types & order.below(ceiling)):
            raise FutileError

    def is_leaving(self, pod: Pod) -> bool:
        """Return whether a pod needs a place because its node is already being deleted."""
        return pod.uid in self._leaving

    def _order_of(self, claim: Claim) -> PriceOrder | None:
        key = (claim.template.index, claim.labels)
        if key not in self._orders:
            labels = claim.labels.value
            is_certain = not labels.has_min_values()
            index = claim.template.catalogue.index
            self._orders[key] = index.price_order(labels.without(HOSTNAME)) if is_certain else None
        return self._orders[key]

    def _simulation(self, solution: Solution) -> Simulation:
        errors: dict[str, tuple[Pod, PodError | str]] = {
            pod.key: (pod, solution.errors[pod.key]) for pod in solution.failed
        }
        for filled in solution.nodes:
            if not filled.state.is_initialized:
                for pod in filled.pods:
                    if not self.is_leaving(pod):
                        errors[pod.key] = (pod, uninitialized_message(filled.state))
        return Simulation(
            new_nodes=tuple(self._new_node(claim) for claim in solution.claims),
            placements={filled.state.name: filled.pods for filled in solution.nodes},
            errors=tuple(errors[key] for key in sorted(errors)),
            solution=solution,
        )

    def _new_node(self, claim: NewClaim) -> NewNode:
        return NewNode(
            pool_name=claim.nodepool_name,
            book=self._fleet.books[claim.nodepool_name],
            type_names=tuple(claim.catalogue.types[i].name for i in claim.by_price()),
            requirements=claim.requirements,
            requests=claim.requests,
            pods=tuple(sorted(pod.key for pod in claim.pods)),
            annotations={MIN_VALUES_RELAXED: "true"} if claim.is_min_values_relaxed else {},
        )


class _Futility(Watch):
    """Stops a consolidation run with ``FutileError`` as soon as it certainly yields no command."""

    def __init__(self, simulator: EngineSimulator, ceiling: float) -> None:
        self._simulator = simulator
        self._ceiling = ceiling

    def placed(self, pod: Pod, node: StateNode | None, claims: Sequence[Claim]) -> None:
        """Stop if a pod is placed on an uninitialized node, or the claims are too many or too expensive."""
        if node is None:
            self._simulator.end_if_dear(self._ceiling, claims)
        elif not node.is_initialized and not self._simulator.is_leaving(pod):
            self.refused(pod)

    def refused(self, pod: Pod) -> None:
        """Stop unless the pod is pending anyway."""
        if not is_provisionable(pod):
            raise FutileError


def uninitialized_message(node: StateNode) -> str:
    """Return Karpenter's message for a place on an uninitialized node."""
    assert node.claim is not None
    of_node = f", node/{node.node.name}" if node.node is not None else ""
    return f"would schedule against uninitialized nodeclaim/{node.claim.name}{of_node}"
