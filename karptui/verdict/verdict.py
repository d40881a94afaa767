"""Problems and risks of a cluster, worst first: one finding for each cause.

The ranking is by tier: what stops the whole cluster, what fails now, what blocks removals and costs money, what will
happen next, what is missing from the data, advice. Within a tier errors come first, then the most expensive.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final

from msgspec.structs import replace

from karptui.advice.catalogue import BY_ID
from karptui.advice.finding import Finding
from karptui.disruption.codes import Code, WhyCode
from karptui.disruption.command import Method
from karptui.disruption.consolidation import RefusalCode
from karptui.disruption.events import UNCONSOLIDATABLE
from karptui.disruption.lanes import Lane
from karptui.disruption.no_place import reason_of
from karptui.disruption.static_drift import is_refillable
from karptui.disruption.termination import Initiator
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.resources import NODES
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.pending.causes import Cause
from karptui.provisioning.pool_order import SkipReason, served_pools, skip_reason
from karptui.verdict.blocked import (
    NAMED_HOLDERS,
    all_leaving,
    closed_reasons,
    held,
    holder_of,
    is_simulating,
    lacks_some,
    leaving_for_long,
    manner_of,
    own_blockers,
    saving_of,
    sum_of,
    users_of,
)
from karptui.verdict.churn import churn_findings
from karptui.verdict.containers import container_findings
from karptui.verdict.controller import controller_findings, has_leader, is_running
from karptui.verdict.creation import creation_findings
from karptui.verdict.finding import (
    NOTHING_PENDING,
    Apart,
    ClusterFinding,
    CountBound,
    FindingCode,
    FindingSeverity,
    Manner,
    PendingLine,
    VerdictCase,
    VerdictNode,
)
from karptui.verdict.launches import (
    DRIFT_PATIENCE_NS,
    failing_pools,
    is_being_checked,
    launch_findings,
    refusal_message,
    stopping_refusal,
    unsynced_claims,
    waits_for_claims,
    without_expected,
)
from karptui.verdict.nodes import node_findings
from karptui.verdict.pending_pods import PendingPods, expected_on, of_pools, pending_findings
from karptui.verdict.upcoming import next_finding, upcoming_findings

MINUTE_NS: Final = 60 * NS_PER_SECOND
LAUNCH_PATIENCE_NS: Final = 2 * MINUTE_NS
"""A launch takes about a minute: a NodeClaim without provider ID for longer is in trouble."""
SOON_NS: Final = 2 * 60 * MINUTE_NS
"""Protected pods that are ended within this time count as failing now."""
_REQUIRED: Final = (Apart.ANTI_AFFINITY, Apart.SPREAD)
"""Rules that hold whatever Karpenter's settings are."""
FEWEST_PREFERRED: Final = 4
"""From this many nearly empty nodes on it is reported that preferences keep them."""
AT_ONCE_NS: Final = 10 * MINUTE_NS
"""Drains that begin within this time are at once; replacements launched within it before them are new nodes."""
FEWEST_AT_ONCE: Final = 4

_UNKNOWN_TYPE: Final = re.compile(r'Instance Type "([^"]+)" not found')
"""Karpenter's event about a node whose price it cannot tell: pkg/controllers/disruption/consolidation.go."""

