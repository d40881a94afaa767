"""Findings about pods on nodes whose containers do not start, crash, are rejected, or do not end."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from karptui.disruption.churn.moves import EVICTED, KUBELET, is_eviction
from karptui.karpenter.labels import OS
from karptui.kube.group import group_by
from karptui.kube.objects import Event
from karptui.kube.pod import CREATING, INITIALIZING, NOT_STARTED, UNSTARTABLE, VOLUME_FAILURES
from karptui.kube.taints import HARD_EFFECTS, untolerated
from karptui.kube.timestamps import HOUR_NS, MINUTE_NS
from karptui.kube.workload import DaemonSet
from karptui.verdict.finding import (
    ClusterFinding,
    FindingCode,
    FindingSeverity,
    Manner,
    OutlivedPod,
    Shared,
    StartingPod,
    VerdictCase,
    VerdictNode,
)
from karptui.verdict.pending_pods import folded_by_namespace, folded_names, key_of, pods_of

STARTING_PATIENCE_NS: Final = 5 * MINUTE_NS
CREATING_PATIENCE_NS: Final = 15 * MINUTE_NS
"""Images and volumes take minutes; containers that are not created by then need attention."""
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
_PATHS: Final = re.compile(r"(?<![\w\"])/[\w./~-]+")
"""Paths of directories, which have the names of volumes and of pods."""
_IDS: Final = re.compile(
    r'(?<=volume )"[^"]+"|\b(?:\w+-)?[0-9a-f]{6,}(?:-[0-9a-f]{4,})*\b|\b\d+(?:\.\d+){3}(?::\d+)?\b'
)
"""Names of volumes, identifiers of volumes, instances and sandboxes, and IP addresses."""
_UNFINISHED: Final = ("context deadline exceeded", "failed to reserve sandbox name")
"""Text in messages about a sandbox that is not created in time, and about later attempts."""
_ERROR: Final = "Error: "
"""Prefix of the kubelet's ``Failed`` messages, some of which only repeat a container's waiting reason."""

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
_PROBED: Final = re.compile(r"failed (?:liveness|startup) probe")
"""Text in events about containers that the kubelet ends because a probe failed."""
SYSTEM_OOM: Final = "SystemOOM"
"""Reason of the kubelet's events about processes that the kernel kills because the node has no memory left."""
_RUN: Final = "unable to start container process"
"""Text in events about containers whose command the runtime cannot start."""
REJECTED_NS: Final = 30 * MINUTE_NS
"""Rejections count as over if the last one is older."""
REPEATED_NS: Final = 2 * MINUTE_NS
"""Kubelets reject pods for a moment, if several schedulers or a restart are at work; longer is a fault."""
FEWEST_REJECTED: Final = 3
FEWEST_CRASHING: Final = 2
"""Fewest crashing pods whose common platform is evidence of the cause."""
CRASHED_NS: Final = 15 * MINUTE_NS
"""Pods may crash while a rollout finds its dependencies; pods that are older have tried often."""
PROBED_NS: Final = 2 * MINUTE_NS
"""Kubelets repeat the failure of a probe within this time."""
TOGETHER_NS: Final = 2 * MINUTE_NS
"""Successors of evicted pods start within this time."""
UNENDED_NS: Final = 10 * MINUTE_NS
"""The kubelet ends a pod seconds after its grace period; controllers remove their finalizers in minutes."""
_DAEMONSET: Final = "DaemonSet/"
_KUBE_SYSTEM: Final = "kube-system/"
_OF_ALL: Final = frozenset(Shared) - {Shared.TYPE}
"""Properties that pods of any workload may have in common: those that are not of DaemonSets share a type by chance."""
_WITH_REVISIONS: Final = ("Deployment/", "Rollout/")
NAME_SERVERS: Final = frozenset({"coredns", "kube-dns"})
"""Deployments that resolve the names of Services."""
SHARED_WORDS: Final = {"agent", "aws", "azure", "com", "csi", "io", "k8s", "node", "org", "sh"}
"""Words in names of DaemonSets, or domains, of different projects."""
_NO_DRIVER: Final = re.compile(r"does not contain driver ([\w.-]+)|driver name ([\w.-]+) not found in the list")
"""Errors about volumes on a node where their driver does not run."""
FEWEST_ALIKE: Final = 3
"""Fewest crashing pods for which a common property of their nodes is no coincidence."""
_FAMILIES: Final = ("/instance-family", "/sku-family")
"""Ends of labels with the family of an instance type; the labels are the providers'."""


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
        yield _of_pods(
            pods,
            reason,
            image if reason == IMAGE else "",
            severity=FindingSeverity.INFO if reason == INITIALIZING else FindingSeverity.ERROR,
            words=next((unread[pod.key] for pod in pods if is_refused and pod.key in unread), ""),
            container=pods[0].init_container if reason == INITIALIZING else "",
            since_ns=min(pod.since_ns for pod in pods),
            zones=only_zone(lines, nodes),
            stuck_pods=nodes[:1],
            detail=message if reason != IMAGE or message else pods[0].waiting_reason,
            reasons=_platforms(lines, nodes) if is_platform else _addresses(case, nodes, message),
            agent=_absent_driver(case, lines.get(nodes[0]), message),
        )


