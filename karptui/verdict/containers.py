"""Findings about running pods that are not ready, and about pods that nodes reject or that do not end."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from msgspec.structs import replace

from karptui.disruption.churn.moves import EVICTED, KUBELET, is_eviction
from karptui.kube.group import group_by
from karptui.kube.objects import Event
from karptui.kube.timestamps import MINUTE_NS
from karptui.verdict.case import StartingPod, VerdictCase
from karptui.verdict.crashing import crashing_findings, relapsing_findings
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner, Shared, began
from karptui.verdict.late_pods import (
    CRASHED_NS,
    FEWEST_ALIKE,
    FEWEST_CRASHING,
    IDS,
    PATHS,
    difference_fields,
    merged_failures,
    of_late_pods,
    of_pods,
    ready_of_other_revisions,
)
from karptui.verdict.pending_pods import folded_by_namespace, key_of, pods_of
from karptui.verdict.starting import STARTING_PATIENCE_NS, idle_findings, starting_findings

_REJECTIONS: Final = frozenset(
    {
        "AppArmor",
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "PodOSNotSupported",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "SysctlForbidden",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
    }
)
"""Reasons of kubelets that do not admit a pod."""
_LACKS: Final = "OutOf"
"""Beginning of reasons such as ``OutOfcpu``."""
OUTLIVED_NS: Final = 30 * MINUTE_NS
"""A sidecar ends soon after the others if it ends at all."""
_OWN_LIMIT: Final = re.compile(r"exceed(?:s|ed) (?:the|its) .*limit")
"""Text in events about pods that the kubelet evicts for exceeding their storage limit."""
REJECTED_NS: Final = 30 * MINUTE_NS
"""Rejections count as over if the last one is older."""
REPEATED_NS: Final = 2 * MINUTE_NS
"""Kubelets reject pods for a moment, if several schedulers or a restart are at work; longer is a fault."""
FEWEST_REJECTED: Final = 3
PROBED_NS: Final = 2 * MINUTE_NS
"""Kubelets repeat the failure of a probe within this time."""
TOGETHER_NS: Final = 2 * MINUTE_NS
"""Successors of evicted pods start within this time."""
UNENDED_NS: Final = 10 * MINUTE_NS
"""The kubelet ends a pod seconds after its grace period; controllers remove their finalizers in minutes."""


def container_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield findings about the containers of pods on nodes."""
    yield from idle_findings(case)
    yield from starting_findings(case)
    yield from crashing_findings(case)
    yield from relapsing_findings(case)
    yield from waiting_findings(case)
    yield from unready_findings(case)
    yield from unended_findings(case)
    yield from rejected_findings(case)
    yield from outlived_findings(case)


def waiting_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield workloads whose running pods have long waited for a readiness gate, or to be resized in place."""
    for pods, manner, fewest in ((case.gated, Manner.GATED, FEWEST_CRASHING), (case.resizing, Manner.UNRESIZED, 1)):
        late = [pod for pod in pods if case.now_ns - pod.since_ns >= CRASHED_NS]
        for alike in group_by(late, lambda pod: (pod.owner, pod.waiting_reason)).values():
            if len(alike) >= fewest:
                yield of_late_pods(alike, manner, detail=alike[0].waiting_reason or alike[0].message)


def unready_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield workloads without a ready pod for a while, with the pods that were evicted just before.

    Of a Deployment whose pods of another revision are ready, only the pods of this one are not.
    Several workloads are one finding if their pods are not ready on certain nodes, or for the same probe or container.
    Containers that start up for the first time are only a note, as the kubelet ends them if their startup probe's time
    is over; not if several workloads' are, which may need the same dependency.
    """
    lines = {line.name: line for line in case.nodes}
    owned = (pod for pod in case.unready if pod.controller and not pod.owner.startswith("Job/"))
    groups = group_by(owned, lambda pod: pod.controller)
    failures = case.recent("Unhealthy", kind="Pod", within_ns=PROBED_NS) if groups else ()
    probed = {key_of(event): event.message for event in failures if event.message.startswith("Readiness probe")}
    starting = {key_of(event): event.message for event in failures if event.message.startswith("Startup probe")}
    for difference, pods in merged_failures(case, groups, (Shared.NODE,)):
        told = next((probed[pod.key] for pod in pods if pod.key in probed), "")
        fields = {**began(pod.since_ns for pod in pods), **difference_fields(difference)}
        yield of_pods(pods, "", detail=told, **{**fields, "manner": Manner.UNREADY_BY_NODES})
    lone: list[StartingPod] = []
    alike: defaultdict[tuple[object, ...], list[tuple[list[StartingPod], dict[str, Any]]]] = defaultdict(list)
    for controller, pods in groups.items():
        since_ns = max(pod.since_ns for pod in pods)
        is_silent = any(pod.node in lines and lines[pod.node].not_ready_ns is not None for pod in pods)
        if case.running_on.get(controller) or is_silent or case.now_ns - since_ns < STARTING_PATIENCE_NS:
            continue
        told = next((probed[pod.key] for pod in pods if pod.key in probed), "")
        is_late = case.now_ns - since_ns >= CRASHED_NS
        older = ready_of_other_revisions(case, pods)
        if len(pods) < FEWEST_CRASHING and not older:
            lone += pods if is_late else []
            continue
        own = {pod.key.rpartition("-")[0] for pod in pods}
        evictions = [event for event in case.recent(*EVICTED, kind="Pod") if is_eviction(event)]
        evictions = [event for event in evictions if key_of(event).rpartition("-")[0] in own]
        evictions = [event for event in evictions if abs(since_ns - event.last_ns) <= TOGETHER_NS]
        level = FindingSeverity.WARNING if len(pods) >= FEWEST_CRASHING else FindingSeverity.INFO
        level = level if older >= len(pods) else FindingSeverity.ERROR
        moved, container = pods_of(evictions), pods[0].unready_container
        if is_late or not older or (moved and level is FindingSeverity.ERROR):
            more = {"severity": level, "others": older, "detail": told, "reasons": moved, "container": container}
            error = PATHS.sub("", IDS.sub("", told))
            alike[(controller,) if older or moved else (error, container)].append((pods, more))
    for parts in alike.values():
        joined = [([*chain(*(pods for pods, _ in parts))], parts[0][1])]
        for pods, more in joined if len(parts) >= FEWEST_ALIKE else parts:
            is_first = all(pod.starting_container for pod in pods) and len(parts) < FEWEST_ALIKE
            if is_first and not more["reasons"]:
                told = next((starting[pod.key] for pod in pods if pod.key in starting), "")
                more |= {"severity": FindingSeverity.INFO, "detail": told, "container": pods[0].starting_container}
                yield of_late_pods(pods, Manner.STARTING_UP, **more)
            else:
                yield of_late_pods(pods, Manner.NONE_READY, **more)
    if lone:
        told = probed.get(lone[0].key, "") if len(lone) == 1 else ""
        yield of_late_pods(lone, Manner.NONE_READY, severity=FindingSeverity.INFO, detail=told)


