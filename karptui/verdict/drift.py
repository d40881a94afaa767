"""Drifted nodes that are not replaced, or that are drained all at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from karptui.disruption.budgets import PoolUse, Reason, budget_state
from karptui.disruption.churn.loops import FEWEST
from karptui.disruption.codes import Code, WhyCode
from karptui.disruption.command import Method
from karptui.disruption.consolidation import RefusalCode
from karptui.disruption.events import DISRUPTION_BLOCKED, NOMINATED
from karptui.disruption.gates import NOMINATED_MESSAGE
from karptui.disruption.lanes import Lane
from karptui.disruption.no_place import NoPlace, reason_of
from karptui.disruption.termination import Initiator
from karptui.kube.resources import NODES
from karptui.kube.timestamps import MINUTE_NS
from karptui.verdict.blocked import NAMED_HOLDERS, closed_reasons, holder_of, manner_of, own_blockers, users_of
from karptui.verdict.case import VerdictCase, VerdictNode
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner
from karptui.verdict.launches import DRIFT_PATIENCE_NS
from karptui.verdict.pending_pods import folded_by_namespace, key_of

AT_ONCE_NS: Final = 10 * MINUTE_NS
"""Drains that begin within this time are at once; replacements launched within it before them are new nodes."""
FEWEST_AT_ONCE: Final = 4
NOMINATED_NS: Final = 30 * MINUTE_NS
"""A nomination lasts for seconds: pods for which nodes are nominated for so long never come."""


def drift_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield NodePools whose drift does not go on, or drains most nodes at once."""
    nominated = {finding.names[0]: finding for finding in _nominated(case)}
    yield from nominated.values()
    yield from (finding for finding in _unreplaced(case) if finding.names[0] not in nominated)
    yield from _drift_of_most(case)


def _unreplaced(case: VerdictCase) -> Iterator[ClusterFinding]:
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
        reason = _common_reason(lines)
        if reason is None or name in moving or case.now_ns - since < DRIFT_PATIENCE_NS:
            continue
        manners = Counter(manner_of(line, WhyCode.BUDGET, case) for line in lines if _drift_reason(line) == reason)
        ends = [b.until_ns for line in lines for b in own_blockers(line, WhyCode.BUDGET) if b.until_ns is not None]
        is_budget = reason == Code.BUDGET_ZERO
        used_by = users_of({name}, case) if is_budget and manners.most_common(1)[0][0] is Manner.USED_UP else ()
        if used_by and not _is_used_for_long(used_by, case):
            continue
        static = next((pool for pool in case.pools if pool.name == name and pool.is_static), None)
        limit = (static.limits or {}).get(NODES) if static is not None else None
        is_ahead = is_budget and all(_waits_for_window(line, case) for line in lines)
        manner = Manner.CLOSED if is_ahead else manners.most_common(1)[0][0]
        yield ClusterFinding(
            severity=FindingSeverity.INFO if is_ahead else FindingSeverity.WARNING,
            code=FindingCode.DRIFT,
            since_ns=since or None,
            objects=(f"NodePool/{name}",),
            names=(name, *_no_place(lines)) if reason == RefusalCode.UNSCHEDULABLE else (name,),
            nodes=len(lines),
            until_ns=min(ends, default=None) if is_budget else None,
            reasons=closed_reasons(lines, case, Method.DRIFT) if is_budget else _protecting(lines, reason),
            detail=reason,
            of_nodes=limit.units if limit is not None else 0,
            closed_until_ns=min(ends, default=None) if not is_budget else None,
            used_by=used_by,
            manner=manner if is_budget else Manner.STATIC if static else Manner.PLAIN,
            screen="claims",
            filter_text=f"pool={name}",
        )


def _common_reason(lines: Sequence[VerdictNode]) -> str | None:
    """Return the code of what blocks the drift of most nodes; None if it ends by itself, with a start or nomination."""
    # A nomination lasts for seconds: if pods are nominated again and again, events tell.
    reasons = Counter(code for line in lines if (code := _drift_reason(line)) != Code.NOMINATED)
    reason = next((code for code, _ in reasons.most_common(1)), None)
    places = [place for line in lines for place in _no_places(line)] if reason == RefusalCode.UNSCHEDULABLE else []
    return None if places and all(place.uninitialized_node for place in places) else reason


