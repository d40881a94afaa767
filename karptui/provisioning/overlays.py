"""NodeOverlays: changes by the cluster's operator to prices and extended resources.

Rules: ``pkg/controllers/nodeoverlay/controller.go``, ``store.go`` and ``AdjustedPrice`` in
``pkg/cloudprovider/types.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from karptui.karpenter.instance_type import InstanceType, NodeOverlay, Offering
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import NODEPOOL, WELL_KNOWN
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import IN, Requirement, Requirements
from karptui.kube.quantity import Quantity
from karptui.kube.recent import Recent
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.provisioning.waiting_pods import requirement_problems

_STANDARD_RESOURCES: Final = frozenset(
    {
        "cpu",
        "memory",
        "ephemeral-storage",
        "pods",
        "vpc.amazonaws.com/pod-eni",
        "aws.amazon.com/neuron",
        "aws.amazon.com/neuroncore",
        "habana.ai/gaudi",
        "vpc.amazonaws.com/efa",
    }
)
"""Resources that a NodeOverlay may not set."""


class _Update:
    __slots__ = ("capacity", "lowest_capacity", "lowest_capacity_weight", "lowest_price_weight", "prices")

    def __init__(self) -> None:
        self.prices: dict[str, str] = {}
        """Price or adjustment by the text of the offering's requirements."""
        self.lowest_price_weight: dict[str, int] = {}
        self.capacity: dict[str, Quantity] = {}
        self.lowest_capacity: frozenset[str] = frozenset()
        self.lowest_capacity_weight = 0


class OverlayStore:
    """Changes by NodePool and type."""

    def __init__(self) -> None:
        self._updates: dict[tuple[str, str], _Update] = {}
        self._requirements: dict[tuple[NodeSelectorRequirement, ...], Requirements] = {}

    def _of(self, selectors: tuple[NodeSelectorRequirement, ...]) -> Requirements:
        matches = self._requirements.get(selectors)
        if matches is None:
            matches = self._requirements[selectors] = Requirements.from_selectors(selectors)
        return matches

    def matching(
        self, overlay: Requirements, labels: Requirements, instance_type: InstanceType
    ) -> list[tuple[str, Offering]]:
        """Return the offerings of a type that an overlay matches, each with its requirements as text.

        Args:
            labels: Labels of the NodePool.
        """
        if not labels.merge(self._of(instance_type.requirements)).compatible(overlay):
            return []
        matches = []
        for offering in instance_type.offerings:
            requirements = self._of(offering.requirements)
            if overlay.compatible(requirements, WELL_KNOWN):
                matches.append((str(requirements), offering))
        return matches

    def conflicts(self, overlay: NodeOverlay, key: tuple[str, str], offerings: Sequence[tuple[str, Offering]]) -> bool:
        """Return whether an overlay of the same weight has already set the same price or resource."""
        update = self._updates.get(key)
        if update is None:
            return False
        if _price_of(overlay) is not None and any(
            update.lowest_price_weight.get(text) == overlay.weight for text, _ in offerings
        ):
            return True
        return update.lowest_capacity_weight == overlay.weight and not update.lowest_capacity.isdisjoint(
            overlay.capacity
        )

    def apply(self, overlay: NodeOverlay, key: tuple[str, str], offerings: Sequence[tuple[str, Offering]]) -> None:
        """Apply an overlay; values set by heavier overlays remain."""
        price = _price_of(overlay)
        if price is None and not overlay.capacity:
            return
        update = self._updates.setdefault(key, _Update())
        if price is not None:
            for text, _ in offerings:
                update.prices.setdefault(text, price)
                update.lowest_price_weight[text] = overlay.weight
        if overlay.capacity:
            for name, amount in overlay.capacity.items():
                update.capacity.setdefault(name, amount)
            update.lowest_capacity = frozenset(overlay.capacity)
            update.lowest_capacity_weight = overlay.weight

    def overlaid(self, pool: NodePool, instance_type: InstanceType) -> InstanceType:
        """Return a type with its changes applied."""
        update = self._updates.get((pool.name, instance_type.name))
        if update is None:
            return instance_type
        offerings = []
        for offering in instance_type.offerings:
            change = update.prices.get(str(self._of(offering.requirements)))
            if change is None:
                offerings.append(offering)
            else:
                offerings.append(
                    msgspec.structs.replace(
                        offering,
                        price_per_hour=adjusted_price(offering.price_per_hour, change),
                        capacity_override=None,
                        overhead_override=None,
                        is_price_overlaid=True,
                    )
                )
        return msgspec.structs.replace(
            instance_type,
            capacity={**instance_type.capacity, **update.capacity},
            offerings=tuple(offerings),
        )


def _price_of(overlay: NodeOverlay) -> str | None:
    return overlay.price_adjustment if overlay.price is None else overlay.price