def unended_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield pods that should have ended a while ago, on nodes that are ready and stay: others report their pods.

    Without a node the garbage collector ends pods, except those with finalizers.
    """
    lines = {line.name: line for line in case.nodes}
    late: dict[str, StartingPod] = {}
    for pod in case.unended:
        line = lines.get(pod.node)
        stays = line is not None and line.has_node and line.not_ready_ns is None and not line.goes
        stays |= line is None and bool(pod.finalizers)
        if stays and case.now_ns - pod.since_ns >= UNENDED_NS:
            late[pod.key] = pod
    failures = case.recent("FailedKillPod", kind="Pod") if late else ()
    killed = {key_of(event): event.message for event in failures}
    groups = group_by(late.values(), lambda pod: (pod.owner, pod.key in killed, pod.finalizers, pod.node in lines))
    for (owner, _, finalizers, is_on_node), pods in groups.items():
        detail, kind = killed.get(pods[0].key, ""), owner.partition("/")[0]
        finding = of_late_pods(pods, Manner.UNENDED, detail=detail, reasons=(kind, *finalizers))
        yield finding if is_on_node else replace(finding, objects=finding.objects[: len(pods)], nodes=0)


def outlived_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield pods of Jobs that finished a while ago, but for a container that runs on, by workload."""
    late = (pod for pod in case.outlived if case.now_ns - pod.finished_ns >= OUTLIVED_NS)
    for (owner, running), pods in group_by(late, lambda pod: (pod.owner, pod.running)).items():
        fields = {"code": FindingCode.PODS_NOT_ENDING, **began(pod.finished_ns for pod in pods)}
        yield of_pods(pods, detail=owner, reasons=running, **fields)


def rejected_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield pods that kubelets reject again and again, or evict for their own limits: controllers replace each."""
    groups: defaultdict[tuple[str, str], list[Event]] = defaultdict(list)
    reasons = [reason for reason in case.events_by_reason if reason in _REJECTIONS or reason.startswith(_LACKS)]
    for event in case.recent(*reasons, "Evicted"):
        if event.source == KUBELET and event.reason != "Evicted":
            groups[event.reason, ""].append(event)
        elif event.source == KUBELET and _OWN_LIMIT.search(event.message):
            groups[event.involved_namespace, event.message].append(event)
    for (reason, own_limit), events in groups.items():
        pods, latest = pods_of(events), max(events, key=lambda event: event.last_ns)
        first_ns = min(event.first_ns for event in events)
        is_brief = len(pods) < FEWEST_REJECTED or latest.last_ns - first_ns < REPEATED_NS
        if is_brief or case.now_ns - latest.last_ns > REJECTED_NS:
            continue
        yield ClusterFinding(
            severity=FindingSeverity.WARNING if own_limit else FindingSeverity.ERROR,
            code=FindingCode.PODS_NOT_STARTING,
            since_ns=first_ns,
            objects=tuple(f"Pod/{key}" for key in pods),
            names=(reason, *folded_by_namespace(pods)),
            pods=len(pods),
            detail=latest.message,
            manner=Manner.OWN_LIMIT if own_limit else Manner.REJECTED,
            screen="events",
        )
