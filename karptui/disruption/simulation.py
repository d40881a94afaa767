"""Results of simulated removals, in terms of disruption.

Rules: ``SimulateScheduling`` in ``pkg/controllers/disruption/helpers.go`` and ``Results`` in
``pkg/controllers/provisioning/scheduling/scheduler.go``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from karptui.disruption.candidate import Candidate
from karptui.disruption.launch_price import ReckonedPrices
from karptui.disruption.no_place import DEFAULT_SPREAD, NoPlace, PoolMiss
from karptui.karpenter.labels import RESERVATION_ID, RESERVED
from karptui.karpenter.pod_predicates import is_provisionable
from karptui.karpenter.requirements import KeyConflict, Requirements
from karptui.kube.pod import Pod
from karptui.provisioning.explain import PodExplanation, PoolExplanation, explain
from karptui.provisioning.nearest import furthest, named_pools
from karptui.provisioning.rejection import (
    DynamicResourcesUnsupported,
    PlacementGate,
    PodError,
    RequirementsUnmet,
    TaintsNotTolerated,
    TypesExhausted,
    VolumeUnreachable,
)
from karptui.provisioning.solution import Solution

_MAX_ERRORS: Final = 5
_PLACEHOLDER: Final = re.compile(r"hostname-placeholder-\d+")
_PLACEHOLDER_COUNT: Final = re.compile(r"hostname-placeholder-\d+: \d+(, )?")


class OthersNeed(msgspec.Struct, frozen=True, gc=False):
    """New nodes that a simulated removal needs for pods that are not on the removed nodes."""

    pod_key: str
    """The first of these pods."""
    others: int
    """Number of further pods."""
    nodes: int
    """Number of new nodes with only such pods."""
    is_only: bool
    """Whether the removed nodes' pods need no new node."""
    is_waiting: bool
    """Whether the first pod is pending; else it leaves a node being deleted."""
    type_name: str = ""
    """The cheapest instance type of the first such new node; empty without one."""
    price_per_hour: float | None = None
    """The type's price; None if unknown."""


class FutileError(Exception):
    """Raised when a simulation for consolidation certainly yields no command, before it completes."""


class SimulationError(Exception):
    """Raised by simulators and methods when no NodePool accepts pods, with Karpenter's message."""


class NewNode(msgspec.Struct, frozen=True, eq=False):
    """A NodeClaim that would be created."""

    pool_name: str
    book: ReckonedPrices
    """Prices of the NodePool's types."""
    type_names: tuple[str, ...]
    """Possible instance types, cheapest first at the time of computation."""
    requirements: Requirements
    requests: Mapping[str, Any]
    pods: tuple[str, ...]
    """``namespace/name`` of the pods it is for, sorted."""
    annotations: Mapping[str, str]

    def with_types(self, type_names: Sequence[str]) -> NewNode:
        """Return it with fewer types, in the same order."""
        return msgspec.structs.replace(self, type_names=tuple(type_names))

    def estimated_price(self) -> float:
        """Return Karpenter's price: the cheapest offering of its first type; 0 without one."""
        prices = self.book.compatible(self.type_names[0], self.requirements, available_only=True)
        return min((offering.price_per_hour for offering in prices), default=0.0)

    def cheapest_price(self) -> float | None:
        """Return the lowest price per hour of its types, or None without an offering."""
        prices = [
            offering.price_per_hour
            for name in self.type_names
            for offering in self.book.compatible(name, self.requirements, available_only=True)
        ]
        return min(prices, default=None)


class Simulation(msgspec.Struct, frozen=True, eq=False):
    """Where pods would be scheduled without some nodes."""

    new_nodes: tuple[NewNode, ...]
    placements: Mapping[str, tuple[Pod, ...]]
    """Pods scheduled to existing nodes, by node name."""
    errors: tuple[tuple[Pod, PodError | str], ...]
    """Pods that cannot be scheduled, or only to an uninitialized node, each with the reason.

    ``str`` of a reason is Karpenter's message; it is computed on demand, and never for pods that are pending anyway.
    """
    solution: Solution
    """The engine's solution, which can explain errors; it references the whole run."""

    @property
    def blocking_errors(self) -> list[tuple[Pod, PodError | str]]:
        """Errors of pods that are not pending anyway: they prevent the removal."""
        return [(pod, why) for pod, why in self.errors if not is_provisionable(pod)]

    def explanation(self) -> str:
        """Return Karpenter's message about the blocking errors, with at most five; here they are always sorted."""
        errors = self.blocking_errors
        listed = "".join(f"{pod.key} => {unnumbered(str(why))} " for pod, why in errors[:_MAX_ERRORS])
        rest = f" and {len(errors) - _MAX_ERRORS} other(s)" if len(errors) >= _MAX_ERRORS else ""
        return f"Not all pods would schedule, {listed}{rest}"


def unnumbered(text: str) -> str:
    """Return an error without the numbers of new nodes: Karpenter numbers them over its whole lifetime."""
    return _PLACEHOLDER.sub("hostname-placeholder", _PLACEHOLDER_COUNT.sub("", text))