def _addresses(case: VerdictCase, nodes: Collection[str], message: str) -> tuple[str, ...]:
    """Return the largest number of addresses of nodes without a free one, if pods get none; empty for other pods."""
    counts = [case.addresses.get(node, 0) for node in nodes]
    return (str(max(counts)),) if all(counts) and NO_ADDRESS in message else ()


def _absent_driver(case: VerdictCase, line: VerdictNode | None, message: str) -> tuple[str, ...]:
    """Return the DaemonSet of the volume driver that a node lacks, and taints that keep it off; empty without one."""
    if line is None or (match := _NO_DRIVER.search(message)) is None:
        return ()
    words = {*re.split(r"[.-]", match[1] or match[2])} - SHARED_WORDS
    return absent_agent(case, line, lambda daemonset: words <= {*daemonset.name.split("-")})


def absent_agent(case: VerdictCase, line: VerdictNode, is_agent: Callable[[DaemonSet], bool]) -> tuple[str, ...]:
    """Return the only DaemonSet of a sort if a node lacks it, and taints that keep it off; empty otherwise."""
    agents = [(daemonset, _kept_off(daemonset, line)) for daemonset in case.daemonsets if is_agent(daemonset)]
    if len(agents) != 1:  # of several DaemonSets of a project any may be the one
        return ()
    ((daemonset, taints),) = agents
    # A selector that fits no node at all is not about this one.
    is_selective = taints == () and any(_selects(daemonset, other) for other in case.nodes)
    return (daemonset.key, *taints) if taints or (taints is not None and is_selective) else ()


def _kept_off(daemonset: DaemonSet, line: VerdictNode) -> tuple[str, ...] | None:
    """Return the taints that keep a DaemonSet off a node, none if that lacks its labels; None if it may run there."""
    own = line.claim.taints if line.claim is not None else ()
    taints = [str(t) for t in untolerated(own, daemonset.template.tolerations) if t.effect in HARD_EFFECTS]
    return tuple(taints) if taints or not _selects(daemonset, line) else None


def _selects(daemonset: DaemonSet, line: VerdictNode) -> bool:
    return line.node is not None and daemonset.template.node_selector.items() <= line.node.labels.items()


def _is_unexplained(pod: StartingPod, now_ns: int) -> bool:
    """Return whether a pod has waited for its containers longer than an image takes; init containers may take hours."""
    return pod.waiting_reason == "ContainerCreating" and now_ns - pod.since_ns >= CREATING_PATIENCE_NS