_TIERS: Final[tuple[tuple[FindingCode, ...], ...]] = (
    (
        FindingCode.KARPENTER_DOWN,
        FindingCode.NO_LEADER,
        FindingCode.KARPENTER_FORBIDDEN,
        FindingCode.PODS_NOT_CREATED,
        FindingCode.STOPPED,
        FindingCode.ALL_LEAVING,
        FindingCode.NO_NODEPOOLS,
    ),
    (
        FindingCode.NODECLASS_NOT_READY,
        FindingCode.ZONE_NOT_READY,
        FindingCode.ZONAL_SHIFT,
        FindingCode.INTERRUPTED,
        FindingCode.LAUNCH_REFUSED,
        FindingCode.CLAIM_STUCK,
        FindingCode.NOT_INITIALIZED,
        FindingCode.DAEMONSET_PENDING,
        FindingCode.POOL_DELETED,
        FindingCode.POOL_NOT_READY,
        FindingCode.POOL_AT_LIMIT,
        FindingCode.RESERVATIONS_FULL,
        FindingCode.PENDING,
        FindingCode.UNHEALTHY,
        FindingCode.PODS_NOT_STARTING,
        FindingCode.CHURN,
        FindingCode.TWO_AUTOSCALERS,
        FindingCode.NODE_PRESSURE,
        FindingCode.KARPENTER_DEGRADED,
    ),
    (
        FindingCode.REPAIR_HELD,
        FindingCode.PODS_NOT_ENDING,
        FindingCode.NOT_SCALED,
        FindingCode.POD_DND,
        FindingCode.NODE_DND,
        FindingCode.PDB,
        FindingCode.BUDGET,
        FindingCode.LEAVING,
        FindingCode.DRIFT,
        FindingCode.POOL_GONE,
        FindingCode.CORDONED,
        FindingCode.OLD_KUBELETS,
        FindingCode.PREFERRED,
        FindingCode.TIMED_OUT,
    ),
    (FindingCode.EXPIRY, FindingCode.LAUNCHES_MOVED, FindingCode.PODS_LOST),
    (
        FindingCode.NO_PERMISSION,
        FindingCode.NO_PRICES,
        FindingCode.ASSUMED_CLASS,
        FindingCode.ASSUMED_VOLUMES,
        FindingCode.ADVICE,
    ),
)
_TIER_OF: Final = {code: tier for tier, codes in enumerate(_TIERS) for code in codes}
_FAILING: Final = 1
COVERED_RULES: Final = frozenset(
    {
        "budget-never-opens",
        "claim-no-capacity",
        "node-never-initialized",
        "node-receives-pods",
        "nodeclass-not-ready",
        "pdb-never-allows",
        "pod-fails-silently",
        "pod-moved-often",
        "pod-no-usable-pool",
        "pod-several-pdbs",
        "pool-limit-below-type",
        "pool-churn-loop",
        "pool-not-ready",
    }
)
"""Rules of Advice whose errors and warnings another finding reports."""
_COVERED_ERRORS: Final = frozenset({"volume-zone-without-offering"})
"""Rules whose errors the line of the pending pods says as well."""
_EXPLAINING_RULES: Final = frozenset(
    {"pool-daemonset-types", "pool-no-types", "pool-wildcard-value", "setting-gate-off"}
)
"""Rules whose errors explain why pods of their NodePools are pending."""
_OF_NEW_NODES: Final = frozenset({"node-smaller-than-claim"})
"""Rules whose errors explain why pods do not fit on the nodes that were launched for them."""
_TELLING_RULES: Final = frozenset({"pod-host-port-daemonset"})
"""Rules whose errors name the pending pods of their workloads."""
SEPARATE_RULES: Final = frozenset(
    {
        "node-unmanaged",
        "pool-accelerator-untainted",
        "pool-consolidate-after-churn",
        "pool-consolidation-never",
        "pool-expiry-wave",
        "pool-when-empty",
    }
)
"""Advice rules whose warnings get a separate line: they announce something within hours, or hold nodes now."""


def verdict_of(case: VerdictCase) -> tuple[ClusterFinding, ...]:
    """Return the problems and risks of a cluster, worst first; one reassuring finding if there are none."""
    pending = PendingPods(case.pending)
    findings = [
        *controller_findings(case, pending),
        *creation_findings(case),
        *all_leaving(case),
        *_stopped(case, pending),
        *launch_findings(case, pending),
        *node_findings(case, pending),
        *container_findings(case),
        *_urgent_advice(case, pending),
        *pending_findings(without_expected(case, pending.left())),
        *_gone_pools(case),
        *held(case),
        *leaving_for_long(case),
        *_preferred(case),
        *_unknown_types(case),
        *_drift(case),
        *_drift_of_most(case),
        *churn_findings(case),
        *_timed_out(case),
        *upcoming_findings(case),
        *_missing(case),
        *_advice(case),
    ]
    findings = _without_repeats(_with_budgets(findings))
    findings.sort(key=lambda finding: _rank(finding, case.now_ns))
    if not any(finding.code is FindingCode.ADVICE or not _is_quiet(finding) for finding in findings):
        findings.insert(0, _fine(case))
    acts = is_running(case.controller) and has_leader(case.controller)
    return (*_interleaved(findings), *(next_finding(case) if acts else ()))


