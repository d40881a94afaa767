"""Findings about launches: NodePools and NodeClasses that are not ready, refusals, limits and DaemonSets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from karptui.aws.launch_refusals import LaunchRefusal
from karptui.disruption.churn.life import Removal
from karptui.disruption.command import Method
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.nodepool import NodePool, is_being_checked
from karptui.kube.objects import Condition, condition_of
from karptui.kube.timestamps import HOUR_NS, MINUTE_NS
from karptui.kube.units import count_text
from karptui.pending.causes import Cause
from karptui.provisioning.pool_order import served_pools
from karptui.verdict.case import LimitLine, PendingLine, VerdictCase, VerdictNode
from karptui.verdict.controller import has_leader, is_running
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner
from karptui.verdict.joining import (
    early_end_findings,
    not_initialized,
    not_registering,
    replaced_reasons,
    stuck_claims,
    waits_for,
)
from karptui.verdict.pending_pods import PendingPods, of_pools
from karptui.verdict.refusals import recent_refusals

DRIFT_PATIENCE_NS: Final = HOUR_NS
"""Drift that has not advanced for this long is reported."""
_NO_DEPENDENTS: Final = ("Ready", "NodeRegistrationHealthy")
"""Conditions that the condition Ready does not follow from."""
DAEMONSET_PATIENCE_NS: Final = 2 * MINUTE_NS


def launch_findings(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield findings about launches."""
    findings = [
        *_deleted_pools(case, pending),
        *_pools_not_ready(case, pending),
        *_refused(case, pending),
        *early_end_findings(case, pending),
        *stuck_claims(case, pending),
        *_daemonsets(case, pending),
        *not_initialized(case, pending),
        *_limits(case, pending),
    ]
    yield from findings
    yield from not_registering(case, {ref for finding in findings for ref in finding.objects})