def _generic_message(event: Event, node: str) -> str:
    """Return an event's message without the names of its pod, node and volume: the same for pods with one cause."""
    if any(words in event.message for words in _UNFINISHED):
        return ""
    return _PATHS.sub("", _IDS.sub("", event.message.replace(event.involved_name, "").replace(node, "")))


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


def only_zone(lines: Mapping[str, VerdictNode], names: Sequence[str]) -> tuple[str, ...]:
    """Return the zone of nodes if all of them are in one, and others of the cluster are not."""
    zones = {lines[name].zone if name in lines else "" for name in names}
    others = {line.zone for line in lines.values()} - zones
    return tuple(zones) if len(names) >= FEWEST_ALIKE and len(zones) == 1 and "" not in zones and others else ()


def _platforms(lines: Mapping[str, VerdictNode], names: Iterable[str]) -> tuple[str, ...]:
    """Return the platforms of nodes, such as ``linux/arm64``."""
    return tuple(sorted({_platform(lines[name]) for name in names if name in lines} - {""}))


def _platform(line: VerdictNode) -> str:
    return f"{line.node.labels.get(OS, 'linux')}/{line.node.architecture}" if line.node is not None else ""


class _Difference(NamedTuple):
    """A property that only the nodes with crashing pods share."""

    manner: Manner
    shared: Shared
    bad: str
    good: tuple[str, ...]


def _family(line: VerdictNode) -> str:
    labels = line.node.labels if line.node is not None else {}
    family = next((value for key, value in labels.items() if key.endswith(_FAMILIES)), "")
    return family or line.instance_type.partition(".")[0]


PROPERTIES: Final[Mapping[Shared, Callable[[VerdictNode], str]]] = {
    Shared.PLATFORM: _platform,
    Shared.NODE: lambda line: line.name,
    Shared.FAMILY: _family,
    Shared.ZONE: lambda line: line.zone,
    Shared.POOL: lambda line: line.pool,
    Shared.IMAGE: lambda line: line.node.os_image if line.node is not None else "",
    Shared.TYPE: lambda line: line.instance_type,
}
"""Properties shared by nodes that can explain a crash or a silent kubelet, the likeliest first."""


