"""Finds NodePools with no or too few types: operators, wildcards, reservations, pod slots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from karptui.aws.instance_types import allocatable
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.requirements import OPERATORS
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY, pod_count
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.units import first_of


class LintSeverity(StrEnum):
    """Severity of a finding."""

    ERROR = "error"
    """Something can never work."""
    WARNING = "warning"
    """Karpenter calculates with other numbers than the author expects, or than the node has."""


class LintFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding, worded for the author of the object."""

    severity: LintSeverity
    object: str
    """Kind and name: ``EC2NodeClass default``."""
    fact: str
    """The problem."""
    remedy: str
    """Advice."""


def unknown_operators(owner: str, requirements: Iterable[NodeSelectorRequirement]) -> tuple[LintFinding, ...]:
    """Find unknown operators; operators are case-sensitive.

    Args:
        owner: Kind and name of the object, such as ``NodePool flex``.
    """
    return tuple(
        LintFinding(
            severity=LintSeverity.ERROR,
            object=owner,
            fact=f"{requirement.key} has the unknown operator {requirement.operator or '(empty)'}: the API server"
            " rejects the object; from a file, the requirement allows every value.",
            remedy=f"Write one of {', '.join(OPERATORS)}.",
        )
        for requirement in requirements
        if requirement.operator not in OPERATORS
    )


def wildcard_values(owner: str, requirements: Iterable[NodeSelectorRequirement]) -> tuple[LintFinding, ...]:
    """Find values that contain ``*``."""
    return tuple(
        _finding(owner, requirement)
        for requirement in requirements
        if any("*" in value for value in requirement.values)
    )


def _finding(owner: str, requirement: NodeSelectorRequirement) -> LintFinding:
    stars = tuple(value for value in requirement.values if "*" in value)
    alone = len(stars) == len(requirement.values)
    effect = {
        "In": "matches nothing" if alone else "adds nothing to the other values",
        "NotIn": "excludes nothing",
    }.get(requirement.operator, "is not a number")
    is_dead = requirement.operator == "In" and alone
    return LintFinding(
        severity=LintSeverity.ERROR if is_dead else LintSeverity.WARNING,
        object=owner,
        fact=f"{requirement.key} {requirement.operator} [{' '.join(requirement.values)}]: "
        f"{' '.join(stars)} {effect}, because * is not a wildcard.",
        remedy="Omit the requirement to allow every value, use operator Exists, or list the values.",
    )


_RESERVABLE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
_SHOWN = 5


def _used_up(instance_type: InstanceType) -> str:
    """Return the resources of which nothing or less is allocatable, as text."""
    left = allocatable(instance_type)
    return ", ".join(f"{name} {left[name]}" for name in _RESERVABLE if name in left and left[name].nano <= 0)


def reserved_more_than_node(nodeclass: str, instance_types: Iterable[InstanceType]) -> tuple[LintFinding, ...]:
    """Find types on which kubeReserved, systemReserved and eviction thresholds leave nothing allocatable."""
    types = tuple(instance_types)
    exhausted = [f"{instance_type.name}: {used_up}" for instance_type in types if (used_up := _used_up(instance_type))]
    if not exhausted:
        return ()
    shown = "; ".join(exhausted[:_SHOWN])
    more = f"; and {len(exhausted) - _SHOWN} more" if len(exhausted) > _SHOWN else ""
    return (
        LintFinding(
            severity=LintSeverity.ERROR if len(exhausted) == len(types) else LintSeverity.WARNING,
            object=f"EC2NodeClass {nodeclass}",
            fact=f"kubeReserved, systemReserved and evictionHard leave nothing allocatable on {len(exhausted)} of "
            f"{len(types)} types ({shown}{more}); no pod fits there.",
            remedy="Lower the reservations, or keep them in an EC2NodeClass that only large types use.",
        ),
    )


def too_few_pod_slots(
    pool: str, instance_types: Iterable[InstanceType], daemon_pods: Mapping[str, int]
) -> tuple[LintFinding, ...]:
    """Find types of a NodePool that only have room for DaemonSet pods, fewest slots first.

    Args:
        daemon_pods: Number of DaemonSet pods on a new node, by type.
    """
    allowed = tuple(instance_types)
    slots = ((pod_count(item.capacity), item.name, daemon_pods.get(item.name, 0)) for item in allowed)
    crowded = sorted((count, name, pods) for count, name, pods in slots if count <= pods)
    if not crowded:
        return ()
    shown = first_of([f"{name} ({count} slots, {pods} DaemonSet pods)" for count, name, pods in crowded], _SHOWN)
    is_dead = len(crowded) == len(allowed)
    consequence = "the pool can never launch a node" if is_dead else "Karpenter excludes them without a message"
    return (
        LintFinding(
            severity=LintSeverity.ERROR if is_dead else LintSeverity.WARNING,
            object=f"NodePool {pool}",
            fact=f"{len(crowded)} of {len(allowed)} types have no pod slot left after the DaemonSets: {shown}; "
            f"{consequence}.",
            remedy="Set spec.kubelet.maxPods in the EC2NodeClass if the CNI has the addresses (prefix delegation), "
            "narrow the DaemonSets, or allow larger types.",
        ),
    )