def adjusted_price(price_per_hour: float, change: str) -> float:
    """Return a price after a change: ``0.5`` sets it, ``+0.1`` and ``-10%`` adjust it, never below zero."""
    if not change:
        return price_per_hour
    if change[0] not in "+-":
        return float(change)
    if change.endswith("%"):
        return max(0.0, price_per_hour * (1 + float(change[:-1]) / 100))
    return max(0.0, price_per_hour + float(change))


def overlay_problems(overlay: NodeOverlay) -> list[str]:
    """Return the reason why Karpenter rejects an overlay, in Karpenter's words."""
    problems = [
        f"invalid value: {problem} in requirements, restricted"
        for requirement in overlay.requirements
        for problem in requirement_problems(requirement)
    ]
    problems.extend(
        f"key {requirement.key} with operator NotIn must have a value defined"
        for requirement in overlay.requirements
        if requirement.operator == "NotIn" and not requirement.values
    )
    problems.extend(
        f"invalid capacity: {name} in resource, restricted" for name in overlay.capacity if name in _STANDARD_RESOURCES
    )
    return problems


class OverlayEffect(msgspec.Struct, frozen=True):
    """The outcome of one NodeOverlay."""

    overlay: NodeOverlay
    types: frozenset[tuple[str, str]] = frozenset()
    """NodePools and their types that it matches."""
    problems: tuple[str, ...] = ()
    """Why Karpenter rejects it."""
    conflicts_with: str = ""
    """An overlay of the same weight that sets the same: then this one is not applied at all."""


class _Overlaid(NamedTuple):
    effects: tuple[OverlayEffect, ...]
    types: dict[str, Sequence[InstanceType]]


_OVERLAID: Final[Recent[tuple[object, ...], _Overlaid]] = Recent(most=4, patience=16)


def effects(inventory: Inventory, by_pool: Mapping[str, Sequence[InstanceType]]) -> tuple[OverlayEffect, ...]:
    """Return the outcome of each NodeOverlay, heaviest first."""
    return _applied(inventory, by_pool).effects


def overlaid(inventory: Inventory, by_pool: Mapping[str, Sequence[InstanceType]]) -> dict[str, Sequence[InstanceType]]:
    """Return the instance types of every NodePool with NodeOverlays applied, heaviest first.

    An overlay that conflicts with another of the same weight is not applied at all.
    """
    return _applied(inventory, by_pool).types


def _applied(inventory: Inventory, by_pool: Mapping[str, Sequence[InstanceType]]) -> _Overlaid:
    """Apply the NodeOverlays; the same types as before as long as nothing has changed that they depend on."""
    pools = [(pool.name, pool.template_labels, by_pool[pool.name]) for pool in inventory.nodepools]
    return _OVERLAID.get((inventory.overlays, pools), lambda: _apply(inventory, by_pool))


def _apply(inventory: Inventory, by_pool: Mapping[str, Sequence[InstanceType]]) -> _Overlaid:
    store = OverlayStore()
    overlays = sorted(inventory.overlays, key=lambda overlay: overlay.name, reverse=True)
    overlays.sort(key=lambda overlay: -overlay.weight)
    labels = {
        pool.name: Requirements([Requirement.of(NODEPOOL, IN, (pool.name,))]).merge(
            Requirements.from_labels(pool.template_labels)
        )
        for pool in inventory.nodepools
    }
    effects_found: list[OverlayEffect] = []
    for overlay in overlays:
        if problems := overlay_problems(overlay):
            effects_found.append(OverlayEffect(overlay, problems=tuple(problems)))
            continue
        requirements = Requirements.from_selectors(overlay.requirements)
        matches = [
            ((pool.name, instance_type.name), offerings)
            for pool in inventory.nodepools
            for instance_type in by_pool[pool.name]
            if (offerings := store.matching(requirements, labels[pool.name], instance_type))
        ]
        keys = frozenset(key for key, _ in matches)
        clashing = frozenset(key for key, offerings in matches if store.conflicts(overlay, key, offerings))
        if clashing:
            alike = (
                effect
                for effect in effects_found
                if effect.overlay.weight == overlay.weight and not effect.conflicts_with
            )
            other = next((effect.overlay.name for effect in alike if effect.types & clashing), "another")
            effects_found.append(OverlayEffect(overlay, keys, conflicts_with=other))
            continue
        for key, offerings in matches:
            store.apply(overlay, key, offerings)
        effects_found.append(OverlayEffect(overlay, keys))
    touched = {pool for effect in effects_found if not effect.conflicts_with for pool, _ in effect.types}
    types = {
        pool.name: tuple(store.overlaid(pool, instance_type) for instance_type in by_pool[pool.name])
        if pool.name in touched
        else by_pool[pool.name]
        for pool in inventory.nodepools
    }
    return _Overlaid(tuple(effects_found), types)
