"""The pods that a run places: those that wait for a node, and those of nodes that go away.

Rules: ``GetPendingPods`` in ``pkg/controllers/provisioning/provisioner.go`` and ``CurrentlyReschedulablePods`` in
``pkg/controllers/state/statenode.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from karptui.karpenter.requirements import Requirements
from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod, PodTemplate
from karptui.provisioning.eligible_pods import is_currently_reschedulable, is_provisionable
from karptui.provisioning.go_sort import go_sort
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.validation import avoids_karpenter, selector_problems
from karptui.provisioning.volumes import VolumeIndex


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