def crashing_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield workloads with several crashing pods, and their nodes' common property if other pods run elsewhere."""
    lines = {line.name: line for line in case.nodes}
    karpenter = {pod.key for pod in case.controller.pods}
    owned = (pod for pod in case.crashing if pod.controller and pod.key not in karpenter)
    controllers = group_by(owned, lambda pod: pod.controller)
    told = _crash_messages(case) if controllers else {}
    for common, pods in _merged_failures(case, controllers):
        good = {name for pod in pods for name in case.running_on[pod.controller]}
        agent = _agent_of_others(case, {pod.node for pod in pods}, good)
        yield _of_pods(pods, "", agent=agent, **_crashes(pods, case.now_ns), **_difference_fields(common))
    single = [pod for pods in controllers.values() if len(pods) < FEWEST_CRASHING for pod in pods]
    single = [pod for pod in single if case.now_ns - pod.since_ns >= CRASHED_NS]
    agents = [pod for pod in single if pod.owner.startswith(_DAEMONSET)]
    # A pod of a DaemonSet serves the pods of its node, which lack it; others run elsewhere as well, for any reason.
    lone = [(FindingSeverity.WARNING, [pod]) for pod in agents]
    for level, pods in (*lone, (FindingSeverity.INFO, [pod for pod in single if pod not in agents])):
        if pods:
            yield _of_pods(pods, "", severity=level, manner=Manner.CRASHING, **_crashes(pods, case.now_ns))
    alike: defaultdict[tuple[object, ...], list[tuple[list[StartingPod], int, dict[str, Any]]]] = defaultdict(list)
    for controller, pods in controllers.items():
        nodes = tuple(dict.fromkeys(pod.node for pod in pods))
        runs = case.running_on.get(controller, {})
        older = 0 if runs else _older(case, pods)
        difference = _difference(lines, nodes, runs, pods)
        is_old = sum(case.now_ns - pod.since_ns >= CRASHED_NS for pod in pods) >= FEWEST_CRASHING
        if difference is None and not is_old:
            continue
        runtime = (pod.message for pod in pods if pod.exit_reason in UNSTARTABLE)
        # A DaemonSet's pods do not replace each other: each serves its own node.
        is_replaced = (bool(runs) or older >= len(pods)) and not pods[0].owner.startswith(_DAEMONSET)
        more = {
            "words": next((told[pod.key] for pod in pods if pod.key in told), "") or next(runtime, ""),
            "severity": FindingSeverity.WARNING if is_replaced else FindingSeverity.ERROR,
            "of_nodes": len({*nodes, *runs}) if runs and not is_replaced else 0,
            "detail": _exit_reason(pods),
            "container": pods[0].init_container,
            "is_newer": difference is not None and is_replaced and _is_newer(lines, pods, runs),
            "manner": Manner.CRASHING,
            "agent": _agent_of_others(case, nodes, runs) if difference is not None else (),
            **_difference_fields(difference),
        }
        is_own = difference is not None or more["words"] or _serves_others(pods[0])
        alike[(controller,) if is_own else (bool(older), *more.values())].append((pods, older, more))
    for parts in alike.values():
        # Several workloads that crash alike are one finding: it must not hide the others.
        joined = [([*chain(*(pods for pods, _, _ in parts))], sum(older for _, older, _ in parts), parts[0][2])]
        for pods, older, more in joined if len(parts) >= FEWEST_ALIKE else parts:
            started_ns = min(pod.since_ns for pod in pods)
            fields = {**_crashes(pods, case.now_ns), **more, "started_ns": started_ns, "others": older}
            yield _of_pods(pods, pods[0].image, **fields)


def _agent_of_others(case: VerdictCase, bad: Collection[str], good: Collection[str]) -> tuple[str, ...]:
    """Return the only DaemonSet of Kubernetes that serves all good nodes and no bad one, and what keeps it off."""
    here = [line for line in case.nodes if line.name in bad]
    there = [line for line in case.nodes if line.name in good]

    def serves_others(daemonset: DaemonSet) -> bool:
        is_needed = daemonset.key.startswith(_KUBE_SYSTEM) and all(_kept_off(daemonset, line) is None for line in there)
        return is_needed and all(_kept_off(daemonset, line) is not None for line in here)

    return absent_agent(case, here[0], serves_others) if here and there else ()


def _older(case: VerdictCase, pods: Sequence[StartingPod]) -> int:
    """Return the number of ready pods of other revisions of a Deployment or Argo Rollout."""
    return len(case.running_on.get(pods[0].owner, ())) if pods[0].owner.startswith(_WITH_REVISIONS) else 0


def _is_newer(lines: Mapping[str, VerdictNode], pods: Sequence[StartingPod], runs: Mapping[str, int]) -> bool:
    """Return whether pods started after all that run, and long after their own nodes."""
    nodes = (lines[pod.node].node for pod in pods if pod.node in lines)
    settled = (node.created_ns + HOUR_NS for node in nodes if node is not None)
    return min(pod.since_ns for pod in pods) > max((*runs.values(), *settled))


def _serves_others(pod: StartingPod) -> bool:
    """Return whether other pods need a pod: their crashes are its consequence."""
    return pod.owner.startswith(_DAEMONSET) or pod.key.startswith(_KUBE_SYSTEM)


def _difference_fields(difference: _Difference | None) -> dict[str, Any]:
    """Return the fields of a finding for the property that only the nodes with crashing pods share."""
    if difference is None:
        return {}
    is_node = difference.shared is Shared.NODE
    return {
        "severity": FindingSeverity.WARNING if is_node else FindingSeverity.ERROR,
        "reasons": (difference.shared, difference.bad, *difference.good),
        "manner": difference.manner,
    }


