"""Findings about launches: NodeClasses, NodePools and limits that allow none, and instances that never become nodes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final

from karptui.aws.launch_refusals import LaunchRefusal
from karptui.aws.nodeclass import CUSTOM
from karptui.aws.user_data import refused_labels
from karptui.disruption.churn.life import LAUNCHING, Removal, command_reason
from karptui.disruption.codes import Blocker, Code
from karptui.disruption.command import Method
from karptui.disruption.termination import BY_INTERRUPTION, INSTANCE_ENDS
from karptui.forward.durations import joined_since
from karptui.karpenter.labels import INSTANCE_TYPE, NODEPOOL, OS
from karptui.karpenter.nodeclaim import (
    LAUNCH_PATIENCE_NS,
    InitializationObstacles,
    NodeClaim,
    initialization_obstacles,
    pool_in_name,
)
from karptui.karpenter.nodeclass import EC2_KIND, METADATA_ENDPOINT, NodeClass
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Condition, Event, condition_of
from karptui.kube.pod import CREATING
from karptui.kube.timestamps import ABSENT_NS, HOUR_NS, MINUTE_NS, NS_PER_SECOND
from karptui.kube.units import count_text
from karptui.kube.workload import DaemonSet
from karptui.pending.causes import Cause
from karptui.provisioning.pool_order import served_pools
from karptui.verdict.blocked import lacks_some, sum_of, why_not_ready
from karptui.verdict.containers import PROPERTIES, SHARED_WORDS, absent_agent
from karptui.verdict.controller import has_leader, is_running
from karptui.verdict.finding import (
    ClusterFinding,
    FindingCode,
    FindingSeverity,
    LimitLine,
    Manner,
    PendingLine,
    Shared,
    VerdictCase,
    VerdictNode,
)
from karptui.verdict.pending_pods import PendingPods, expected_on, of_pools

JOIN_PATIENCE_NS: Final = 5 * MINUTE_NS
"""Nodes register, and then initialize, within a few minutes."""
SLOW_JOIN_PATIENCE_NS: Final = 12 * MINUTE_NS
"""Windows and bare metal take about ten minutes to boot."""
REGISTRATION_TTL_NS: Final = 15 * MINUTE_NS
"""Karpenter deletes a NodeClaim that has not registered by then: pkg/controllers/nodeclaim/lifecycle/liveness.go."""
REFUSED_RECENTLY_NS: Final = 10 * MINUTE_NS
"""A refused launch is tried again within this time as long as its pods are pending."""
DRIFT_PATIENCE_NS: Final = HOUR_NS
"""Drift that has not advanced for this long is reported."""
CHECKED_NS: Final = 2 * MINUTE_NS
"""Karpenter checks a changed NodeClass or NodePool within this time."""
_CLASS_UNKNOWN: Final = "NodeClassReadinessUnknown"
"""Reason of a NodePool's condition NodeClassReady, which is False then: pkg/controllers/nodepool/readiness."""
_NO_DEPENDENTS: Final = ("Ready", "NodeRegistrationHealthy")
"""Conditions that the condition Ready does not follow from."""
_UNREGISTERED: Final = "RegistrationFailed"
"""Reason of the condition NodeRegistrationHealthy if launched instances do not become nodes."""
_NETWORK_AGENTS: Final = frozenset({"antrea", "aws-node", "calico", "canal", "cilium", "flannel", "kindnet", "weave"})
"""Names of CNI DaemonSets, or words in them; next to ``aws-node`` others enforce policies only."""
_NO_NETWORK: Final = "NetworkPluginNotReady"
_DENIED: Final = re.compile(r"failed to call (\S+) due to missing permissions")
_NO_CIDR: Final = "CIDRNotAvailable"
"""Reason of the controller manager's events about nodes that get no part of the cluster's range for pods."""
FEWEST_ENDS: Final = 2
"""One instance may fail; from this many on something is wrong."""
DAEMONSET_PATIENCE_NS: Final = 2 * MINUTE_NS


