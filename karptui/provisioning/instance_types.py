"""Instance types available for new nodes of each NodePool, and what excludes the others, such as EC2's refusals.

Rules: ``filterInstanceTypesByRequirements`` in ``pkg/controllers/provisioning/scheduling/nodeclaim.go``,
``buildDaemonOverheadGroups`` and ``filterByRemainingResources`` in ``scheduler.go``. Karpenter checks requirements,
resources and offerings together; here they are checked one after the other, so that each type is counted at the first
filter that excludes it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.karpenter.instance_type import NO_FREE_ADDRESSES, InstanceType, error_words
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, WELL_KNOWN, ZONE
from karptui.karpenter.nodeclass import is_ec2
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import Requirements
from karptui.karpenter.rules import Rules
from karptui.karpenter.settings import Settings
from karptui.kube import resources
from karptui.kube.group import group_by
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.quantity import NANO, Quantity
from karptui.kube.recent import Recent
from karptui.kube.resources import NODES, ResourceList, Shortage
from karptui.kube.taints import untolerated
from karptui.kube.units import counted
from karptui.provisioning.amounts import with_pod_slots
from karptui.provisioning.catalogue import Catalogue, allocatable_nano, bits, catalogue_of
from karptui.provisioning.daemonsets import DaemonGroup, DaemonPod, daemon_pods, group_by_daemons, pool_daemonsets
from karptui.provisioning.limits import allows_node, remaining_limits
from karptui.provisioning.overlays import overlaid
from karptui.provisioning.pool_order import SkipReason, served_pools, skip_reason, usable_pools
from karptui.provisioning.pool_types import (
    Filter,
    PoolTypes,
    TypeVerdict,
    counts_by_filter,
    format_of,
    ranked_by_price,
    shortages,
)
from karptui.provisioning.requirement_set import unmet_min_values
from karptui.provisioning.state_node import StateNode, track_nodes
from karptui.provisioning.template import template_requirements
from karptui.provisioning.type_index import NO_PRICE

_READINGS: Final[Recent[tuple[object, ...], list[PoolTypes]]] = Recent(most=4, patience=16)
"""The last readings of types: a node that reports itself changes none of their inputs."""

InstanceTypes = Sequence[InstanceType] | Mapping[str, Sequence[InstanceType]]
"""One list for all NodePools, or a list by NodePool name; a missing NodePool has no types."""


def guessed_pools(pools: Iterable[NodePool], types: Mapping[str, Sequence[InstanceType]]) -> dict[str, int]:
    """Return the NodePools whose types are inferred, with the number of types seen on nodes."""
    return {
        pool.name: sum(instance_type.seen_on > 0 for instance_type in types.get(pool.name, ()))
        for pool in pools
        if (not types.get(pool.name) and not is_ec2(pool.node_class_ref))
        or any(instance_type.is_guessed for instance_type in types.get(pool.name, ()))
    }


def types_by_pool(
    inventory: Inventory, instance_types: InstanceTypes, settings: Settings
) -> Mapping[str, Sequence[InstanceType]]:
    """Return the types of every NodePool by name.

    Args:
        inventory: NodePools, and NodeOverlays if their gate is enabled.
        instance_types: Types before NodeOverlays.
    """
    by_pool = before_overlays(inventory, instance_types)
    return overlaid(inventory, by_pool) if settings.gate("NodeOverlay") else by_pool


def before_overlays(inventory: Inventory, instance_types: InstanceTypes) -> Mapping[str, Sequence[InstanceType]]:
    """Return the types of every NodePool by name, as the provider has them."""
    return {
        pool.name: instance_types.get(pool.name, ()) if isinstance(instance_types, Mapping) else instance_types
        for pool in inventory.nodepools
    }


def catalogues_of(
    pools: Iterable[NodePool], types: Mapping[str, Sequence[InstanceType]], rules: Rules
) -> dict[str, Catalogue]:
    """Return the indexed types of NodePools; NodePools with the same list share an index."""
    by_list: dict[int, Catalogue] = {}
    catalogues: dict[str, Catalogue] = {}
    for pool in pools:
        pool_list = types[pool.name]
        catalogue = by_list.get(id(pool_list))
        if catalogue is None:
            catalogue = by_list[id(pool_list)] = catalogue_of(tuple(pool_list), rules)
        catalogues[pool.name] = catalogue
    return catalogues


def pool_types(
    inventory: Inventory, instance_types: InstanceTypes, settings: Settings, names: Container[str] | None = None
) -> tuple[PoolTypes, ...]:
    """Return the types of every NodePool: active ones in the order Karpenter tries them, then skipped ones.

    Args:
        inventory: NodePools, DaemonSets, pending pods, nodes and NodeOverlays are used.
        instance_types: One list for all NodePools, or a list by NodePool name, before NodeOverlays.
        names: NodePools to include; None for all.
    """
    by_pool = types_by_pool(inventory, instance_types, settings)
    pools = [pool for pool in inventory.nodepools if names is None or pool.name in names]
    waiting = {id(pod.template): pod for pod in inventory.pods if not pod.node_name and pod.is_active}
    # Limits depend on the nodes' capacity, not on their pods.
    nodes = track_nodes(msgspec.structs.replace(inventory, pods=()))
    states = group_by((state for state in nodes if not state.is_marked_for_deletion), lambda state: state.nodepool_name)
    remaining = {pool.name: remaining_limits(pool, states.get(pool.name, [])) for pool in pools}
    daemons = daemon_pods(inventory, ignore_dra=settings.ignore_dra_requests)
    key = (
        settings,
        names,
        inventory.nodepools,
        [by_pool[pool.name] for pool in pools],
        remaining,
        [daemon.likeness for daemon in daemons],
        [pod.template for pod in waiting.values()],
    )
    results = _READINGS.get(
        key,
        lambda: _read(
            inventory, settings, by_pool=by_pool, remaining=remaining, daemons=daemons, waiting=waiting.values()
        ),
    )
    return tuple(
        msgspec.structs.replace(
            result,
            used=_capacity(states.get(result.pool.name, ())),
            unlisted=_unlisted(result, states.get(result.pool.name, ())),
        )
        for result in results
    )


def _read(
    inventory: Inventory,
    settings: Settings,
    *,
    by_pool: Mapping[str, Sequence[InstanceType]],
    remaining: Mapping[str, Mapping[str, int]],
    daemons: Sequence[DaemonPod],
    waiting: Iterable[Pod],
) -> list[PoolTypes]:
    """Read the types of the NodePools that have remaining limits."""
    tried = usable_pools(inventory.nodepools)
    others = sorted((pool for pool in inventory.nodepools if pool not in tried), key=lambda pool: pool.name)
    served = {pool.name for pool in served_pools(inventory.nodepools)}
    rejected: dict[tuple[int, str], TypeVerdict] = {}
    results = []
    for index, pool in enumerate((*tried, *others)):
        if pool.name not in remaining:
            continue
        rank = index + 1 if index < len(tried) else None
        reader = _PoolReader(
            pool,
            catalogue_of(tuple(by_pool[pool.name]), settings.rules),
            # Karpenter permanently drops DaemonSet affinity terms; skipped pools must not do so.
            daemons if rank is not None else daemon_pods(inventory, ignore_dra=settings.ignore_dra_requests),
            remaining[pool.name],
            rejected,
        )
        why_not = "" if (reason := skip_reason(pool, is_served=pool.name in served)) is None else _WHY_NOT[reason]
        is_strict = settings.min_values_policy != "BestEffort"
        results.append(reader.read(rank=rank, why_not=why_not, pods=waiting, is_strict=is_strict))
    return results


def _unlisted(result: PoolTypes, states: Iterable[StateNode]) -> tuple[str, ...]:
    """Return the types of nodes that are missing in the NodePool's list, sorted."""
    listed = {verdict.instance_type.name for verdict in result.verdicts}
    return tuple(sorted({name for state in states if (name := state.labels.get(INSTANCE_TYPE, ""))} - listed))


