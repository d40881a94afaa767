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
from karptui.karpenter.labels import KEY_ALIASES, KNOWN_VALUES, NODEPOOL, RESTRICTED_DOMAINS, WELL_KNOWN, is_restricted
from karptui.karpenter.pod_predicates import PodPredicates, is_provisionable
from karptui.karpenter.requirements import DOES_NOT_EXIST, OPERATORS, Requirements, parse_integer
from karptui.kube.objects import EMPTY_LABELS, condition_of
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.resources import CPU, MEMORY
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.provisioning.go_sort import go_sort
from karptui.provisioning.pod_class import Stage
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.volumes import VolumeIndex

_BOUNDS: Final = frozenset({"Gt", "Lt", "Gte", "Lte"})
_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_MAX_NAME: Final = 63
_MAX_PREFIX: Final = 253


def avoids_karpenter(requirements: Requirements) -> bool:
    """Return whether a pod's requirements including preferences exclude all NodePools, so that Karpenter ignores it."""
    pool = requirements.find(NODEPOOL)
    return pool is not None and pool.operator == DOES_NOT_EXIST


def selector_problems(pod: Pod) -> list[str]:
    """Return the errors in a pod's node selector and required node affinity, in Karpenter's words."""
    template = pod.template
    problems = [
        problem
        for key, value in template.node_selector.items()
        for problem in requirement_problems(NodeSelectorRequirement(key, "In", (value,)))
    ]
    for term in template.required_node_terms or ():
        if term.match_fields:
            problems.append("node selector term with matchFields is not supported")
        for expression in term.match_expressions:
            problems.extend(requirement_problems(expression))
    return problems


def requirement_problems(requirement: NodeSelectorRequirement) -> Iterator[str]:
    """Yield the errors in a requirement of a pod or NodePool."""
    key, operator, values = KEY_ALIASES.get(requirement.key, requirement.key), requirement.operator, requirement.values
    if operator not in OPERATORS:
        yield f"key {key} has an unsupported operator {operator} not in [{' '.join(sorted(OPERATORS))}]"
    if is_restricted(key):
        yield (
            f"using label {key} is not allowed as it might interfere with the internal provisioning logic; specify a"
            f" well known label: [{' '.join(sorted(WELL_KNOWN))}], or a custom label that does not use a restricted"
            f" domain: [{' '.join(sorted(RESTRICTED_DOMAINS))}]"
        )
    allowed = KNOWN_VALUES.get(key)
    if allowed is not None and operator == "In":
        yield from _value_problems(requirement, key, allowed)
    for problem in _name_problems(key):
        yield f"key {key} is not a qualified name, {problem}"
    for value in values:
        for problem in _label_value_problems(value):
            yield f"invalid value {value} for key {key}, {problem}"
    if operator == "In" and not values:
        yield f"key {key} with operator In must have a value defined"
    if operator == "In" and requirement.min_values is not None and len(values) < requirement.min_values:
        yield f"key {key} with operator In must have at least minimum number of values defined in 'values' field"
    if operator in _BOUNDS and not _is_bound(values):
        yield f"key {key} with operator {operator} must have a single positive integer value"


def _is_bound(values: tuple[str, ...]) -> bool:
    number = parse_integer(values[0]) if len(values) == 1 else None
    return number is not None and number >= 0


def _value_problems(requirement: NodeSelectorRequirement, key: str, allowed: frozenset[str]) -> Iterator[str]:
    valid = [value for value in requirement.values if value in allowed]
    listed = f"[{' '.join(requirement.values)}]"
    expected = " ".join(f"{value}:{{}}" for value in sorted(allowed))
    if not valid:
        yield f"no valid values found in {listed} for {key}, expected one of: map[{expected}], got: {listed}"
    elif requirement.min_values is not None and len(valid) < requirement.min_values:
        yield (
            f"not enough valid values found in {listed} for {key}, expected at least {requirement.min_values} valid"
            f" values from: [{' '.join(sorted(allowed))}], got: {len(valid)}"
        )


def _name_problems(key: str) -> Iterator[str]:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        yield (
            f"a qualified name {_NAME_RULE.removesuffix(')')}) with an optional DNS subdomain prefix and '/'"
            " (e.g. 'example.com/MyName')"
        )
        return
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif slash:
        if len(prefix) > _MAX_PREFIX:
            yield f"prefix part must be no more than {_MAX_PREFIX} bytes"
        if not _SUBDOMAIN.fullmatch(prefix):
            yield f"prefix part {_SUBDOMAIN_RULE}"
    if not name:
        yield "name part must be non-empty"
    elif len(name) > _MAX_NAME:
        yield f"name part must be no more than {_MAX_NAME} bytes"
    if not _NAME.fullmatch(name):
        yield f"name part {_NAME_RULE}"


def _label_value_problems(value: str) -> Iterator[str]:
    if len(value) > _MAX_NAME:
        yield f"must be no more than {_MAX_NAME} bytes"
    if value and not _NAME.fullmatch(value):
        yield _VALUE_RULE


_PRIORITY = -(2**31)
READY_FOR_PROVISIONING: Final = "ReadyForProvisioning"
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
    ready = condition_of(buffer.conditions, READY_FOR_PROVISIONING)
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
        return problem.partition(" as it might interfere")[0]
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
