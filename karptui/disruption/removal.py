"""Simulated removal of nodes on the provisioning engine.

Rules: ``SimulateScheduling`` in ``pkg/controllers/disruption/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from karptui.disruption.candidate import Candidate
from karptui.disruption.fleet import Fleet
from karptui.disruption.simulation import NewNode, Simulation, SimulationError
from karptui.karpenter.labels import MIN_VALUES_RELAXED
from karptui.kube.pod import Pod
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.rejection import PodError
from karptui.provisioning.solution import NewClaim, Solution, solve
from karptui.provisioning.state_node import StateNode

NO_NODEPOOLS: Final = "creating scheduler, no nodepools found"


class EngineSimulator:
    """Replays provisioning without some nodes: reservations may be passed up, uninitialised nodes do not count."""

    def __init__(self, prepared: Prepared, fleet: Fleet) -> None:
        self._prepared = prepared
        self._fleet = fleet
        self._leaving = {pod.uid for pod in prepared.leaving}

    def remove(
        self,
        candidates: Sequence[Candidate],
        *,
        is_consolidation: bool,
        with_blocked: bool = False,
        credited: str = "",
    ) -> Simulation:
        """Return where pods would land without the candidates; pods that are pinned now are left out.

        Raises:
            SimulationError: when there is no NodePool to schedule with.
        """
        lifted = [pod.uid for one in candidates for pod in one.reschedulable_pods] if with_blocked else ()
        return self.remove_lifting(candidates, lifted, is_consolidation=is_consolidation, credited=credited)

    def remove_lifting(
        self, candidates: Sequence[Candidate], lifted: Collection[str], *, is_consolidation: bool, credited: str = ""
    ) -> Simulation:
        """Return the same as if nothing pinned the pods of ``lifted`` (uids).

        Raises:
            SimulationError: when there is no NodePool to schedule with.
        """
        if not self._prepared.pools:
            raise SimulationError(NO_NODEPOOLS)
        predicates = self._fleet.pods
        pods = [
            pod
            for candidate in candidates
            for pod in candidate.reschedulable_pods
            if pod.uid in lifted or predicates.is_currently_reschedulable(pod)
        ]
        solution = solve(
            self._prepared,
            pods,
            excluded=[candidate.node.provider_id for candidate in candidates],
            reserved_fallback=not credited,
            credited=credited,
            enforce_consolidate_after=is_consolidation,
        )
        return self._simulation(solution)

    def _simulation(self, solution: Solution) -> Simulation:
        errors: dict[str, tuple[Pod, PodError | str]] = {
            pod.key: (pod, solution.errors[pod.key]) for pod in solution.failed
        }
        for filled in solution.nodes:
            if not filled.state.is_initialized:
                for pod in filled.pods:
                    if pod.uid not in self._leaving:
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


class LiftingSimulator:
    """The same as if nothing pinned some pods."""

    def __init__(self, engine: EngineSimulator, lifted: Collection[str]) -> None:
        self._engine = engine
        self._lifted = lifted

    def remove(
        self,
        candidates: Sequence[Candidate],
        *,
        is_consolidation: bool,
        with_blocked: bool = False,
        credited: str = "",
    ) -> Simulation:
        """Return where pods would land without the candidates, the unpinned pods (by uid) included.

        Raises:
            SimulationError: when there is no NodePool to schedule with.
        """
        lifted = self._lifted
        if with_blocked:
            lifted = [*lifted, *(pod.uid for one in candidates for pod in one.reschedulable_pods)]
        return self._engine.remove_lifting(candidates, lifted, is_consolidation=is_consolidation, credited=credited)


def uninitialized_message(node: StateNode) -> str:
    """Return Karpenter's words for a place on a node that is not initialised yet."""
    assert node.claim is not None
    of_node = f", node/{node.node.name}" if node.node is not None else ""
    return f"would schedule against uninitialized nodeclaim/{node.claim.name}{of_node}"
