"""Sentences about pods that are pending, do not start, or are lost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from karptui.kube.pod import VOLUME_FAILURES
from karptui.kube.units import age_text, count_text, counted, first_of, memory_text, span_text, verb
from karptui.views.sanitize import short_name
from karptui.views.verdict.parts import (
    NAMED,
    SHARED,
    Reasons,
    Say,
    absent_agent,
    last_text,
    lasting,
    names_text,
    nodes_text,
    preempted,
    quoted,
    uncounted,
)
from karptui.views.verdict.pools import in_time

if TYPE_CHECKING:
    from karptui.verdict.finding import ClusterFinding

_SIGNALS: Final[Mapping[str, str]] = {
    "132": "illegal instruction, for example one that these processors lack",
    "137": "killed, for example because its liveness probe fails",
    "139": "segmentation fault",
    "143": "terminated, for example because its liveness probe fails",
}
_RPC: Final = re.compile(r"rpc error: code = \w+ desc = |^Failed to create pod sandbox: ")
_KILL_ERROR: Final = re.compile(r"Error: \"rpc error: code = (\w+)")
_ENDED_FOR: Final = ("Liveness probe", "Startup probe", "PostStartHook", "Exec lifecycle hook", "HTTP lifecycle hook")
"""Beginnings of the kubelet's words about probes and hooks for which it ends a container."""
_RUNTIME: Final = re.compile(r".*unable to start container process: (?:error during container init: )?", re.DOTALL)
"""What precedes the words of a container runtime about a command."""
_NEVER_PULLED: Final = "pull policy of Never"
_NO_SPACE: Final = "no space left on device"
_ATTACHED: Final = re.compile(r'Multi-Attach error for volume "[^"]+" Volume is already exclusively attached .*')
_OUTPUT: Final = re.compile(r".*\bOutput: (?:mount: /\S+ )?", re.DOTALL)
"""What precedes the words of a mount command in an error: the command and its arguments."""
_VOLUME_OF: Final = re.compile(r'(?:MountVolume\.\w+|AttachVolume\.Attach) failed for volume "[^"]+" ?: ')