def _capacity(states: Iterable[StateNode]) -> dict[str, int]:
    """Return the total capacity of nodes in nano-units."""
    total: dict[str, int] = {}
    for state in states:
        for name, amount in state.capacity_nano.items():
            total[name] = total.get(name, 0) + amount
    return total


def may_go_to(pod: Pod, pool: NodePool, requirements: Requirements) -> bool:
    """Return whether a pod tolerates a NodePool's taints and its requirements match the NodePool's."""
    if untolerated(pool.taints, pod.template.tolerations):
        return False
    return any(requirements.compatible(option, requirements.well_known) for option in alternatives_of(pod.template))


def alternatives_of(template: PodTemplate) -> list[Requirements]:
    """Return the alternatives of a pod's node selector and required node affinity."""
    selected = Requirements.from_labels(template.node_selector)
    if template.required_node_terms is None:
        return [selected]
    return [
        selected.merge(Requirements.from_selectors(term.match_expressions)) for term in template.required_node_terms
    ]


_WHY_NOT: Final[Mapping[SkipReason, str]] = {
    SkipReason.FOREIGN: "another provider's: Karpenter for AWS skips it",
    SkipReason.STATIC: "static: it keeps its replicas and accepts no pending pods",
    SkipReason.DELETING: "being deleted",
    SkipReason.NOT_READY: "not Ready",
}


