"""Findings about pods whose containers crash, and what their nodes have in common."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from karptui.kube.group import group_by
from karptui.kube.pod import UNSTARTABLE
from karptui.kube.timestamps import HOUR_NS
from karptui.kube.workload import DaemonSet
from karptui.verdict.agents import absent_agent, kept_off
from karptui.verdict.case import StartingPod, VerdictCase, VerdictNode
from karptui.verdict.finding import ClusterFinding, FindingSeverity, Manner
from karptui.verdict.late_pods import (
    CRASHED_NS,
    DAEMONSET,
    FEWEST_ALIKE,
    FEWEST_CRASHING,
    KUBE_SYSTEM,
    common_difference,
    difference_fields,
    exit_reason,
    merged_failures,
    of_late_pods,
    of_pods,
    ready_of_other_revisions,
    serves_others,
)
from karptui.verdict.pending_pods import key_of

_PROBED: Final = re.compile(r"failed (?:liveness|startup) probe")
"""Text in events about containers that the kubelet ends because a probe failed."""
SYSTEM_OOM: Final = "SystemOOM"
"""Reason of the kubelet's events about processes that the kernel kills because the node has no memory left."""
_RUN: Final = "unable to start container process"
"""Text in events about containers whose command the runtime cannot start."""
NAME_SERVERS: Final = frozenset({"coredns", "kube-dns"})
"""Deployments that resolve the names of Services."""


def crashing_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield workloads with several crashing pods, and their nodes' common property if other pods run elsewhere."""
    lines = {line.name: line for line in case.nodes}
    karpenter = {pod.key for pod in case.controller.pods}
    owned = (pod for pod in case.crashing if pod.controller and pod.key not in karpenter)
    controllers = group_by(owned, lambda pod: pod.controller)
    told = _crash_messages(case) if controllers else {}
    for common, pods in merged_failures(case, controllers):
        good = {name for pod in pods for name in case.running_on[pod.controller]}
        agent = _agent_of_others(case, {pod.node for pod in pods}, good)
        yield of_pods(pods, "", agent=agent, **_crashes(pods, case.now_ns), **difference_fields(common))
    single = [pod for pods in controllers.values() if len(pods) < FEWEST_CRASHING for pod in pods]
    single = [pod for pod in single if case.now_ns - pod.since_ns >= CRASHED_NS]
    agents = [pod for pod in single if pod.owner.startswith(DAEMONSET)]
    # A pod of a DaemonSet serves the pods of its node, which lack it; others run elsewhere as well, for any reason.
    lone = [(FindingSeverity.WARNING, [pod]) for pod in agents]
    for level, pods in (*lone, (FindingSeverity.INFO, [pod for pod in single if pod not in agents])):
        if pods:
            yield of_pods(pods, "", severity=level, manner=Manner.CRASHING, **_crashes(pods, case.now_ns))
    alike: defaultdict[tuple[object, ...], list[tuple[list[StartingPod], int, dict[str, Any]]]] = defaultdict(list)
    for controller, pods in controllers.items():
        nodes = tuple(dict.fromkeys(pod.node for pod in pods))
        runs = case.running_on.get(controller, {})
        older = 0 if runs else ready_of_other_revisions(case, pods)
        difference = common_difference(lines, nodes, runs, pods)
        is_old = sum(case.now_ns - pod.since_ns >= CRASHED_NS for pod in pods) >= FEWEST_CRASHING
        if difference is None and not is_old:
            continue
        runtime = (pod.message for pod in pods if pod.exit_reason in UNSTARTABLE)
        # A DaemonSet's pods do not replace each other: each serves its own node.
        is_replaced = (bool(runs) or older >= len(pods)) and not pods[0].owner.startswith(DAEMONSET)
        more = {
            "words": next((told[pod.key] for pod in pods if pod.key in told), "") or next(runtime, ""),
            "severity": FindingSeverity.WARNING if is_replaced else FindingSeverity.ERROR,
            "of_nodes": len({*nodes, *runs}) if runs and not is_replaced else 0,
            "detail": exit_reason(pods),
            "container": pods[0].init_container,
            "is_newer": difference is not None and is_replaced and _is_newer(lines, pods, runs),
            "manner": Manner.CRASHING,
            "agent": _agent_of_others(case, nodes, runs) if difference is not None else (),
            **difference_fields(difference),
        }
        is_own = difference is not None or more["words"] or serves_others(pods[0])
        alike[(controller,) if is_own else (bool(older), *more.values())].append((pods, older, more))
    for parts in alike.values():
        # Several workloads that crash alike are one finding: it must not hide the others.
        joined = [([*chain(*(pods for pods, _, _ in parts))], sum(older for _, older, _ in parts), parts[0][2])]
        for pods, older, more in joined if len(parts) >= FEWEST_ALIKE else parts:
            started_ns = min(pod.since_ns for pod in pods)
            fields = {**_crashes(pods, case.now_ns), **more, "started_ns": started_ns, "others": older}
            yield of_pods(pods, pods[0].image, **fields)


