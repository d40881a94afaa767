"""Instance types of EKS Auto Mode: EC2's catalogue with the limits that AWS documents.

*Approximated*, because Auto Mode's Karpenter is not public. Source, as of November 2026: the EKS User Guide, "Managed
instances" (families, sizes, local disks), "Create node pool" (labels), "Create node class" (ephemeral storage, 110
pods). Reserved resources are undocumented: they are those reported by nodes of the type, otherwise Karpenter's for
Bottlerocket, the OS of Auto Mode.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from karptui.aws.capacity import GIGABYTE, POD_ENI
from karptui.aws.cluster_types import by_instance_type
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.instance_types import instance_types
from karptui.aws.kubelet import eni_limited_pods
from karptui.aws.nodeclass import (
    AUTO_MODE,
    RAID0,
    Ec2NodeClass,
    Kubelet,
    NodeClassError,
    Status,
    Subnet,
    SubnetZone,
    read_auto_mode,
)
from karptui.aws.prices import Market, PriceSettings
from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.karpenter.labels import AUTO_MODE_GROUP, AUTO_MODE_LABELS, AWS_GROUP, CAPACITY_TYPE, COMPUTE_TYPE
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.settings import Settings
from karptui.kube.objects import Node
from karptui.kube.quantity import QuantityError, parse_quantity
from karptui.kube.recent import Recent
from karptui.kube.resources import memory_bytes, subtract
from karptui.kube.selectors import NodeSelectorRequirement

_FAMILIES: Final = (
    "c8id c8i c8i-flex c8gd c8gn c8g c8a c8gb c7a c7g c7gn c7gd c7i c7i-flex c6a c6g c6i c6gn c6id c6in c6gd c5 "
    "c5a c5d c5ad c5n c4 m8id m8i m8i-flex m8a m8azn m8gn m8gb m8gd m8g m7i m7a m7g m7gd m7i-flex m6a m6i m6in "
    "m6g m6idn m6id m6gd m5 m5a m5ad m5n m5dn m5d m5zn m4 r8id r8i r8i-flex r8gn r8gb r8gd r8g r8a r7a r7iz r7gd "
    "r7i r7g r6a r6i r6id r6in r6idn r6g r6gd r5 r5n r5a r5dn r5b r5ad r5d r4 t4g t3 t3a t2 z1d x8aedz x8g x8i "
    "x2gd i8ge i7i i8g i7ie i4g i4i i3 i3en is4gen d3 d3en im4gn p6-b200 p6-b300 p5 p5e p5en p4d p4de p3dn g7e g6 "
    "gr6 g6e g5g g5 g4dn g4ad inf2 inf1 trn1 trn1n trn2 hpc8a x2iezn x2iedn x2idn "
)
FAMILIES: Final = frozenset(_FAMILIES.split())
"""Families that Auto Mode launches."""
TOO_SMALL: Final = frozenset({"nano", "micro", "small"})
MOST_PODS: Final = 110
SOURCE: Final = "the EKS User Guide of November 2026"


_cache: Final[Recent[Any, tuple[InstanceType, ...]]] = Recent(most=8, patience=64)


def is_launched(facts: InstanceTypeFacts) -> bool:
    """Return whether Auto Mode launches a type: a supported family, more than one CPU, and a supported size."""
    return facts.family in FAMILIES and facts.vcpus > 1 and facts.size not in TOO_SMALL


def auto_mode_types(
    nodeclass: NodeClass,
    settings: Settings,
    market: Market,
    *,
    facts: Iterable[InstanceTypeFacts],
    nodes: Iterable[Node] = (),
    seen_zones: tuple[SubnetZone, ...] = (),
    prices: PriceSettings,
    requested_labels: frozenset[str] = frozenset(),
) -> tuple[InstanceType, ...]:
    """Return every type that Auto Mode launches for a NodeClass, with Auto Mode's charge included in the prices.

    Args:
        settings: Karpenter's settings; Auto Mode's are not visible.
        nodes: Nodes of the NodeClass; their reported capacity is used.
        seen_zones: Zones of nodes, for a NodeClass without subnets in its status.
        prices: Auto Mode's charge on top of EC2.
        requested_labels: Labels requested by pods and NodePools; types have unknown values for undocumented ones.

    Raises:
        NodeClassError: If no zone is known.
    """
    parsed = read_auto_mode(nodeclass)
    if not parsed.zones:
        subnets = tuple(Subnet(zone=zone.name, zone_id=zone.zone_id) for zone in seen_zones)
        parsed = msgspec.structs.replace(parsed, status=Status(subnets=subnets))
    if not parsed.zones:
        raise NodeClassError(f"NodeClass {nodeclass.name}: no subnet is known: Auto Mode launches no nodes")
    chosen = tuple(type_facts for type_facts in facts if is_launched(type_facts))
    unknown = frozenset(key for key in requested_labels if key.startswith(f"{AUTO_MODE_GROUP}/")) - _DOCUMENTED
    share = prices.auto_mode_share / prices.multiplier if prices.multiplier else 0.0
    inputs = (parsed, settings, msgspec.structs.astuple(market), chosen, unknown, share)
    types = _cache.get(inputs, lambda: tuple(_resolved(parsed, settings, market, chosen, unknown=unknown, share=share)))
    reported = _smallest(nodes)
    return tuple(_with_reported(item, reported[item.name]) if item.name in reported else item for item in types)


_DOCUMENTED: Final = AUTO_MODE_LABELS | {COMPUTE_TYPE, f"{AUTO_MODE_GROUP}/nodeclass"}


def _resolved(
    nodeclass: Ec2NodeClass,
    settings: Settings,
    market: Market,
    facts: tuple[InstanceTypeFacts, ...],
    *,
    unknown: frozenset[str],
    share: float,
) -> Iterable[InstanceType]:
    by_kind: dict[tuple[bool, bool], list[InstanceTypeFacts]] = {}
    storage_bytes = _storage_bytes(nodeclass)
    for type_facts in facts:
        is_capped = eni_limited_pods(type_facts, settings.reserved_enis, 0) > MOST_PODS
        uses_disks = type_facts.store_nvme and (type_facts.store_gb or 0) * GIGABYTE > storage_bytes
        by_kind.setdefault((is_capped, uses_disks), []).append(type_facts)
    resolved: dict[str, InstanceType] = {}
    for (is_capped, uses_disks), of_kind in by_kind.items():
        spec = msgspec.structs.replace(
            nodeclass.spec,
            kubelet=Kubelet(max_pods=MOST_PODS) if is_capped else None,
            instance_store_policy=RAID0 if uses_disks else None,
        )
        variant = msgspec.structs.replace(nodeclass, spec=spec)
        resolved.update((item.name, item) for item in instance_types(variant, settings, market, facts=of_kind))
    for type_facts in facts:
        charge_per_hour = market.on_demand.price_per_hour.get(type_facts.name, 0.0) * share
        yield _renamed(resolved[type_facts.name], unknown, charge_per_hour)


def _storage_bytes(nodeclass: Ec2NodeClass) -> int:
    device = nodeclass.block_devices[0]
    size = device.ebs.volume_size if device.ebs is not None else None
    try:
        return AUTO_MODE.default_storage_bytes if size is None else parse_quantity(str(size)).units
    except QuantityError as error:
        raise NodeClassError(f"NodeClass {nodeclass.name}: spec.ephemeralStorage.size: {error}") from None


def _renamed(instance_type: InstanceType, unknown: frozenset[str], charge_per_hour: float) -> InstanceType:
    """Return a type with Auto Mode's labels, and with its charge added to every price."""
    return msgspec.structs.replace(
        instance_type,
        requirements=(
            *_renamed_labels(instance_type.requirements),
            NodeSelectorRequirement(COMPUTE_TYPE, "In", ("auto",)),
            *(NodeSelectorRequirement(key, "Exists", ()) for key in sorted(unknown)),
        ),
        unknown_keys=unknown,
        # Auto Mode has no security groups for pods.
        capacity={name: amount for name, amount in instance_type.capacity.items() if name != POD_ENI},
        offerings=tuple(_charged(offering, charge_per_hour) for offering in instance_type.offerings),
    )


def _charged(offering: Offering, charge_per_hour: float) -> Offering:
    price = offering.price_per_hour
    return msgspec.structs.replace(
        offering,
        requirements=tuple(_renamed_labels(offering.requirements)),
        price_per_hour=price + charge_per_hour if price else price,
    )


def _renamed_labels(requirements: Iterable[NodeSelectorRequirement]) -> Iterable[NodeSelectorRequirement]:
    for requirement in requirements:
        group, _, name = requirement.key.partition("/")
        if group != AWS_GROUP:
            yield requirement
        elif (key := f"{AUTO_MODE_GROUP}/{name}") in AUTO_MODE_LABELS:
            yield msgspec.structs.replace(requirement, key=key)


def _smallest(nodes: Iterable[Node]) -> dict[str, Node]:
    by_type = by_instance_type(node for node in nodes if node.labels.get(CAPACITY_TYPE))
    return {name: min(of_type, key=lambda node: memory_bytes(node.allocatable)) for name, of_type in by_type}


def _with_reported(instance_type: InstanceType, node: Node) -> InstanceType:
    reserved = subtract(node.capacity, node.allocatable)
    return msgspec.structs.replace(instance_type, capacity=node.capacity, overhead=Overhead(kube_reserved=reserved))
