"""Pods to be scheduled: pending pods, pods of nodes being deleted, placeholder pods of CapacityBuffers; their order.

Rules: ``queue.go`` in ``pkg/controllers/provisioning/scheduling``, ``GetPendingPods`` in ``provisioner.go`` above it,
``CurrentlyReschedulablePods`` in ``pkg/controllers/state/statenode.go`` and ``pkg/state/virtualpods/utilities.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Final

import msgspec

from karptui.karpenter.inventory import CapacityBuffer, Inventory
from karptui.karpenter.pod_predicates import PodPredicates, is_provisionable
from karptui.karpenter.requirements import Requirements
from karptui.kube.objects import EMPTY_LABELS, condition_of
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.resources import CPU, MEMORY
from karptui.provisioning.go_sort import go_sort
from karptui.provisioning.pod_class import Stage
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.validation import avoids_karpenter, selector_problems
from karptui.provisioning.volumes import VolumeIndex

_PRIORITY = -(2**31)
_READY = "ReadyForProvisioning"
_WRAPPED: Final = re.compile(r'^(?:(?:getting|failed to) [^,"]+, )+')
"""Prefix of the innermost of nested errors."""
_OF_CLAIM: Final = re.compile(r"PersistentVolumeClaim=(?:[^/,)]*/)?([^,)]+)")


def buffer_pods(inventory: Inventory, now_ns: int) -> tuple[Pod, ...]:
    """Return the placeholder pods of the buffers that are ready; they have no phase and no volumes.

    Args:
        now_ns: Their creation time.
    """
    return tuple(
        pod
        for buffer in sorted(inventory.capacity_buffers, key=lambda buffer: (buffer.namespace, buffer.name))
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
    """A pending pod that Karpenter ignores."""

    pod: Pod
    problems: tuple[str, ...]
    """Karpenter's messages."""
    is_silent: bool
    """Whether Karpenter publishes no event, because the pod's rules exclude NodePools."""


def problem_in_short(problem: str) -> str:
    """Return the innermost error in Karpenter's message about a pod, and the claim it refers to."""
    claim = _OF_CLAIM.search(problem)
    if claim is None:
        return problem
    cause = _WRAPPED.sub("", problem[: claim.start()].rpartition(" (")[0])
    return cause if claim[1] in cause else f"{claim[1]}: {cause}"


def pending_pods(pods: Iterable[Pod], volumes: VolumeIndex) -> tuple[list[Pod], list[IgnoredPod]]:
    """Return the pending pods, by namespace and name, and those that Karpenter ignores."""
    pending: list[Pod] = []
    ignored: list[IgnoredPod] = []
    problems: dict[PodTemplate, tuple[list[str], bool]] = {}
    for pod in sorted(filter(is_provisionable, pods), key=_listed):
        template = pod.template
        cached = problems.get(template)
        if cached is None:
            cached = problems[template] = (selector_problems(pod), avoids_karpenter(_preferences_of(template)))
        pod_problems, is_silent = cached
        if pod.volumes:
            problem = volumes.problem(pod)
            pod_problems = [*pod_problems, problem] if problem else pod_problems
        if pod_problems or is_silent:
            ignored.append(IgnoredPod(pod, tuple(pod_problems), is_silent))
        else:
            pending.append(pod)
    return pending, ignored


LeavingPods = tuple[tuple[Pod, bool], ...]
"""Pods to be rescheduled when their node is removed, in order, each with whether anything may block it."""


def leaving_by_node(
    removed: Iterable[StateNode], predicates: PodPredicates, pods: Mapping[StateNode, LeavingPods]
) -> dict[StateNode, LeavingPods]:
    """Return nodes being deleted, in order, with their pods; known results are reused."""
    ordered = sorted(removed, key=attrgetter("name"))
    return {state: pods[state] if state in pods else _leaving(state, predicates) for state in ordered}


def _leaving(state: StateNode, predicates: PodPredicates) -> LeavingPods:
    listed = sorted((*state.pods, *state.ending), key=_listed)
    return tuple([(pod, predicates.may_hold(pod)) for pod in listed if predicates.is_reschedulable(pod)])


def leaving_pods(by_node: Mapping[StateNode, LeavingPods], predicates: PodPredicates) -> list[Pod]:
    """Return the pods of nodes being deleted that must be rescheduled now."""
    return [
        pod
        for pods in by_node.values()
        for pod, may_hold in pods
        if not may_hold or predicates.is_currently_reschedulable(pod)
    ]


def _listed(pod: Pod) -> tuple[str, str]:
    return pod.namespace, pod.name


def _preferences_of(template: PodTemplate) -> Requirements:
    preferences = Requirements.from_labels(template.node_selector)
    if template.preferred_node_terms:
        heaviest = template.preferred_node_terms[go_sort([-term.weight for term in template.preferred_node_terms])[0]]
        preferences = preferences.merge(Requirements.from_selectors(heaviest.preference.match_expressions))
    if template.required_node_terms:
        preferences = preferences.merge(Requirements.from_selectors(template.required_node_terms[0].match_expressions))
    return preferences


class QueuedPod:
    """A pod to be scheduled."""

    __slots__ = ("first", "is_counted", "is_exempt", "last_length", "owner", "pod")

    def __init__(self, pod: Pod, first: Stage, *, is_exempt: bool, is_counted: bool) -> None:
        self.pod = pod
        self.first = first
        """Stage with all its preferences."""
        self.owner = first.owner
        self.is_exempt = is_exempt
        """Whether it may use nodes that are within consolidateAfter."""
        self.is_counted = is_counted
        """Whether its topology rules apply; if its volumes are missing they apply only after a first failure."""
        self.last_length = 0
        """Queue length when it was last put back, 0 if never."""


def queue_order(pods: Iterable[QueuedPod], columns: Mapping[str, int]) -> list[QueuedPod]:
    """Return pods in the order of a run: most cpu first, then most memory, then oldest.

    Args:
        columns: Column of each resource in the rows of amounts.
    """
    cpu, memory = columns.get(CPU), columns.get(MEMORY)
    return sorted(
        pods,
        key=lambda queued: (
            -queued.owner.row[cpu] if cpu is not None else 0,
            -queued.owner.row[memory] if memory is not None else 0,
            queued.pod.created_ns,
            queued.pod.uid,
        ),
    )