def _agent_of_others(case: VerdictCase, bad: Collection[str], good: Collection[str]) -> tuple[str, ...]:
    """Return the only DaemonSet of Kubernetes that serves all good nodes and no bad one, and what keeps it off."""
    here = [line for line in case.nodes if line.name in bad]
    there = [line for line in case.nodes if line.name in good]

    def serves_good_nodes_only(daemonset: DaemonSet) -> bool:
        is_needed = daemonset.key.startswith(KUBE_SYSTEM) and all(kept_off(daemonset, line) is None for line in there)
        return is_needed and all(kept_off(daemonset, line) is not None for line in here)

    return absent_agent(case, here[0], serves_good_nodes_only) if here and there else ()


def _is_newer(lines: Mapping[str, VerdictNode], pods: Sequence[StartingPod], runs: Mapping[str, int]) -> bool:
    """Return whether pods started after all that run, and long after their own nodes."""
    nodes = (lines[pod.node].node for pod in pods if pod.node in lines)
    settled = (node.created_ns + HOUR_NS for node in nodes if node is not None)
    return min(pod.since_ns for pod in pods) > max((*runs.values(), *settled))


def _crash_messages(case: VerdictCase) -> dict[str, str]:
    """Return the kubelets' errors about starting or ending containers, by ``namespace/name`` of the pod."""
    words = {key_of(event): event.message for event in case.recent("Failed", kind="Pod") if _RUN in event.message}
    probed = {key_of(event) for event in case.recent("Killing", kind="Pod") if _PROBED.search(event.message)}
    for event in case.recent("Unhealthy", kind="Pod") if probed else ():
        if key_of(event) in probed and not event.message.startswith("Readiness"):
            words[key_of(event)] = event.message
    return {**words, **{key_of(event): event.message for event in case.recent("FailedPostStartHook", kind="Pod")}}


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
        yield of_late_pods(pods, Manner.RESTARTS, severity=level, last_ns=last_ns, **_ends(pods, case.now_ns))


def _ends(pods: Sequence[StartingPod], now_ns: int) -> dict[str, Any]:
    """Return the fields of a finding for the restarts and ends of containers."""
    limits = {pod.limit for pod in pods}
    restarts = sum(pod.restarts for pod in pods) if all(pod.restarts_hourly(now_ns) for pod in pods) else 0
    limit = limits.pop() if len(limits) == 1 else None
    return {"detail": exit_reason(pods), "restarts": restarts, "limit": limit}


def _crashes(pods: Sequence[StartingPod], now_ns: int) -> dict[str, Any]:
    """Return the fields of a finding for crashes, and since when none of the pods is ready.

    A pod that becomes ready between two crashes does not tell when these began, nor do pods of different ages.
    """
    since_ns, last_ns = (take(pod.unready_ns for pod in pods) for take in (min, max))
    is_known = all(0 < pod.unready_ns < pod.exited_ns for pod in pods)
    is_alike = now_ns - since_ns <= 2 * (now_ns - last_ns)
    return {**_ends(pods, now_ns), "since_ns": last_ns if is_known and is_alike else None}
