"""Findings about pods on nodes whose containers do not start."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from karptui.kube.objects import Event
from karptui.kube.pod import (
    CONTAINER_CREATING,
    CREATING,
    CREATING_PATIENCE_NS,
    INITIALIZING,
    NOT_STARTED,
    VOLUME_FAILURES,
)
from karptui.kube.timestamps import MINUTE_NS
from karptui.verdict.agents import absent_driver
from karptui.verdict.case import StartingPod, VerdictCase, VerdictNode
from karptui.verdict.crashing import NAME_SERVERS
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner, began
from karptui.verdict.late_pods import FEWEST_CRASHING, IDS, PATHS, of_pods, only_zone, platform
from karptui.verdict.pending_pods import key_of

STARTING_PATIENCE_NS: Final = 5 * MINUTE_NS
INITIALIZING_NS: Final = 30 * MINUTE_NS
"""Init containers may take hours, or wait for something that never comes: after this time they are noted."""
_NO_CREDENTIALS: Final = "FailedToRetrieveImagePullSecret"
_UNAUTHORIZED: Final = re.compile(
    r"unauthorized|forbidden|denied|no basic auth|authentication required|status\D*40[13]", re.IGNORECASE
)
"""Text in errors of registries that credentials could prevent."""
_FAILED_STARTS: Final = (
    "BranchAllocationFailed",
    "BranchENIAnnotationFailed",
    "FailedCreatePodSandBox",
    "FailedAttachVolume",
    "FailedMount",
    "VolumePermissionChangeInProgress",
    "Failed",
)
"""Event reasons that explain a failed start, the most specific first: two are the VPC resource controller's, and the
kubelet's ``Failed`` is about images and settings.
"""
_IMAGES: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"})
NO_ADDRESS: Final = "failed to assign an IP address"
"""The VPC CNI's words about a pod if its node has no address left."""
IMAGE: Final = "image"
"""Common name for all image pull failures."""
_PLATFORMS: Final = ("no match for platform", "no matching manifest", "exec format error")
_NETWORK_ERRORS: Final = (
    "i/o timeout",
    "TLS handshake timeout",
    "no such host",
    "connection refused",
    "no route to host",
    "network is unreachable",
    "context deadline exceeded",
    "x509: certificate signed by unknown authority",
    "no space left on device",
)
"""Errors of networks and disks: if several images cannot be pulled for the same one, the images are not its cause."""
_SERVER_ERROR: Final = re.compile(r"https?://([^/\s]+)/\S*: ((?:403|429|5\d\d) [A-Z]\w+(?: [A-Z]\w+)*)")
"""The registry and its answer, which is no answer about the image."""
_UNFINISHED: Final = ("context deadline exceeded", "failed to reserve sandbox name")
"""Text in messages about a sandbox that is not created in time, and about later attempts."""
_ERROR: Final = "Error: "
"""Prefix of the kubelet's ``Failed`` messages, some of which only repeat a container's waiting reason."""


def idle_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield name servers and volume drivers' controllers that run no pod, if pods fail that may need them."""
    failing = {pod.controller for pod in (*case.crashing, *case.unready)}
    is_late = any(case.now_ns - pod.since_ns >= STARTING_PATIENCE_NS for pod in case.starting)
    lacks_volumes = is_late and bool(case.recent(*VOLUME_FAILURES, kind="Pod"))
    for key in case.idle:
        is_server = key.rpartition("/")[2] in NAME_SERVERS
        if (is_server and len(failing) >= FEWEST_CRASHING) or (not is_server and lacks_volumes):
            yield ClusterFinding(
                severity=FindingSeverity.ERROR,
                code=FindingCode.PODS_NOT_STARTING,
                objects=(f"Deployment/{key}",),
                names=(key,),
                detail="names" if is_server else "volumes",
                manner=Manner.IDLE,
                screen="pods",
            )


