"""Findings about Karpenter itself: whether it runs, leads and is allowed to do its work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from karptui.disruption.churn.life import Removal
from karptui.karpenter.controller import LEADER_LEASE
from karptui.kube.timestamps import HOUR_NS, MINUTE_NS, NS_PER_SECOND
from karptui.pending.causes import FAULTY, Cause
from karptui.verdict.case import Controller, PendingLine, VerdictCase
from karptui.verdict.finding import ClusterFinding, ControllerPod, FindingCode, FindingSeverity, Manner
from karptui.verdict.pending_pods import PendingPods, folded_by_namespace, key_of, pods_of

SCALED_UP: Final = "TriggeredScaleUp"
"""Reason of the Cluster Autoscaler's event about a pod that it adds a node for."""
EVICTORS: Final = {"sigs.k8s.io/descheduler": "the descheduler", "vpa-updater": "the VerticalPodAutoscaler"}
"""Controllers that evict pods, by the source of their events."""
MANY_DESCHEDULED: Final = 10
_CONSOLIDATED: Final = {Removal.UNDERUTILIZED, Removal.EMPTY}
RESTART_NS: Final = 2 * MINUTE_NS
"""A rollout of Karpenter may leave it without a ready pod for this long."""
CRASHING: Final = "CrashLoopBackOff"
MANY_RESTARTS: Final = 3
CRASHED_NS: Final = 30 * MINUTE_NS
"""Restarts are over if the last one is older than this."""
_WITHOUT_KARPENTER: Final = FAULTY - {Cause.NO_POOL} | {Cause.OTHER_SCHEDULER}
"""Causes that keep pods pending even if Karpenter acts."""
LEASE_GRACE_NS: Final = MINUTE_NS
"""Karpenter renews its lease every few seconds: one this old has no live holder."""


def is_running(controller: Controller) -> bool:
    """Return whether Karpenter acts, as far as its pods and its lease show; True if neither is seen."""
    if controller.pods:
        return any(pod.is_ready for pod in controller.pods)
    return controller.replicas is None and not controller.namespace_deleted_ns


def has_leader(controller: Controller) -> bool:
    """Return whether a pod held the leader lease when it was last read; True if there is no lease to see."""
    if controller.lease_holder is None:
        return True
    lasts_ns = max(controller.lease_seconds * NS_PER_SECOND, LEASE_GRACE_NS)
    return bool(controller.lease_holder) and controller.lease_seen_ns - controller.lease_renewed_ns <= lasts_ns