def _merged_failures(
    case: VerdictCase, controllers: dict[str, list[StartingPod]], properties: Collection[Shared] = _OF_ALL
) -> Iterator[tuple[_Difference, list[StartingPod]]]:
    """Take the pods of several workloads that fail alike on nodes which share something, if their others run elsewhere.

    Most of the workloads must have it in common: a few are on such nodes by chance, and so is one pod of two in a zone.
    """
    lines = {line.name: line for line in case.nodes if line.not_ready_ns is None}
    late = {
        controller: pods
        for controller, pods in controllers.items()
        if case.running_on.get(controller) and not _serves_others(pods[0])
        if case.now_ns - min(pod.since_ns for pod in pods) >= CRASHED_NS
    }
    votes: defaultdict[tuple[Shared, str], dict[str, Sequence[str]]] = defaultdict(dict)
    for controller, pods in late.items():
        runs = case.running_on[controller]
        is_sure = len(pods) >= FEWEST_CRASHING and len(runs) >= FEWEST_CRASHING
        for difference in _differences(lines, {pod.node for pod in pods}, runs):
            if difference.shared in properties and (is_sure or difference.shared is Shared.NODE):
                votes[difference.shared, difference.bad][controller] = difference.good
    (shared, bad), good = max(votes.items(), key=lambda vote: len(vote[1]), default=((Shared.NODE, ""), {}))
    ends = {_exit_reason(late[key]) for key in good}
    if len(good) >= FEWEST_ALIKE and 4 * len(good) >= 3 * len(late) and len(ends) == 1:
        others = tuple(sorted({value for values in good.values() for value in values}))
        yield _Difference(Manner.BY_NODES, shared, bad, others), [pod for key in good for pod in controllers.pop(key)]


def _crash_messages(case: VerdictCase) -> dict[str, str]:
    """Return the kubelets' errors about starting or ending containers, by ``namespace/name`` of the pod."""
    words = {key_of(event): event.message for event in case.recent("Failed", kind="Pod") if _RUN in event.message}
    probed = {key_of(event) for event in case.recent("Killing", kind="Pod") if _PROBED.search(event.message)}
    for event in case.recent("Unhealthy", kind="Pod") if probed else ():
        if key_of(event) in probed and not event.message.startswith("Readiness"):
            words[key_of(event)] = event.message
    return {**words, **{key_of(event): event.message for event in case.recent("FailedPostStartHook", kind="Pod")}}


def _exit_reason(pods: Sequence[StartingPod]) -> str:
    """Return the common exit reason of containers (``OOMKilled``) or exit code; empty if they differ."""
    ends = {pod.exit_reason if pod.exit_reason not in ("", "Error") else str(pod.exit_code or "") for pod in pods}
    ends.discard("")
    return ends.pop() if len(ends) == 1 else ""