def _nominated(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield NodePools with drifted nodes that Karpenter nominates for pending pods again and again: it keeps them."""
    blocked = (e for e in case.recent(DISRUPTION_BLOCKED, within_ns=NOMINATED_NS) if e.message == NOMINATED_MESSAGE)
    names = {e.involved_name for e in blocked if e.count >= FEWEST and e.last_ns - e.first_ns >= NOMINATED_NS}
    pools: dict[str, list[VerdictNode]] = {}
    for line in case.nodes if names else ():
        claim = line.claim
        is_named = claim is not None and not line.goes and not names.isdisjoint((line.name, claim.name))
        if is_named and claim is not None and claim.is_true("Drifted") and holder_of(line) not in NAMED_HOLDERS:
            pools.setdefault(line.pool, []).append(line)
    nominations = [e for e in case.recent(NOMINATED, kind="Pod", within_ns=NOMINATED_NS) if e.count >= FEWEST]
    for name, lines in pools.items():
        since, nodes = min(map(_drifted_ns, lines)), [line.name for line in lines]
        pods = {key_of(e) for e in nominations if any(node in e.message for node in nodes)}
        if case.now_ns - since >= DRIFT_PATIENCE_NS:
            yield ClusterFinding(
                severity=FindingSeverity.WARNING,
                code=FindingCode.DRIFT,
                since_ns=since or None,
                objects=(f"NodePool/{name}", *(f"Node/{line.name}" for line in lines)),
                names=(name, *folded_by_namespace(sorted(pods))),
                nodes=len(lines),
                manner=Manner.NOMINATED,
                screen="claims",
                filter_text=f"pool={name}",
            )


def _waits_for_window(line: VerdictNode, case: VerdictCase) -> bool:
    """Return whether the disruption budget of a drifted node opens again, and the drift went on when it was open last.

    A budget that was closed all the time since the node drifted counts as well.
    """
    budgets = own_blockers(line, WhyCode.BUDGET)
    if not budgets or not all(blocker.until_ns and blocker.since_ns for blocker in budgets):
        return False
    return all((blocker.since_ns or 0) <= _drifted_ns(line) for blocker in budgets) or _went_on(line, case)


def _went_on(line: VerdictNode, case: VerdictCase) -> bool:
    """Return whether a NodePool got nodes without drift while its budget was open after a node drifted."""
    pool = next((pool for pool in case.pools if pool.name == line.pool), None)
    claims = [other.claim for other in case.nodes if other.claim is not None and other.pool == line.pool]
    use, since_ns = PoolUse(nodes=len(claims)), _drifted_ns(line)
    later = [claim for claim in claims if claim.created_ns >= since_ns and not claim.is_true("Drifted")]
    return pool is not None and any(budget_state(pool, Reason.DRIFTED, use, c.created_ns).allowed for c in later)


def _protecting(lines: Sequence[VerdictNode], reason: str) -> tuple[str, ...]:
    """Return the pods or PodDisruptionBudgets that block the drift of nodes; empty if something else does."""
    if reason == Code.POD_DND:
        pods = {blocker.object_key for line in lines for blocker in own_blockers(line, WhyCode.DND)}
        return folded_by_namespace(sorted(pods))
    blockers = [blocker for line in lines for blocker in own_blockers(line, WhyCode.PDB)]
    return tuple(dict.fromkeys(b.value.replace(" ", " + ") for b in blockers if b.code == reason))


def _is_used_for_long(names: Sequence[str], case: VerdictCase) -> bool:
    """Return whether one of the nodes that use up a disruption budget has done so for long."""
    lines = [line for line in case.nodes if line.name in names]
    instants = [ns for line in lines if (ns := line.deleted_ns or line.not_ready_ns) is not None]
    return not instants or case.now_ns - min(instants) >= DRIFT_PATIENCE_NS


def _drift_of_most(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield NodePools whose drift drains most nodes at once."""
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
        for place in _no_places(line):
            if not place.uninitialized_node:
                return place.pod_key, reason_of(place, line.pool)[0]
    return ()


def _no_places(line: VerdictNode) -> list[NoPlace]:
    """Return the pods of a node that fit nowhere else, as far as the simulations of its removal tell."""
    outlook = line.findings.outlook if line.findings is not None else None
    verdicts = (outlook.now, outlook.freed) if outlook is not None else ()
    return [verdict.no_place for verdict in verdicts if verdict.no_place is not None]


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
