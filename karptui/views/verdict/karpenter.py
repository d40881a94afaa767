"""Sentences about Karpenter itself, and what stops the whole cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from karptui.kube.units import age_text, count_text, counted, first_of, verb
from karptui.views.verdict.parts import (
    NAMED,
    QUOTED,
    Reasons,
    Say,
    age_in_brackets,
    last_text,
    lasting,
    nodes_text,
    of_kind,
    pods_pending,
    quoted,
    uncounted,
)

if TYPE_CHECKING:
    from karptui.verdict.finding import ClusterFinding


def _karpenter_down(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    idle = f". No node is launched or removed{pods_pending(finding)}"
    if finding.manner == "leaving":
        gone = f"its namespace {finding.names[0]} has been terminating{lasting(finding, now_ns)}"
        return f"Karpenter is not running: {gone}{idle}"
    if finding.manner == "missing":
        has = "has no pods" if finding.of_nodes else "is scaled to 0 replicas"
        return f"Karpenter is not running: Deployment {finding.names[0]} {has}{idle}"
    pod, reasons = finding.controller_pod, []
    if pod is not None and not pod.is_scheduled:
        reasons.append(f"they are pending{f': {quoted(pod.refusal)}' if pod.refusal else ''}")
    if pod is not None and pod.waiting_reason:
        reasons.append(pod.waiting_reason)
    if pod is not None and pod.exit_reason:
        reasons.append(f"last exit {'code ' * pod.exit_reason.isdigit()}{pod.exit_reason}")
    if pod is not None and pod.restarts:
        reasons.append(counted(pod.restarts, "restart"))
    why = f" ({', '.join(reasons)})" if reasons else ""
    if finding.detail:
        why += f"; it reads v1 of its API, and the cluster's CustomResourceDefinitions serve {finding.detail} only"
    return f"Karpenter is not running: 0 of {finding.of_nodes} pods ready{lasting(finding, now_ns)}{why}{idle}"


def _no_leader(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    idle = f"No node is launched or removed{pods_pending(finding)}"
    if not finding.names:
        return f"Karpenter has no leader: no pod holds its lease. {idle}"
    ago = f" {age_text(finding.since_ns, now_ns)} ago" if finding.since_ns else ""
    if finding.manner == "unwritten":
        none = f"No lease was renewed{lasting(finding, now_ns)}, not only Karpenter's"
        return f"{none}: the API server may accept no writes. {idle}"
    if finding.manner == "missing":
        return f"Karpenter is not running: it has no pods, and {finding.names[0]} last renewed its lease{ago}. {idle}"
    return f"Karpenter has no leader: pod {finding.names[0]} last renewed the lease{ago}. {idle}"


def _karpenter_forbidden(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    message = " ".join(finding.detail.split())
    return f"Karpenter lacks a permission{age_in_brackets(finding, now_ns)}: {message[: 2 * QUOTED]}"


def _pods_not_created(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    name, *owners = finding.names
    run = f" ({count_text(finding.nodes)} of {count_text(finding.of_nodes)} exist)" if finding.of_nodes else ""
    of = f"No new pods of {first_of(owners, NAMED)}{lasting(finding, now_ns)}{run}"
    message = quoted(finding.detail) or "neither a status nor an event here says why"
    if finding.manner == "webhook-fails":
        return f"{of}: admission webhook {name} fails ({message})"
    if finding.manner == "webhook-denies":
        return f"{of}: admission webhook {name} denies them: {message}"
    if finding.manner == "limit":
        return f"{of}: a LimitRange forbids them: {message}"
    if finding.manner == "quota":
        return f"{of}: ResourceQuota {name} is used up ({message})"
    return f"{of}: {message}"


def _controllers_stopped(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    of_both = finding.of_nodes - finding.nodes
    changed, short = finding.names[:of_both], finding.names[of_both:]
    signs = [f"{counted(len(changed), 'new or changed object')} ({first_of(changed, NAMED)})"]
    if short:
        signs.append(f"the missing pods of {counted(len(short), 'workload')} ({first_of(short, NAMED)})")
    text = f"Kubernetes' controllers do not act{age_in_brackets(finding, now_ns)} on {' and '.join(signs)}"
    if finding.manner == "on-signs":
        return f"{text}: check kube-controller-manager"
    return f"{text}: kube-controller-manager does not renew its lease"


def _stopped(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    count, claims = len(finding.names), of_kind("NodeClaim", finding.names)
    why = f"{claims} cannot launch: {quoted(finding.detail)}"
    if not finding.detail:
        claims = f"{count} NodeClaims ({first_of(finding.names, NAMED)})" if count > NAMED else claims
        why = f"{claims} {verb(count, 'has', 'have')} no provider ID"
    why += pods_pending(finding, now_ns)
    nodes = nodes_text(finding)
    removable = f". {nodes[:1].upper()}{nodes[1:]} could be removed" if finding.nodes else ""
    paused = "Launches and disruption are paused" if finding.pending.pods else "Disruption is paused"
    return f"{paused}{age_in_brackets(finding, now_ns)}: {why}{removable}"


def _all_leaving(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    is_one = finding.nodes == 1
    who = "the only node" if is_one else f"all {count_text(finding.nodes)} nodes"
    are = "is" if is_one else "are"
    if finding.manner == "all-cordoned":
        return f"{who} {are} cordoned: no new pod is scheduled, and no node is launching"
    if finding.manner == "some-cordoned":
        text = f"{who} {are} cordoned or terminating, and no node is launching"
        where, left = "on the terminating nodes", "no node takes new pods"
    else:
        have = "has" if is_one else "have"
        text = f"{who} {have} been terminating{lasting(finding, now_ns)}, and no node is launching"
        where, left = "there", "only DaemonSet pods are left"
    if not finding.pods:
        return text if finding.detail else f"{text}; {left}"
    pods = f"the {counted(finding.pods, 'pod')} {where}" if finding.pods > 1 else f"the pod {where}"
    need = "need" if finding.pods > 1 else "needs"
    if finding.names:
        return f"{text}: {pods} {need} nodes that Karpenter has not launched yet"
    if finding.detail:
        return f"{text}: {pods} {need} nodes"
    return f"{text}: no NodePool launches nodes for {pods}"


def _karpenter_degraded(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pod = finding.controller_pod
    why = ""
    if pod is not None and finding.manner == "restarts":
        of = "its pod" if finding.of_nodes == 1 else f"its {finding.of_nodes} pods"
        exit_ = f" ({pod.exit_reason})" if pod.exit_reason else ""
        times = f"{counted(finding.nodes, 'restart')} of {of}, last {age_text(finding.last_ns or now_ns, now_ns)} ago"
        return f"Karpenter keeps restarting: {times}{exit_}{pods_pending(finding)}"
    if pod is not None:
        why = pod.waiting_reason if pod.is_scheduled else "pending"
    if pod is not None and finding.manner == "rollout":
        late = f"its new pod {pod.key} is not ready{f' ({why})' if why else ''}"
        other = verb(finding.nodes, "the old pod runs", f"the {count_text(finding.nodes)} old pods run")
        return f"the rollout of Karpenter does not advance{lasting(finding, now_ns)}: {late}; {other} on"
    ready = f"only {count_text(finding.nodes)} of {count_text(finding.of_nodes)} Karpenter pods"
    name = f": {pod.key}{f' ({why})' if why else ''}" if pod is not None else ""
    running = verb(finding.nodes, "is running", "are running")
    return f"{ready} {running}{age_in_brackets(finding, now_ns)}{name}"


def _two_autoscalers(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    if finding.manner == "same-kind":
        run = f"{len(finding.names)} installations of Karpenter run"
        return f"{run}, in namespaces {first_of(finding.names, NAMED)}: both launch and remove nodes"
    names = first_of(uncounted(finding.names, finding.pods), NAMED)
    pods = f"{counted(finding.pods, 'pod')} ({names})"
    if finding.manner == "descheduled":
        loop = f"while Karpenter consolidates nodes of {first_of(finding.pools, NAMED)} again and again"
        return f"{finding.words} evicted {pods} in the last hour, {loop}"
    both = "Cluster Autoscaler and Karpenter both add nodes for the same pods"
    return f"{both}: {pods} in the last hour{last_text(finding, now_ns)}"


def _timed_out(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    times, since = counted(int(finding.detail), "time"), age_text(finding.since_ns or now_ns, now_ns)
    text = f"consolidation timed out (3 minutes) {times} in the {since} since Karpenter started"
    return f"{text}: the last nodes in its order are not evaluated"


SENTENCES: Final[Mapping[str, Say]] = {
    "KARPENTER_DOWN": _karpenter_down,
    "KARPENTER_DEGRADED": _karpenter_degraded,
    "NO_LEADER": _no_leader,
    "KARPENTER_FORBIDDEN": _karpenter_forbidden,
    "PODS_NOT_CREATED": _pods_not_created,
    "CONTROLLERS_STOPPED": _controllers_stopped,
    "STOPPED": _stopped,
    "ALL_LEAVING": _all_leaving,
    "TWO_AUTOSCALERS": _two_autoscalers,
    "TIMED_OUT": _timed_out,
}
