"""What holds or endangers a cluster, worst first: what an operator has to know before any table.

Each finding is said once, with what it costs per hour, since when it holds and where it is proven. Pure: what it
follows from comes as plain lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from karptui.disruption.codes import Code, WhyCode
from karptui.disruption.command import Method
from karptui.disruption.static_drift import is_refillable
from karptui.karpenter.nodeclaim import UNTRIED, NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import condition_of
from karptui.kube.resources import NODES
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import count_text
from karptui.provisioning.pool_order import Bystanding, bystanding, served_pools
from karptui.verdict.blocked import (
    all_leaving,
    held,
    lacks_some,
    leaving_for_long,
    manner_of,
    own_blockers,
    saving_of,
    sum_of,
)
from karptui.verdict.finding import (
    ClusterFinding,
    FindingCode,
    FindingSeverity,
    Manner,
    PendingLine,
    VerdictCase,
    VerdictNode,
)

MINUTE_NS: Final = 60 * NS_PER_SECOND
LAUNCH_PATIENCE_NS: Final = 2 * MINUTE_NS
"""A launch takes about a minute: a NodeClaim without provider ID for longer is in trouble."""
JOIN_PATIENCE_NS: Final = 5 * MINUTE_NS
"""Nodes join within a few minutes of their launch."""
DRIFT_PATIENCE_NS: Final = 60 * MINUTE_NS
"""A rollout may take its time: drift that has not moved for so long is reported."""
SICK_NS: Final = 10 * MINUTE_NS


def verdict_of(case: VerdictCase) -> tuple[ClusterFinding, ...]:
    """Return what holds or endangers a cluster, worst first; one finding that says so where nothing does."""
    found = [
        *all_leaving(case),
        *_stopped(case),
        *_pending(case),
        *_stuck_claims(case),
        *_pools(case),
        *_gone_pools(case),
        *_unhealthy(case),
        *held(case),
        *leaving_for_long(case),
        *_drift(case),
        *_timed_out(case),
        *_missing(case),
    ]
    ranks = {severity: rank for rank, severity in enumerate(FindingSeverity)}
    places = {code: place for place, code in enumerate(FindingCode)}
    # That no node stays weighs more than any price.
    found.sort(
        key=lambda one: (
            ranks[one.severity],
            one.code is not FindingCode.ALL_LEAVING,
            -(one.price_per_hour or 0.0),
            places[one.code],
            one.names,
        )
    )
    if all(one.severity is FindingSeverity.INFO and one.code is not FindingCode.ALL_LEAVING for one in found):
        found.insert(0, _fine(case))
    return (*found, *_next(case))


def _fine(case: VerdictCase) -> ClusterFinding:
    """Return that nothing is wrong; a cluster without nodes of Karpenter's is not called healthy."""
    manner = Manner.PLAIN
    if not case.nodes:
        manner = Manner.NO_NODES
    elif not any(line.claim is not None or line.pool for line in case.nodes):
        manner = Manner.NOT_KARPENTERS
    return ClusterFinding(
        severity=FindingSeverity.INFO,
        code=FindingCode.FINE,
        nodes=len(case.nodes),
        names=tuple(pool.name for pool in case.pools),
        manner=manner,
    )


def _timed_out(case: VerdictCase) -> Iterator[ClusterFinding]:
    if not case.timeouts or case.started_ns is None:
        return
    is_often = case.timeouts * 60 * MINUTE_NS >= case.now_ns - case.started_ns
    yield ClusterFinding(
        severity=FindingSeverity.WARNING if is_often else FindingSeverity.INFO,
        code=FindingCode.TIMED_OUT,
        since_ns=case.started_ns,
        detail=str(case.timeouts),
        screen="unreached",
        key=":unreached",
    )