def relapsing_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield workloads whose pods run out of memory at least hourly and are ready between.

    Pods on nodes where the kernel kills other processes too are left to the findings about these nodes.
    """
    karpenter = {pod.key for pod in case.controller.pods}
    full = {event.involved_name for event in case.recent(SYSTEM_OOM, kind="Node")}
    late = [
        pod
        for pod in case.relapsing
        if pod.controller and pod.key not in karpenter and pod.node not in full and pod.restarts_hourly(case.now_ns)
        if pod.restarts * (case.now_ns - pod.exited_ns) <= 2 * (case.now_ns - pod.since_ns)
    ]
    counts = Counter(pod.owner for pod in late)
    groups = group_by(late, lambda pod: pod.owner if counts[pod.owner] >= FEWEST_CRASHING else "")
    for owner, pods in groups.items():
        level, last_ns = FindingSeverity.WARNING if owner else FindingSeverity.INFO, max(pod.exited_ns for pod in pods)
        yield _of_late_pods(pods, Manner.RESTARTS, severity=level, last_ns=last_ns, **_ends(pods, case.now_ns))


def _ends(pods: Sequence[StartingPod], now_ns: int) -> dict[str, Any]:
    """Return the fields of a finding for the restarts and ends of containers."""
    limits = {pod.limit for pod in pods}
    restarts = sum(pod.restarts for pod in pods) if all(pod.restarts_hourly(now_ns) for pod in pods) else 0
    limit = limits.pop() if len(limits) == 1 else None
    return {"detail": _exit_reason(pods), "restarts": restarts, "limit": limit}


def _crashes(pods: Sequence[StartingPod], now_ns: int) -> dict[str, Any]:
    """Return the fields of a finding for crashes, and since when none of the pods is ready.

    A pod that becomes ready between two crashes does not tell when these began, nor do pods of different ages.
    """
    since_ns, last_ns = (take(pod.unready_ns for pod in pods) for take in (min, max))
    is_known = all(0 < pod.unready_ns < pod.exited_ns for pod in pods)
    is_alike = now_ns - since_ns <= 2 * (now_ns - last_ns)
    return {**_ends(pods, now_ns), "since_ns": last_ns if is_known and is_alike else None}


def waiting_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield workloads whose running pods have long waited for a readiness gate, or to be resized in place."""
    for pods, manner, fewest in ((case.gated, Manner.GATED, FEWEST_CRASHING), (case.resizing, Manner.UNRESIZED, 1)):
        late = [pod for pod in pods if case.now_ns - pod.since_ns >= CRASHED_NS]
        for alike in group_by(late, lambda pod: (pod.owner, pod.waiting_reason)).values():
            if len(alike) >= fewest:
                yield _of_late_pods(alike, manner, detail=alike[0].waiting_reason or alike[0].message)


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
    for difference, pods in _merged_failures(case, groups, (Shared.NODE,)):
        told = next((probed[pod.key] for pod in pods if pod.key in probed), "")
        since_ns, manner = min(pod.since_ns for pod in pods), Manner.UNREADY_BY_NODES
        yield _of_pods(pods, "", since_ns=since_ns, detail=told, **{**_difference_fields(difference), "manner": manner})
    lone: list[StartingPod] = []
    alike: defaultdict[tuple[object, ...], list[tuple[list[StartingPod], dict[str, Any]]]] = defaultdict(list)
    for controller, pods in groups.items():
        since_ns = max(pod.since_ns for pod in pods)
        is_silent = any(pod.node in lines and lines[pod.node].not_ready_ns is not None for pod in pods)
        if case.running_on.get(controller) or is_silent or case.now_ns - since_ns < STARTING_PATIENCE_NS:
            continue
        told = next((probed[pod.key] for pod in pods if pod.key in probed), "")
        is_late = case.now_ns - since_ns >= CRASHED_NS
        older = _older(case, pods)
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
            error = _PATHS.sub("", _IDS.sub("", told))
            alike[(controller,) if older or moved else (error, container)].append((pods, more))
    for parts in alike.values():
        joined = [([*chain(*(pods for pods, _ in parts))], parts[0][1])]
        for pods, more in joined if len(parts) >= FEWEST_ALIKE else parts:
            is_first = all(pod.starting_container for pod in pods) and len(parts) < FEWEST_ALIKE
            if is_first and not more["reasons"]:
                told = next((starting[pod.key] for pod in pods if pod.key in starting), "")
                more |= {"severity": FindingSeverity.INFO, "detail": told, "container": pods[0].starting_container}
                yield _of_late_pods(pods, Manner.STARTING_UP, **more)
            else:
                yield _of_late_pods(pods, Manner.NONE_READY, **more)
    if lone:
        told = probed.get(lone[0].key, "") if len(lone) == 1 else ""
        yield _of_late_pods(lone, Manner.NONE_READY, severity=FindingSeverity.INFO, detail=told)


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
        finding = _of_late_pods(pods, Manner.UNENDED, detail=detail, reasons=(kind, *finalizers))
        yield finding if is_on_node else replace(finding, objects=finding.objects[: len(pods)], nodes=0)


