"""Findings about pods that controllers cannot create: admission webhooks, quotas and policies refuse them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from karptui.kube.objects import Event
from karptui.kube.timestamps import ABSENT_NS, MINUTE_NS
from karptui.verdict.case import VerdictCase
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner
from karptui.verdict.pending_pods import object_of

FAILED_CREATE: Final = "FailedCreate"
RECENT_NS: Final = 20 * MINUTE_NS
"""Controllers repeat a failed creation within 17 minutes: an older event has no successor."""
_CALL: Final = re.compile(r'failed calling webhook "([^"]+)": (.+)', re.DOTALL)
_DENIED: Final = re.compile(r'admission webhook "([^"]+)" denied the request: (.+)', re.DOTALL)
_ENDPOINTS: Final = re.compile(r'no endpoints available for service "([^"]+)"')
_QUOTA: Final = re.compile(r"exceeded quota: ([^,]+), (.+)", re.DOTALL)
_LIMIT_RANGE: Final = re.compile(r"(?:maximum|minimum) \S+ usage per (?:Container|Pod) is .+", re.DOTALL)
_FORBIDDEN: Final = re.compile(
    r'(?:Error creating: |create Pod .+? failed error: )?(?:pods "[^"]*" is forbidden: )?(.+)', re.DOTALL
)
MANY_UNOBSERVED: Final = 3
"""A controller needs a moment to see a change: a list may have been made in that moment."""
_TRIED_AGAIN: Final = "the object has been modified"
"""End of messages about two writers at the same time: the next try, a moment later, succeeds."""
_NAMESPACE_ENDS: Final = "because it is being terminated"
NAMESPACE_ENDS_NS: Final = 10 * MINUTE_NS
"""The deletion of a namespace takes minutes: meanwhile its controllers may not create pods."""


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


def creation_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield one finding for each webhook, quota or message that keeps pods from being created."""
    groups: defaultdict[tuple[Manner, str], list[Event]] = defaultdict(list)
    for event in case.recent(FAILED_CREATE, within_ns=RECENT_NS):
        if _NAMESPACE_ENDS in event.message and case.now_ns - event.first_ns < NAMESPACE_ENDS_NS:
            continue
        owner = object_of(event)
        running, desired = case.replicas.get(owner, (0, 1))
        is_over = owner not in case.replicas and case.newest_pods.get(owner, ABSENT_NS) > event.last_ns
        if _TRIED_AGAIN in event.message or running >= desired or is_over:
            continue
        refusal = read_refusal(event.message)
        groups[refusal.manner, refusal.name or refusal.message].append(event)
    for (manner, name), events in groups.items():
        owners = dict.fromkeys(map(object_of, events))
        latest = max(events, key=lambda event: event.last_ns)
        counts = [case.replicas[owner] for owner in owners if owner in case.replicas]
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.PODS_NOT_CREATED,
            since_ns=min((event.first_ns for event in events if event.first_ns), default=None),
            objects=tuple(owners),
            names=(name, *(owner.partition("/")[2] for owner in owners)),
            nodes=sum(running for running, _ in counts) if len(counts) == len(owners) else 0,
            of_nodes=sum(desired for _, desired in counts) if len(counts) == len(owners) else 0,
            detail=read_refusal(latest.message).message,
            manner=manner,
            screen="events" if latest.message else "",
        )


def stopped_controllers(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield that several objects wait for Kubernetes' own controllers, or one does and their lease is not renewed.

    Missing pods alone are no sign: lists are made one after the other, and pods come and go in between.
    """
    unobserved = case.unobserved
    owners = (*unobserved.changed, *unobserved.short)
    if unobserved.changed and len(owners) >= (1 if unobserved.renewed_ns else MANY_UNOBSERVED):
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.CONTROLLERS_STOPPED,
            since_ns=unobserved.renewed_ns or unobserved.since_ns or None,
            objects=owners,
            names=tuple(owner.partition("/")[2] for owner in owners),
            nodes=len(unobserved.short),
            of_nodes=len(owners),
            manner=Manner.PLAIN if unobserved.renewed_ns else Manner.ON_SIGNS,
        )
