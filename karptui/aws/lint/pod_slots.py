"""Types with fewer pod slots than the DaemonSets need: Karpenter leaves them out without a word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from karptui.aws.lint.finding import Finding, Severity
from karptui.karpenter.instance_type import InstanceType
from karptui.kube.resources import pod_count

RULE = "pod-slots"
_SHOWN = 5


class CrowdedType(msgspec.Struct, frozen=True):
    """A type whose slots the DaemonSets use up."""

    name: str
    pod_slots: int
    daemon_pods: int


def crowded_types(instance_types: Iterable[InstanceType], daemon_pods: Mapping[str, int]) -> tuple[CrowdedType, ...]:
    """Return the types that have no slot left for a workload pod, fewest slots first.

    Args:
        instance_types: Those that the pool allows.
        daemon_pods: How many DaemonSet pods a new node of each type would carry.
    """
    found = (
        CrowdedType(one.name, pod_count(one.capacity), daemon_pods.get(one.name, 0))
        for one in instance_types
        if pod_count(one.capacity) <= daemon_pods.get(one.name, 0)
    )
    return tuple(sorted(found, key=lambda one: (one.pod_slots, one.name)))


def too_few_pod_slots(
    pool: str, instance_types: Iterable[InstanceType], daemon_pods: Mapping[str, int]
) -> tuple[Finding, ...]:
    """Find types of a pool that can carry nothing but DaemonSets; see `crowded_types`."""
    allowed = tuple(instance_types)
    crowded = crowded_types(allowed, daemon_pods)
    if not crowded:
        return ()
    shown = ", ".join(
        f"{one.name} ({one.pod_slots} slots, {one.daemon_pods} DaemonSet pods)" for one in crowded[:_SHOWN]
    )
    more = f" and {len(crowded) - _SHOWN} more" if len(crowded) > _SHOWN else ""
    is_dead = len(crowded) == len(allowed)
    consequence = "the pool can never launch a node" if is_dead else "Karpenter leaves them out without a message"
    return (
        Finding(
            rule=RULE,
            severity=Severity.ERROR if is_dead else Severity.WARNING,
            object=f"NodePool {pool}",
            field="spec.template.spec.requirements",
            fact=f"{len(crowded)} of {len(allowed)} types have no pod slot beside the DaemonSets: {shown}{more}; "
            f"{consequence}.",
            remedy="Set spec.kubelet.maxPods in the EC2NodeClass where the CNI has the addresses (prefix delegation), "
            "narrow the DaemonSets, or allow larger types.",
        ),
    )
