"""What the provisioning engine says to the removal of nodes, in the terms of disruption.

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
from karptui.disruption.no_place import DEFAULT_SPREAD, NoPlace, PoolMiss
from karptui.disruption.price import ReckonedPrices
from karptui.karpenter.labels import RESERVATION_ID, RESERVED
from karptui.karpenter.pod_predicates import is_provisionable
from karptui.karpenter.requirements import Requirements
from karptui.kube.pod import Pod
from karptui.provisioning.explain import PodExplanation, PoolExplanation, explain
from karptui.provisioning.nearest import furthest, named_pools
from karptui.provisioning.rejection import (
    PlacementGate,
    PodError,
    RequirementsUnmet,
    TaintsNotTolerated,
    TypesExhausted,
)
from karptui.provisioning.solution import Solution

_MAX_ERRORS: Final = 5
_PLACEHOLDER: Final = re.compile(r"hostname-placeholder-\d+")
_PLACEHOLDER_COUNT: Final = re.compile(r"hostname-placeholder-\d+: \d+(, )?")


class OthersNeed(msgspec.Struct, frozen=True, gc=False):
    """New nodes that a simulated removal needs for pods that are not on the nodes that go."""

    pod_key: str
    """The first of these pods."""
    others: int
    """Further ones."""
    nodes: int
    """New nodes that take none but such pods."""
    is_only: bool
    """Whether the pods of the nodes that go need no new node."""
    is_waiting: bool
    """Whether the first pod has no node; else it leaves one."""
    type_name: str = ""
    """The cheapest instance type of the first of these new nodes; empty without one."""
    price_per_hour: float | None = None
    """Of that type; None where nobody can say."""


class FutileError(Exception):
    """Consolidation comes to nothing for certain, whatever else the rest of a simulation would show."""


class SimulationError(Exception):
    """A simulation that Karpenter cannot even begin, in its own words: no NodePool is there to take pods."""


class NewNode(msgspec.Struct, frozen=True, eq=False):
    """A NodeClaim that would be created."""

    pool_name: str
    book: ReckonedPrices
    """Prices of the NodePool's types."""
    type_names: tuple[str, ...]
    """Instance types it may have, the cheapest first as ordered when it was computed."""
    requirements: Requirements
    requests: Mapping[str, Any]
    pods: tuple[str, ...]
    """``namespace/name`` of the pods it is for, sorted."""
    annotations: Mapping[str, str]

    def with_types(self, type_names: Sequence[str]) -> NewNode:
        """Return it with fewer types, their order kept."""
        return msgspec.structs.replace(self, type_names=tuple(type_names))

    def estimated_price(self) -> float:
        """Return what Karpenter reckons it costs: the cheapest offering of its first type, and nothing without one."""
        prices = self.book.compatible(self.type_names[0], self.requirements, available_only=True)
        return min((offering.price_per_hour for offering in prices), default=0.0)

    def cheapest_price(self) -> float | None:
        """Return the least price per hour of any type it may have, None where nothing is on offer."""
        prices = [
            offering.price_per_hour
            for name in self.type_names
            for offering in self.book.compatible(name, self.requirements, available_only=True)
        ]
        return min(prices, default=None)


class Simulation(msgspec.Struct, frozen=True, eq=False):
    """Where pods would land without some nodes."""

    new_nodes: tuple[NewNode, ...]
    placements: Mapping[str, tuple[Pod, ...]]
    """Pods by the name of the existing node that would receive them."""
    errors: tuple[tuple[Pod, PodError | str], ...]
    """Pods without a place and why, which ``str`` says in Karpenter's words: they take a while to make, and those of
    pods that are pending anyway are not asked for. Pods that would need an uninitialised node too."""
    solution: Solution | None = None
    """What the engine found, which can be asked for reasons; it holds on to the whole run."""

    @property
    def blocking_errors(self) -> list[tuple[Pod, PodError | str]]:
        """Errors that stand in the way: pods that are pending anyway do not matter."""
        return [(pod, why) for pod, why in self.errors if not is_provisionable(pod)]

    def explanation(self) -> str:
        """Return Karpenter's sentence about the blocking errors; five at most, and always in this order here."""
        errors = self.blocking_errors
        named = "".join(f"{pod.key} => {unnumbered(str(why))} " for pod, why in errors[:_MAX_ERRORS])
        rest = f" and {len(errors) - _MAX_ERRORS} other(s)" if len(errors) >= _MAX_ERRORS else ""
        return f"Not all pods would schedule, {named}{rest}"


def unnumbered(text: str) -> str:
    """Return an error without the numbers of nodes that do not exist yet: Karpenter counts them through its life."""
    return _PLACEHOLDER.sub("hostname-placeholder", _PLACEHOLDER_COUNT.sub("", text))