def _stopped(case: VerdictCase) -> Iterator[ClusterFinding]:
    cluster = case.analysis.cluster if case.analysis is not None else ()
    waiting = [line for line in case.nodes if line.findings is not None and line.findings.why.code is WhyCode.WAITS]
    saving = saving_of(((line, line.would_save) for line in waiting), case)
    unsynced = [one for one in cluster if one.code is Code.UNSYNCED]
    if unsynced:
        since = min((one.since_ns for one in unsynced if one.since_ns), default=None)
        is_long = since is None or case.now_ns - since >= LAUNCH_PATIENCE_NS
        said = _stopping_refusal(case)
        refused = {line.claim.name for line in case.nodes if line.claim is not None and _refusal(line) == said}
        unsynced = [one for one in unsynced if one.object_key in refused] if said else unsynced
        yield ClusterFinding(
            severity=FindingSeverity.ERROR if is_long or said else FindingSeverity.INFO,
            detail=said,
            code=FindingCode.STOPPED,
            price_per_hour=saving.per_hour,
            is_upper_bound=saving.is_upper_bound,
            is_partial=lacks_some(line.would_save for line in waiting),
            since_ns=since,
            objects=tuple(one.object_ref for one in unsynced),
            names=tuple(one.object_key for one in unsynced),
            nodes=len(waiting),
            screen="claims",
            key="3",
        )
    if any(one.code is Code.NO_NODEPOOLS for one in cluster):
        served = served_pools(case.pools)
        blockers = [one for line in case.nodes if line.findings is not None for one in line.findings.blockers]
        full = {one.pool_name for one in blockers if one.code is Code.STATIC_NO_HEADROOM}
        runs = [pool.is_static and is_refillable(pool) and pool.name not in full for pool in served]
        yield ClusterFinding(
            severity=FindingSeverity.WARNING if all(runs) else FindingSeverity.ERROR,
            code=FindingCode.NO_NODEPOOLS,
            names=tuple(pool.name for pool in served),
            detail=", ".join(_takes_no_pods(served)),
            manner=Manner.STATIC if any(runs) else Manner.PLAIN,
            screen="pools",
            key="2",
        )


def _takes_no_pods(pools: Sequence[NodePool]) -> Iterator[str]:
    """Yield why NodePools take no pods, with how many of them where they differ."""
    counts = Counter(map(bystanding, pools))
    for reason in Bystanding:
        if counts[reason]:
            yield reason if counts[reason] == len(pools) else f"{counts[reason]} {reason}"


def _pending(case: VerdictCase) -> Iterator[ClusterFinding]:
    full: dict[str, list[PendingLine]] = {}
    for line in case.pending:
        if line.full_pool:
            full.setdefault(line.full_pool, []).append(line)
            continue
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.PENDING,
            since_ns=line.since_ns or None,
            objects=tuple(f"Pod/{key}" for key in line.pods),
            names=(line.name,),
            pods=len(line.pods),
            detail=line.group,
            screen="pending",
            key="5",
        )
    for pool, lines in full.items():
        pods = [key for line in lines for key in line.pods]
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.RESERVATIONS_FULL,
            since_ns=min((line.since_ns for line in lines if line.since_ns), default=None),
            objects=(f"NodePool/{pool}", *(f"Pod/{key}" for key in pods)),
            names=(pool,),
            pods=len(pods),
            screen="pending",
            key="5",
        )


def _refusal(line: VerdictNode) -> str:
    """Return why a NodeClaim is not launched; empty where it is, or nobody has refused it."""
    launched = line.claim.condition("Launched") if line.claim is not None else None
    is_refused = (
        launched is not None
        and launched.status != "True"
        and launched.reason not in (*UNTRIED, "Launched")
        and not line.has_node
        and line.claim is not None
        and not line.claim.is_deleting
    )
    return (launched.message or launched.reason) if launched is not None and is_refused else ""


def _stopping_refusal(case: VerdictCase) -> str:
    """Return the refusal by which a NodeClaim without provider ID stops everything, the oldest; empty without one."""
    cluster = case.analysis.cluster if case.analysis is not None else ()
    stopping = {one.object_key for one in cluster if one.code is Code.UNSYNCED}
    refused = [line for line in case.nodes if line.claim is not None and line.claim.name in stopping and _refusal(line)]
    oldest = min(refused, key=lambda line: line.claim.created_ns if line.claim is not None else 0, default=None)
    return _refusal(oldest) if oldest is not None else ""