def starting_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield pods that are bound to a node but not started, by the cause in their status or events."""
    late = {pod.key: pod for pod in case.starting if case.now_ns - pod.since_ns >= STARTING_PATIENCE_NS}
    lines = {line.name: line for line in case.nodes}
    events: dict[str, Event] = {}
    secrets = case.recent(_NO_CREDENTIALS, within_ns=CREATING_PATIENCE_NS) if late else ()
    unread = {key_of(event): event.message for event in secrets}
    failures = [event for reason in _FAILED_STARTS for event in case.events_by_reason.get(reason, ())]
    for event in failures if late else ():
        key = key_of(event)
        if (
            event.involved_kind == "Pod"
            and key in late
            and _explanation_rank(event) < _explanation_rank(events.get(key))
        ):
            events[key] = event
    groups: defaultdict[tuple[str, str], list[StartingPod]] = defaultdict(list)
    messages: dict[str, str] = {}
    for key, pod in late.items():
        line = lines.get(pod.node)
        if line is not None and line.not_ready_ns is not None:
            continue
        # An init container runs only after its pod's volumes are mounted: warnings about them are over.
        warning = None if pod.waiting_reason == INITIALIZING and pod.init_container else events.get(key)
        messages[key] = warning.message.removeprefix(_ERROR) if warning is not None else pod.message
        if pod.waiting_reason in _IMAGES:
            groups[IMAGE, pod.image].append(pod)
        elif warning is not None and warning.reason != "Failed":
            groups[warning.reason, _generic_message(warning, pod.node)].append(pod)
        elif pod.waiting_reason not in CREATING or _is_unexplained(pod, case.now_ns):
            groups[pod.waiting_reason, messages[key]].append(pod)
        elif pod.init_container and case.now_ns - pod.since_ns >= INITIALIZING_NS:
            groups[pod.waiting_reason, pod.init_container].append(pod)
    for (reason, image), pods in _with_common_errors(groups, messages).items():
        nodes = tuple(dict.fromkeys(pod.node for pod in pods))
        message = next((messages[pod.key] for pod in pods if messages[pod.key]), "")
        message = message if reason != IMAGE or image else _common_error(message)
        is_platform = any(words in message for words in _PLATFORMS)
        is_refused = reason == IMAGE and _UNAUTHORIZED.search(message) is not None
        yield of_pods(
            pods,
            reason,
            image if reason == IMAGE else "",
            severity=FindingSeverity.INFO if reason == INITIALIZING else FindingSeverity.ERROR,
            words=next((unread[pod.key] for pod in pods if is_refused and pod.key in unread), ""),
            container=pods[0].init_container if reason == INITIALIZING else "",
            **began(pod.since_ns for pod in pods),
            zones=only_zone(lines, nodes),
            stuck_pods=nodes[:1],
            detail=message if reason != IMAGE or message else pods[0].waiting_reason,
            reasons=_platforms(lines, nodes) if is_platform else _addresses(case, nodes, message),
            agent=absent_driver(case, lines.get(nodes[0]), message),
        )


def _addresses(case: VerdictCase, nodes: Collection[str], message: str) -> tuple[str, ...]:
    """Return the largest number of addresses of nodes without a free one, if pods get none; empty for other pods."""
    counts = [case.addresses.get(node, 0) for node in nodes]
    return (str(max(counts)),) if all(counts) and NO_ADDRESS in message else ()


def _is_unexplained(pod: StartingPod, now_ns: int) -> bool:
    """Return whether a pod has waited for its containers longer than an image takes; init containers may take hours."""
    return pod.waiting_reason == CONTAINER_CREATING and now_ns - pod.since_ns >= CREATING_PATIENCE_NS


def _generic_message(event: Event, node: str) -> str:
    """Return an event's message without the names of its pod, node and volume: the same for pods with one cause."""
    if any(words in event.message for words in _UNFINISHED):
        return ""
    return PATHS.sub("", IDS.sub("", event.message.replace(event.involved_name, "").replace(node, "")))


def _with_common_errors(
    groups: Mapping[tuple[str, str], list[StartingPod]], messages: Mapping[str, str]
) -> dict[tuple[str, str], list[StartingPod]]:
    """Return groups, with images that fail for the same error that is not theirs merged into one without an image."""
    joined: dict[tuple[str, str], list[StartingPod]] = {}
    by_error: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, pods in groups.items():
        error = _common_error(messages[pods[0].key]) if key[0] == IMAGE else ""
        if error:
            by_error[error].append(key)
        else:
            joined[key] = pods
    for keys in by_error.values():
        image = keys[0][1] if len(keys) == 1 else ""
        joined[IMAGE, image] = [*joined.get((IMAGE, image), ()), *(pod for key in keys for pod in groups[key])]
    return joined


def _common_error(message: str) -> str:
    """Return an error that is not about the image: of the network, or a registry and its answer; empty for others."""
    server = _SERVER_ERROR.search(message)
    return ": ".join(server.groups()) if server else next((error for error in _NETWORK_ERRORS if error in message), "")


def _platforms(lines: Mapping[str, VerdictNode], names: Iterable[str]) -> tuple[str, ...]:
    """Return the platforms of nodes, such as ``linux/arm64``."""
    return tuple(sorted({platform(lines[name]) for name in names if name in lines} - {""}))


def _explanation_rank(event: Event | None) -> tuple[int, int]:
    """Return the rank of an event as an explanation for a pod that does not start; the lowest is the best."""
    if event is None or event.message.removeprefix(_ERROR) in NOT_STARTED:
        return len(_FAILED_STARTS), 0
    return _FAILED_STARTS.index(event.reason), -event.last_ns