def launch_findings(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield findings about launches."""
    findings = [
        *_deleted_pools(case, pending),
        *_pools_not_ready(case, pending),
        *_refused(case, pending),
        *_early_end_findings(case, pending),
        *_stuck_claims(case, pending),
        *_daemonsets(case, pending),
        *_not_initialized(case, pending),
        *_limits(case, pending),
    ]
    yield from findings
    yield from _not_registering(case, {ref for finding in findings for ref in finding.objects})


def _not_registering(case: VerdictCase, reported: AbstractSet[str]) -> Iterator[ClusterFinding]:
    """Yield NodePools whose last nodes did not register, unless another finding is about their launches."""
    for pool in served_pools(case.pools):
        health = condition_of(pool.conditions, "NodeRegistrationHealthy")
        claims = [line.claim.name for line in case.nodes if line.claim is not None and line.pool == pool.name]
        is_told = not reported.isdisjoint([f"NodePool/{pool.name}", *(f"NodeClaim/{name}" for name in claims)])
        is_failing = health is not None and health.status == "False" and health.reason == _UNREGISTERED
        if health is None or not is_failing or is_told or pool.is_deleting:
            continue
        yield ClusterFinding(
            severity=FindingSeverity.WARNING,
            code=FindingCode.POOL_NOT_READY,
            since_ns=health.last_transition_ns or None,
            objects=(f"NodePool/{pool.name}",),
            names=(pool.name,),
            manner=Manner.UNREGISTERED,
            screen="pools",
        )


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


def is_being_checked(pool: NodePool, nodeclass: NodeClass | None, now_ns: int) -> bool:
    """Return whether a NodePool or its NodeClass was changed so recently that Karpenter has not checked it."""
    ready = [condition_of(either.conditions, "Ready") for either in (pool, nodeclass) if either is not None]
    unknown = [condition for condition in ready if condition is not None and condition.status == "Unknown"]
    of_class = condition_of(pool.conditions, "NodeClassReady")
    if of_class is not None and of_class.reason == _CLASS_UNKNOWN:
        unknown.append(of_class)
    return any(now_ns - condition.last_transition_ns < CHECKED_NS for condition in unknown)


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
        explained = pending.take(partial(_waits_for, pool=pool, claims=claims))
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
    reasons = _replaced_reasons(case, refused)
    if Removal.DRIFTED not in reasons and (reasons or case.pending or not any(map(_may_drift, lines))):
        return []
    drifted = (line.claim.condition("Drifted") for line in lines if line.claim is not None)
    return [condition for condition in drifted if condition is not None and condition.status == "True"]


def _may_drift(line: VerdictNode) -> bool:
    """Return whether drift wants a node, and nothing blocks it."""
    lanes = line.findings.lanes if line.findings is not None else ()
    return any(lane.method == Method.DRIFT and lane.is_wanted and not lane.is_held for lane in lanes)


def recent_refusals(case: VerdictCase) -> list[LaunchRefusal]:
    """Return the launches that the cloud refused in the last minutes."""
    return [refusal for refusal in case.refusals if case.now_ns - refusal.last_ns <= REFUSED_RECENTLY_NS]


def _waits_for(group: PendingLine, pool: str, claims: frozenset[str]) -> bool:
    """Return whether pods are pending for launches of a NodePool, not for its limits or for an existing node."""
    if group.limited_pool or group.daemonsets or group.cause == Cause.NODE:
        return bool(group.nodes & claims)
    return pool in group.pools or bool(group.nodes & claims)


def _union(names: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({name for each in names for name in each}))


def refusal_message(line: VerdictNode) -> str:
    """Return the reason that a NodeClaim was not launched; empty if it was, or no launch was tried."""
    claim = line.claim
    launched = claim.refused_launch if claim is not None else None
    if claim is None or launched is None or line.has_node or claim.is_deleting:
        return ""
    return launched.message or launched.reason or f"Launched={launched.status}"


def unsynced_claims(case: VerdictCase) -> list[Blocker]:
    """Return the NodeClaims without provider ID, which stop all disruption, as blockers by name."""
    cluster = case.analysis.cluster if case.analysis is not None else ()
    return sorted((blocker for blocker in cluster if blocker.code is Code.UNSYNCED), key=lambda b: b.object_key)


def stopping_refusal(case: VerdictCase) -> str:
    """Return the error of the oldest NodeClaim without provider ID, which pauses Karpenter; empty if not refused.

    A young NodeClaim that was not refused may be launched at any moment.
    """
    names = {blocker.object_key for blocker in unsynced_claims(case)}
    claims = [(line.claim, refusal_message(line)) for line in case.nodes if line.claim and line.claim.name in names]
    late = [
        (claim.created_ns, not refusal, refusal)
        for claim, refusal in claims
        if refusal or case.now_ns - claim.created_ns >= LAUNCH_PATIENCE_NS
    ]
    return min(late)[2] if late else ""


def ended_early(case: VerdictCase) -> set[str]:
    """Return the names of gone NodeClaims whose instance ended before it became a node: no interruptions."""
    return {event.involved_name for events in early_ends(case).values() for event in events}


def early_ends(case: VerdictCase) -> dict[str, list[Event]]:
    """Return events about gone NodeClaims whose instance ended before it became a node, by NodePool.

    EC2 reports the end, and Karpenter publishes it about the NodeClaim and, if there is one, about its Node.
    """
    ends: defaultdict[str, list[Event]] = defaultdict(list)
    of_claims = case.recent(*INSTANCE_ENDS, kind="NodeClaim")
    if not of_claims:
        return ends
    instance_ends = case.recent(*INSTANCE_ENDS, kind="Node")
    of_nodes = {event.first_ns // NS_PER_SECOND + second for event in instance_ends for second in (-1, 0, 1)}
    # A NodeClaim that Karpenter deletes for another reason has no TerminatingOnInterruption.
    interrupted = {event.involved_name for event in case.recent(BY_INTERRUPTION, kind="NodeClaim")}
    interrupted -= {event.involved_name for event in case.recent("SpotInterrupted", kind="NodeClaim")}
    interrupted -= {line.claim.name for line in case.nodes if line.claim is not None}
    pools = {pool.name for pool in case.pools}
    for event in of_claims:
        pool = pool_in_name(event.involved_name, pools)
        if pool and event.involved_name in interrupted and event.first_ns // NS_PER_SECOND not in of_nodes:
            ends[pool].append(event)
    return ends


def _early_end_findings(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield NodePools whose instances end before they become nodes, again and again."""
    for pool, events in early_ends(case).items():
        claims, last_ns = {event.involved_name for event in events}, max(event.last_ns for event in events)
        if len(claims) < FEWEST_ENDS or case.now_ns - last_ns > REFUSED_RECENTLY_NS:
            continue
        starting = frozenset(line.claim.name for line in case.nodes if line.pool == pool and line.claim is not None)
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.CLAIM_STUCK,
            since_ns=min(event.first_ns for event in events),
            last_ns=last_ns,
            objects=(f"NodePool/{pool}", *(f"NodeClaim/{name}" for name in sorted(claims))),
            names=tuple(sorted(claims)),
            nodes=len(claims),
            manner=Manner.ENDED_EARLY,
            pools=(pool,),
            pending=pending.take(partial(_waits_for, pool=pool, claims=starting)),
            screen="events",
        )