def _stuck_claims(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield NodeClaims that were refused, or whose node has not joined for long; not those that stop everything."""
    stuck: dict[str, list[NodeClaim]] = {}
    lost: list[NodeClaim] = []
    prices = {line.claim.name: line.per_hour for line in case.nodes if line.claim is not None}
    stopping = _stopping_refusal(case)
    for line in case.nodes:
        claim = line.claim
        if claim is None or line.has_node or claim.is_deleting:
            continue
        said = _refusal(line)
        if said:
            if said != stopping:
                stuck.setdefault(said, []).append(claim)
        elif not case.sees_nodes:
            continue
        elif claim.provider_id and claim.created_ns and case.now_ns - claim.created_ns > JOIN_PATIENCE_NS:
            (lost if claim.is_true("Registered") else stuck.setdefault("", [])).append(claim)
    groups = [(said, claims, Manner.PLAIN) for said, claims in stuck.items()]
    if lost:
        groups.append(("", lost, Manner.NODE_GONE))
    for said, claims, manner in groups:
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.CLAIM_STUCK,
            price_per_hour=None if said else sum_of(prices[claim.name] for claim in claims),
            is_partial=lacks_some(prices[claim.name] for claim in claims),
            # Nothing says when a node that was there has gone.
            since_ns=None if manner else min((claim.created_ns for claim in claims if claim.created_ns), default=None),
            objects=tuple(f"NodeClaim/{claim.name}" for claim in claims),
            names=tuple(claim.name for claim in claims),
            detail=said,
            manner=manner,
            screen="claims",
            key="3",
        )


def _pools(case: VerdictCase) -> Iterator[ClusterFinding]:
    sick = [pool for pool in case.pools if not pool.is_ready and not pool.is_deleting]
    if sick:
        conditions = [condition for pool in sick if (condition := condition_of(pool.conditions, "Ready")) is not None]
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.POOL_NOT_READY,
            since_ns=min((one.last_transition_ns for one in conditions if one.last_transition_ns), default=None),
            detail=next((one.message for one in conditions if one.message), ""),
            objects=tuple(f"NodePool/{pool.name}" for pool in sick),
            names=tuple(pool.name for pool in sick),
            screen="pools",
            key="2",
        )
    for pool in served_pools(case.pools):
        limit = (pool.limits or {}).get(NODES)
        if pool.replicas is not None and limit is not None and limit.units < pool.replicas and not pool.is_deleting:
            yield ClusterFinding(
                severity=FindingSeverity.WARNING,
                code=FindingCode.POOL_AT_LIMIT,
                manner=Manner.FEWER_THAN_REPLICAS,
                objects=(f"NodePool/{pool.name}",),
                names=(pool.name,),
                detail=f"{count_text(pool.replicas)} nodes, and its limit is {count_text(limit.units)}",
                screen="pools",
                key="2",
            )
    for line in case.limits:
        yield ClusterFinding(
            severity=FindingSeverity.INFO if line.spares_types else FindingSeverity.WARNING,
            code=FindingCode.POOL_AT_LIMIT,
            manner=Manner.SPARES_TYPES if line.spares_types else Manner.PLAIN,
            objects=(f"NodePool/{line.pool}",),
            names=(line.pool,),
            since_ns=line.since_ns or None,
            detail=line.text,
            screen="pools",
            key="2",
        )


def _gone_pools(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield NodePools that nodes name and that are not there: consolidation and drift pass such nodes over."""
    there = {pool.name for pool in case.pools}
    gone: dict[str, list[VerdictNode]] = {}
    for line in case.nodes:
        codes = [one.code for one in line.findings.blockers] if line.findings is not None else ()
        if line.pool and line.pool not in there and Code.NODEPOOL_UNRESOLVED in codes:
            gone.setdefault(line.pool, []).append(line)
    if gone:
        lines = [line for of_pool in gone.values() for line in of_pool]
        yield ClusterFinding(
            severity=FindingSeverity.WARNING,
            code=FindingCode.POOL_GONE,
            price_per_hour=sum_of(line.per_hour for line in lines),
            is_partial=lacks_some(line.per_hour for line in lines),
            objects=tuple(f"Node/{line.name}" for line in lines),
            names=tuple(sorted(gone)),
            nodes=len(lines),
            screen="nodes",
            key="^z",
        )


def _unhealthy(case: VerdictCase) -> Iterator[ClusterFinding]:
    sick = [line for line in case.nodes if line.not_ready_ns is not None]
    if sick:
        since = min((line.not_ready_ns for line in sick if line.not_ready_ns), default=None)
        is_long = since is not None and case.now_ns - since >= SICK_NS
        yield ClusterFinding(
            severity=FindingSeverity.ERROR if is_long else FindingSeverity.WARNING,
            code=FindingCode.UNHEALTHY,
            price_per_hour=sum_of(line.per_hour for line in sick),
            is_partial=lacks_some(line.per_hour for line in sick),
            since_ns=since,
            objects=tuple(f"Node/{line.name}" for line in sick),
            names=tuple(line.name for line in sick),
            nodes=len(sick),
            screen="nodes",
            key="^z",
            filter_text="status=NotReady",
        )


def _drift(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield NodePools of which nodes have been drifted for long and none is on its way."""
    pools: dict[str, list[VerdictNode]] = {}
    moving: set[str] = set()
    for line in case.nodes:
        found = line.findings
        if found is None or line.claim is None or not line.claim.is_true("Drifted"):
            continue
        if found.why.code in (WhyCode.DRAIN, WhyCode.DELETING, WhyCode.COMMAND, WhyCode.OK, WhyCode.WAITS):
            moving.add(line.pool)
        else:
            pools.setdefault(line.pool, []).append(line)
    for name, lines in pools.items():
        since = min((_drifted_ns(line) for line in lines), default=0)
        if name in moving or case.now_ns - since < DRIFT_PATIENCE_NS:
            continue
        reasons = Counter(_drift_reason(line) for line in lines)
        reason = reasons.most_common(1)[0][0]
        manners = Counter(manner_of(line, WhyCode.BUDGET, ()) for line in lines if _drift_reason(line) == reason)
        ends = [
            one.until_ns for line in lines for one in own_blockers(line, WhyCode.BUDGET) if one.until_ns is not None
        ]
        is_budget = reason == Code.BUDGET_ZERO
        yield ClusterFinding(
            severity=FindingSeverity.WARNING,
            code=FindingCode.DRIFT,
            since_ns=since or None,
            objects=(f"NodePool/{name}",),
            names=(name,),
            nodes=len(lines),
            until_ns=min(ends, default=None) if is_budget else None,
            detail=reason,
            manner=manners.most_common(1)[0][0] if is_budget else Manner.PLAIN,
            screen="claims",
            key="3",
            filter_text=f"pool={name}",
        )


def _drifted_ns(line: VerdictNode) -> int:
    condition = line.claim.condition("Drifted") if line.claim is not None else None
    return condition.last_transition_ns if condition is not None else 0


def _drift_reason(line: VerdictNode) -> str:
    """Return the code of what holds the drift of a node."""
    assert line.findings is not None
    lane = next((one for one in line.findings.lanes if one.method == Method.DRIFT), None)
    return lane.code if lane is not None else ""


def _missing(case: VerdictCase) -> Iterator[ClusterFinding]:
    if case.hidden:
        yield ClusterFinding(
            severity=FindingSeverity.WARNING, code=FindingCode.NO_PERMISSION, names=tuple(case.hidden), key="?"
        )
    if case.assumed:
        yield ClusterFinding(
            severity=FindingSeverity.INFO,
            code=FindingCode.ASSUMED_CLASS,
            names=tuple(case.assumed),
            detail=", ".join(dict.fromkeys(case.assumed.values())),
            objects=tuple(f"EC2NodeClass/{name}" for name in case.assumed),
            screen="pools",
            key="2",
        )
    if case.unread:
        yield ClusterFinding(
            severity=FindingSeverity.INFO,
            code=FindingCode.ASSUMED_VOLUMES,
            names=case.unread,
            screen="sources",
            key=":sources",
        )
    unpriced = [line for line in case.nodes if line.has_node and line.per_hour is None]
    if case.has_prices and unpriced:
        yield ClusterFinding(
            severity=FindingSeverity.INFO,
            code=FindingCode.NO_PRICES,
            nodes=len(unpriced),
            objects=tuple(f"Node/{line.name}" for line in unpriced),
            screen="sources",
            key=":sources",
        )


def _next(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield what Karpenter does next, as far as that has been worked out."""
    report = case.analysis.next if case.analysis is not None else None
    if report is not None and report.commands:
        first = report.commands[0]
        yield ClusterFinding(
            severity=FindingSeverity.INFO,
            code=FindingCode.NEXT,
            price_per_hour=first.savings_per_hour,
            objects=tuple(f"Node/{name}" for name in first.node_names),
            names=first.node_names,
            nodes=len(first.node_names),
            detail=f"{first.decision} {report.method}",
            screen="next",
            key="6 n",
        )
        return
    waiting = [
        line
        for line in case.nodes
        if (found := line.findings) is not None
        and found.why.code in (WhyCode.WAITS, WhyCode.OK)
        # While everything stands still for lack of a NodePool, nobody knows what would become of a node.
        and found.why.outcome is not None
    ]
    waiting.sort(key=_turn)
    if waiting and (found := waiting[0].findings) is not None:
        yield ClusterFinding(
            severity=FindingSeverity.INFO,
            code=FindingCode.NEXT,
            price_per_hour=waiting[0].would_save,
            manner=Manner.AFTER_OTHERS if found.why.code is WhyCode.WAITS else Manner.PLAIN,
            objects=(f"Node/{waiting[0].name}",),
            names=(waiting[0].name,),
            nodes=1,
            detail=f"{found.why.outcome} {found.why.method}",
            screen="next",
            key="6 n",
        )


def _turn(line: VerdictNode) -> tuple[int, float, str]:
    """Return the place of a node among those that go: by method in Karpenter's order, then by what it saves."""
    order = [str(method) for method in Method]
    method = line.findings.why.method if line.findings is not None else ""
    return (order.index(method) if method in order else len(order), -(line.would_save or 0.0), line.name)
