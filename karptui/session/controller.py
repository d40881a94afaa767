"""How Karpenter itself is, as far as its pods, its Deployment, its lease and its events show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

from karptui.decode.controller import USUAL_NAMESPACE, namespaces_of
from karptui.decode.kinds import Kind
from karptui.karpenter.controller import LEADER_LEASE, NAME, NAME_LABEL
from karptui.karpenter.nodeclass import EC2_KIND
from karptui.karpenter.rules import is_older
from karptui.kube.timestamps import MINUTE_NS
from karptui.session.status import seen_ns
from karptui.verdict.case import Controller
from karptui.verdict.controller import LEASE_GRACE_NS, has_leader, is_running
from karptui.verdict.finding import ControllerPod

if TYPE_CHECKING:
    from karptui.karpenter.controller import ControllerInfo
    from karptui.kube.objects import Event, Lease
    from karptui.kube.pod import Pod
    from karptui.kube.workload import Workload
    from karptui.session.cluster_view import ClusterView

DENIED_NS: Final = 30 * MINUTE_NS
"""Denied permissions older than this are left to the Events screen."""
_DENIED: Final = re.compile(
    r"\bforbidden\b|UnauthorizedOperation|AccessDenied|not authorized to perform", re.IGNORECASE
)
_BACK_OFF: Final = frozenset({"BackOff", "Unhealthy", "Failed", "FailedScheduling"})


def is_karpenter(pod: Pod, namespaces: AbstractSet[str]) -> bool:
    """Return whether a pod that has not ended is Karpenter's, given the namespaces that are Karpenter's."""
    return pod.template.labels.get(NAME_LABEL) == NAME and pod.namespace in namespaces and not pod.is_terminal


def controller_of_view(view: ClusterView, pods: Sequence[Pod], now_ns: int) -> Controller:
    """Return Karpenter's health, by its pods, lease, Deployment and events."""
    if Kind.POD in view.hidden:
        return Controller(denials=tuple(_denials(view, now_ns)))
    namespaces = namespaces_of(view.evidence.controller)
    deployment = next(
        (
            workload
            for workload in view.state.of(Kind.DEPLOYMENT).values()
            if workload.labels.get(NAME_LABEL) == NAME and workload.namespace in namespaces
        ),
        None,
    )
    unready = {pod.key for pod in pods if not pod.ready}
    said_ns: dict[str, int] = {}
    for event in view.state.events.values() if unready else ():
        key = f"{event.involved_namespace}/{event.involved_name}"
        if event.reason in _BACK_OFF and event.involved_kind == "Pod" and key in unready:
            said_ns[key] = min(event.first_ns, said_ns.get(key, event.first_ns))
    leases = [lease for lease in view.state.of(Kind.LEASE).values() if lease.name == LEADER_LEASE]
    # One that an earlier installation left is not renewed.
    in_use = (lease for lease in leases if lease.namespace in namespaces)
    lease = max(in_use, key=lambda lease: (lease.renewed_ns, lease.namespace), default=None)
    usual = namespaces_of(None)
    lease_seen_ns = seen_ns(view.statuses.get(Kind.LEASE), now_ns)
    # A rollout's old pods do not count among the replicas.
    lasting = [pod for pod in pods if not pod.is_terminating]
    return Controller(
        pods=tuple(_pod(pod, said_ns.get(pod.key, 0)) for pod in lasting or pods),
        lease_holder=lease.holder.partition("_")[0] if lease is not None else None,
        lease_renewed_ns=lease.renewed_ns if lease is not None else 0,
        lease_seen_ns=lease_seen_ns,
        led_namespaces=tuple(
            sorted(o.namespace for o in leases if _is_held(o, lease_seen_ns) and (o is lease or o.namespace in usual))
        ),
        lease_seconds=lease.duration_seconds if lease is not None else 0,
        others_renewed_ns=max(
            (o.renewed_ns for o in view.state.of(Kind.LEASE).values() if o.name != LEADER_LEASE), default=0
        ),
        replicas=_replicas(view.evidence.controller, deployment, len(pods)),
        deployment=deployment.key if deployment is not None else "",
        denials=tuple(_denials(view, now_ns)),
        old_api=_old_api(view),
        namespace_deleted_ns=0 if pods or deployment is not None else _namespace_deleted_ns(view),
    )


def _namespace_deleted_ns(view: ClusterView) -> int:
    """Return when Karpenter's own namespace was deleted if it is still terminating, else 0."""
    namespace = view.state.of(Kind.NAMESPACE).get(USUAL_NAMESPACE)
    return namespace.deletion_ns if namespace is not None and namespace.is_deleting else 0


def _replicas(info: ControllerInfo | None, deployment: Workload | None, pods: int) -> int | None:
    """Return the desired replicas of Karpenter's Deployment; None if unknown.

    They are unknown if no pod was listed although the Deployment counts some: its namespace was not listed.
    Of a live cluster's Deployments only the metadata is watched; Karpenter's is read once a minute.
    """
    if deployment is None or (not pods and deployment.counted):
        return None
    if deployment.replicas is not None:
        return deployment.replicas
    if info is None or info.replicas is None or info.namespace != deployment.namespace:
        return None
    return max(info.replicas, pods)


def _old_api(view: ClusterView) -> str:
    """Return the version of its API that the AWS provider reads no more and the cluster serves alone; empty if none.

    An API server that serves v1 as well prefers it.
    """
    version = view.evidence.karpenter_version
    served = {nodeclass.version for nodeclass in view.state.of(Kind.NODECLASS).values() if nodeclass.kind == EC2_KIND}
    is_old = bool(version) and not is_older(version, "1.0.0") and served and "v1" not in served
    return min(served) if is_old else ""


def idle_because(view: ClusterView, now_ns: int) -> str:
    """Return the reason that Karpenter cannot act at the moment; empty if it works, as far as is known."""
    namespaces = namespaces_of(view.evidence.controller)
    pods = [pod for pod in view.state.pods.values() if is_karpenter(pod, namespaces)]
    controller = controller_of_view(view, pods, now_ns)
    if is_running(controller) and has_leader(controller):
        return ""
    if is_running(controller):
        return "Karpenter has no leader: none of this happens until it has one"
    return "Karpenter is not running: none of this happens until it runs"


def _is_held(lease: Lease, now_ns: int) -> bool:
    return bool(lease.holder) and now_ns - lease.renewed_ns <= LEASE_GRACE_NS


def _pod(pod: Pod, said_ns: int) -> ControllerPod:
    since_ns = max(pod.unready_ns, said_ns) if pod.node_name else pod.created_ns
    return ControllerPod(
        key=pod.key,
        is_ready=bool(pod.ready) and not pod.is_terminating,
        is_scheduled=bool(pod.node_name),
        waiting_reason=pod.waiting_reason,
        exit_reason=str(pod.trouble.exit_code or "Error") if pod.exit_reason == "Error" else pod.exit_reason,
        restarts=pod.restarts,
        exited_ns=pod.exited_ns or None,
        since_ns=since_ns or None,
        refusal=pod.scheduled_message.partition(" preemption: ")[0].rpartition(" available: ")[2].rstrip("."),
    )


def _denials(view: ClusterView, now_ns: int) -> Iterator[Event]:
    for event in view.state.events.values():
        is_recent = now_ns - event.last_ns <= DENIED_NS
        if is_recent and "karpenter" in event.source and event.type == "Warning" and _DENIED.search(event.message):
            yield event
