"""The displayed cost of nodes: the prices of the top bar, not the prices that Karpenter decides by.

Karpenter uses the on-demand price for spot until it has read spot prices, and treats reserved capacity as nearly
free. A price book is preferred if known: an unknown price stays unknown, and a reservation is billed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from karptui.aws.evidence import offering_value
from karptui.aws.prices import NodePrices
from karptui.disruption.launch_price import ReckonedPrices
from karptui.disruption.methods import NextPass
from karptui.disruption.simulation import NewNode
from karptui.karpenter.inventory import NotCounted, unmanaged_nodes
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, SPOT, WELL_KNOWN, ZONE
from karptui.karpenter.requirements import Requirements
from karptui.kube.pod import Pod
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.reporter import with_pauses
from karptui.provisioning.solution import FilledStateNode, NewClaim, Solution
from karptui.provisioning.state_node import StateNode
from karptui.whatif.difference_lines import NOWHERE, ClaimTypes, PlaceKind, PodPlace, TypeOption
from karptui.whatif.scenario import Replay


class Cost(NamedTuple):
    """Of one node."""

    per_hour: float | None = None
    """Dollars per hour; None if unknown."""
    at_most_per_hour: float | None = None
    """On-demand price of a spot node of unknown price."""


def cost_of_node(prices: NodePrices | None, books: Mapping[str, ReckonedPrices], state: StateNode) -> Cost:
    """Return the cost of an existing node, by its labels.

    Args:
        prices: Displayed prices; None for the prices that Karpenter decides by.
        books: The prices that Karpenter decides by, by NodePool.
    """
    labels = state.labels
    place = labels.get(INSTANCE_TYPE, ""), labels.get(ZONE, ""), labels.get(CAPACITY_TYPE, "")
    reckoned_prices = books.get(state.nodepool_name)
    return _cost(prices, *place, reckoned_prices.price(*place) if reckoned_prices is not None else None)


def cost_of_option(prices: NodePrices | None, option: TypeOption | None) -> Cost:
    """Return the cost of a new node of a type."""
    if option is None:
        return Cost()
    return _cost(prices, option.name, option.zone, option.capacity_type, option.price_per_hour)


def cost_of_new_node(prices: NodePrices | None, node: NewNode) -> Cost:
    """Return the cost of a replacement node at its cheapest offering."""
    return cost_of_option(prices, _cheapest(node))


def _cost(
    prices: NodePrices | None, type_name: str, zone: str, capacity_type: str, reckoned_per_hour: float | None
) -> Cost:
    if prices is None:
        return Cost(reckoned_per_hour or None)
    if (price := prices.price(type_name, zone, capacity_type)) is not None:
        return Cost(price.per_hour)
    if capacity_type == SPOT and reckoned_per_hour and not prices.settings.is_disabled:
        return Cost(None, prices.settings.applied(reckoned_per_hour))
    return Cost()


def _cheapest(node: NewNode) -> TypeOption | None:
    allowed: dict[object, bool] = {}
    priced_offerings: list[tuple[float, str, str, str]] = []
    for name in node.type_names:
        for offering in node.book.types[name].offerings:
            key = offering.requirements
            if key not in allowed:
                allowed[key] = node.requirements.compatible(Requirements.from_selectors(key), WELL_KNOWN)
            if offering.is_available and allowed[key]:
                zone, capacity_type = offering_value(offering, ZONE), offering_value(offering, CAPACITY_TYPE)
                priced_offerings.append((offering.price_per_hour, name, capacity_type, zone))
    if not priced_offerings:
        return None
    price_per_hour, name, capacity_type, zone = min(priced_offerings)
    return TypeOption(name, price_per_hour, zone, capacity_type)


class PoolFigures(msgspec.Struct, frozen=True, gc=False):
    """The nodes of a NodePool after a replay, without those being removed."""

    nodes: int = 0
    """Existing nodes that stay, and new nodes."""
    launched: int = 0
    """New nodes."""
    price_per_hour: float = 0.0
    """Dollars: nodes by their labels, new ones at the cheapest offering of any of their types."""
    unpriced: int = 0
    """Nodes of unknown price, which the cost leaves out."""
    unpriced_at_most_per_hour: float = 0.0
    """On-demand cost of the spot nodes among them."""
    unbounded: int = 0
    """Nodes among them without a maximum cost."""


class ReplayOutcome(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """The outcome of a replay of one side.

    The situation holds its outcome, so the outcome does not hold the situation.
    """

    mode: Replay
    prepared: Prepared
    """The replayed cluster, or a variant, such as without its nodes."""
    books: Mapping[str, ReckonedPrices]
    """The prices that Karpenter decides by, by NodePool."""
    prices: NodePrices | None
    """Displayed prices; None for the prices that Karpenter decides by."""
    claim_types: ClaimTypes
    """The types of its claims in price order."""
    solution: Solution | None = None
    """Places of pods; None for `Replay.NEXT`."""
    next_pass: NextPass | None = None
    """The next disruption; only for `Replay.NEXT`."""
    gone: frozenset[str] = frozenset()
    """Provider ids of the nodes that the replay removes."""
    moved: tuple[Pod, ...] = ()
    """Their pods."""
    refused: Mapping[str, str] = MappingProxyType({})
    """Uninitialized nodes by ``namespace/name`` of the moved pods that fit only there."""
    bound: tuple[FilledStateNode, ...] = ()
    """Existing nodes to which kube-scheduler binds pods that Karpenter does not place."""

    @property
    def claims(self) -> tuple[NewClaim, ...]:
        """NodeClaims that would be created for pods."""
        return () if self.solution is None else self.solution.claims

    @cached_property
    def nodes(self) -> tuple[FilledStateNode, ...]:
        """Existing nodes that receive pods, by name."""
        filled = [*(() if self.solution is None else self.solution.nodes), *self.bound]
        pods: dict[str, tuple[Pod, ...]] = {}
        for node in filled:
            pods[node.state.name] = (*pods.get(node.state.name, ()), *node.pods)
        states = {state_node.state.name: state_node.state for state_node in filled}
        return tuple(FilledStateNode(states[name], pods[name]) for name in sorted(pods))

    @cached_property
    def places(self) -> Mapping[str, PodPlace]:
        """Place of each pod of the replay, by ``namespace/name``; `NOWHERE` for unschedulable pods."""
        places: dict[str, PodPlace] = {}
        if self.solution is None:
            return places
        for filled in self.nodes:
            place = PodPlace(PlaceKind.NODE, filled.state.nodepool_name, filled.state.name)
            places.update((pod.key, place) for pod in filled.pods)
        by_pool: dict[str, PodPlace] = {}
        for claim in self.solution.claims:
            place = by_pool.setdefault(claim.nodepool_name, PodPlace(PlaceKind.CLAIM, claim.nodepool_name))
            places.update((pod.key, place) for pod in claim.pods)
        for pod in self.waiting:
            places.setdefault(pod.key, NOWHERE)
        return places

    @cached_property
    def waiting(self) -> tuple[Pod, ...]:
        """The pods to be placed, including pods that Karpenter skips, without those of CapacityBuffers."""
        prepared = self.prepared
        virtual = {pod.uid for pod in prepared.buffer_pods}
        ignored = [pod.pod for pod in prepared.ignored]
        return tuple(
            pod for pod in (*prepared.pending, *ignored, *prepared.leaving, *self.moved) if pod.uid not in virtual
        )

    @cached_property
    def unplaced(self) -> tuple[Pod, ...]:
        """The unschedulable ones; for `Replay.NEXT`, which places none, all pending pods."""
        if self.solution is None:
            return tuple(pod for pod in self.waiting if not pod.node_name)
        places = self.places
        return tuple(pod for pod in self.waiting if places[pod.key] is NOWHERE)

    @cached_property
    def pools(self) -> Mapping[str, PoolFigures]:
        """By name, every NodePool that exists or has nodes."""
        return pool_figures(self)

    @cached_property
    def pods_by_pool(self) -> Mapping[str, int]:
        """How many pods of workloads each NodePool's nodes hold; nothing of `Replay.NEXT`, which places none."""
        return {} if self.solution is None else _pods_by_pool(self)