def _is_quiet(finding: ClusterFinding) -> bool:
    return finding.severity is FindingSeverity.INFO and finding.code is not FindingCode.ALL_LEAVING


def _rank(finding: ClusterFinding, now_ns: int) -> tuple[object, ...]:
    tier = _TIER_OF.get(finding.code, len(_TIERS))
    if finding.code is FindingCode.EXPIRY and finding.until_ns is not None and finding.until_ns - now_ns <= SOON_NS:
        tier = _FAILING
    if finding.code is FindingCode.ADVICE and finding.severity is FindingSeverity.ERROR:
        tier = _FAILING + 1
    severities, places = list(FindingSeverity), list(FindingCode)
    return (
        _is_quiet(finding),
        tier,
        severities.index(finding.severity),
        finding.code is FindingCode.PENDING,
        finding.code is FindingCode.POOL_DELETED and not finding.pending.pods,
        -(finding.price_per_hour or 0.0),
        places.index(finding.code),
        finding.names,
    )


def _interleaved(findings: Sequence[ClusterFinding]) -> list[ClusterFinding]:
    """Return findings in order, but with groups of pending pods and other findings in turn: neither hides the other."""
    pending = [finding for finding in findings if finding.code is FindingCode.PENDING]
    others = [finding for finding in findings if finding.code is not FindingCode.PENDING]
    place = findings.index(pending[0]) if pending else len(findings)
    ordered, later = others[:place], others[place:]
    while pending or later:
        loud = bool(later) and not _is_quiet(later[0])
        if pending:
            ordered.append(pending.pop(0))
        if later and (loud or not pending):
            ordered.append(later.pop(0))
    return ordered


_NAMES_POOLS: Final = (FindingCode.NODECLASS_NOT_READY, FindingCode.POOL_NOT_READY)


def _with_budgets(findings: Sequence[ClusterFinding]) -> list[ClusterFinding]:
    """Return findings in which the drift that a disruption budget blocks counts its other nodes too: one cause."""
    drifts = {f.names: f for f in findings if f.code is FindingCode.DRIFT and f.detail == Code.BUDGET_ZERO}
    others = {
        f.names: f
        for f in findings
        if f.code is FindingCode.BUDGET and f.names in drifts and f.manner is drifts[f.names].manner and not f.reasons
    }
    joined = {
        names: replace(
            drift,
            others=budget.nodes,
            price_per_hour=budget.price_per_hour,
            is_upper_bound=budget.is_upper_bound,
            saves_in_seconds=budget.saves_in_seconds,
            is_partial=budget.is_partial,
        )
        for names, drift in drifts.items()
        if (budget := others.get(names)) is not None
    }
    return [
        joined.get(f.names, f) if f.code is FindingCode.DRIFT and f.detail == Code.BUDGET_ZERO else f
        for f in findings
        if f.code is not FindingCode.BUDGET or f.names not in joined
    ]


_NAMES_WHY: Final = (FindingCode.STOPPED, FindingCode.LAUNCH_REFUSED, *_NAMES_POOLS)


def _without_repeats(findings: Sequence[ClusterFinding]) -> list[ClusterFinding]:
    """Return findings without repeats of why NodePools launch nothing."""
    telling = [finding for finding in findings if finding.code in _NAMES_WHY]
    named = {name for finding in telling for name in finding.objects}
    is_named = any(finding.code in _NAMES_POOLS for finding in telling)
    kept = []
    for finding in findings:
        repeats_pools = finding.code is FindingCode.NO_NODEPOOLS and finding.manner is not Manner.STATIC and is_named
        repeats_advice = (
            finding.code is FindingCode.ADVICE
            and not finding.of_nodes
            and not SEPARATE_RULES.issuperset(finding.names)
            and named.issuperset(finding.objects)
        )
        if not (repeats_pools or (repeats_advice and finding.objects)):
            kept.append(finding)
    return kept


