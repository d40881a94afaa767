"""The instance types of providers whose list is not known: what nodes show of them, and Karpenter's own metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import (
    CAPACITY_TYPE,
    HOSTNAME,
    INITIALIZED,
    INSTANCE_TYPE,
    NODEPOOL,
    REGISTERED,
    WELL_KNOWN,
    ZONE,
)
from karptui.karpenter.metrics import ControllerMetrics
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube import resources
from karptui.kube.node import Node
from karptui.kube.pod import PodTemplate
from karptui.kube.quantity import Quantity, QuantityFormat, of_millis, of_units
from karptui.kube.resources import CPU, MEMORY, PODS
from karptui.kube.selectors import NodeSelectorRequirement


def asked_keys(inventory: Inventory) -> frozenset[str]:
    """Return the labels of types that NodePools ask for, and those of the providers that pods ask for."""
    groups = {pool.node_class_ref.group for pool in inventory.nodepools}
    templates = {pod.template for pod in inventory.pods if not pod.node_name}
    selected = (key for template in templates for key in _selected(template))
    required = (term.key for pool in inventory.nodepools for term in pool.requirements)
    own = {key for pool in inventory.nodepools for key in pool.template_labels}
    return frozenset((*required, *(key for key in selected if key.partition("/")[0] in groups))) - own


def _selected(template: PodTemplate) -> Iterable[str]:
    yield from template.node_selector
    for terms in (template.required_node_terms or (), (one.preference for one in template.preferred_node_terms)):
        for term in terms:
            yield from (requirement.key for requirement in term.match_expressions)


def shown_by(inventory: Inventory) -> tuple[Node | NodeClaim, ...]:
    """Return what shows types: the nodes, and NodeClaims that are launched and have no node yet."""
    names = {node.name for node in inventory.nodes}
    return (*inventory.nodes, *(claim for claim in inventory.nodeclaims if claim.node_name not in names))


def seen_types(nodes: Iterable[Node | NodeClaim], asked: frozenset[str] = frozenset()) -> tuple[InstanceType, ...]:
    """Return a type for every instance type label, as small as the smallest of its nodes, with its nodes' labels.

    Offerings are the zones and capacity types that nodes have; their prices are not known and stand as 0. Of labels
    that are asked for and that no node of a type has, any value may be there.
    """
    by_type: dict[str, list[Node | NodeClaim]] = {}
    for node in nodes:
        name = node.labels.get(INSTANCE_TYPE, "")
        if name and node.capacity:
            by_type.setdefault(name, []).append(node)
    return tuple(_seen(name, of_type, asked) for name, of_type in sorted(by_type.items()))


_OF_NODES: Final = frozenset({HOSTNAME, NODEPOOL, REGISTERED, INITIALIZED, CAPACITY_TYPE, INSTANCE_TYPE})
"""Labels that say nothing of a type beside its name and its offerings."""


def _seen(name: str, nodes: list[Node | NodeClaim], asked: frozenset[str]) -> InstanceType:
    smallest = min(nodes, key=lambda node: resources.memory_bytes(node.allocatable))
    keys = {key for node in nodes for key in node.labels if key in WELL_KNOWN or key in asked} - _OF_NODES
    labels = [(key, sorted({node.labels[key] for node in nodes if key in node.labels})) for key in sorted(keys)]
    unknown = asked - keys - _OF_NODES
    pairs = sorted({(node.labels.get(CAPACITY_TYPE, ""), node.labels.get(ZONE, "")) for node in nodes})
    return InstanceType(
        name=name,
        requirements=(
            NodeSelectorRequirement(INSTANCE_TYPE, "In", (name,)),
            *(NodeSelectorRequirement(key, "In", tuple(values)) for key, values in labels if values),
            *(NodeSelectorRequirement(key, "Exists", ()) for key in sorted(unknown)),
        ),
        seen_on=len(nodes),
        unknown_keys=unknown,
        capacity=smallest.capacity,
        overhead=Overhead(kube_reserved=resources.subtract(smallest.capacity, smallest.allocatable)),
        offerings=tuple(
            Offering(
                requirements=tuple(
                    NodeSelectorRequirement(key, "In", (value,))
                    for key, value in ((CAPACITY_TYPE, capacity_type), (ZONE, zone))
                    if value
                ),
                price_per_hour=0.0,
            )
            for capacity_type, zone in pairs
        ),
    )


KUBELET_PODS: Final = 110
"""The kubelet's own default: metrics do not say how many pods a type takes."""
_TOLD: Final = frozenset({INSTANCE_TYPE, CAPACITY_TYPE, ZONE})
"""Labels of a type that metrics tell."""


def with_metrics(
    seen: tuple[InstanceType, ...], metrics: ControllerMetrics | None, asked: frozenset[str]
) -> tuple[InstanceType, ...]:
    """Return types as Karpenter's own metrics know them: their offerings and prices, and types that no node shows.

    Of a type that no node shows cpu, memory and offerings are known and its labels are not: it is left out where any
    other label is asked for. What its nodes keep back is taken as the largest share that nodes of other types do.

    Args:
        seen: What nodes show.
        metrics: What Karpenter says; None where nobody asks.
        asked: Labels that NodePools and pods ask for.
    """
    offerings = _offerings(metrics) if metrics is not None else {}
    if metrics is None or not offerings:
        return seen
    priced = tuple(
        msgspec.structs.replace(one, offerings=offerings[one.name]) if one.name in offerings else one for one in seen
    )
    if asked - _TOLD - {NODEPOOL}:
        return priced
    known = {one.name for one in seen}
    share = {name: max((_kept_share(one, name) for one in seen), default=0.0) for name in (CPU, MEMORY)}
    named = sorted((metrics.cpu_cores.keys() & metrics.memory_bytes.keys() & offerings.keys()) - known)
    return (*priced, *(_named(name, metrics, offerings[name], share) for name in named))


def _offerings(metrics: ControllerMetrics) -> dict[str, tuple[Offering, ...]]:
    """Return what the metrics offer by type; without a price nothing can be launched there."""
    found: dict[str, list[Offering]] = {}
    for name, one in metrics.offerings.items():
        found.setdefault(name.instance_type, []).append(
            Offering(
                requirements=tuple(
                    NodeSelectorRequirement(key, "In", (value,))
                    for key, value in ((CAPACITY_TYPE, name.capacity_type), (ZONE, name.zone))
                    if value
                ),
                price_per_hour=one.price_per_hour or 0.0,
                is_available=one.is_available is not False,
            )
        )
    return {name: tuple(offerings) for name, offerings in found.items()}


def _kept_share(one: InstanceType, name: str) -> float:
    """Return which share of a resource the nodes of a type keep back."""
    whole = resources.nano(one.capacity, name)
    return resources.nano(one.overhead.kube_reserved, name) / whole if whole else 0.0


def _named(
    name: str, metrics: ControllerMetrics, offerings: tuple[Offering, ...], share: dict[str, float]
) -> InstanceType:
    capacity: dict[str, Quantity] = {
        CPU: of_millis(metrics.cpu_cores[name] * 1000),
        MEMORY: of_units(metrics.memory_bytes[name], QuantityFormat.BINARY_SI),
        PODS: of_units(KUBELET_PODS),
    }
    kept = {key: Quantity(int(amount.nano * share.get(key, 0.0)), amount.format) for key, amount in capacity.items()}
    return InstanceType(
        name=name,
        requirements=(NodeSelectorRequirement(INSTANCE_TYPE, "In", (name,)),),
        is_named=True,
        capacity=capacity,
        overhead=Overhead(kube_reserved=kept),
        offerings=offerings,
    )
