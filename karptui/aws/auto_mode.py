"""The instance types of EKS Auto Mode: EC2's catalogue under the rules that AWS documents.

*Approximated*: nobody outside AWS can look into the Karpenter of Auto Mode. Source, as read in November 2026: the EKS
User Guide, "Managed instances" (families, sizes, local disks), "Create node pool" (labels), "Create node class"
(ephemeral storage, 110 pods). What it keeps back of a node is not documented: it is what nodes of the type report, else
what Karpenter reckons for Bottlerocket, which Auto Mode runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.instance_types import instance_types
from karptui.aws.market import Market
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
from karptui.aws.pod_slots import eni_limited_pods
from karptui.aws.prices import PriceSettings
from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.karpenter.labels import (
    AUTO_MODE_GROUP,
    AUTO_MODE_LABELS,
    AWS_GROUP,
    CAPACITY_TYPE,
    COMPUTE_TYPE,
    INSTANCE_TYPE,
)
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.settings import Settings
from karptui.kube import resources
from karptui.kube.node import Node
from karptui.kube.quantity import QuantityError, parse_quantity
from karptui.kube.recent import Recent
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

_GIGABYTE: Final = 10**9
_NO_SECURITY_GROUPS_FOR_PODS: Final = "vpc.amazonaws.com/pod-eni"

_known: Final[Recent[Any, tuple[InstanceType, ...]]] = Recent(most=8, patience=64)


def is_launched(facts: InstanceTypeFacts) -> bool:
    """Return whether Auto Mode launches a type: a family that it takes, more than one CPU, and not too small."""
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
    asked: frozenset[str] = frozenset(),
) -> tuple[InstanceType, ...]:
    """Return every type that Auto Mode launches for a NodeClass, what it charges itself in their prices.

    Args:
        nodeclass: Of the group ``eks.amazonaws.com``.
        settings: Karpenter's; those of Auto Mode cannot be seen.
        market: What the region sells.
        facts: What EC2 says of its types.
        nodes: Nodes of the NodeClass: what they report of their type counts.
        seen_zones: Zones that nodes stand in, for a NodeClass whose status names none.
        prices: What Auto Mode costs beside EC2.
        asked: Labels that pods and NodePools ask for; which of them types have is not known but for documented ones.

    Raises:
        NodeClassError: No zone is known.
    """
    parsed = read_auto_mode(nodeclass)
    if not parsed.zones:
        subnets = tuple(Subnet(zone=zone.name, zone_id=zone.zone_id) for zone in seen_zones)
        parsed = msgspec.structs.replace(parsed, status=Status(subnets=subnets))
    if not parsed.zones:
        raise NodeClassError(f"NodeClass {nodeclass.name}: no subnet is known: Auto Mode launches nothing")
    chosen = tuple(one for one in facts if is_launched(one))
    unknown = frozenset(key for key in asked if key.startswith(f"{AUTO_MODE_GROUP}/")) - _DOCUMENTED
    share = prices.auto_mode_share / prices.multiplier if prices.multiplier else 0.0
    inputs = (parsed, settings, msgspec.structs.astuple(market), chosen, unknown, share)
    types = _known.get(inputs, lambda: tuple(_resolved(parsed, settings, market, chosen, unknown=unknown, share=share)))
    reported = _smallest(nodes)
    return tuple(_as_reported(one, reported[one.name]) if one.name in reported else one for one in types)


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
    for one in facts:
        is_capped = eni_limited_pods(one, settings.reserved_enis, 0) > MOST_PODS
        uses_disks = one.store_nvme and (one.store_gb or 0) * _GIGABYTE > storage_bytes
        by_kind.setdefault((is_capped, uses_disks), []).append(one)
    found: dict[str, InstanceType] = {}
    for (is_capped, uses_disks), of_kind in by_kind.items():
        spec = msgspec.structs.replace(
            nodeclass.spec,
            kubelet=Kubelet(max_pods=MOST_PODS) if is_capped else None,
            instance_store_policy=RAID0 if uses_disks else None,
        )
        own = msgspec.structs.replace(nodeclass, spec=spec)
        found.update((one.name, one) for one in instance_types(own, settings, market, facts=of_kind))
    for one in facts:
        yield _renamed(found[one.name], unknown, market.on_demand.price_per_hour.get(one.name, 0.0) * share)


def _storage_bytes(nodeclass: Ec2NodeClass) -> int:
    device = nodeclass.block_devices[0]
    size = device.ebs.volume_size if device.ebs is not None else None
    try:
        return AUTO_MODE.default_storage_bytes if size is None else parse_quantity(str(size)).units
    except QuantityError as error:
        raise NodeClassError(f"NodeClass {nodeclass.name}: spec.ephemeralStorage.size: {error}") from None


def _renamed(one: InstanceType, unknown: frozenset[str], charge_per_hour: float) -> InstanceType:
    """Return a type with Auto Mode's own labels, and with what it charges in every price."""
    return msgspec.structs.replace(
        one,
        requirements=(
            *_own_labels(one.requirements),
            NodeSelectorRequirement(COMPUTE_TYPE, "In", ("auto",)),
            *(NodeSelectorRequirement(key, "Exists", ()) for key in sorted(unknown)),
        ),
        unknown_keys=unknown,
        capacity={name: amount for name, amount in one.capacity.items() if name != _NO_SECURITY_GROUPS_FOR_PODS},
        offerings=tuple(_charged(offering, charge_per_hour) for offering in one.offerings),
    )


def _charged(offering: Offering, charge_per_hour: float) -> Offering:
    price = offering.price_per_hour
    return msgspec.structs.replace(
        offering,
        requirements=tuple(_own_labels(offering.requirements)),
        price_per_hour=price + charge_per_hour if price else price,
    )


def _own_labels(requirements: Iterable[NodeSelectorRequirement]) -> Iterable[NodeSelectorRequirement]:
    for one in requirements:
        group, _, name = one.key.partition("/")
        if group != AWS_GROUP:
            yield one
        elif (own := f"{AUTO_MODE_GROUP}/{name}") in AUTO_MODE_LABELS:
            yield msgspec.structs.replace(one, key=own)


def _smallest(nodes: Iterable[Node]) -> dict[str, Node]:
    """Return the node of each type that leaves the least memory to pods."""
    found: dict[str, Node] = {}
    for node in nodes:
        name = node.labels.get(INSTANCE_TYPE, "")
        if name and node.capacity and node.labels.get(CAPACITY_TYPE):
            found[name] = min(found.get(name, node), node, key=lambda one: resources.memory_bytes(one.allocatable))
    return found


def _as_reported(one: InstanceType, node: Node) -> InstanceType:
    kept = resources.subtract(node.capacity, node.allocatable)
    return msgspec.structs.replace(one, capacity=node.capacity, overhead=Overhead(kube_reserved=kept))