def controller_findings(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield findings if Karpenter does not run, has no leader, or lacks a permission."""
    controller = case.controller
    if not is_running(controller):
        yield _down(case, pending)
    elif unready := [pod for pod in controller.pods if not pod.is_ready]:
        pending_pods = pending.take(lambda group: {pod.key for pod in unready}.issuperset(group.pods))
        yield _degraded(case, unready, pending_pods.since_ns)
    if is_running(controller) and not has_leader(controller):
        explained = pending.take(partial(_needs_karpenter, joined=_joined(case)))
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.NO_LEADER,
            since_ns=controller.lease_renewed_ns or None,
            names=(controller.lease_holder,) if controller.lease_holder else (),
            manner=_leaderless(case),
            objects=tuple(f"Pod/{pod.key}" for pod in controller.pods),
            pending=explained,
            screen="sources",
        )
    yield from _restarting(case, pending)
    yield from _second_karpenter(case)
    yield from _second_autoscaler(case)
    for source, name in EVICTORS.items():
        yield from _evictor(case, source, name)
    if controller.denials:
        latest = max(controller.denials, key=lambda event: event.last_ns)
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.KARPENTER_FORBIDDEN,
            since_ns=min(event.first_ns for event in controller.denials) or None,
            objects=(f"{latest.involved_kind}/{latest.involved_name}",),
            names=(latest.involved_name,),
            detail=latest.message,
            screen="events",
        )


def _leaderless(case: VerdictCase) -> Manner:
    controller = case.controller
    if case.sees_pods and not controller.pods:
        return Manner.MISSING
    # All leases end together if the API server accepts no writes, for example because etcd's storage is full.
    others_ns = controller.others_renewed_ns
    is_alone = not others_ns or abs(others_ns - controller.lease_renewed_ns) > LEASE_GRACE_NS
    return Manner.PLAIN if is_alone else Manner.UNWRITTEN


def _restarting(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield a finding if ready pods of Karpenter keep restarting, so that it never acts."""
    often = [
        pod
        for pod in case.controller.pods
        if pod.is_ready and pod.restarts >= MANY_RESTARTS
        if pod.exited_ns is not None and case.now_ns - pod.exited_ns <= CRASHED_NS
    ]
    if not often:
        return
    explained = pending.take(lambda group: group.cause == Cause.CLAIM and group.is_stuck)
    yield ClusterFinding(
        severity=FindingSeverity.ERROR if explained.pods else FindingSeverity.WARNING,
        code=FindingCode.KARPENTER_DEGRADED,
        last_ns=max(pod.exited_ns for pod in often if pod.exited_ns is not None),
        objects=tuple(f"Pod/{pod.key}" for pod in often),
        nodes=sum(pod.restarts for pod in often),
        of_nodes=len(often),
        controller_pod=max(often, key=lambda pod: pod.restarts),
        manner=Manner.RESTARTS,
        pending=explained,
        screen="pods",
    )


def _second_karpenter(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield a finding if leaders of several installations of Karpenter act at the same time."""
    namespaces = case.controller.led_namespaces
    if len(namespaces) > 1:
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.TWO_AUTOSCALERS,
            objects=tuple(f"Lease/{namespace}/{LEADER_LEASE}" for namespace in namespaces),
            names=namespaces,
            manner=Manner.SAME_KIND,
            screen="sources",
        )


def _second_autoscaler(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield a finding if the Cluster Autoscaler adds nodes for pods that Karpenter also serves."""
    scaled = case.recent(SCALED_UP, kind="Pod")
    nominations = case.recent("Nominated", kind="Pod") if scaled else ()
    nominated = {*map(key_of, nominations)}
    scaled = [event for event in scaled if key_of(event) in nominated]
    if not scaled:
        return
    pods = pods_of(scaled)
    yield ClusterFinding(
        severity=FindingSeverity.WARNING,
        code=FindingCode.TWO_AUTOSCALERS,
        last_ns=max(event.last_ns for event in scaled),
        objects=tuple(f"Pod/{key}" for key in pods),
        names=folded_by_namespace(pods),
        pods=len(pods),
        screen="events",
    )


def _evictor(case: VerdictCase, source: str, name: str) -> Iterator[ClusterFinding]:
    """Yield a finding if another controller evicts pods while Karpenter consolidates their nodes in a loop."""
    evictions = [e for e in case.events if source in e.source and case.now_ns - e.last_ns <= HOUR_NS]
    pods, loops = pods_of(evictions), case.advice.loops if case.advice is not None else ()
    pools = {
        loop.pool
        for loop in loops
        if loop.pool and case.now_ns - loop.last_ns <= HOUR_NS
        if _CONSOLIDATED & {reason for reason, _ in loop.reasons}
    }
    pools &= {pool for key in pods for pool in case.pools_of.get(key.rpartition("-")[0], ())} or pools
    if len(pods) < MANY_DESCHEDULED or not pools:
        return
    yield ClusterFinding(
        severity=FindingSeverity.WARNING,
        code=FindingCode.TWO_AUTOSCALERS,
        last_ns=max(event.last_ns for event in evictions),
        objects=(*(f"NodePool/{pool}" for pool in sorted(pools)), *(f"Pod/{key}" for key in pods)),
        names=folded_by_namespace(pods),
        pools=tuple(sorted(pools)),
        pods=len(pods),
        words=name,
        manner=Manner.DESCHEDULED,
        screen="events",
    )


def _down(case: VerdictCase, pending: PendingPods) -> ClusterFinding:
    controller = case.controller
    deleted_ns = controller.namespace_deleted_ns or None
    since = min((pod.since_ns for pod in controller.pods if pod.since_ns), default=deleted_ns)
    is_short = _is_restarting(controller.pods, since, case.now_ns)
    controller_pods, joined = {pod.key for pod in controller.pods}, _joined(case)
    explained = pending.take(lambda group: controller_pods.issuperset(group.pods) or _needs_karpenter(group, joined))
    return ClusterFinding(
        severity=FindingSeverity.WARNING if is_short else FindingSeverity.ERROR,
        code=FindingCode.KARPENTER_DOWN,
        since_ns=since,
        objects=(
            *((f"Deployment/{controller.deployment}",) if controller.deployment else ()),
            *(f"Pod/{pod.key}" for pod in controller.pods),
        ),
        names=(controller.deployment or "karpenter",),
        of_nodes=controller.replicas if controller.replicas is not None else len(controller.pods),
        manner=Manner.PLAIN if controller.pods else Manner.LEAVING if deleted_ns else Manner.MISSING,
        controller_pod=max(controller.pods, key=_explanation_rank, default=None),
        detail=controller.old_api,
        pending=explained,
        screen="pods",
    )


def _joined(case: VerdictCase) -> frozenset[str]:
    """Return the nodes that registered and are not initialized, and their NodeClaims: Karpenter has done its part."""
    claims = [(line.name, line.claim) for line in case.nodes if line.has_node and line.claim is not None]
    late = [(name, c.name) for name, c in claims if c.is_true("Registered") and not c.is_true("Initialized")]
    return frozenset(name for names in late for name in names)


def _needs_karpenter(group: PendingLine, joined: frozenset[str]) -> bool:
    """Return whether pods may be pending because Karpenter does not act; others would be pending even if it did."""
    if group.cause == Cause.NODE and group.nodes and group.nodes <= joined:
        return False
    return not group.is_stuck or group.cause not in _WITHOUT_KARPENTER


def _is_restarting(pods: Sequence[ControllerPod], since_ns: int | None, now_ns: int) -> bool:
    """Return whether pods are only being rolled out: unready for a moment, and not crashing."""
    crashes = any(pod.waiting_reason == CRASHING or pod.restarts >= MANY_RESTARTS for pod in pods)
    return since_ns is not None and now_ns - since_ns < RESTART_NS and not crashes


def _degraded(case: VerdictCase, unready: Sequence[ControllerPod], pending_ns: int | None) -> ClusterFinding:
    """Return a finding if Karpenter runs but some of its pods are not ready."""
    since = min((pod.since_ns for pod in unready if pod.since_ns), default=pending_ns)
    is_short = _is_restarting(unready, since, case.now_ns)
    ready, replicas = len(case.controller.pods) - len(unready), case.controller.replicas
    is_rollout = replicas is not None and 0 < replicas <= ready
    return ClusterFinding(
        severity=FindingSeverity.INFO if is_short else FindingSeverity.WARNING,
        code=FindingCode.KARPENTER_DEGRADED,
        since_ns=since,
        objects=tuple(f"Pod/{pod.key}" for pod in unready),
        nodes=ready,
        of_nodes=max(replicas or 0, len(case.controller.pods)),
        controller_pod=max(unready, key=_explanation_rank),
        manner=Manner.ROLLOUT if is_rollout else Manner.PLAIN,
        screen="pods",
    )


def _explanation_rank(pod: ControllerPod) -> tuple[bool, bool, int]:
    """Return a sort key: pods that explain best why Karpenter is down have the largest."""
    return bool(pod.exit_reason), bool(pod.waiting_reason), pod.restarts