def _uncovered(case: VerdictCase) -> list[Finding]:
    """Return the findings of Advice that no other finding covers."""
    return [f for f in case.advice.findings if f.rule not in COVERED_RULES] if case.advice is not None else []


def _urgent_advice(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield each error of Advice, and warnings that have their own line."""
    for advice in _uncovered(case):
        severity = str(advice.severity)
        if severity == "error" and advice.rule in _COVERED_ERRORS:
            continue
        if severity != "error" and not (advice.rule in SEPARATE_RULES and severity == "warning"):
            continue
        if advice.rule in _TELLING_RULES:
            owners = {f"{ref.kind}/{ref.key}" for ref in advice.objects}
            pending.take(partial(_belongs_to, owners=owners))
        names = frozenset(ref.name for ref in advice.objects)
        pools = names if advice.rule in _EXPLAINING_RULES else frozenset()
        nodes = names if advice.rule in _OF_NEW_NODES else frozenset()
        nodes |= {line.claim.name for line in case.nodes if line.claim is not None and line.name in nodes}
        is_explained = expected_on(nodes) if nodes else partial(of_pools, pools=pools)
        yield ClusterFinding(
            severity=FindingSeverity(severity),
            code=FindingCode.ADVICE,
            objects=tuple(f"{ref.kind}/{ref.key}" for ref in advice.objects),
            names=(advice.rule,),
            detail=advice.fact,
            pending=pending.take(is_explained) if pools or nodes else NOTHING_PENDING,
            screen="advice",
        )


def _belongs_to(group: PendingLine, owners: AbstractSet[str]) -> bool:
    return group.owner in owners


def _advice(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield the warnings of Advice as one finding."""
    warnings = [f for f in _uncovered(case) if str(f.severity) == "warning" and f.rule not in SEPARATE_RULES]
    if warnings:
        yield ClusterFinding(
            severity=FindingSeverity.INFO,
            code=FindingCode.ADVICE,
            objects=tuple(f"{ref.kind}/{ref.key}" for ref in warnings[0].objects),
            names=tuple(finding.rule for finding in warnings),
            of_nodes=len(warnings),
            detail=BY_ID[warnings[0].rule].title,
            screen="advice",
        )


def _fine(case: VerdictCase) -> ClusterFinding:
    """Return the finding for a cluster without problems; one without Karpenter nodes is not called healthy."""
    manner = Manner.INCOMPLETE if case.unchecked or case.hidden or case.unread else Manner.PLAIN
    if not case.nodes:
        manner = Manner.NO_NODES
    elif not any(line.claim is not None or line.pool for line in case.nodes):
        manner = Manner.NOT_KARPENTERS
    return ClusterFinding(
        severity=FindingSeverity.INFO,
        code=FindingCode.FINE,
        nodes=len(case.nodes),
        names=tuple(pool.name for pool in case.pools),
        detail=", ".join((*case.unchecked, *case.hidden, *case.unread)),
        manner=manner,
    )


def _preferred(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield nearly empty nodes that a rule about separate nodes keeps: Karpenter treats preferences as required."""
    groups: dict[tuple[str, str, Apart], list[VerdictNode]] = {}
    for line in case.nodes:
        if line.apart is not None:
            groups.setdefault((line.pool, *line.apart), []).append(line)
    pauses = {pool.name: (pool.consolidate_after_ns or 0) // NS_PER_SECOND for pool in case.pools}
    for (pool, workload, rule), lines in groups.items():
        if len(lines) < FEWEST_PREFERRED:
            continue
        yield ClusterFinding(
            severity=FindingSeverity.INFO if rule in _REQUIRED else FindingSeverity.WARNING,
            code=FindingCode.PREFERRED,
            price_per_hour=sum_of(line.per_hour for line in lines),
            is_upper_bound=True,
            is_partial=lacks_some(line.per_hour for line in lines),
            objects=tuple(f"Node/{line.name}" for line in lines),
            names=(pool, workload),
            nodes=len(lines),
            detail=rule,
            words=str(pauses.get(pool, 0)) if rule is Apart.RESTING else "",
            screen="nodes",
            filter_text=f"pool={pool}",
        )


def _unknown_types(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield nodes that Karpenter does not consolidate because the provider does not know their instance type."""
    types = {
        event.involved_name: match[1]
        for event in case.recent(UNCONSOLIDATABLE, kind="Node")
        if (match := _UNKNOWN_TYPE.match(event.message)) is not None
    }
    groups: defaultdict[tuple[str, str], list[VerdictNode]] = defaultdict(list)
    for line in case.nodes if types else ():
        if line.name in types and not line.goes:
            groups[line.pool, types[line.name]].append(line)
    for names, lines in groups.items():
        yield ClusterFinding(
            severity=FindingSeverity.WARNING,
            code=FindingCode.PREFERRED,
            objects=tuple(f"Node/{line.name}" for line in lines),
            names=names,
            nodes=len(lines),
            manner=Manner.MISSING,
            screen="nodes",
            filter_text=f"pool={names[0]}",
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
        screen="advice",
    )


def _launched_after(claims: Sequence[NodeClaim], case: VerdictCase) -> bool:
    """Return whether an instance was launched for a NodeClaim that Karpenter made clearly after one of these."""
    first_ns = min((claim.created_ns for claim in claims), default=case.now_ns)
    launched = (line.claim for line in case.nodes if line.claim is not None and line.claim.provider_id)
    return any(claim.created_ns - first_ns >= LAUNCH_PATIENCE_NS for claim in launched)


def _stopped(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    cluster = case.analysis.cluster if case.analysis is not None else ()
    waiting = [line for line in case.nodes if line.findings is not None and line.findings.why.code is WhyCode.WAITS]
    saving = saving_of(((line, line.would_save) for line in waiting), case)
    unsynced = unsynced_claims(case)
    if unsynced:
        since = min((blocker.since_ns for blocker in unsynced if blocker.since_ns), default=None)
        is_long = since is None or case.now_ns - since >= LAUNCH_PATIENCE_NS
        refusal = stopping_refusal(case)
        refused = {
            line.claim.name for line in case.nodes if line.claim is not None and refusal_message(line) == refusal
        }
        unsynced = [blocker for blocker in unsynced if blocker.object_key in refused] if refusal else unsynced
        names = {blocker.object_key for blocker in unsynced}
        claims = [line.claim for line in case.nodes if line.claim is not None and line.claim.name in names]
        failing = failing_pools(case, claims) if refusal or is_long else frozenset()
        # Karpenter schedules no pod while a NodeClaim has no provider ID.
        stops_all = (is_long or bool(refusal)) and not _launched_after(claims, case)
        explained = pending.take(
            lambda group: (stops_all and group.cause == Cause.CLAIM) or waits_for_claims(group, claims, failing)
        )
        yield ClusterFinding(
            severity=FindingSeverity.ERROR if is_long or refusal else FindingSeverity.INFO,
            detail=refusal,
            code=FindingCode.STOPPED,
            price_per_hour=saving.per_hour,
            is_upper_bound=saving.is_upper_bound,
            saves_in_seconds=saving.seconds,
            is_partial=is_simulating(case.nodes) or lacks_some(line.would_save for line in waiting),
            since_ns=since,
            objects=tuple(blocker.object_ref for blocker in unsynced),
            names=tuple(blocker.object_key for blocker in unsynced),
            nodes=len(waiting),
            nodes_bound=CountBound.AT_LEAST if is_simulating(case.nodes) else CountBound.EXACT,
            pending=explained,
            screen="claims",
        )
    served = served_pools(case.pools)
    checked = [is_being_checked(pool, case.nodeclasses.get(pool.node_class_ref.key), case.now_ns) for pool in served]
    if not any(checked) and any(blocker.code is Code.NO_NODEPOOLS for blocker in cluster):
        blockers = [blocker for line in case.nodes if line.findings is not None for blocker in line.findings.blockers]
        full = {blocker.pool_name for blocker in blockers if blocker.code is Code.STATIC_NO_HEADROOM}
        runs = [pool.is_static and is_refillable(pool) and pool.name not in full for pool in served]
        yield ClusterFinding(
            severity=FindingSeverity.WARNING if all(runs) else FindingSeverity.ERROR,
            code=FindingCode.NO_NODEPOOLS,
            names=tuple(pool.name for pool in served),
            detail=", ".join(_takes_no_pods(served)),
            manner=Manner.STATIC if any(runs) else Manner.PLAIN,
            screen="pools",
        )


def _takes_no_pods(pools: Sequence[NodePool]) -> Iterator[str]:
    """Yield reasons why NodePools take no pods, with the number of NodePools if reasons differ."""
    counts = Counter(map(skip_reason, pools))
    for reason in SkipReason:
        if counts[reason]:
            yield reason if counts[reason] == len(pools) else f"{counts[reason]} {reason}"


def _gone_pools(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield NodePools that nodes name and that are not there: consolidation and drift pass such nodes over."""
    there = {pool.name for pool in case.pools}
    gone: dict[str, list[VerdictNode]] = {}
    for line in case.nodes:
        codes = [blocker.code for blocker in line.findings.blockers] if line.findings is not None else ()
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
        )


def _drift(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield NodePools with nodes that have been drifted for long, while none is being replaced."""
    pools: dict[str, list[VerdictNode]] = {}
    moving: set[str] = set()
    for line in case.nodes:
        findings = line.findings
        if findings is None or line.claim is None or not line.claim.is_true("Drifted"):
            continue
        if holder_of(line) in NAMED_HOLDERS:
            continue
        code, lane = findings.why.code, _drift_lane(line)
        if code in (WhyCode.OK, WhyCode.WAITS) and lane is not None and lane.is_held:
            # Another method may remove it, which is no progress of the drift.
            pools.setdefault(line.pool, []).append(line)
        elif code in (WhyCode.COMMAND, WhyCode.OK, WhyCode.WAITS):
            moving.add(line.pool)
        elif code in (WhyCode.DRAIN, WhyCode.DELETING):
            # A node that has been leaving for long, or for another reason, is no sign that the others follow.
            is_recent = case.now_ns - (line.deleted_ns or case.now_ns) < DRIFT_PATIENCE_NS
            if is_recent and (findings.drain is None or findings.drain.initiator in (None, Initiator.DRIFTED)):
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
        ends = [b.until_ns for line in lines for b in own_blockers(line, WhyCode.BUDGET) if b.until_ns is not None]
        is_budget = reason == Code.BUDGET_ZERO
        used_by = users_of({name}, case) if is_budget and manners.most_common(1)[0][0] is Manner.USED_UP else ()
        if used_by and not _is_used_for_long(used_by, case):
            continue
        static = next((pool for pool in case.pools if pool.name == name and pool.is_static), None)
        limit = (static.limits or {}).get(NODES) if static is not None else None
        yield ClusterFinding(
            severity=FindingSeverity.WARNING,
            code=FindingCode.DRIFT,
            since_ns=since or None,
            objects=(f"NodePool/{name}",),
            names=(name, *_no_place(lines)) if reason == RefusalCode.UNSCHEDULABLE else (name,),
            nodes=len(lines),
            until_ns=min(ends, default=None) if is_budget else None,
            reasons=closed_reasons(lines, case, Method.DRIFT) if is_budget else (),
            detail=reason,
            of_nodes=limit.units if limit is not None else 0,
            closed_until_ns=min(ends, default=None) if not is_budget else None,
            used_by=used_by,
            manner=manners.most_common(1)[0][0] if is_budget else Manner.STATIC if static else Manner.PLAIN,
            screen="claims",
            filter_text=f"pool={name}",
        )


def _is_used_for_long(names: Sequence[str], case: VerdictCase) -> bool:
    """Return whether one of the nodes that use up a disruption budget has done so for long."""
    lines = [line for line in case.nodes if line.name in names]
    instants = [ns for line in lines if (ns := line.deleted_ns or line.not_ready_ns) is not None]
    return not instants or case.now_ns - min(instants) >= DRIFT_PATIENCE_NS


def _drift_of_most(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield NodePools of which drift drains most nodes at once."""
    for pool in case.pools:
        lines = [line for line in case.nodes if line.pool == pool.name and line.claim is not None]
        drained = [line for line in lines if _is_drained_by_drift(line, case.now_ns)]
        since = min((line.deleted_ns for line in drained if line.deleted_ns is not None), default=0)
        before = sum(line.claim is not None and line.claim.created_ns < since - AT_ONCE_NS for line in lines)
        if len(drained) >= FEWEST_AT_ONCE and 2 * len(drained) > before:
            yield ClusterFinding(
                severity=FindingSeverity.WARNING,
                code=FindingCode.DRIFT,
                since_ns=since,
                objects=(f"NodePool/{pool.name}",),
                names=(pool.name,),
                nodes=len(drained),
                of_nodes=before,
                manner=Manner.AT_ONCE,
                screen="claims",
                filter_text=f"pool={pool.name}",
            )


def _is_drained_by_drift(line: VerdictNode, now_ns: int) -> bool:
    drain = line.findings.drain if line.findings is not None else None
    is_recent = line.deleted_ns is not None and now_ns - line.deleted_ns <= AT_ONCE_NS
    return is_recent and drain is not None and drain.initiator is Initiator.DRIFTED


def _no_place(lines: Sequence[VerdictNode]) -> tuple[str, ...]:
    """Return a pod that fits nowhere else if one of the nodes is removed, and why; nothing if that is not known."""
    for line in lines:
        outlook = line.findings.outlook if line.findings is not None else None
        for verdict in (outlook.now, outlook.freed) if outlook is not None else ():
            if verdict.no_place is not None:
                return verdict.no_place.pod_key, reason_of(verdict.no_place, line.pool)[0]
    return ()


def _drifted_ns(line: VerdictNode) -> int:
    condition = line.claim.condition("Drifted") if line.claim is not None else None
    return condition.last_transition_ns if condition is not None else 0


def _drift_reason(line: VerdictNode) -> str:
    """Return the code of the blocker of a node's drift."""
    lane = _drift_lane(line)
    return lane.code if lane is not None else ""


def _drift_lane(line: VerdictNode) -> Lane | None:
    lanes = line.findings.lanes if line.findings is not None else ()
    return next((lane for lane in lanes if lane.method == Method.DRIFT), None)


def _missing(case: VerdictCase) -> Iterator[ClusterFinding]:
    groups: defaultdict[tuple[FindingSeverity, str], list[str]] = defaultdict(list)
    for kind in case.hidden:
        severity = case.ignored.get(kind, FindingSeverity.WARNING)
        groups[severity, "none" if kind in case.ignored else ""].append(kind)
    for (severity, counts_as), kinds in groups.items():
        yield ClusterFinding(
            severity=severity,
            code=FindingCode.NO_PERMISSION,
            names=tuple(kinds),
            manner=Manner.MISSING if case.is_file else Manner.PLAIN,
            detail=counts_as,
        )
    if case.assumed:
        yield ClusterFinding(
            severity=FindingSeverity.INFO,
            code=FindingCode.ASSUMED_CLASS,
            names=tuple(case.assumed),
            detail=", ".join(dict.fromkeys(case.assumed.values())),
            objects=tuple(f"EC2NodeClass/{name}" for name in case.assumed),
            screen="pools",
        )
    if case.unread:
        yield ClusterFinding(
            severity=FindingSeverity.INFO,
            code=FindingCode.ASSUMED_VOLUMES,
            names=case.unread,
            screen="sources",
        )
    unpriced = [line for line in case.nodes if line.has_node and line.per_hour is None]
    if case.has_prices and unpriced:
        yield ClusterFinding(
            severity=FindingSeverity.INFO,
            code=FindingCode.NO_PRICES,
            nodes=len(unpriced),
            objects=tuple(f"Node/{line.name}" for line in unpriced),
            screen="sources",
        )
