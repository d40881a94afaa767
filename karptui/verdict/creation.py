"""Findings about pods that controllers cannot create: admission webhooks, quotas and policies refuse them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from karptui.karpenter.labels import OS
from karptui.kube.objects import Event
from karptui.kube.pod import CREATING, NOT_STARTED
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.verdict.finding import (
    ClusterFinding,
    FindingCode,
    FindingSeverity,
    Manner,
    StartingPod,
    VerdictCase,
    VerdictNode,
)
from karptui.verdict.pending_pods import folded_by_namespace, folded_names, pods_of

FAILED_CREATE: Final = "FailedCreate"
RECENT_NS: Final = 20 * 60 * NS_PER_SECOND
"""Controllers repeat a failed creation within 17 minutes: an older event has no successor."""
_CALL: Final = re.compile(r'failed calling webhook "([^"]+)": (.+)', re.DOTALL)
_DENIED: Final = re.compile(r'admission webhook "([^"]+)" denied the request: (.+)', re.DOTALL)
_ENDPOINTS: Final = re.compile(r'no endpoints available for service "([^"]+)"')
_QUOTA: Final = re.compile(r"exceeded quota: ([^,]+), (.+)", re.DOTALL)
_LIMIT_RANGE: Final = re.compile(r"(?:maximum|minimum) \S+ usage per (?:Container|Pod) is .+", re.DOTALL)
_FORBIDDEN: Final = re.compile(
    r'(?:Error creating: |create Pod .+? failed error: )?(?:pods "[^"]*" is forbidden: )?(.+)', re.DOTALL
)
_NAMESPACE_ENDS: Final = "because it is being terminated"
NAMESPACE_ENDS_NS: Final = 10 * 60 * NS_PER_SECOND
"""The deletion of a namespace takes minutes: meanwhile its controllers may not create pods."""


STARTING_PATIENCE_NS: Final = 5 * 60 * NS_PER_SECOND
"""Images and volumes take minutes; containers that are not created by then need attention."""
_FAILED_STARTS: Final = ("FailedCreatePodSandBox", "FailedAttachVolume", "FailedMount", "Failed")
"""Event reasons that explain a failed start, the most specific first; the kubelet's ``Failed`` is about images and
settings.
"""
_IMAGES: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"})
IMAGE: Final = "image"
"""Common name for all image pull failures."""
_PLATFORMS: Final = ("no match for platform", "no matching manifest", "exec format error")
_ERROR: Final = "Error: "
"""Prefix of the kubelet's ``Failed`` messages; some only repeat a container's waiting reason."""

_REJECTIONS: Final = frozenset({"UnexpectedAdmissionError", "TopologyAffinityError", "NodeAffinity"})
_LACKS: Final = "OutOf"
"""Beginning of reasons such as ``OutOfcpu``."""
REJECTED_NS: Final = 30 * 60 * NS_PER_SECOND
REPEATED_NS: Final = 2 * 60 * NS_PER_SECOND
"""Kubelets reject pods for a moment, if several schedulers or a restart are at work; longer is a fault."""
FEWEST_REJECTED: Final = 3
FEWEST_CRASHING: Final = 2
"""One pod may crash for any reason; from this many on their platform tells something."""


class CreateRefusal(NamedTuple):
    """Why a pod could not be created."""

    manner: Manner
    name: str
    """Of the webhook or the ResourceQuota; empty for other reasons."""
    message: str


def read_refusal(message: str) -> CreateRefusal:
    """Parse the message of a FailedCreate event."""
    if (match := _CALL.search(message)) is not None:
        endpoints = _ENDPOINTS.search(match[2])
        text = f"no endpoints for service {endpoints[1]}" if endpoints is not None else match[2].rpartition('": ')[2]
        return CreateRefusal(Manner.WEBHOOK_FAILS, match[1], text)
    if (match := _DENIED.search(message)) is not None:
        return CreateRefusal(Manner.WEBHOOK_DENIES, match[1], match[2])
    if (match := _QUOTA.search(message)) is not None:
        return CreateRefusal(Manner.QUOTA, match[1], match[2])
    if (match := _LIMIT_RANGE.search(message)) is not None:
        return CreateRefusal(Manner.LIMIT, "", match[0])
    match = _FORBIDDEN.match(message)
    return CreateRefusal(Manner.PLAIN, "", match[1] if match is not None else message)


def starting_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield pods that are bound to a node but not started, by the cause in their status or events."""
    late = {pod.key: pod for pod in case.starting if case.now_ns - pod.since_ns >= STARTING_PATIENCE_NS}
    lines = {line.name: line for line in case.nodes}
    events: dict[str, Event] = {}
    for event in case.events if late else ():
        key = f"{event.involved_namespace}/{event.involved_name}"
        if event.involved_kind == "Pod" and key in late and _tells(event) < _tells(events.get(key)):
            events[key] = event
    groups: defaultdict[tuple[str, str], list[StartingPod]] = defaultdict(list)
    for key, pod in late.items():
        line = lines.get(pod.node)
        if line is not None and line.not_ready_ns is not None:
            continue
        if pod.waiting_reason in _IMAGES:
            groups[IMAGE, pod.image].append(pod)
        elif key in events and events[key].reason != "Failed":
            reason, message = events[key].reason, events[key].message
            groups[reason, message if reason == "FailedMount" else ""].append(pod)
        elif pod.waiting_reason not in CREATING:
            groups[pod.waiting_reason, events[key].message if key in events else ""].append(pod)
    for (reason, image), pods in groups.items():
        nodes = tuple(dict.fromkeys(pod.node for pod in pods))
        message = next((events[pod.key].message for pod in pods if pod.key in events), "").removeprefix(_ERROR)
        owners: defaultdict[str, list[str]] = defaultdict(list)
        for pod in pods:
            owners[pod.owner].append(pod.key)
        is_platform = any(words in message for words in _PLATFORMS)
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.PODS_NOT_STARTING,
            since_ns=min(pod.since_ns for pod in pods),
            objects=(*(f"Pod/{pod.key}" for pod in pods), *(f"Node/{name}" for name in nodes)),
            names=(reason, image if reason == IMAGE else "", *folded_names(owners)),
            nodes=len(nodes),
            pods=len(pods),
            stuck_pods=nodes[:1],
            detail=message if reason != IMAGE or message else pods[0].waiting_reason,
            reasons=_platforms(lines, nodes) if is_platform else (),
            screen="pods",
        )