def pool_figures(outcome: ReplayOutcome) -> Mapping[str, PoolFigures]:
    """Return the nodes that a replay leaves by NodePool, every NodePool included."""
    tallies = {pool.name: _Tally() for pool in outcome.prepared.pools}
    for pool in outcome.prepared.inventory.nodepools:
        tallies.setdefault(pool.name, _Tally())
    gone = outcome.gone | _commanded(outcome)
    for state in with_pauses(outcome.prepared.states, outcome.prepared.pause, 100):
        if state.claim is None or state.is_marked_for_deletion or state.provider_id in gone:
            continue
        tallies.setdefault(state.nodepool_name, _Tally()).add(
            cost_of_node(outcome.prices, outcome.books, state), is_new=False
        )
    for pool_name, cost in _launched(outcome):
        tallies.setdefault(pool_name, _Tally()).add(cost, is_new=True)
    return {name: tally.figures() for name, tally in tallies.items()}


def not_counted(prepared: Prepared) -> NotCounted:
    """Return the nodes that the figures of a replay leave out: they count nodes that Karpenter manages and keeps."""
    managed = [state for state in prepared.states if state.claim is not None]
    return NotCounted(
        unmanaged=len(unmanaged_nodes(prepared.inventory)),
        leaving=sum(state.is_marked_for_deletion for state in managed),
        unlaunched=len(prepared.inventory.nodeclaims) - len(managed),
    )


