"""The instance types that each NodePool chooses from, and what was assumed about them; resolved once for everybody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from karptui.aws.cluster_types import ClusterTypes, cluster_types
from karptui.aws.evidence import Evidence, markets_of
from karptui.aws.live import live_instance_types
from karptui.decode.kinds import Kind
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
from karptui.karpenter.nodeclass import EC2_KIND, is_ec2
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.kube import resources
from karptui.kube.node import Node
from karptui.kube.pod import PodTemplate
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.units import counted
from karptui.provisioning import InstanceTypes
from karptui.session.cluster_view import ClusterView
from karptui.session.last_answer import LastAnswer
from karptui.state.inventory import inventory_of


class OfferedTypes(msgspec.Struct, frozen=True, eq=False):
    """What the NodePools of a cluster choose from."""

    types: InstanceTypes
    """Before NodeOverlays."""
    nodeclasses: ClusterTypes
    """What each EC2NodeClass comes to; empty where the types came with a snapshot."""
    pool_notes: tuple[str, ...] = ()
    """What was assumed for single NodePools, in sentences."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything that was assumed, in sentences."""
        return (*self.nodeclasses.notes, *self.nodeclasses.problems.values(), *self.pool_notes)


_OFFERED: Final[LastAnswer[OfferedTypes]] = LastAnswer()
_NO_NODECLASSES: Final = ClusterTypes(by_nodeclass={}, problems={}, notes=())


def offered_types_of(view: ClusterView) -> OfferedTypes:
    """Return what the NodePools of a view choose from; the same object as long as nothing that counts has changed."""
    state, evidence = view.state, view.evidence
    return _OFFERED.get(
        (state.nodepools, state.nodeclasses, state.nodes, state.nodeclaims, state.of(Kind.NODEOVERLAY), evidence),
        lambda: offered_types(inventory_of(state), evidence.settings, evidence),
    )


def offered_types(inventory: Inventory, settings: Settings, evidence: Evidence) -> OfferedTypes:
    """Return what the NodePools of a cluster choose from.

    Types are those that came with a snapshot, else what each EC2NodeClass comes to, else what nodes of other
    providers report.

    Args:
        inventory: The cluster.
        settings: Karpenter's; they need not be those of the evidence.
        evidence: What is known of instance types and prices.
    """
    if evidence.instance_types is not None:
        return OfferedTypes(evidence.instance_types, _NO_NODECLASSES)
    resolved = cluster_types(
        inventory,
        settings,
        market_of=markets_of(evidence, has_overlays=bool(inventory.overlays)),
        facts=live_instance_types(evidence.facts).values(),
    )
    by_pool: dict[str, Sequence[InstanceType]] = {}
    notes: list[str] = []
    seen: tuple[InstanceType, ...] | None = None
    for pool in inventory.nodepools:
        found = resolved.of(pool.node_class_ref)
        if found is not None:
            by_pool[pool.name] = found.types
        elif not is_ec2(pool.node_class_ref):
            by_pool[pool.name] = seen = seen_types(inventory.nodes, asked_keys(inventory)) if seen is None else seen
            notes.append(seen_note(pool, seen))
        else:
            notes.append(f"NodePool {pool.name}: no instance types are known for {EC2_KIND} {pool.node_class_ref.name}")
    return OfferedTypes(by_pool, resolved, tuple(notes))


def seen_note(pool: NodePool, seen: Sequence[InstanceType]) -> str:
    """Return what is not known of a NodePool of another provider."""
    kind = pool.node_class_ref.kind or "its NodeClass"
    if not seen:
        return f"NodePool {pool.name}: no instance types of {kind} are known, and no node shows one"
    types, nodes = counted(len(seen), "type"), counted(sum(one.seen_on for one in seen), "node")
    return (
        f"NodePool {pool.name}: the instance types and prices of {kind} are not known: {types} seen on {nodes} "
        "stand for them"
    )


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


def seen_types(nodes: Iterable[Node], asked: frozenset[str] = frozenset()) -> tuple[InstanceType, ...]:
    """Return a type for every instance type label, as small as the smallest of its nodes, with its nodes' labels.

    Offerings are the zones and capacity types that nodes have; their prices are not known and stand as 0. Of labels
    that are asked for and that no node of a type has, any value may be there.
    """
    by_type: dict[str, list[Node]] = {}
    for node in nodes:
        name = node.labels.get(INSTANCE_TYPE, "")
        if name and node.capacity:
            by_type.setdefault(name, []).append(node)
    return tuple(_seen(name, of_type, asked) for name, of_type in sorted(by_type.items()))


_OF_NODES: Final = frozenset({HOSTNAME, NODEPOOL, REGISTERED, INITIALIZED, CAPACITY_TYPE, INSTANCE_TYPE})
"""Labels that say nothing of a type beside its name and its offerings."""


def _seen(name: str, nodes: list[Node], asked: frozenset[str]) -> InstanceType:
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