def _platforms(lines: Mapping[str, VerdictNode], names: Iterable[str]) -> tuple[str, ...]:
    """Return the platforms of nodes, such as ``linux/arm64``."""
    nodes = [node for name in names if name in lines and (node := lines[name].node) is not None]
    return tuple(sorted({f"{node.labels.get(OS, 'linux')}/{node.architecture}" for node in nodes}))


def crashing_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield workloads whose pods crash on all nodes of one platform, and run on those of another."""
    lines = {line.name: line for line in case.nodes}
    owners: defaultdict[str, list[StartingPod]] = defaultdict(list)
    for pod in case.crashing:
        owners[pod.owner].append(pod)
    for owner, pods in owners.items():
        nodes = tuple(dict.fromkeys(pod.node for pod in pods))
        bad, good = _platforms(lines, nodes), _platforms(lines, case.running_on.get(owner, ()))
        if len(pods) < FEWEST_CRASHING or len(bad) != 1 or not good or bad[0] in good:
            continue
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.PODS_NOT_STARTING,
            since_ns=min(pod.since_ns for pod in pods),
            objects=(*(f"Pod/{pod.key}" for pod in pods), *(f"Node/{name}" for name in nodes)),
            names=(pods[0].image, *folded_names({owner: [pod.key for pod in pods]})),
            nodes=len(nodes),
            pods=len(pods),
            reasons=(*bad, *good),
            manner=Manner.BY_PLATFORM,
            screen="pods",
        )


def rejected_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield pods that kubelets reject again and again: their controller replaces each, maybe on the same node."""
    groups: defaultdict[str, list[Event]] = defaultdict(list)
    for event in case.events:
        is_rejection = event.reason in _REJECTIONS or event.reason.startswith(_LACKS)
        if is_rejection and event.source == "kubelet" and case.now_ns - event.last_ns <= REJECTED_NS:
            groups[event.reason].append(event)
    for reason, events in groups.items():
        pods, latest = pods_of(events), max(events, key=lambda event: event.last_ns)
        first_ns = min(event.first_ns for event in events)
        if len(pods) < FEWEST_REJECTED or latest.last_ns - first_ns < REPEATED_NS:
            continue
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.PODS_NOT_STARTING,
            since_ns=first_ns,
            objects=tuple(f"Pod/{key}" for key in pods),
            names=(reason, *folded_by_namespace(pods)),
            pods=len(pods),
            detail=latest.message,
            manner=Manner.REJECTED,
            screen="events",
        )


def _tells(event: Event | None) -> int:
    """Return the rank of an event as an explanation for a pod that does not start; 0 is the best."""
    if event is None or event.reason not in _FAILED_STARTS or event.message.removeprefix(_ERROR) in NOT_STARTED:
        return len(_FAILED_STARTS)
    return _FAILED_STARTS.index(event.reason)


def creation_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield one finding for each webhook, quota or message that keeps pods from being created."""
    groups: defaultdict[tuple[Manner, str], list[Event]] = defaultdict(list)
    for event in case.events:
        if event.reason == FAILED_CREATE and case.now_ns - event.last_ns <= RECENT_NS:
            if _NAMESPACE_ENDS in event.message and case.now_ns - event.first_ns < NAMESPACE_ENDS_NS:
                continue
            refusal = read_refusal(event.message)
            groups[refusal.manner, refusal.name or refusal.message].append(event)
    for (manner, name), events in groups.items():
        owners = dict.fromkeys(f"{e.involved_kind}/{e.involved_namespace}/{e.involved_name}" for e in events)
        latest = max(events, key=lambda event: event.last_ns)
        counts = [case.replicas[owner] for owner in owners if owner in case.replicas]
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.PODS_NOT_CREATED,
            since_ns=min((event.first_ns for event in events if event.first_ns), default=None),
            objects=tuple(owners),
            names=(name, *(owner.partition("/")[2] for owner in owners)),
            nodes=sum(running for running, _ in counts) if len(counts) == len(owners) else 0,
            of_nodes=sum(wanted for _, wanted in counts) if len(counts) == len(owners) else 0,
            detail=read_refusal(latest.message).message,
            manner=manner,
            screen="events",
        )
