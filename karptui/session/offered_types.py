"""The instance types that each NodePool chooses from, and what was assumed about them; resolved once for everybody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from karptui.aws.auto_mode import SOURCE, auto_mode_types
from karptui.aws.cluster_types import ClusterTypes, cluster_types
from karptui.aws.evidence import Evidence, markets_of
from karptui.aws.live import live_instance_types
from karptui.aws.market import region_of
from karptui.aws.nodeclass import NodeClassError
from karptui.aws.region import node_zones, zones_of
from karptui.decode.kinds import Kind
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import (
    NODEPOOL,
)
from karptui.karpenter.nodeclass import EC2_KIND, is_auto_mode, is_ec2
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.kube.units import counted
from karptui.provisioning import InstanceTypes
from karptui.session.cluster_view import ClusterView
from karptui.session.last_answer import LastAnswer
from karptui.session.seen_types import asked_keys, seen_types, shown_by, with_metrics
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
    auto_mode = _AutoMode(inventory, settings, evidence)
    notes: list[str] = []
    seen: tuple[InstanceType, ...] | None = None
    for pool in inventory.nodepools:
        found = resolved.of(pool.node_class_ref)
        if found is not None:
            by_pool[pool.name] = found.types
        elif is_auto_mode(pool.node_class_ref):
            by_pool[pool.name] = own = auto_mode.of(pool)
            notes.append(auto_mode_note(pool, own))
        elif not is_ec2(pool.node_class_ref):
            by_pool[pool.name] = seen = _seen(inventory, evidence) if seen is None else seen
            notes.append(seen_note(pool, seen))
        else:
            notes.append(f"NodePool {pool.name}: no instance types are known for {EC2_KIND} {pool.node_class_ref.name}")
    return OfferedTypes(by_pool, resolved, tuple(dict.fromkeys(notes)))


def _seen(inventory: Inventory, evidence: Evidence) -> tuple[InstanceType, ...]:
    asked = asked_keys(inventory)
    return with_metrics(seen_types(shown_by(inventory), asked), evidence.metrics, asked)


class _AutoMode:
    """The types of the NodePools of EKS Auto Mode, worked out where there are any."""

    def __init__(self, inventory: Inventory, settings: Settings, evidence: Evidence) -> None:
        self._inventory, self._settings, self._evidence = inventory, settings, evidence
        self._by_nodeclass: dict[str, tuple[InstanceType, ...]] = {}

    def of(self, pool: NodePool) -> tuple[InstanceType, ...]:
        """Return what AWS documents for a NodePool, and what its nodes show beside; these alone without a NodeClass."""
        name = pool.node_class_ref.name
        if name not in self._by_nodeclass:
            self._by_nodeclass[name] = self._types(name)
        return self._by_nodeclass[name]

    def _types(self, name: str) -> tuple[InstanceType, ...]:
        inventory, evidence = self._inventory, self._evidence
        pools = {pool.name for pool in inventory.nodepools if is_auto_mode(pool.node_class_ref)}
        pools &= {pool.name for pool in inventory.nodepools if pool.node_class_ref.name == name}
        nodes = [node for node in inventory.nodes if node.labels.get(NODEPOOL) in pools]
        asked, zones = asked_keys(inventory), node_zones(inventory.nodes)
        nodeclass = next((one for one in inventory.nodeclasses if is_auto_mode(one) and one.name == name), None)
        if nodeclass is None:
            return seen_types(nodes, asked)
        own = zones_of(nodeclass) or zones
        region = next(filter(None, (region_of(zone.name) for zone in own)), "")
        try:
            documented = auto_mode_types(
                nodeclass,
                self._settings,
                markets_of(evidence, has_overlays=bool(inventory.overlays))(region, own),
                facts=live_instance_types(evidence.facts).values(),
                nodes=nodes,
                seen_zones=zones,
                prices=evidence.price_settings,
                asked=asked,
            )
        except NodeClassError:
            return seen_types(nodes, asked)
        known = {one.name for one in documented}
        return (*documented, *(one for one in seen_types(nodes, asked) if one.name not in known))


def auto_mode_note(pool: NodePool, types: Sequence[InstanceType]) -> str:
    """Return what the types of a NodePool of EKS Auto Mode are taken from, and what is reckoned of them."""
    documented = sum(not one.seen_on for one in types)
    if not documented:
        return seen_note(pool, types)
    return (
        f"NodeClass {pool.node_class_ref.name} of EKS Auto Mode: {counted(documented, 'type')} as {SOURCE} lists them; "
        "approximated: what a node keeps back where no node of the type shows it, and what Auto Mode charges"
    )


def seen_note(pool: NodePool, types: Sequence[InstanceType]) -> str:
    """Return what is not known of a NodePool of another provider."""
    kind = pool.node_class_ref.kind or "its NodeClass"
    if not types:
        return f"NodePool {pool.name}: no instance types of {kind} are known, and no node shows one"
    seen = [one for one in types if one.seen_on]
    shown = f"{counted(len(seen), 'type')} seen on {counted(sum(one.seen_on for one in seen), 'node')}"
    if not any(one.price_per_hour for found in types for one in found.offerings):
        return f"NodePool {pool.name}: the instance types and prices of {kind} are not known: {shown} stand for them"
    if named := sum(one.is_named for one in types):
        return (
            f"NodePool {pool.name}: of {kind} Karpenter's metrics tell prices, and cpu and memory of "
            f"{counted(named, 'type')} beside the {shown}; what those keep back and their labels are not known"
        )
    return (
        f"NodePool {pool.name}: of {kind} Karpenter's metrics tell the prices of {shown}; labels of its other types "
        "are not known"
    )