def need_of_others(simulation: Simulation, node_pods: Collection[str]) -> OthersNeed | None:
    """Return the new nodes that other pods need, or None if they need none.

    Args:
        node_pods: ``namespace/name`` of the removed nodes' pods.
    """
    pods = [key for node in simulation.new_nodes for key in node.pods if key not in node_pods]
    if not pods:
        return None
    alone = [node for node in simulation.new_nodes if not any(key in node_pods for key in node.pods)]
    first = (alone or simulation.new_nodes)[0]
    key = next(key for key in first.pods if key not in node_pods) if alone else pods[0]
    return OthersNeed(
        key,
        len(pods) - 1,
        len(alone),
        is_only=len(alone) == len(simulation.new_nodes),
        is_waiting=not any(
            pod.key == key and pod.node_name for claim in simulation.solution.claims for pod in claim.pods
        ),
        type_name=first.type_names[0] if first.type_names else "",
        price_per_hour=first.cheapest_price(),
    )


class Simulator(Protocol):
    """Simulates provisioning without some nodes."""

    def remove(
        self,
        candidates: Sequence[Candidate],
        *,
        is_consolidation: bool,
        with_blocked: bool = False,
        credited: str = "",
    ) -> Simulation:
        """Return the placement of the candidates' pods, pending pods and pods on nodes being deleted.

        Args:
            is_consolidation: Whether nodes within consolidateAfter accept pods only if necessary.
            with_blocked: Whether pods of the candidates that may not be evicted now also need a place.
            credited: A reservation that gets a slot back, which pods then wait for; empty for none.
        """
        ...


def no_place(solution: Solution, pod: Pod, *, others: int = 0, asks_nodes: bool = False) -> NoPlace:
    """Return the reason why a pod cannot be scheduled in a simulated removal.

    Args:
        asks_nodes: Whether to try all existing nodes too, which is slow in a large cluster.
    """
    if pod.key not in solution.errors:
        targets = (node.state.name for node in solution.nodes if any(placed.key == pod.key for placed in node.pods))
        return NoPlace(pod.key, others, uninitialized_node=next(targets, ""))
    if any(isinstance(each, DynamicResourcesUnsupported) for _, each in solution.errors[pod.key].rejections):
        return NoPlace(pod.key, others, (PoolMiss("", str(PlacementGate.DYNAMIC_RESOURCES)),))
    explanation = explain(solution, pod, asks_nodes=asks_nodes)
    pools = tuple(_miss(pool) for pool in explanation.pools if pool.failed is not None)
    nearest = furthest(explanation)
    is_tried = nearest is None or not nearest.takes_no_part
    return NoPlace(
        pod.key,
        others,
        pools,
        _gate_counts(explanation),
        named=tuple(sorted(named_pools(pod))),
        skipped_pool="" if is_tried or nearest is None else nearest.nodepool,
        skip_reason="" if is_tried or nearest is None else nearest.takes_no_part,
    )


def _gate_counts(explanation: PodExplanation) -> tuple[tuple[str, int], ...]:
    # Removed nodes were never considered.
    gates = Counter(str(node.gate) for node in explanation.nodes if node.gate is not PlacementGate.NODEPOOLS)
    return tuple(sorted(gates.items(), key=lambda item: (-item[1], item[0])))


def _miss(pool: PoolExplanation) -> PoolMiss:
    rejection = pool.besides_limits or pool.rejection
    assert rejection is not None
    miss = PoolMiss(pool.nodepool, str(rejection.gate))
    if pool.default_spread_key:
        return msgspec.structs.replace(miss, gate=DEFAULT_SPREAD, asked=(pool.default_spread_key,))
    if isinstance(rejection, TaintsNotTolerated):
        return msgspec.structs.replace(miss, asked=tuple(map(str, rejection.taints)))
    if isinstance(rejection, VolumeUnreachable):
        conflicts = (reason.incoming if isinstance(reason, KeyConflict) else reason.key for reason in rejection.reasons)
        return msgspec.structs.replace(miss, asked=tuple(map(str, conflicts)))
    if isinstance(rejection, RequirementsUnmet):
        return msgspec.structs.replace(miss, asked=tuple(reason.key for reason in rejection.reasons))
    if isinstance(rejection, TypesExhausted):
        if pool.nearest is not None:
            nearest = pool.nearest
            return msgspec.structs.replace(miss, instance_type=nearest.instance_type, shortages=nearest.shortages)
        unmet = tuple(cost.requirement for cost in pool.label_costs if not cost.meeting)
        return msgspec.structs.replace(miss, asked=unmet[:1])
    return miss


def remove_or_terminate_first(
    simulator: Simulator, candidate: Candidate, *, may_terminate_first: bool, with_blocked: bool = False
) -> tuple[Simulation, bool]:
    """Return the placement of a node's pods, and whether only after its reservation has its slot back.

    Args:
        may_terminate_first: Whether the method's terminate-first feature gate is on.
        with_blocked: Whether pods that may not be evicted now also need a place.
    """
    simulation = simulator.remove((candidate,), is_consolidation=False, with_blocked=with_blocked)
    reservation = candidate.node.labels.get(RESERVATION_ID, "")
    is_eligible = may_terminate_first and candidate.capacity_type == RESERVED and bool(reservation)
    if not simulation.blocking_errors or not is_eligible:
        return simulation, False
    credited = simulator.remove((candidate,), is_consolidation=False, with_blocked=with_blocked, credited=reservation)
    return (simulation, False) if credited.blocking_errors else (credited, True)
