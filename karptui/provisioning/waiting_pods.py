"""The pods that a run places: those that wait for a node, those of nodes that go away, and the room of CapacityBuffers.

Rules: ``GetPendingPods`` in ``pkg/controllers/provisioning/provisioner.go``, ``CurrentlyReschedulablePods`` in
``pkg/controllers/state/statenode.go``, ``pkg/utils/pod/scheduling.go``, ``pkg/utils/pdb/pdb.go`` and
``pkg/state/virtualpods/utilities.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from karptui.karpenter.inventory import CapacityBuffer, Inventory
from karptui.karpenter.labels import DISRUPTED_TAINT, DO_NOT_DISRUPT
from karptui.karpenter.requirements import Requirements
from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.objects import EMPTY_LABELS, condition_of
from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.taints import untolerated
from karptui.kube.timestamps import ABSENT_NS
from karptui.provisioning.go_sort import go_sort
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.validation import avoids_karpenter, selector_problems
from karptui.provisioning.volumes import VolumeIndex

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


_PRIORITY = -(2**31)
_READY = "ReadyForProvisioning"


def buffer_pods(inventory: Inventory, now_ns: int) -> tuple[Pod, ...]:
    """Return the virtual pods of the buffers that are ready; they have no phase and no volumes.

    Args:
        inventory: The cluster.
        now_ns: When they come into being.
    """
    return tuple(
        pod
        for buffer in sorted(inventory.capacity_buffers, key=lambda one: (one.namespace, one.name))
        for pod in _pods_of(buffer, inventory, now_ns)
    )


def _pods_of(buffer: CapacityBuffer, inventory: Inventory, now_ns: int) -> Iterator[Pod]:
    ready = condition_of(buffer.conditions, _READY)
    if ready is None or ready.status != "True" or not buffer.has_spec_ref:
        return
    template = _template_of(buffer, inventory)
    if template is None:
        return
    template = msgspec.structs.replace(
        template, namespace=buffer.namespace, owners=(), annotations=EMPTY_LABELS, priority=_PRIORITY
    )
    for i in range(1, buffer.replicas + 1):
        yield Pod(
            name=f"capacity-buffer-{buffer.name}-{i}",
            template=template,
            uid=f"{buffer.uid}-{i}",
            created_ns=now_ns,
            scheduled_reason="Unschedulable",
        )


def _template_of(buffer: CapacityBuffer, inventory: Inventory) -> PodTemplate | None:
    for named in inventory.pod_templates:
        if (named.namespace, named.name) == (buffer.namespace, buffer.pod_template_name):
            return named.template
    for workload in inventory.workloads:
        key = (workload.namespace, workload.kind, workload.name)
        if key == (buffer.namespace, buffer.scalable_kind, buffer.scalable_name):
            return workload.template
    return None


class IgnoredPod(msgspec.Struct, frozen=True):
    """A pending pod that Karpenter does not look at."""

    pod: Pod
    problems: tuple[str, ...]
    """In Karpenter's words."""
    is_silent: bool
    """Whether Karpenter says nothing, because the pod's own rules keep it off NodePools."""


def pending_pods(pods: Iterable[Pod], volumes: VolumeIndex) -> tuple[list[Pod], list[IgnoredPod]]:
    """Return the pods that wait for a node, by namespace and name, and those of them that Karpenter passes over."""
    pending: list[Pod] = []
    ignored: list[IgnoredPod] = []
    problems: dict[PodTemplate, tuple[list[str], bool]] = {}
    for pod in sorted(filter(is_provisionable, pods), key=_listed):
        template = pod.template
        known = problems.get(template)
        if known is None:
            known = problems[template] = (selector_problems(pod), avoids_karpenter(_wishes_of(template)))
        found, is_silent = known
        if pod.volumes:
            problem = volumes.problem(pod)
            found = [*found, problem] if problem else found
        if found or is_silent:
            ignored.append(IgnoredPod(pod, tuple(found), is_silent))
        else:
            pending.append(pod)
    return pending, ignored


def leaving_pods(states: Iterable[StateNode], budgets: Sequence[PodDisruptionBudget], now_ns: int) -> list[Pod]:
    """Return the pods of nodes that go away which need another place now."""
    return [
        pod
        for state in sorted(states, key=lambda state: state.name)
        if state.is_marked_for_deletion
        for pod in sorted((*state.pods, *state.ending), key=_listed)
        if is_currently_reschedulable(pod, budgets, now_ns)
    ]


def _listed(pod: Pod) -> tuple[str, str]:
    return pod.namespace, pod.name


def _wishes_of(template: PodTemplate) -> Requirements:
    """Return a pod's requirements with its heaviest preference, as the check for a NodePool label sees them."""
    wishes = Requirements.from_labels(template.node_selector)
    if template.preferred_node_terms:
        heaviest = template.preferred_node_terms[go_sort([-term.weight for term in template.preferred_node_terms])[0]]
        wishes = wishes.merge(Requirements.from_selectors(heaviest.preference.match_expressions))
    if template.required_node_terms:
        wishes = wishes.merge(Requirements.from_selectors(template.required_node_terms[0].match_expressions))
    return wishes