def need_of_others(simulation: Simulation, own: Collection[str]) -> OthersNeed | None:
    """Return what new nodes are for pods other than these, None where there are none.

    Args:
        simulation: A removal.
        own: ``namespace/name`` of the pods of the nodes that go.
    """
    pods = [key for node in simulation.new_nodes for key in node.pods if key not in own]
    if not pods:
        return None
    alone = [node for node in simulation.new_nodes if not any(key in own for key in node.pods)]
    first = (alone or simulation.new_nodes)[0]
    key = next(key for key in first.pods if key not in own) if alone else pods[0]
    claims = () if simulation.solution is None else simulation.solution.claims
    return OthersNeed(
        key,
        len(pods) - 1,
        len(alone),
        is_only=len(alone) == len(simulation.new_nodes),
        is_waiting=not any(pod.key == key and pod.node_name for claim in claims for pod in claim.pods),
        type_name=first.type_names[0] if first.type_names else "",
        price_per_hour=first.cheapest_price(),
    )


class Simulator(Protocol):
    """Replays provisioning without some nodes."""

    def remove(
        self,
        candidates: Sequence[Candidate],
        *,
        is_consolidation: bool,
        with_blocked: bool = False,
        credited: str = "",
    ) -> Simulation:
        """Return where the pods of the candidates, the pending ones and those of deleting nodes would land.

        Args:
            candidates: The nodes that go.
            is_consolidation: Whether nodes within consolidateAfter take pods only for a good reason.
            with_blocked: Whether pods of the candidates that are pinned now need a place, too.
            credited: A reservation that gets a slot back, which pods then wait for; empty for none.

        Raises:
            SimulationError: when there is no NodePool to schedule with.
        """
        ...


def no_place(solution: Solution, pod: Pod, *, others: int = 0, asks_nodes: bool = False) -> NoPlace:
    """Return why a pod found no place in a simulated removal.

    Args:
        solution: Of the run.
        pod: One that found no place, or one on a node that is not initialised.
        others: Further pods without a place.
        asks_nodes: Whether every node that exists is asked too, which takes a while in a large cluster.
    """
    if pod.key not in solution.errors:
        waiting = (filled.state.name for filled in solution.nodes if any(one.key == pod.key for one in filled.pods))
        return NoPlace(pod.key, others, uninitialized_node=next(waiting, ""))
    found = explain(solution, pod, asks_nodes=asks_nodes)
    pools = tuple(_miss(one) for one in found.pools if one.failed is not None)
    nearest = furthest(found)
    is_asked = nearest is None or not nearest.takes_no_part
    return NoPlace(
        pod.key,
        others,
        pools,
        _counted(found),
        named=tuple(sorted(named_pools(pod))),
        skip_text="" if is_asked or nearest is None else nearest.nodepool,
        bystands="" if is_asked or nearest is None else nearest.takes_no_part,
    )


def _counted(found: PodExplanation) -> tuple[tuple[str, int], ...]:
    # A node that is taken away itself was never in question.
    gates = Counter(str(one.gate) for one in found.nodes if one.gate is not PlacementGate.NODEPOOLS)
    return tuple(sorted(gates.items(), key=lambda item: (-item[1], item[0])))


def _miss(pool: PoolExplanation) -> PoolMiss:
    rejection = pool.besides_limits or pool.rejection
    assert rejection is not None
    miss = PoolMiss(pool.nodepool, str(rejection.gate))
    if pool.default_spread_key:
        return msgspec.structs.replace(miss, gate=DEFAULT_SPREAD, asked=(pool.default_spread_key,))
    if isinstance(rejection, TaintsNotTolerated):
        return msgspec.structs.replace(miss, asked=tuple(map(str, rejection.taints)))
    if isinstance(rejection, RequirementsUnmet):
        return msgspec.structs.replace(miss, asked=tuple(one.key for one in rejection.reasons))
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
    """Return where the pods of a node would land, and whether only once its reservation has its slot back.

    Args:
        simulator: Removes nodes.
        candidate: The node.
        may_terminate_first: Whether the method's gate is on.
        with_blocked: Whether pods that are pinned now need a place, too.

    Raises:
        SimulationError: when there is no NodePool to schedule with.
    """
    simulation = simulator.remove((candidate,), is_consolidation=False, with_blocked=with_blocked)
    reservation = candidate.node.labels.get(RESERVATION_ID, "")
    is_eligible = may_terminate_first and candidate.capacity_type == RESERVED and bool(reservation)
    if not simulation.blocking_errors or not is_eligible:
        return simulation, False
    credited = simulator.remove((candidate,), is_consolidation=False, with_blocked=with_blocked, credited=reservation)
    return (simulation, False) if credited.blocking_errors else (credited, True)
