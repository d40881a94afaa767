"""The pods that a run places: those that wait for a node, those of nodes that go away, and the room of CapacityBuffers.

Rules: ``GetPendingPods`` in ``pkg/controllers/provisioning/provisioner.go``, ``CurrentlyReschedulablePods`` in
``pkg/controllers/state/statenode.go`` and ``pkg/state/virtualpods/utilities.go``.
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
from karptui.provisioning.go_sort import go_sort
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.validation import avoids_karpenter, selector_problems
from karptui.provisioning.volumes import VolumeIndex

_PRIORITY = -(2**31)
_READY = "ReadyForProvisioning"
_WRAPPED: Final = re.compile(r'^(?:(?:getting|failed to) [^,"]+, )+')
"""What stands before the innermost of nested errors."""
_OF_CLAIM: Final = re.compile(r"PersistentVolumeClaim=(?:[^/,)]*/)?([^,)]+)")


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


def problem_in_short(problem: str) -> str:
    """Return what Karpenter finds faulty about a pod: the innermost of its errors, and the claim that it is about."""
    claim = _OF_CLAIM.search(problem)
    if claim is None:
        return problem
    cause = _WRAPPED.sub("", problem[: claim.start()].rpartition(" (")[0])
    return cause if claim[1] in cause else f"{claim[1]}: {cause}"


def pending_pods(pods: Iterable[Pod], volumes: VolumeIndex) -> tuple[list[Pod], list[IgnoredPod]]:
    """Return the pods that wait for a node, by namespace and name, and those of them that Karpenter passes over."""
    pending: list[Pod] = []
    ignored: list[IgnoredPod] = []
    problems: dict[PodTemplate, tuple[list[str], bool]] = {}
    for pod in sorted(filter(is_provisionable, pods), key=_listed):
        template = pod.template
        known = problems.get(template)
        if known is None:
            known = problems[template] = (selector_problems(pod), avoids_karpenter(_preferences_of(template)))
        found, is_silent = known
        if pod.volumes:
            problem = volumes.problem(pod)
            found = [*found, problem] if problem else found
        if found or is_silent:
            ignored.append(IgnoredPod(pod, tuple(found), is_silent))
        else:
            pending.append(pod)
    return pending, ignored


LeavingPods = tuple[tuple[Pod, bool], ...]
"""Pods that come back elsewhere when their node goes, in order, each with whether anything may pin it there."""


def leaving_by_node(
    going: Iterable[StateNode], predicates: PodPredicates, known: Mapping[StateNode, LeavingPods]
) -> dict[StateNode, LeavingPods]:
    """Return nodes that go away, in order, with their pods; what is known of nodes serves again."""
    ordered = sorted(going, key=attrgetter("name"))
    return {state: known[state] if state in known else _leaving(state, predicates) for state in ordered}


def _leaving(state: StateNode, predicates: PodPredicates) -> LeavingPods:
    listed = sorted((*state.pods, *state.ending), key=_listed)
    return tuple([(pod, predicates.may_hold(pod)) for pod in listed if predicates.is_reschedulable(pod)])


def leaving_pods(by_node: Mapping[StateNode, LeavingPods], predicates: PodPredicates) -> list[Pod]:
    """Return the pods of nodes that go away which need another place now."""
    return [
        pod
        for pods in by_node.values()
        for pod, may_hold in pods
        if not may_hold or predicates.is_currently_reschedulable(pod)
    ]


def _listed(pod: Pod) -> tuple[str, str]:
    return pod.namespace, pod.name


def _preferences_of(template: PodTemplate) -> Requirements:
    """Return a pod's requirements with its heaviest preference, as the check for a NodePool label sees them."""
    preferences = Requirements.from_labels(template.node_selector)
    if template.preferred_node_terms:
        heaviest = template.preferred_node_terms[go_sort([-term.weight for term in template.preferred_node_terms])[0]]
        preferences = preferences.merge(Requirements.from_selectors(heaviest.preference.match_expressions))
    if template.required_node_terms:
        preferences = preferences.merge(Requirements.from_selectors(template.required_node_terms[0].match_expressions))
    return preferences
