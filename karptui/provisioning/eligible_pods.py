"""Which pods Karpenter looks for a place for: pending ones, and those of nodes that go away.

Rules: ``pkg/utils/pod/scheduling.go`` and ``pkg/utils/pdb/pdb.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from karptui.karpenter.labels import DISRUPTED_TAINT, DO_NOT_DISRUPT
from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod
from karptui.kube.taints import untolerated
from karptui.kube.timestamps import ABSENT_NS

UNSCHEDULABLE: Final = "Unschedulable"


def is_provisionable(pod: Pod) -> bool:
    """Return whether a pod waits for a node: marked unschedulable, not bound, nominated to no node, no daemon's."""
    template = pod.template
    return (
        pod.scheduled_reason == UNSCHEDULABLE
        and not pod.node_name
        and not pod.nominated_node_name
        and not template.is_daemonset_owned
        and not template.is_node_owned
    )


def is_reschedulable(pod: Pod) -> bool:
    """Return whether a pod comes back elsewhere: active or a terminating StatefulSet's, no daemon's, no mirror pod."""
    template = pod.template
    return (
        (pod.is_active or (template.is_statefulset_owned and pod.is_terminating))
        and not template.is_daemonset_owned
        and not template.is_node_owned
    )


def is_do_not_disrupt_active(pod: Pod, now_ns: int) -> bool:
    """Return whether ``karpenter.sh/do-not-disrupt`` protects a pod now; a malformed value protects nothing."""
    value = pod.annotations.get(DO_NOT_DISRUPT)
    if value is None or value == "true":
        return value is not None
    try:
        duration_ns = parse_duration(value)
    except DurationError:
        return False
    if duration_ns <= 0:
        return False
    return pod.start_ns == ABSENT_NS or now_ns - pod.start_ns < duration_ns


def is_evictable(pod: Pod, now_ns: int) -> bool:
    """Return whether Karpenter would evict a pod to drain its node."""
    return (
        pod.is_active
        and bool(untolerated((DISRUPTED_TAINT,), pod.template.tolerations))
        and not pod.template.is_node_owned
        and not is_do_not_disrupt_active(pod, now_ns)
    )


def matching_budgets(pod: Pod, budgets: Iterable[PodDisruptionBudget]) -> list[PodDisruptionBudget]:
    """Return the PodDisruptionBudgets that select a pod."""
    labels = pod.labels
    return [
        budget
        for budget in budgets
        if budget.namespace == pod.namespace and budget.selector is not None and budget.selector.matches(labels)
    ]


def is_always_blocking(budget: PodDisruptionBudget) -> bool:
    """Return whether a budget can never allow an eviction: ``maxUnavailable`` 0 or 0%, or ``minAvailable`` 100%."""
    blocked = budget.max_unavailable in (0, "0%") and budget.max_unavailable is not False
    return blocked or budget.min_available == "100%"


def is_fully_blocked(pod: Pod, budgets: Sequence[PodDisruptionBudget], now_ns: int) -> bool:
    """Return whether the pod's PodDisruptionBudgets never let it be evicted; two on one pod always block."""
    if not is_evictable(pod, now_ns):
        return False
    matching = matching_budgets(pod, budgets)
    if len(matching) != 1:
        return len(matching) > 1
    if matching[0].unhealthy_pod_eviction_policy == "AlwaysAllow" and pod.ready is False:
        return False
    return is_always_blocking(matching[0])


def is_currently_reschedulable(pod: Pod, budgets: Sequence[PodDisruptionBudget], now_ns: int) -> bool:
    """Return whether a pod of a node that goes away needs a place now."""
    return (
        is_reschedulable(pod)
        and not (pod.is_active and is_do_not_disrupt_active(pod, now_ns))
        and not is_fully_blocked(pod, budgets, now_ns)
    )