def _stuck_claims(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield NodeClaims that were refused, or whose instance has not registered, unless they stop everything."""
    stuck: defaultdict[str, list[NodeClaim]] = defaultdict(list)
    joined: defaultdict[str, list[NodeClaim]] = defaultdict(list)
    unjoined: defaultdict[tuple[str, ...], list[NodeClaim]] = defaultdict(list)
    lost: list[NodeClaim] = []
    lines = {line.claim.name: line for line in case.nodes if line.claim is not None}
    stopping = stopping_refusal(case)
    reported = {refusal.nodeclaim for refusal in recent_refusals(case)}
    for line in case.nodes:
        claim = line.claim
        if claim is None or claim.is_deleting:
            continue
        if line.has_node:
            registered = claim.condition("Registered")
            if registered is not None and registered.status != "True" and _is_late(case, claim):
                joined[registered.message or registered.reason].append(claim)
            continue
        refused = refusal_message(line)
        if refused:
            if refused != stopping and claim.name not in reported:
                stuck[refused].append(claim)
        elif claim.provider_id and _is_late(case, claim) and (case.sees_nodes or not claim.is_true("Registered")):
            (lost if claim.is_true("Registered") else unjoined[_user_data_fault(case, claim)]).append(claim)
    groups = [(refused, claims, Manner.PLAIN) for refused, claims in stuck.items()]
    groups += [("", claims, Manner.PLAIN) for claims in unjoined.values()]
    for message, claims in joined.items():  # several Nodes may have a NodeClaim's provider ID
        groups.append((message, [*{claim.name: claim for claim in claims}.values()], Manner.UNREGISTERED))
    if lost:
        groups.append(("", lost, Manner.NODE_GONE))
    for detail, claims, manner in groups:
        is_refused, is_unjoined = bool(detail) and not manner, not detail and not manner
        explained = pending.take(
            partial(waits_for_claims, claims=claims, failing=failing_pools(case, claims) if is_refused else frozenset())
        )
        created = [claim.created_ns for claim in claims if claim.created_ns]
        # No object shows when a Node disappeared.
        since_ns = None if manner is Manner.NODE_GONE else min(created, default=None)
        of_claims, names = [lines[claim.name] for claim in claims], {claim.name for claim in claims}
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.CLAIM_STUCK,
            price_per_hour=None if is_refused else sum_of(line.per_hour for line in of_claims),
            is_partial=lacks_some(line.per_hour for line in of_claims),
            since_ns=since_ns,
            until_ns=since_ns + REGISTRATION_TTL_NS if since_ns and not is_refused else None,
            objects=tuple(f"NodeClaim/{claim.name}" for claim in claims),
            names=tuple(_node_names(case, claims) or [claim.name for claim in claims]),
            zones=_common_value(Shared.ZONE, case, of_claims) if is_unjoined else (),
            apart=(Shared.FAMILY, *family)
            if is_unjoined and (family := _common_value(Shared.FAMILY, case, of_claims))
            else (),
            nodes=len(claims),
            detail=detail,
            manner=manner,
            pools=tuple(sorted({claim.labels.get(NODEPOOL, "") for claim in claims})),
            reasons=_why_unregistered(case, claims)
            if manner is Manner.UNREGISTERED
            else _replaced_reasons(case, names),
            drifted=_drifted_count(case, {claim.labels.get(NODEPOOL, "") for claim in claims}),
            user_data=next((fault for fault, of_fault in unjoined.items() if of_fault is claims), ()),
            nameless=tuple(_without_provider_id(case, min(created))) if created and is_unjoined else (),
            pending=explained,
            screen="claims",
        )


def _why_unregistered(case: VerdictCase, claims: Sequence[NodeClaim]) -> tuple[str, ...]:
    """Return the webhook without which Karpenter cannot register nodes, if it reports no other reason."""
    registered = claims[0].condition("Registered")
    return case.node_webhook if registered is not None and registered.status == "Unknown" else ()


def _node_names(case: VerdictCase, claims: Sequence[NodeClaim]) -> list[str]:
    names = {claim.name for claim in claims}
    return [line.name for line in case.nodes if line.has_node and line.claim is not None and line.claim.name in names]


def _without_provider_id(case: VerdictCase, since_ns: int) -> Iterator[str]:
    """Yield nodes that joined since an instant without a provider ID, so that Karpenter cannot match them."""
    for line in case.nodes:
        node = line.node if line.claim is None else None
        if node is not None and not node.provider_id and node.created_ns >= since_ns:
            yield node.name


def _user_data_fault(case: VerdictCase, claim: NodeClaim) -> tuple[str, ...]:
    """Return the EC2NodeClass whose user data keeps instances from joining, with refused labels; empty without one."""
    nodeclass = case.nodeclasses.get(claim.node_class_ref.key)
    if nodeclass is None or nodeclass.kind != EC2_KIND:
        return ()
    if (nodeclass.spec.get("metadataOptions") or {}).get("httpEndpoint") == "disabled":
        return nodeclass.name, METADATA_ENDPOINT
    user_data = nodeclass.spec.get("userData")
    labels = refused_labels(str(user_data or ""))
    # A redacted recording holds the kubelet's settings only, which may be none.
    is_bare = nodeclass.spec.get("amiFamily") == CUSTOM.name and user_data is None
    return (nodeclass.name, *labels) if labels or is_bare else ()


def _is_late(case: VerdictCase, claim: NodeClaim) -> bool:
    return bool(claim.created_ns) and case.now_ns - claim.created_ns > _join_patience_ns(case, claim)


def _common_value(
    shared: Shared, case: VerdictCase, late: Sequence[VerdictNode], stage: str = "Registered"
) -> tuple[str, ...]:
    """Return the value (a zone, say) shared by instances that miss a stage which nodes with other values reached."""
    here = {PROPERTIES[shared](line) for line in late}
    since_ns = min(line.claim.created_ns for line in late if line.claim is not None) - REGISTRATION_TTL_NS
    nodes = [(line, line.claim) for line in case.nodes if line.has_node and line.claim is not None]
    if shared is Shared.FAMILY:  # a NodePool of one family is another property
        pools = {line.pool for line in late}
        nodes = [(line, claim) for line, claim in nodes if line.pool in pools]
    joined = {
        PROPERTIES[shared](line) for line, claim in nodes if claim.created_ns >= since_ns and claim.is_true(stage)
    }
    return tuple(here) if len(late) > 1 and len(here) == 1 and joined - here else ()


def without_expected(case: VerdictCase, groups: Sequence[PendingLine]) -> list[PendingLine]:
    """Return groups of pending pods, except those expected on NodeClaims that are not late yet."""
    claims = [(line.name, line.claim) for line in case.nodes if line.claim is not None and not line.goes]
    joining = {
        name
        for node, claim in claims
        if claim.provider_id and not claim.is_true("Initialized")
        if not _is_late(case, claim)
        for name in (node, claim.name)
    }
    return [group for group in groups if not group.nodes or not joining.issuperset(group.nodes)]


def _join_patience_ns(case: VerdictCase, claim: NodeClaim) -> int:
    """Return the patience for a node to register or initialize: longer if others of its NodePool took longer."""
    is_metal = ".metal" in claim.labels.get(INSTANCE_TYPE, "")
    is_slow = is_metal or claim.labels.get(OS) == "windows"
    usual_ns = case.durations.start_ns_by_pool.get(claim.labels.get(NODEPOOL, ""), 0) * 3 // 2
    if not claim.is_true("Registered"):
        # The usual time includes initialization: the time to register alone is unknown.
        usual_ns = min(usual_ns, SLOW_JOIN_PATIENCE_NS)
    return max(SLOW_JOIN_PATIENCE_NS if is_slow else JOIN_PATIENCE_NS, usual_ns)


def _replaced_reasons(case: VerdictCase, names: Collection[str]) -> tuple[str, ...]:
    """Return the disruption reasons of the nodes that NodeClaims replace; empty if they replace none."""
    launch_events = case.events_by_reason.get(LAUNCHING, ())
    reasons = (command_reason(event.message) for event in launch_events if event.involved_name in names)
    return tuple(sorted({str(reason) for reason in reasons if reason is not None}))


def _drifted_count(case: VerdictCase, pools: Collection[str]) -> int:
    """Return the number of drifted nodes of NodePools."""
    claims = (line.claim for line in case.nodes if line.pool in pools and line.deleted_ns is None)
    return sum(claim is not None and claim.is_true("Drifted") for claim in claims)


def waits_for_claims(group: PendingLine, claims: Sequence[NodeClaim], failing: frozenset[str]) -> bool:
    """Return whether pods are expected on NodeClaims, or on new nodes of NodePools whose launches all fail."""
    if group.nodes & {claim.name for claim in claims}:
        return True
    return bool(group.pools) and group.cause == Cause.CLAIM and failing.issuperset(group.pools)


def failing_pools(case: VerdictCase, claims: Sequence[NodeClaim]) -> frozenset[str]:
    """Return the NodePools of refused NodeClaims that have launched no instance since."""
    oldest: dict[str, int] = {}
    for claim in claims:
        pool = claim.labels.get(NODEPOOL, "")
        oldest[pool] = min(claim.created_ns, oldest.get(pool, claim.created_ns))
    launched = {
        line.pool
        for line in case.nodes
        if line.pool in oldest and line.claim is not None and line.claim.provider_id
        if line.claim.created_ns >= oldest[line.pool]
    }
    return frozenset(oldest) - launched


def _not_initialized(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    groups: defaultdict[InitializationObstacles, list[VerdictNode]] = defaultdict(list)
    expected = frozenset(name for group in pending.left() for name in group.nodes)
    for line in case.nodes:
        claim, node = line.claim, line.node
        if (
            claim is None
            or node is None
            or line.goes
            or claim.is_true("Initialized")
            or not claim.is_true("Registered")
        ):
            continue
        joined_ns = joined_since(claim)
        is_expected = not expected.isdisjoint((claim.name, line.name))
        patience_ns = _join_patience_ns(case, claim) if is_expected else case.durations.patience_of(line.pool)
        if joined_ns != ABSENT_NS and case.now_ns - joined_ns > patience_ns:
            groups[initialization_obstacles(claim, node)].append(line)
    for obstacles, lines in groups.items():
        claims = [line.claim for line in lines if line.claim is not None]
        names = frozenset((*(line.name for line in lines), *(claim.name for claim in claims)))
        explained = pending.take(expected_on(names))
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.NOT_INITIALIZED,
            price_per_hour=sum_of(line.per_hour for line in lines),
            is_partial=lacks_some(line.per_hour for line in lines),
            since_ns=min(map(joined_since, claims)),
            objects=tuple(f"Node/{line.name}" for line in lines),
            names=tuple(line.name for line in lines),
            nodes=len(lines),
            zones=_common_value(Shared.ZONE, case, lines, "Initialized"),
            detail=why_not_ready(lines) or obstacles.text,
            words=_denied_to_cni(case),
            reasons=tuple({e.reason for e in case.recent(_NO_CIDR, kind="Node") if e.involved_name in names}),
            manner=Manner.MISSING if obstacles.missing_resources else Manner.PLAIN,
            overlays=tuple(
                o.name for o in case.overlays if not o.capacity.keys().isdisjoint(obstacles.missing_resources)
            ),
            agent=_missing_agent(case, lines[0]),
            failing=_failing_agent(case, lines),
            pending=explained,
            screen="claims",
        )


def _denied_to_cni(case: VerdictCase) -> str:
    """Return the EC2 action that the VPC CNI reports to be denied, such as ``ec2:DescribeNetworkInterfaces``."""
    matches = (_DENIED.search(event.message) for event in case.recent("MissingIAMPermissions", kind="Pod"))
    return next((match[1] for match in matches if match is not None), "")


def _missing_agent(case: VerdictCase, line: VerdictNode) -> tuple[str, ...]:
    """Return the DaemonSet that a node lacks to initialize, and taints that keep it off; empty without one.

    It tolerates a startup taint by its key, whose domain names its project: ``fsx.csi.aws.com`` belongs to
    ``fsx-csi-node``. On a node without a network it is the network agent.
    """
    if line.claim is None or line.node is None:
        return ()
    taints = line.claim.startup_taints
    domains = {taint.key: {*taint.key.partition("/")[0].split(".")} - SHARED_WORDS for taint in taints}
    lacks_network = _NO_NETWORK in why_not_ready([line])

    def is_agent(daemonset: DaemonSet) -> bool:
        words = set(daemonset.name.split("-"))
        keys = {toleration.key for toleration in daemonset.template.tolerations}
        of_network = lacks_network and _is_network_agent(daemonset.name)
        return of_network or any(words & own for key, own in domains.items() if keys & {key, ""})

    return absent_agent(case, line, is_agent)


def _failing_agent(case: VerdictCase, lines: Sequence[VerdictNode]) -> tuple[str, ...]:
    """Return the CNI DaemonSet whose pods all fail on nodes without a network, and their waiting reason."""
    if _NO_NETWORK not in why_not_ready(lines):
        return ()
    failing: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for pod in (*case.crashing, *case.starting):
        kind, _, key = pod.owner.partition("/")
        name = key.rpartition("/")[2]
        if kind == "DaemonSet" and pod.waiting_reason not in CREATING and _is_network_agent(name):
            failing[key, pod.waiting_reason].add(pod.node)
    nodes = {line.name for line in lines}
    return next((agent for agent, hosts in failing.items() if nodes <= hosts), ())


def _is_network_agent(name: str) -> bool:
    """Return whether a DaemonSet of this name is a CNI plugin."""
    return not _NETWORK_AGENTS.isdisjoint({name, *name.split("-")})


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
