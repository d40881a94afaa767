"""Reservations as large as the node: what the kubelet keeps back leaves nothing for pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from karptui.aws.instance_types import allocatable
from karptui.aws.lint.finding import Finding, Severity
from karptui.karpenter.instance_type import InstanceType
from karptui.kube.quantity import Quantity
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY

RULE = "reserved-more-than-node"
_RESERVABLE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
_SHOWN = 5


def exhausted_types(instance_types: Iterable[InstanceType]) -> dict[str, Mapping[str, Quantity]]:
    """Return the types with cpu, memory or ephemeral storage at zero or below, and what is left of these."""
    found: dict[str, Mapping[str, Quantity]] = {}
    for one in instance_types:
        left = allocatable(one)
        gone: dict[str, Quantity] = {name: left[name] for name in _RESERVABLE if name in left and left[name].nano <= 0}
        if gone:
            found[one.name] = gone
    return found


def reserved_more_than_node(nodeclass: str, instance_types: Iterable[InstanceType]) -> tuple[Finding, ...]:
    """Find types on which kubeReserved, systemReserved and eviction thresholds together leave nothing.

    Args:
        nodeclass: Name of the EC2NodeClass.
        instance_types: The types it resolves to, or those that a pool allows.
    """
    types = tuple(instance_types)
    exhausted = exhausted_types(types)
    if not exhausted:
        return ()
    shown = "; ".join(
        f"{name}: {', '.join(f'{resource} {amount}' for resource, amount in left.items())}"
        for name, left in list(exhausted.items())[:_SHOWN]
    )
    more = f"; and {len(exhausted) - _SHOWN} more" if len(exhausted) > _SHOWN else ""
    return (
        Finding(
            rule=RULE,
            severity=Severity.ERROR if len(exhausted) == len(types) else Severity.WARNING,
            object=f"EC2NodeClass {nodeclass}",
            field="spec.kubelet",
            fact=f"kubeReserved, systemReserved and evictionHard leave nothing allocatable on {len(exhausted)} of "
            f"{len(types)} types ({shown}{more}); no pod fits there.",
            remedy="Lower the reservations, or keep them in an EC2NodeClass that only large types use.",
        ),
    )
