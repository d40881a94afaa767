"""Findings about pods that controllers cannot create: admission webhooks, quotas and policies refuse them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from karptui.kube.objects import Event
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner, StartingPod, VerdictCase

FAILED_CREATE: Final = "FailedCreate"
RECENT_NS: Final = 20 * 60 * NS_PER_SECOND
"""Controllers repeat a failed creation within 17 minutes: an older event has no successor."""
_CALL: Final = re.compile(r'failed calling webhook "([^"]+)": (.+)', re.DOTALL)
_DENIED: Final = re.compile(r'admission webhook "([^"]+)" denied the request: (.+)', re.DOTALL)
_ENDPOINTS: Final = re.compile(r'no endpoints available for service "([^"]+)"')
_QUOTA: Final = re.compile(r"exceeded quota: ([^,]+), (.+)", re.DOTALL)


STARTING_PATIENCE_NS: Final = 5 * 60 * NS_PER_SECOND
"""Images and volumes take minutes; containers that are not created by then need attention."""
_FAILED_STARTS: Final = ("FailedCreatePodSandBox", "FailedAttachVolume", "FailedMount")
"""Reasons of events that tell why, the most telling first."""


class CreateRefusal(NamedTuple):
    """Why a pod could not be created."""

    manner: Manner
    name: str
    """Of the webhook or the ResourceQuota; empty for other reasons."""
    message: str


def read_refusal(message: str) -> CreateRefusal:
    """Return what the message of a FailedCreate event names."""
    if (match := _CALL.search(message)) is not None:
        endpoints = _ENDPOINTS.search(match[2])
        text = f"no endpoints for service {endpoints[1]}" if endpoints is not None else match[2].rpartition('": ')[2]
        return CreateRefusal(Manner.WEBHOOK_FAILS, match[1], text)
    if (match := _DENIED.search(message)) is not None:
        return CreateRefusal(Manner.WEBHOOK_DENIES, match[1], match[2])
    if (match := _QUOTA.search(message)) is not None:
        return CreateRefusal(Manner.QUOTA, match[1], match[2])
    return CreateRefusal(Manner.PLAIN, "", message.removeprefix("Error creating: "))


def starting_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield pods that are bound to a node but not started, by the event that tells why."""
    late = {pod.key: pod for pod in case.starting if case.now_ns - pod.since_ns >= STARTING_PATIENCE_NS}
    down = {line.name for line in case.nodes if line.not_ready_ns is not None}
    groups: defaultdict[str, list[StartingPod]] = defaultdict(list)
    events: dict[str, Event] = {}
    for event in case.events if late else ():
        key = f"{event.involved_namespace}/{event.involved_name}"
        if event.reason in _FAILED_STARTS and key in late and event.involved_kind == "Pod":
            before = events.get(key)
            if before is None or _FAILED_STARTS.index(event.reason) < _FAILED_STARTS.index(before.reason):
                events[key] = event
    for key, pod in late.items():
        if pod.node not in down and key in events:
            groups[events[key].reason].append(pod)
    for reason, pods in groups.items():
        nodes = tuple(dict.fromkeys(pod.node for pod in pods))
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.PODS_NOT_STARTING,
            since_ns=min(pod.since_ns for pod in pods),
            objects=(*(f"Pod/{pod.key}" for pod in pods), *(f"Node/{name}" for name in nodes)),
            names=(reason, *(pod.key for pod in pods)),
            nodes=len(nodes),
            pods=len(pods),
            stuck_pods=nodes[:1],
            detail=events[pods[0].key].message,
            screen="pods",
            key="4",
        )


def creation_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield one finding for each webhook, quota or message that keeps pods from being created."""
    groups: defaultdict[tuple[Manner, str], list[Event]] = defaultdict(list)
    for event in case.events:
        if event.reason == FAILED_CREATE and case.now_ns - event.last_ns <= RECENT_NS:
            refusal = read_refusal(event.message)
            groups[refusal.manner, refusal.name or refusal.message].append(event)
    for (manner, name), events in groups.items():
        owners = dict.fromkeys(f"{e.involved_kind}/{e.involved_namespace}/{e.involved_name}" for e in events)
        latest = max(events, key=lambda event: event.last_ns)
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.PODS_NOT_CREATED,
            since_ns=min((event.first_ns for event in events if event.first_ns), default=None),
            objects=tuple(owners),
            names=(name, *(owner.partition("/")[2] for owner in owners)),
            detail=read_refusal(latest.message).message,
            manner=manner,
            screen="events",
            key="9",
        )