def _deleted_pools(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield NodePools that are being deleted while they have nodes: disruption budgets do not hold these back."""
    for pool in served_pools(case.pools):
        lines = [line for line in case.nodes if line.pool == pool.name and line.claim is not None]
        if not pool.is_deleting or not lines:
            continue
        explained = pending.take(partial(_lost_their_pool, pool=pool.name, since_ns=pool.deletion_ns - MINUTE_NS))
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.POOL_DELETED,
            price_per_hour=None,
            since_ns=pool.deletion_ns,
            objects=(f"NodePool/{pool.name}", *(f"NodeClaim/{line.claim.name}" for line in lines if line.claim)),
            names=(pool.name,),
            nodes=len(lines),
            pods=sum(line.pods for line in lines),
            manner=Manner.PLAIN if is_running(case.controller) and has_leader(case.controller) else Manner.AFTER_OTHERS,
            pending=explained,
            screen="pools",
        )


def _lost_their_pool(group: PendingLine, *, pool: str, since_ns: int) -> bool:
    """Return whether pods became pending after an instant, and only a deleted NodePool would take them."""
    is_homeless = group.cause in (Cause.UNPLACED, Cause.NO_POOL) and not group.limited_pool
    return group.since_ns >= since_ns and is_homeless and pool in group.suited_pools


def _pools_not_ready(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    by_class: defaultdict[str, list[NodePool]] = defaultdict(list)
    others: list[NodePool] = []
    for pool in served_pools(case.pools):
        if pool.is_deleting:
            continue
        nodeclass = case.nodeclasses.get(pool.node_class_ref.key)
        if is_being_checked(pool, nodeclass, case.now_ns):
            continue
        is_unseen = nodeclass is not None and not nodeclass.conditions and not pool.is_ready
        if (nodeclass is not None and _is_unusable(nodeclass)) or is_unseen or pool.nodeclass_exists is False:
            by_class[pool.node_class_ref.key].append(pool)
        elif not pool.is_ready:
            others.append(pool)
    for key, pools in by_class.items():
        yield _nodeclass_not_ready(case.nodeclasses, key, pools, pending)
    if others:
        explained = pending.take(lambda group: of_pools(group, frozenset(pool.name for pool in others)))
        conditions = [condition for pool in others if (condition := _failing(pool.conditions)) is not None]
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.POOL_NOT_READY,
            since_ns=min((c.last_transition_ns for c in conditions if c.last_transition_ns), default=None),
            detail=next((_condition_text(condition) for condition in conditions if condition.message), ""),
            objects=tuple(f"NodePool/{pool.name}" for pool in others),
            names=tuple(pool.name for pool in others),
            pending=explained,
            screen="pools",
        )


def _is_unusable(nodeclass: NodeClass) -> bool:
    return nodeclass.is_deleting or _failing(nodeclass.conditions) is not None


def _failing(conditions: Sequence[Condition]) -> Condition | None:
    """Return the condition that keeps a NodeClass or a NodePool from being ready, None if it is or nothing shows it."""
    ready = next((condition for condition in conditions if condition.type == "Ready"), None)
    if ready is None or ready.status == "True":
        return None
    failed = [c for c in conditions if c.type not in _NO_DEPENDENTS and c.status == "False"]
    # ValidationSucceeded of a NodeClass waits for the others: the condition it waits for is the cause.
    failed.sort(key=lambda condition: (condition.type == "ValidationSucceeded", not condition.message))
    return failed[0] if failed else ready


def _condition_text(condition: Condition) -> str:
    """Return a condition's type and message; of Ready, which only sums up, the message alone."""
    message = (condition.message or condition.reason).removesuffix(", ValidationSucceeded=Unknown")
    return message if condition.type == "Ready" else f"{condition.type}: {message}"


def _nodeclass_not_ready(
    nodeclasses: Mapping[str, NodeClass], key: str, pools: list[NodePool], pending: PendingPods
) -> ClusterFinding:
    nodeclass = nodeclasses.get(key)
    failing = _failing(nodeclass.conditions) if nodeclass is not None else None
    conditions = [
        condition for pool in pools if (condition := condition_of(pool.conditions, "NodeClassReady")) is not None
    ]
    since = [failing.last_transition_ns] if failing is not None else [c.last_transition_ns for c in conditions]
    explained = pending.take(lambda group: of_pools(group, frozenset(pool.name for pool in pools)))
    manner = Manner.MISSING if nodeclass is None else Manner.LEAVING if nodeclass.is_deleting else Manner.PLAIN
    if nodeclass is not None and not nodeclass.conditions and manner is Manner.PLAIN:
        manner = Manner.INCOMPLETE
    return ClusterFinding(
        severity=FindingSeverity.ERROR,
        code=FindingCode.NODECLASS_NOT_READY,
        since_ns=min((ns for ns in since if ns), default=None),
        objects=(key, *(f"NodePool/{pool.name}" for pool in pools)),
        names=(key.replace("/", " "), *(pool.name for pool in pools)),
        detail=_condition_text(failing) if failing is not None else "",
        manner=manner,
        pending=explained,
        screen="pools",
    )


def _refused(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield launches that the cloud refused in the last minutes, by NodePool and error."""
    groups: defaultdict[tuple[str, str], list[LaunchRefusal]] = defaultdict(list)
    recent = {(refusal.nodepool, refusal.error_code) for refusal in recent_refusals(case)}
    for refusal in case.refusals:
        if (refusal.nodepool, refusal.error_code) in recent:
            groups[refusal.nodepool, refusal.error_code].append(refusal)
    # Without an error code Karpenter did not call the API; errors with a code explain why.
    coded = {pool for pool, code in groups if code}
    for (pool, code), refusals in sorted(groups.items(), key=lambda entry: -len(entry[1])):
        if not code and pool in coded:
            continue
        of_pool = [refusal for (name, _), group in groups.items() if name == pool for refusal in group]
        claims = frozenset(refusal.nodeclaim for refusal in of_pool)
        explained = pending.take(partial(waits_for, pool=pool, claims=claims))
        count = len({refusal.nodeclaim for refusal in refusals})
        # A launch asks for one capacity type: if several are possible, it is not known which was refused.
        kinds = [refusal.capacity_types for refusal in refusals]
        running, replicas = _static_nodes(case, pool)
        drifted = _drifted_behind(case, pool, refusals)
        drifted_ns = min((condition.last_transition_ns for condition in drifted), default=case.now_ns)
        holds_drift = case.now_ns - drifted_ns >= DRIFT_PATIENCE_NS
        severity = FindingSeverity.WARNING if running < replicas or holds_drift else FindingSeverity.INFO
        yield ClusterFinding(
            # Without pending pods, other offerings or another NodePool took them.
            severity=FindingSeverity.ERROR if explained.pods else severity,
            code=FindingCode.LAUNCH_REFUSED,
            since_ns=min(refusal.first_ns for refusal in refusals),
            last_ns=max(refusal.last_ns for refusal in refusals),
            objects=(
                f"NodePool/{pool}",
                *(node_pool.node_class_ref.key for node_pool in case.pools if node_pool.name == pool),
                *(f"NodeClaim/{refusal.nodeclaim}" for refusal in refusals),
            ),
            names=(pool, *dict.fromkeys(subnet for refusal in refusals for subnet in refusal.subnets)),
            zones=_union(refusal.zones for refusal in refusals),
            instance_types=_union(refusal.instance_types for refusal in refusals),
            capacity_types=_union(kinds) if all(len(names) == 1 for names in kinds) else (),
            nodes=count,
            of_nodes=replicas if running < replicas else 0,
            missing_nodes=max(replicas - running, 0),
            drifted=len(drifted) if holds_drift else 0,
            drifted_ns=drifted_ns if holds_drift else None,
            detail=code or max(refusals, key=lambda refusal: refusal.last_ns).message,
            manner=Manner.PLAIN if code else Manner.INCOMPLETE,
            pending=explained,
            screen="events",
        )


def _static_nodes(case: VerdictCase, name: str) -> tuple[int, int]:
    """Return the nodes and the replicas of a static NodePool; nothing of another one, or if nodes were not read."""
    pool = next((node_pool for node_pool in case.pools if node_pool.name == name and node_pool.is_static), None)
    running = sum(line.pool == name and line.has_node and not line.goes for line in case.nodes)
    return (running, pool.replicas or 0) if pool is not None and case.sees_nodes else (0, 0)


def _drifted_behind(case: VerdictCase, pool: str, refusals: Sequence[LaunchRefusal]) -> list[Condition]:
    """Return the condition Drifted of a NodePool's nodes if all replacements of drifted nodes were refused.

    Karpenter does not always report the cause of a launch. If no pod is pending and drift may continue, it is drift:
    consolidation comes after it.
    """
    refused, first_ns = {refusal.nodeclaim for refusal in refusals}, min(refusal.first_ns for refusal in refusals)
    lines = [line for line in case.nodes if line.pool == pool and line.claim is not None]
    if any(
        line.goes or (line.claim and line.claim.created_ns >= first_ns and line.claim.provider_id) for line in lines
    ):
        return []
    reasons = replaced_reasons(case, refused)
    if Removal.DRIFTED not in reasons and (reasons or case.pending or not any(map(_may_drift, lines))):
        return []
    drifted = (line.claim.condition("Drifted") for line in lines if line.claim is not None)
    return [condition for condition in drifted if condition is not None and condition.status == "True"]


def _may_drift(line: VerdictNode) -> bool:
    """Return whether drift wants a node, and nothing blocks it."""
    lanes = line.findings.lanes if line.findings is not None else ()
    return any(lane.method == Method.DRIFT and lane.is_wanted and not lane.is_held for lane in lanes)


def _union(names: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({name for each in names for name in each}))


def _daemonsets(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield DaemonSets whose pods do not fit on their nodes, with the pods that no new node takes next to them."""
    late = [
        group
        for group in pending.left()
        if group.cause == Cause.DAEMON and case.now_ns - group.since_ns >= DAEMONSET_PATIENCE_NS
    ]
    leaving = {line.name for line in case.nodes if line.goes}
    for owner in dict.fromkeys(group.owner for group in late):
        waiting = pending.take(partial(_is_late_pod_of, late=late, owner=owner))
        of_owner = [group for group in late if group.owner == owner]
        beside = pending.take(partial(_is_displaced_by, owner=owner))
        nodes = frozenset[str]().union(*waiting.expected)
        goes = bool(nodes) and nodes <= leaving and not beside.pods
        yield ClusterFinding(
            severity=FindingSeverity.INFO if goes else FindingSeverity.ERROR,
            code=FindingCode.DAEMONSET_PENDING,
            manner=Manner.LEAVING if goes else Manner.PLAIN,
            stuck_pods=tuple(sorted(nodes)) if goes else (),
            words=next((group.refusal for group in of_owner), ""),
            since_ns=waiting.since_ns,
            objects=(owner, *(f"Pod/{key}" for key in (*waiting.pods, *beside.pods))),
            names=(owner.partition("/")[2],),
            pods=len(waiting.pods),
            requests=of_owner[0].requests,
            pending=beside,
            screen="pending",
        )


def _is_late_pod_of(group: PendingLine, *, late: Sequence[PendingLine], owner: str) -> bool:
    return group in late and group.owner == owner


def _is_displaced_by(group: PendingLine, *, owner: str) -> bool:
    return owner in group.daemonsets


def _is_limited(group: PendingLine, *, pool: str) -> bool:
    return group.limited_pool == pool


def _manner_of_limit(line: LimitLine) -> Manner:
    if line.is_zero:
        return Manner.NEVER
    return Manner.SPARES_TYPES if line.spares_types else Manner.LIMIT if line.is_open else Manner.PLAIN


def _limits(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    for pool in served_pools(case.pools):
        limit = pool.limit_below_replicas
        if limit is not None and not pool.is_deleting:
            yield ClusterFinding(
                severity=FindingSeverity.WARNING,
                code=FindingCode.POOL_AT_LIMIT,
                manner=Manner.FEWER_THAN_REPLICAS,
                objects=(f"NodePool/{pool.name}",),
                names=(pool.name,),
                detail=f"{count_text(pool.replicas or 0)} nodes, but its limit is {count_text(limit)}",
                screen="pools",
            )
    for line in case.limits:
        explained = pending.take(partial(_is_limited, pool=line.pool))
        if line.is_open and not explained.pods:
            continue
        yield ClusterFinding(
            severity=FindingSeverity.ERROR if explained.pods else FindingSeverity.INFO,
            code=FindingCode.POOL_AT_LIMIT,
            manner=_manner_of_limit(line),
            objects=(f"NodePool/{line.pool}",),
            names=(line.pool, *filter(None, (line.user,))),
            user_pods=line.user_pods,
            words=line.placeholders,
            since_ns=None if line.is_zero else explained.since_ns or line.since_ns or None,
            detail=line.text,
            pending=explained,
            screen="pools",
        )