class _PodRequest(msgspec.Struct, frozen=True):
    """Requests of a kind of pending pod."""

    requests: ResourceList
    types: int
    """Types whose labels it accepts, as bits."""


class _PoolReader:
    """Determines the verdict on each type of a NodePool."""

    def __init__(
        self,
        pool: NodePool,
        catalogue: Catalogue,
        daemons: Sequence[DaemonPod],
        remaining: Mapping[str, int],
        rejected: dict[tuple[int, str], TypeVerdict],
    ) -> None:
        """Set up.

        Args:
            rejected: Types that requirements exclude, by identity and reason: shared by all NodePools, as most types
                are excluded from most NodePools.
        """
        self._pool = pool
        self._catalogue = catalogue
        self._daemons = daemons
        self._remaining = remaining
        self._rejected = rejected
        self._requirements = template_requirements(pool)

    def read(self, *, rank: int | None, why_not: str, pods: Iterable[Pod], is_strict: bool) -> PoolTypes:
        catalogue, requirements = self._catalogue, self._requirements
        compatible = catalogue.compatible(requirements)
        offered = catalogue.types_of_rows(catalogue.offering_rows(requirements))
        usable = catalogue.types_of_rows(catalogue.usable_rows)
        types = compatible & offered & usable
        unmet = unmet_min_values(catalogue, types, requirements) if is_strict else {}
        if unmet and not why_not:
            why_not = "; ".join(
                f"minValues of {key} is not met: only {counted(count, 'value')} offered" for key, count in unmet.items()
            )
        groups = self._groups(types)
        requests = self._requests_of(pods)
        prices = catalogue.prices(requirements)
        clashes = self._clashes(catalogue.everything & ~compatible)
        verdicts = []
        for index, instance_type in enumerate(catalogue.types):
            bit = 1 << index
            if not compatible & bit:
                verdict = clashes[index]
            elif not offered & bit:
                verdict = TypeVerdict(
                    instance_type=instance_type,
                    removed_by=Filter.OFFERINGS,
                    reason=self._missing_offering(instance_type),
                )
            elif not usable & bit:
                verdict = self._over_reserved(instance_type)
            else:
                verdict = self._fitted(instance_type, bit, groups[index], requests, prices[index])
            verdicts.append(verdict)
        ranked = ranked_by_price(verdicts)
        return PoolTypes(
            pool=self._pool,
            rank=rank,
            why_not=why_not,
            requirements=requirements,
            verdicts=ranked,
            counts=counts_by_filter(ranked),
            daemonsets=pool_daemonsets(self._pool, requirements, self._daemons, groups, verdicts),
            remaining=self._remaining,
        )

    def _requests_of(self, pods: Iterable[Pod]) -> list[_PodRequest]:
        """Return the requests of each kind of pending pod that may use the NodePool."""
        templates = {id(pod.template): pod for pod in pods if may_go_to(pod, self._pool, self._requirements)}
        return [
            _PodRequest(
                pod.template.requests,
                reduce(or_, map(self._catalogue.compatible, alternatives_of(pod.template)), 0),
            )
            for pod in templates.values()
        ]

    def _groups(self, types: int) -> dict[int, DaemonGroup]:
        compatible = [
            (daemon, daemon.compatible_types(self._pool.taints, self._requirements, self._catalogue, types))
            for daemon in self._daemons
        ]
        return {index: group for group in group_by_daemons(types, compatible) for index in bits(group.types)}

    def _clashes(self, types: int) -> dict[int, TypeVerdict]:
        """Return verdicts with the first requirement, in the NodePool's order, that each of these types fails."""
        clashes: dict[int, TypeVerdict] = {}
        for requirement in self._requirements:
            reason, meeting = str(requirement), self._catalogue.meeting(requirement)
            for index in bits(types & ~meeting):
                instance_type = self._catalogue.types[index]
                verdict = self._rejected.get((id(instance_type), reason))
                if verdict is None:
                    verdict = TypeVerdict(instance_type=instance_type, removed_by=Filter.REQUIREMENTS, reason=reason)
                    self._rejected[id(instance_type), reason] = verdict
                clashes[index] = verdict
            types &= meeting
        return clashes

    def _missing_offering(self, instance_type: InstanceType) -> str:
        allowed = [
            offering
            for offering in instance_type.offerings
            if self._requirements.compatible(self._catalogue.requirements_of(offering.requirements), WELL_KNOWN)
        ]
        if not allowed:
            return "no offering in the zones and capacity types allowed"
        return "sold out, or excluded by the NodeClass"

    @staticmethod
    def _over_reserved(instance_type: InstanceType) -> TypeVerdict:
        short = tuple(
            Shortage(
                name, Quantity(0, format_of(instance_type, name)), Quantity(amount, format_of(instance_type, name))
            )
            for name, amount in allocatable_nano(instance_type).items()
            if amount < 0
        )
        return TypeVerdict(
            instance_type=instance_type,
            removed_by=Filter.RESERVED,
            reason=", ".join(shortage.resource for shortage in short),
            shortages=short,
        )

    def _fitted(
        self, instance_type: InstanceType, bit: int, group: DaemonGroup, requests: Sequence[_PodRequest], price: float
    ) -> TypeVerdict:
        have = allocatable_nano(instance_type)
        total = resources.add(*(daemon.requests for daemon in group.daemons))
        count = len(group.daemons)
        daemons = with_pod_slots(total, count) if count else resources.EMPTY
        removed, short = None, shortages(instance_type, have, daemons)
        if short:
            removed = Filter.DAEMONSETS
        else:
            tries = [
                shortages(instance_type, have, with_pod_slots(resources.add(total, request.requests), count + 1))
                for request in requests
                if request.types & bit
            ]
            tries = tries or [shortages(instance_type, have, with_pod_slots(total, count + 1))]
            short = min(tries, key=len)
            if short:
                removed = Filter.POD
            elif not allows_node(self._remaining, instance_type):
                removed, short = Filter.LIMITS, self._over_limits(instance_type)
        return TypeVerdict(
            instance_type=instance_type,
            removed_by=removed,
            reason=", ".join(shortage.resource for shortage in short),
            shortages=short,
            daemon_pods=count,
            daemons=daemons,
            price_per_hour=None if price == NO_PRICE else price,
        )

    def _over_limits(self, instance_type: InstanceType) -> tuple[Shortage, ...]:
        limits = self._pool.limits or {}
        node = {NODES: NANO}
        return tuple(
            Shortage(name, instance_type.capacity[name], Quantity(left, limits[name].format))
            for name, left in self._remaining.items()
            if name in instance_type.capacity and (left < 0 or instance_type.capacity[name].nano > left)
        ) or tuple(
            Shortage(name, Quantity(node.get(name, 0), limits[name].format), Quantity(left, limits[name].format))
            for name, left in self._remaining.items()
            if left < node.get(name, 0)
        )


