"""Result of a provisioning run, and the events that Karpenter would publish for it.

Texts of events: ``events.go`` and ``Results.Record`` in ``pkg/controllers/provisioning/scheduling``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.labels import CAPACITY_TYPE, HOSTNAME, MIN_VALUES_RELAXED, RESERVATION_ID, RESERVED
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import IN, Requirement, Requirements
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.kube.quantity import Quantity
from karptui.provisioning.amounts import with_pod_slots
from karptui.provisioning.catalogue import bits
from karptui.provisioning.claim import Claim
from karptui.provisioning.go_sort import go_least, go_sort
from karptui.provisioning.prepared import Prepared, Variant
from karptui.provisioning.rejection import MinValuesLost, PodError, least_overhead
from karptui.provisioning.reporter import Reporter, silent, with_pauses
from karptui.provisioning.requirement_set import unmet_min_values
from karptui.provisioning.run import Run, Watch
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.type_index import NO_PRICE

MAX_INSTANCE_TYPES: Final = 600
"""Maximum number of types of a NodeClaim, the cheapest first."""


class NewClaim:
    """A NodeClaim that Karpenter would create."""

    def __init__(
        self, claim: Claim, requirements: Requirements, type_mask: int, *, is_min_values_relaxed: bool
    ) -> None:
        self._claim = claim
        self.catalogue = claim.template.catalogue
        """Instance types of its NodePool."""
        self.pool: NodePool = claim.template.pool
        self.pods: tuple[Pod, ...] = tuple(claim.pods)
        self.requirements = requirements
        """Requirements including reserved capacity, without instance type names."""
        self.type_mask = type_mask
        """Instance types, as bits of the catalogue."""
        self.is_min_values_relaxed = is_min_values_relaxed
        """Whether it is marked as having fewer values than ``minValues``, under the BestEffort policy.

        As in Karpenter, the mark of a NodePool's newest claim applies to all its claims.
        """

    @property
    def nodepool_name(self) -> str:
        """Name of its NodePool."""
        return self.pool.name

    @property
    def instance_types(self) -> tuple[InstanceType, ...]:
        """Instance types it would be created with."""
        return tuple(self.catalogue.types[i] for i in bits(self.type_mask))

    @property
    def instance_type_names(self) -> list[str]:
        """Names of the instance types, sorted."""
        return sorted(self.catalogue.types[i].name for i in bits(self.type_mask))

    def by_price(self) -> list[int]:
        """Return its types as positions in the catalogue, cheapest first, in the order of Go's unstable sort.

        Karpenter sorts all compatible types, cuts them to 600, and sorts these again.
        """
        prices = self.catalogue.prices(self.requirements)
        claim = self._claim
        types = [i for group in claim.template.groups for i in bits(group.types & claim.types)]
        for _ in range(2 if len(types) > MAX_INSTANCE_TYPES else 1):
            types = [types[i] for i in go_sort([prices[i] for i in types])][:MAX_INSTANCE_TYPES]
        return types

    @property
    def requests(self) -> dict[str, Quantity]:
        """Requests of its pods including their slots, and the minimum requests of DaemonSet pods."""
        template = self._claim.template
        mask = self.type_mask
        total = with_pod_slots(resources.add(*(pod.requests for pod in self.pods)), len(self.pods))
        overheads = [group.overhead for group in template.groups if group.types & mask]
        return resources.add(total, least_overhead(overheads))

    @property
    def cheapest_price_per_hour(self) -> float | None:
        """Lowest price of its types' offerings that it allows; None without one, or if a type's price is unknown."""
        guessed = (instance_type for instance_type in self.instance_types if instance_type.is_guessed)
        if any(not any(offering.price_per_hour for offering in instance_type.offerings) for instance_type in guessed):
            return None
        prices = self.catalogue.prices(self.requirements)
        least = min((prices[i] for i in bits(self.type_mask)), default=NO_PRICE)
        return None if least == NO_PRICE else least

    def as_json(self) -> dict[str, Any]:
        """Return the claim in the format of ``karptui simulate -o json``."""
        price = self.cheapest_price_per_hour
        document: dict[str, Any] = {
            "nodePool": self.nodepool_name,
            "instanceTypes": self.instance_type_names,
            "requirements": self.requirements.as_selectors(),
            "requests": {name: str(amount) for name, amount in sorted(self.requests.items())},
            "pods": sorted(pod.key for pod in self.pods),
            "cheapestPrice": -1 if price is None else price,
        }
        if self.is_min_values_relaxed:
            document["annotations"] = {MIN_VALUES_RELAXED: "true"}
        return document


class Tie(msgspec.Struct, frozen=True):
    """A random choice of Karpenter, made here in a fixed order."""

    pod_key: str
    topology_key: str
    domains: tuple[str, ...]
    """Equally good domains, the chosen one first."""


class FilledStateNode(msgspec.Struct, frozen=True):
    """An existing node and the pods scheduled to it."""

    state: StateNode
    pods: tuple[Pod, ...]


class Solution(msgspec.Struct, frozen=True):
    """Where the pods of a run are scheduled."""

    claims: tuple[NewClaim, ...]
    nodes: tuple[FilledStateNode, ...]
    """Nodes with new pods, by name."""
    errors: Mapping[str, PodError]
    """Errors by ``namespace/name`` of each unschedulable pod."""
    failed: tuple[Pod, ...]
    """The pods of ``errors``."""
    ties: tuple[Tie, ...] = ()
    met_tie: bool = False
    """Whether any choice was random, even if it did not affect the result."""
    had_pods: bool = True
    run: object = None
    """The run, for `karptui.provisioning.explain`."""

    def as_json(self) -> dict[str, Any]:
        """Return the result in the format of ``karptui simulate -o json``."""
        document: dict[str, Any] = {
            "newNodeClaims": [claim.as_json() for claim in self.claims],
            "existingNodes": [
                {"name": filled.state.name, "pods": sorted(pod.key for pod in filled.pods)} for filled in self.nodes
            ],
            "podErrors": {key: str(self.errors[key]) for key in sorted(self.errors)},
        }
        document["newNodeClaims"].sort(key=lambda claim: (claim["nodePool"], claim["pods"]))
        if self.met_tie:
            document["ties"] = [
                {"pod": tie.pod_key, "topologyKey": tie.topology_key, "domains": list(tie.domains)} for tie in self.ties
            ]
        return document


def solve(
    prepared: Prepared,
    pods: Iterable[Pod] = (),
    *,
    excluded: Iterable[str] = (),
    reserved_fallback: bool = False,
    credited: str = "",
    enforce_consolidate_after: bool = False,
    reporter: Reporter = silent,
    watch: Watch | None = None,
) -> Solution:
    """Schedule the pending pods, the given pods, and the pods of nodes being deleted.

    Args:
        pods: Additional pods, such as those of removed nodes.
        excluded: Provider ids of removed nodes.
        reserved_fallback: As in disruption, a pod may be scheduled without a reservation that another claim holds.
        credited: Reservation whose instance is freed by a removed node; empty for none.
        enforce_consolidate_after: As in consolidation, nodes within consolidateAfter only accept pods that are
            pending or leave a node being deleted.
        watch: Receives the result for each pod; may raise to end the run.
    """
    waiting = [*prepared.pending, *pods, *prepared.leaving]
    queued = [prepared.queued(pod) for pod in with_pauses(waiting, prepared.pause, 16)]
    variant = Variant(
        excluded=frozenset(excluded),
        moving={entry.pod.uid: entry.pod for entry in queued if entry.is_counted and entry.pod.node_name},
        reserved_fallback=reserved_fallback,
        credited=credited,
        enforces_consolidate_after=enforce_consolidate_after,
    )
    run = Run(prepared, variant)
    if queued and prepared.pools:
        run.solve(queued, reporter, watch)
    return make_solution(run)


def make_solution(run: Run) -> Solution:
    """Convert the final state of a run into its result: pin reserved capacity, keep the cheapest 600 types."""
    claims: list[NewClaim] = []
    errors: dict[str, PodError] = {}
    failed: list[Pod] = []
    by_uid = {queued.pod.uid: queued.pod for queued in run.pods}
    for uid, error in run.errors.items():
        pod = by_uid[uid]
        errors[pod.key] = error
        failed.append(pod)
    is_strict = run.settings.min_values_policy != "BestEffort"
    for claim in run.order.claims:
        requirements = _final_requirements(claim)
        types = _cheapest(claim, requirements)
        unmet: Mapping[str, int] = {}
        if is_strict and requirements.has_min_values():
            unmet = unmet_min_values(claim.template.catalogue, types, requirements)
        if unmet:
            error = PodError(((claim.template.name, MinValuesLost(claim.template.name, tuple(unmet))),))
            errors.update((pod.key, error) for pod in claim.pods)
            failed.extend(claim.pods)
        else:
            claims.append(
                NewClaim(
                    claim,
                    requirements,
                    types,
                    is_min_values_relaxed=run.relaxed.get(claim.template.index, False),
                )
            )
    destinations = run.prepared.destinations if run.node_check.filled else []
    nodes = [
        FilledStateNode(destinations[index].state, tuple(filled.pods))
        for index, filled in run.node_check.filled.items()
    ]
    nodes.sort(key=lambda filled: filled.state.name)
    ties = tuple(Tie(*tie) for tie in run.ties)
    return Solution(
        tuple(claims),
        tuple(nodes),
        errors,
        tuple(failed),
        ties,
        met_tie=run.topology.met_tie,
        had_pods=bool(run.pods),
        run=run,
    )


def _final_requirements(claim: Claim) -> Requirements:
    requirements = claim.labels.value.without(HOSTNAME)
    if claim.reserved:
        requirements = requirements.replace(Requirement.of(CAPACITY_TYPE, IN, (RESERVED,)))
        requirements = requirements.add(Requirement.of(RESERVATION_ID, IN, claim.reserved))
    return requirements


def _cheapest(claim: Claim, requirements: Requirements) -> int:
    """Return the claim's types; of more than 600, the cheapest in the order of Go's unstable sort."""
    catalogue = claim.template.catalogue
    cheapest = catalogue.index.price_order(requirements).cheapest(claim.types, MAX_INSTANCE_TYPES)
    if cheapest is not None:
        return cheapest
    types = [i for group in claim.template.groups for i in bits(group.types & claim.types)]
    prices = catalogue.prices(requirements)
    mask = 0
    for i in go_least([prices[i] for i in types], MAX_INSTANCE_TYPES):
        mask |= 1 << types[i]
    return mask


_FAILED = "FailedScheduling: Failed to schedule pod, "
_NO_TYPES = "NoCompatibleInstanceTypes: NodePool requirements filtered out all compatible available instance types"


def provisioning_events(prepared: Prepared, solution: Solution) -> dict[str, list[str]]:
    """Return ``{"Kind/name": ["Reason: message"]}`` for a run; pods are ``Pod/namespace/name``.

    Pods that wait for reserved capacity, or that exclude NodePools, get no event.
    """
    messages: dict[str, list[str]] = {}
    for ignored in prepared.ignored:
        if not ignored.is_silent:
            messages[f"Pod/{ignored.pod.key}"] = [_FAILED + "; ".join(ignored.problems)]
    if not solution.had_pods or not prepared.pools:
        return messages
    for name, is_because_of_min_values in prepared.left_out.items():
        because = " due to minValues incompatibility" if is_because_of_min_values else ""
        messages[f"NodePool/{name}"] = [_NO_TYPES + because]
    for key, error in solution.errors.items():
        if not error.is_reserved:
            messages.setdefault(f"Pod/{key}", []).append(f"{_FAILED}{error}")
    virtual = {pod.uid for pod in prepared.buffer_pods}
    for filled in solution.nodes:
        message = f"Nominated: Pod should schedule on: {_state_title(filled.state)}"
        for pod in filled.pods:
            if pod.uid not in virtual:
                messages.setdefault(f"Pod/{pod.key}", []).append(message)
    return messages


def _state_title(state: StateNode) -> str:
    parts = []
    if state.claim is not None:
        parts.append(f"nodeclaim/{state.claim.name}")
    if state.node is not None:
        parts.append(f"node/{state.node.name}")
    return ", ".join(parts)