def _pods_by_pool(outcome: ReplayOutcome) -> Mapping[str, int]:
    counts: Counter[str] = Counter()
    by_template: dict[int, bool] = {}  # by identity of the template: 100,000 pods have a few hundred
    for state in with_pauses(outcome.prepared.states, outcome.prepared.pause, 100):
        if state.claim is None or state.is_marked_for_deletion or state.provider_id in outcome.gone:
            continue
        staying = 0
        for pod in state.pods:
            template = pod.template
            is_workload = by_template.get(id(template))
            if is_workload is None:
                is_workload = by_template[id(template)] = not (template.is_daemonset_owned or template.is_node_owned)
            staying += is_workload
        counts[state.nodepool_name] += staying
    for filled in outcome.nodes:
        if filled.state.claim is not None:
            counts[filled.state.nodepool_name] += len(filled.pods)
    for claim in outcome.claims:
        counts[claim.nodepool_name] += len(claim.pods)
    return counts


def _commanded(outcome: ReplayOutcome) -> frozenset[str]:
    commands = () if outcome.next_pass is None else outcome.next_pass.commands
    return frozenset(candidate.node.provider_id for command in commands for candidate in command.candidates)


def _launched(outcome: ReplayOutcome) -> Iterator[tuple[str, Cost]]:
    prices = outcome.prices
    for claim in outcome.claims:
        yield claim.nodepool_name, cost_of_option(prices, outcome.claim_types.first(claim))
    for command in () if outcome.next_pass is None else outcome.next_pass.commands:
        yield from ((node.pool_name, cost_of_new_node(prices, node)) for node in command.replacements)
        yield from ((command.candidates[0].pool.name, Cost()) for _ in range(command.from_template))


class _Tally:
    def __init__(self) -> None:
        self._nodes = self._launched = self._unpriced = self._unbounded = 0
        self._per_hour = self._at_most = 0.0

    def add(self, cost: Cost, *, is_new: bool) -> None:
        self._nodes += 1
        self._launched += is_new
        if cost.per_hour is None:
            self._unpriced += 1
            self._unbounded += cost.at_most_per_hour is None
            self._at_most += cost.at_most_per_hour or 0.0
        else:
            self._per_hour += cost.per_hour

    def figures(self) -> PoolFigures:
        return PoolFigures(self._nodes, self._launched, self._per_hour, self._unpriced, self._at_most, self._unbounded)