def _of_late_pods(pods: Sequence[StartingPod], manner: Manner, **more: Any) -> ClusterFinding:
    since_ns = min(pod.since_ns for pod in pods)
    return _of_pods(pods, "", "", since_ns=since_ns, stuck_pods=(pods[0].node,), manner=manner, **more)


def _of_pods(pods: Sequence[StartingPod | OutlivedPod], *names: str, **more: Any) -> ClusterFinding:
    """Return a finding about pods, whose names follow the given ones."""
    nodes = tuple(dict.fromkeys(pod.node for pod in pods))
    owners = {owner: [pod.key for pod in own] for owner, own in group_by(pods, lambda pod: pod.owner).items()}
    given = {"severity": FindingSeverity.WARNING, "code": FindingCode.PODS_NOT_STARTING, "screen": "pods", **more}
    return ClusterFinding(
        objects=(*(f"Pod/{pod.key}" for pod in pods), *(f"Node/{name}" for name in nodes)),
        names=(*names, *folded_names(owners)),
        nodes=len(nodes),
        pods=len(pods),
        is_outdated=all(isinstance(pod, StartingPod) and pod.is_outdated for pod in pods),
        **given,
    )


def _difference(
    lines: Mapping[str, VerdictNode], bad: Sequence[str], good: Collection[str], pods: Sequence[StartingPod]
) -> _Difference | None:
    """Return the property that only the nodes with crashing pods share; None if there is none."""
    is_sure = len(pods) >= FEWEST_ALIKE and len({*good} - {*bad}) >= FEWEST_CRASHING
    known = (Shared.PLATFORM,) if not is_sure else tuple(Shared) if pods[0].owner.startswith(_DAEMONSET) else _OF_ALL
    differences = _differences(lines, bad, good) if len(pods) >= FEWEST_CRASHING else ()
    return next((found for found in differences if found.shared in known), None)


def _differences(
    lines: Mapping[str, VerdictNode], bad: Collection[str], good: Collection[str]
) -> Iterator[_Difference]:
    """Yield each property that nodes with failing pods share and those with running pods lack."""
    for shared, value_of in PROPERTIES.items():
        here = {value_of(lines[name]) if name in lines else "" for name in bad}
        there = {value_of(lines[name]) if name in lines else "" for name in good}
        is_known = there and "" not in (here if shared is Shared.POOL else here | there)
        if len(here) == 1 and is_known and not here & there:
            others = () if shared is Shared.NODE else tuple(sorted(there))
            manner = Manner.BY_PLATFORM if shared is Shared.PLATFORM else Manner.BY_NODES
            yield _Difference(manner, shared, here.pop(), others)


def outlived_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield pods of Jobs that finished a while ago, but for a container that runs on, by workload."""
    late = (pod for pod in case.outlived if case.now_ns - pod.finished_ns >= OUTLIVED_NS)
    for (owner, running), pods in group_by(late, lambda pod: (pod.owner, pod.running)).items():
        since_ns, code = min(pod.finished_ns for pod in pods), FindingCode.PODS_NOT_ENDING
        yield _of_pods(pods, code=code, since_ns=since_ns, detail=owner, reasons=running)


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


def _explanation_rank(event: Event | None) -> tuple[int, int]:
    """Return the rank of an event as an explanation for a pod that does not start; the lowest is the best."""
    if event is None or event.message.removeprefix(_ERROR) in NOT_STARTED:
        return len(_FAILED_STARTS), 0
    return _FAILED_STARTS.index(event.reason), -event.last_ns