def _daemonset_pending(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    from karptui.views.pending.sentences import resources_words  # noqa: PLC0415 - with the engines

    pods = counted(finding.pods, "pod")
    text = f"DaemonSet {finding.names[0]}: {pods} pending{lasting(finding, now_ns)}"
    if finding.manner == "leaving":
        node = verb(len(finding.stuck_pods), "node {}, which is", "nodes {}, which are")
        of = f"meant for {node.format(names_text(finding.stuck_pods))} being removed"
        return f"{text}, {of}{f': {finding.words}' if finding.words else ''}"
    if finding.words:
        return f"{text}, as kube-scheduler refuses their nodes: {finding.words}"
    text += ", no room on their nodes"
    asks = f" (each requests {resources_words(finding.requests)})"
    if not finding.pending.pods:
        return f"{text}{asks}"
    count = len(finding.pending.pods)
    names = first_of(uncounted(finding.pending.names, count), NAMED)
    others = f"{counted(count, 'other pod')} pending ({names})"
    return f"{text}{asks}; {others}: a new node has no room left for them"


def _pending(finding: ClusterFinding, now_ns: int, reasons: Reasons) -> str:
    pods = counted(finding.pods, "pod")
    age = f" {age_text(finding.since_ns, now_ns)}" if finding.since_ns else ""
    if not finding.detail:
        names = first_of(uncounted(finding.names, finding.pods), NAMED)
        refusal = f"; kube-scheduler: {quoted(finding.words)}" if finding.words else ""
        return f"{pods} pending, the oldest{age}: {names}{refusal}"
    name = first_of(uncounted(finding.names if not finding.zones else finding.names[:1], finding.pods), NAMED)
    reason = reasons.get(finding.detail, "")
    if age and len(finding.names) > 1 and not finding.zones:
        age = f" for up to{age}"  # several workloads
    text = f"{f'{pods} ' if finding.pods > 1 else ''}{name} pending{age}{f': {reason}' if reason else ''}"
    volume = ""
    if finding.zones and reason and "volume" not in reason:
        zones = first_of(finding.zones, NAMED)
        volume = f"; {verb(finding.pods, 'its volume is', 'their volumes are')} in {zones}"
        if len(finding.names) > 1:
            volumes = verb(finding.pods, "its volume", "their volumes")
            volume = f"; StorageClass {first_of(finding.names[1:], NAMED)} allows {volumes} only in {zones}"
    who = "LimitRange" if finding.manner == "defaulted" else "VerticalPodAutoscaler"
    scaled = f"; a {who} set this {' and '.join(finding.reasons)} request" if finding.reasons else ""
    return f"{text}{volume}{scaled}{preempted(finding)}"


def _pods_not_starting(finding: ClusterFinding, now_ns: int, reasons: Reasons) -> str:
    text = _BY_MANNER.get(finding.manner, _starting)(finding, now_ns, reasons)
    if not finding.is_outdated:
        return text
    sets = verb(finding.pods, "its StatefulSet has another revision", "their StatefulSets have other revisions")
    get = f"delete {verb(finding.pods, 'the pod to get it', 'the pods to get them')}"
    return f"{text}; {sets} now: {get}"


def _rejected(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    reason, *pods = finding.names
    names = first_of([name.removesuffix(f" ({count_text(finding.pods)})") for name in pods], NAMED)
    done, why = ("rejected", f"{reason}: ") if finding.manner == "rejected" else ("evicted", "")
    rejected = f"kubelets {done} {counted(finding.pods, 'pod')} ({names}){in_time(finding, now_ns)}"
    return f"{rejected}: {why}{quoted(finding.detail.rstrip())}"


def _crashing(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pods = uncounted(finding.names[1:], finding.pods)
    exit_words = _exit_words(finding)
    share = f"{count_text(finding.nodes)} of {counted(finding.of_nodes, 'node')}"
    where = share if finding.of_nodes else nodes_text(finding)
    several = f"{counted(finding.pods, 'pod')} {first_of(pods, NAMED)} on {where}"
    node = finding.objects[-1].removeprefix("Node/")
    where = f" on {short_name(node)}" if finding.severity != "info" else ""
    late = f"pod {pods[0]}{where}" if finding.pods == 1 else several
    unready = _not_ready(finding, now_ns)
    if finding.words.startswith(_ENDED_FOR):
        return f"the kubelet restarts {late} again and again{unready}: {quoted(finding.words)}"
    words = f": {quoted(_RUNTIME.sub('', finding.words.removeprefix('Error: ')))}" if finding.words else ""
    if finding.container and finding.started_ns:
        have, its = verb(finding.pods, "has", "have"), verb(finding.pods, "its", "their")
        crash = f"{its} init container {finding.container} crashes{exit_words}"
        return f"{late} {have} not started for {age_text(finding.started_ns, now_ns)}: {crash}{words}"
    alone = ", no other runs" if finding.severity == "error" and not finding.of_nodes else ""
    others = counted(finding.others, "pod")
    alone = f"; {others} of another revision {verb(finding.others, 'runs', 'run')}" if finding.others else alone
    ends = ("ends", "end") if finding.detail == "Completed" else ("crashes", "crash")
    return f"{late} {verb(finding.pods, *ends)} again and again{exit_words}{unready}{alone}{words}"


def _crashing_apart(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    image, *pods = finding.names
    shared, *values = finding.reasons
    bad, *good = [SHARED[shared].format(short_name(value)) for value in values if value]
    good = good or ["other nodes"]
    those = f"{counted(finding.pods, 'pod')} {first_of(uncounted(pods, finding.pods), NAMED)}"
    if finding.manner == "unready-by-nodes":
        why = f": {quoted(finding.detail)}" if finding.detail else ""
        others = f"the other pods of these workloads, on {first_of(good, NAMED)}, are ready"
        ready = f"have not been ready{lasting(finding, now_ns)}; {others}"
        return f"{those} on {bad} {ready}{why}"
    absent = f", where DaemonSet {finding.agent[0]} does not run" if finding.agent else ""
    details = f"{absent}{_not_ready(finding, now_ns)}"
    apart = f"on {bad}{details and f'{details},'} and run on {first_of(good, NAMED)}"
    crash = f"{those} crash again and again"
    if finding.manner == "by-nodes":
        newer = "; they are also newer, so a change since may be the cause" if finding.is_newer else ""
        return f"{crash}{_exit_words(finding)} {apart}{newer}"
    return f"{crash} {apart}{'' if absent else f': image {image} may have no build for {bad}'}"


def _not_ready(finding: ClusterFinding, now_ns: int) -> str:
    """Return ``, not ready for 5m``; empty without a beginning."""
    return f", not ready{lasting(finding, now_ns)}" if finding.since_ns else ""


def _late(finding: ClusterFinding) -> str:
    """Return ``5 pods shop/web-* on node n1 have``."""
    pods = finding.names[2:]
    where = f"node {short_name(finding.stuck_pods[0])}" if finding.nodes == 1 else nodes_text(finding)
    where = f" on {where}" if finding.nodes else ""
    count = f"{count_text(finding.pods)} pods " if finding.pods > 1 else ""
    names = first_of(uncounted(pods, finding.pods), NAMED)
    where += f" in {finding.zones[0]}" if finding.zones else ""
    return f"{count}{names}{where} {verb(finding.pods, 'has', 'have')}"


def _relapsing(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    restarts = f"{counted(finding.restarts, 'restart')} in {age_text(finding.since_ns or now_ns, now_ns)}"
    runs_out = f"{_late(finding)} run out of memory again and again{_exit_words(finding)}"
    return f"{runs_out}: {restarts}{last_text(finding, now_ns)}"


def _gated(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    their = verb(finding.pods, "its", "their")
    gate = f"{their} containers run, but {their} readiness gate {finding.detail} is not true"
    return f"{_late(finding)} not been ready{lasting(finding, now_ns)}: {gate}"


def _unready(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    moved = len(finding.reasons)
    before = f"; Karpenter evicted {counted(moved, 'pod')} of this workload just before" if moved else ""
    pods = first_of(uncounted(finding.names[2:], finding.pods), NAMED)
    where = f"on one node ({short_name(finding.stuck_pods[0])})" if finding.nodes == 1 else f"on {nodes_text(finding)}"
    none = f"none of the {count_text(finding.pods)} pods {pods} {where} has been ready{lasting(finding, now_ns)}"
    if finding.others or finding.severity == "info":
        other = f"and no other of {verb(finding.pods, 'its workload', 'their workloads')} runs"
        ready = f"though {counted(finding.others, 'pod')} of another revision {verb(finding.others, 'is', 'are')}"
        other = ready if finding.others else other
        none = f"{_late(finding)} not been ready{lasting(finding, now_ns)}, {other}"
    none += f": container {finding.container} is not" if finding.container else ""
    return f"{none}{f': {quoted(finding.detail)}' if finding.detail else ''}{before}"


def _starting_up(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    told = quoted(finding.detail) if finding.detail else "its startup probe or postStart hook has not succeeded"
    starting = f"container {finding.container} is still starting up ({told})"
    return f"{_late(finding)} not been ready{lasting(finding, now_ns)}: {starting}"


def _unended(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    their, it, gone = (verb(finding.pods, *pair) for pair in (("its", "their"), ("it", "them"), ("it is", "they are")))
    kind, *finalizers = finding.reasons
    error, why = _KILL_ERROR.search(finding.detail), ""
    if finding.detail:
        why = f": the kubelet cannot kill {their} containers ({error[1] if error else quoted(finding.detail)})"
    elif finalizers:
        keep = verb(len(finalizers), "the finalizer {} keeps", "the finalizers {} keep")
        why = f": {keep.format(first_of(finalizers, NAMED))} {it}"
    next_ = f"; {their} StatefulSet starts no successor until {gone} gone" if kind == "StatefulSet" else ""
    return f"{_late(finding)} been terminating{lasting(finding, now_ns)}{why}{next_}"


def _unresized(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    state = f"{_late(finding)} not been resized in place{lasting(finding, now_ns)}: {quoted(finding.detail)}"
    return f"{state}; Karpenter launches no nodes for pods that run"


def _starting(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    reason, image = finding.names[:2]
    text = f"{_late(finding)} not started{lasting(finding, now_ns)}"
    secret = f"; {quoted(finding.words)}" if finding.words else ""
    if reason == "image" and not image:
        return f"{text}: their images cannot be pulled: {quoted(finding.detail)}{secret}"
    nodes = verb(finding.nodes, "that node", "those nodes")
    if image and _NEVER_PULLED in finding.detail:
        return f"{text}: image {image} is not on {nodes}, and its pull policy is Never"
    if image and finding.reasons:
        return f"{text}: image {image} has no build for {' and '.join(finding.reasons)}, the platform of {nodes}"
    message = _ATTACHED.sub("its volume is still attached to another node", finding.detail)
    message = _OUTPUT.sub("mount failed: ", _VOLUME_OF.sub("", _RPC.sub("", message)))
    if image:
        cause = message.rpartition(image)[2].lstrip('":, ') or message
        cause = _NO_SPACE if _NO_SPACE in cause else quoted(cause)
        return f"{text}: image {image} cannot be pulled: {cause}{secret}"
    if finding.container:
        return (
            f"{text}: {verb(finding.pods, 'its', 'their')} containers wait for the init container {finding.container}"
        )
    if "failed to assign an IP address" in message or "add cmd: failed" in message:
        message = "the CNI assigns no IP address"
        if finding.reasons:
            accept, have = (
                verb(finding.nodes, "the node accepts", "the nodes accept"),
                verb(finding.nodes, "it has", "they have"),
            )
            message += (
                f": {accept} more pods (maxPods) than {have} addresses ({finding.reasons[0]} without prefix delegation)"
            )
    who = "the volume driver" if reason in VOLUME_FAILURES else "the node"
    return f"{text}: {reason}{f': {quoted(message, who)}' if message else ''}{absent_agent(finding)}"


def _idle(finding: ClusterFinding, _: int, __: Reasons) -> str:
    lacks = "volumes of its driver are neither created, attached nor detached"
    lacks = "names of Services may not resolve" if finding.detail == "names" else lacks
    return f"Deployment {finding.names[0]} runs no pod: {lacks}"


_BY_MANNER: Final[Mapping[str, Say]] = {
    "idle": _idle,
    "rejected": _rejected,
    "own-limit": _rejected,
    "crashing": _crashing,
    "by-platform": _crashing_apart,
    "by-nodes": _crashing_apart,
    "unready-by-nodes": _crashing_apart,
    "gated": _gated,
    "restarts": _relapsing,
    "none-ready": _unready,
    "starting-up": _starting_up,
    "unended": _unended,
    "unresized": _unresized,
}


def _exit_words(finding: ClusterFinding) -> str:
    """Return a container's exit code, with its signal if that tells the cause, or why it ended; empty if unknown."""
    end, limit = finding.detail, finding.limit
    if end in ("", "0"):
        return ""
    words = f"container {limit.container} has a memory limit of {memory_text(limit.memory_bytes)}" if limit else ""
    words = _SIGNALS.get(end, words)
    return f" ({'exit code ' * end.isdigit()}{end}{f': {words}' if words else ''})"


def _pods_not_ending(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pods, running = finding.names[0], finding.reasons
    have, run = verb(finding.pods, "has", "have"), verb(len(running), "runs", "run")
    count = f"{count_text(finding.pods)} pods " if finding.pods > 1 else ""
    names = uncounted((pods,), finding.pods)[0]
    kind, key = finding.detail.partition("/")[::2]
    of = f" of CronJob {key}" if kind == "CronJob" else ""
    containers = f"container{'' if len(running) == 1 else 's'} {first_of(running, NAMED)}"
    finished = f"{have} finished{lasting(finding, now_ns)}"
    text = f"{count}{names}{of} on {nodes_text(finding)} {finished}, but {verb(finding.pods, 'its', 'their')}"
    return f"{text} {containers} {run} on: {verb(finding.pods, 'its Job never completes', 'their Jobs never complete')}"


def _not_scaled(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    count = len(finding.names)
    autoscalers = f"HorizontalPodAutoscaler{'s' * (count > 1)} {first_of(finding.names, NAMED)}"
    cannot = f"cannot read metrics{lasting(finding, now_ns)}, so {verb(count, 'it does', 'they do')} not scale"
    if finding.manner == "missing":
        cannot = f"cannot scale{lasting(finding, now_ns)}"
    return f"{autoscalers} {cannot}: {quoted(finding.words)}"


def _pods_lost(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    has, it = verb(finding.pods, "has", "have"), verb(finding.pods, "it", "them")
    when = "if" if finding.manner == "after-others" else "when"
    nodes = short_name(finding.detail) if finding.nodes == 1 else "their nodes"
    pods = f"{first_of(finding.names, NAMED)} {has} no owner"
    if finding.expires_ns is not None:
        expires = f"expires in {span_text(max(finding.expires_ns - now_ns, 0))}"
        return f"{pods}: lost when node {short_name(finding.detail)} {expires}, nothing recreates {it}"
    return f"{pods}: lost {when} Karpenter removes {nodes}, nothing recreates {it}"


SENTENCES: Final[Mapping[str, Say]] = {
    "DAEMONSET_PENDING": _daemonset_pending,
    "PENDING": _pending,
    "PODS_NOT_STARTING": _pods_not_starting,
    "PODS_NOT_ENDING": _pods_not_ending,
    "NOT_SCALED": _not_scaled,
    "PODS_LOST": _pods_lost,
}