_MOST_NAMES: Final = 2


def refused_text(types: Iterable[InstanceType], requirements: Requirements, requests: ResourceList) -> str:
    """Return EC2's reasons for refusing compatible types with enough room: ``insufficient capacity in EC2 (spot c7i)``.

    Returns:
        Text for each error code; empty if EC2 refused none of the types.
    """
    refused: dict[str, dict[str, set[str]]] = {}
    for instance_type in types:
        offerings = [offering for offering in instance_type.offerings if offering.error_code]
        if not offerings or not requirements.compatible(
            Requirements.from_selectors(instance_type.requirements), WELL_KNOWN
        ):
            continue
        allocatable = allocatable_nano(instance_type)
        if any(amount.nano > allocatable.get(name, 0) for name, amount in requests.items()):
            continue
        for offering in offerings:
            sold_as = Requirements.from_selectors(offering.requirements)
            if requirements.compatible(sold_as, WELL_KNOWN):
                key = ZONE if offering.error_code == NO_FREE_ADDRESSES else CAPACITY_TYPE
                refused.setdefault(offering.error_code, {}).setdefault(instance_type.name, set()).update(
                    sold_as.get(key).values
                )
    return "; ".join(f"{error_words(code)} ({_names(code, by_type)})" for code, by_type in refused.items())


def _names(code: str, values_by_type: dict[str, set[str]]) -> str:
    """Return the zones, for full subnets, or the types with their capacity types."""
    values = sorted({value for values in values_by_type.values() for value in values}, reverse=True)
    if code == NO_FREE_ADDRESSES:
        return ", ".join(reversed(values))
    names = ", ".join(values_by_type) if len(values_by_type) <= _MOST_NAMES else counted(len(values_by_type), "type")
    return f"{' and '.join(values)} {names}"


def offered_again(types: InstanceTypes) -> InstanceTypes:
    """Return instance types with EC2's refusals removed; unaffected types are the same objects."""
    if not isinstance(types, Mapping):
        return tuple(map(_offered_again, types))
    by_list = {id(pool_types): tuple(map(_offered_again, pool_types)) for pool_types in types.values()}
    return {name: by_list[id(pool_types)] for name, pool_types in types.items()}


def _offered_again(instance_type: InstanceType) -> InstanceType:
    if not any(offering.error_code for offering in instance_type.offerings):
        return instance_type
    offerings = (
        replace(offering, is_available=True, error_code="") if offering.error_code else offering
        for offering in instance_type.offerings
    )
    return replace(instance_type, offerings=tuple(offerings))
