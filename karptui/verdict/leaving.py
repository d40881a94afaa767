"""Findings about nodes that have been leaving for long, or all at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.disruption.drain import LONG_NS, Hold
from karptui.disruption.termination import STUCK_ALLOWANCE_NS, deadline_of
from karptui.karpenter.nodeclaim import DRAINED, DrainStage, deletion_stage, last_finalizers
from karptui.provisioning.pool_order import usable_pools
from karptui.verdict.blocked import HELD, holder, lacks_some, sum_of
from karptui.verdict.case import VerdictCase, VerdictNode
from karptui.verdict.controller import has_leader, is_running
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Leaving, Manner, began
from karptui.verdict.pending_pods import folded_by_namespace

_ENDED_BY_GRACE: Final = frozenset(
    {
        Leaving.WAITS,
        Leaving.ENDING,
        Leaving.EVICTED,
        Leaving.UNEVICTED,
        Leaving.WEBHOOK,
        Leaving.UNDRAINED,
        Leaving.DRAINING,
        Leaving.VOLUMES,
    }
)
"""Stages that terminationGracePeriod ends."""


def leaving_for_long(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield findings for nodes whose deletion takes long, without those reported as blocked."""
    groups: dict[tuple[Leaving, Manner], list[VerdictNode]] = {}
    acts = bool(case.controller.pods) and is_running(case.controller) and has_leader(case.controller)
    for line in case.nodes:
        is_long = line.deleted_ns is not None and case.now_ns - line.deleted_ns >= LONG_NS
        if not is_long or (holder(line) in HELD and line.findings is not None and line.findings.is_held):
            continue
        stage = _leaving(line, sees_nodes=case.sees_nodes, sees_claims=case.sees_claims)
        if stage is Leaving.EVICTED and acts and "PodDisruptionBudgets" not in case.hidden:
            stage = Leaving.UNEVICTED
        if stage in (Leaving.EVICTED, Leaving.UNEVICTED) and case.eviction_webhook:
            stage = Leaving.WEBHOOK
        if stage is Leaving.UNKNOWN and line.closed_pdbs:
            stage = Leaving.PDB
        groups.setdefault((stage, _end_manner(line, stage, case.now_ns)), []).append(line)
    for (stage, ended), lines in groups.items():
        of_line = _own_end_ns if ended is Manner.OWN_GRACE else _forced_ns
        ends = [end for line in lines if (end := of_line(line)) is not None]
        drains = [line.findings.drain for line in lines if line.findings is not None]
        pods = [
            pod.pod.key
            for drain in drains
            if drain is not None
            for pod in drain.holders
            if stage is not Leaving.ENDING or pod.hold is Hold.TERMINATING
        ]
        webhook = case.eviction_webhook if stage is Leaving.WEBHOOK else ()
        pdbs = sorted({key for line in lines for key in line.closed_pdbs}) if stage is Leaving.PDB else ()
        is_without_claims = all(line.claim is None for line in lines)
        yield ClusterFinding(
            severity=FindingSeverity.INFO if ended is Manner.OWN_GRACE else FindingSeverity.WARNING,
            code=FindingCode.LEAVING,
            price_per_hour=sum_of(line.per_hour for line in lines) if stage is not Leaving.FINALIZER else None,
            is_partial=lacks_some(line.per_hour for line in lines if line.has_node),
            reasons=webhook
            or tuple(pdbs)
            or tuple(dict.fromkeys(name for line in lines for name in last_finalizers(line.node))),
            **began(line.deleted_ns for line in lines),
            until_ns=max(ends, default=None) if stage in _ENDED_BY_GRACE else None,
            objects=tuple(_object(line) for line in lines),
            names=(*(line.name for line in lines), *folded_by_namespace(pods)),
            nodes=len(lines),
            pods=len(pods),
            pools=tuple(sorted({line.pool for line in lines if line.pool})),
            detail=stage,
            manner=Manner.SEVERAL_ENDS if ended is Manner.PLAIN and len(set(ends)) > 1 else ended,
            screen="nodes" if is_without_claims else "claims",
        )


def all_leaving(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield a finding if no node takes new pods and none starts; an error if pods need a node."""
    nodes = [line for line in case.nodes if line.has_node]
    is_all = all(line.goes or line.is_cordoned for line in nodes)
    is_known = case.sees_nodes and case.sees_claims
    if not nodes or not is_all or not is_known or any(map(_starts, case.nodes)):
        return
    going = [line for line in nodes if line.goes]
    pods, pools = sum(line.pods for line in going), tuple(pool.name for pool in usable_pools(case.pools))
    manner, severity = Manner.PLAIN, FindingSeverity.WARNING
    if len(going) < len(nodes):
        manner = Manner.SOME_CORDONED if going else Manner.ALL_CORDONED
    elif not pods and case.sees_pods:
        severity = FindingSeverity.INFO
    if pods and not pools and case.sees_pools:
        severity = FindingSeverity.ERROR
    yield ClusterFinding(
        severity=severity,
        code=FindingCode.ALL_LEAVING,
        **began(line.deleted_ns for line in nodes),
        objects=tuple(_object(line) for line in nodes),
        names=pools,
        nodes=len(nodes),
        pods=pods,
        detail="" if case.sees_pods and case.sees_pools else "hidden",
        manner=manner,
        screen="claims" if going else "nodes",
    )


def _starts(line: VerdictNode) -> bool:
    """Return whether a node is launching; a registered NodeClaim without node lost it."""
    claim = line.claim
    return not line.has_node and claim is not None and not line.goes and not claim.is_true("Registered")


def _object(line: VerdictNode) -> str:
    return f"Node/{line.name}" if line.has_node or line.claim is None else f"NodeClaim/{line.claim.name}"


def _forced_ns(line: VerdictNode) -> int | None:
    """Return the latest time at which terminationGracePeriod ends a drain; None without one."""
    deadline = deadline_of(line.claim) if line.claim is not None else None
    return None if deadline is None else deadline.at_ns + STUCK_ALLOWANCE_NS


def _own_end_ns(line: VerdictNode) -> int | None:
    """Return the end of the longest grace period of a node's pods, if its drain waits only for terminating pods."""
    holders = line.findings.drain.holders if line.findings is not None and line.findings.drain is not None else ()
    if any(pod.hold is not Hold.TERMINATING for pod in holders):
        return None
    return max((pod.pod.deletion_ns for pod in holders), default=None)


def _end_manner(line: VerdictNode, stage: Leaving, now_ns: int) -> Manner:
    """Return whether a node's wait ends automatically, or should have ended."""
    if stage not in _ENDED_BY_GRACE:
        return Manner.PLAIN
    end, own_end = _forced_ns(line), _own_end_ns(line) if stage is Leaving.ENDING else None
    if own_end is not None and now_ns < own_end and (end is None or own_end <= end):
        return Manner.OWN_GRACE
    if end is None:
        return Manner.NEVER
    return Manner.PLAIN if end > now_ns else Manner.OVERDUE


def _leaving(line: VerdictNode, *, sees_nodes: bool, sees_claims: bool) -> Leaving:
    """Return the deletion stage of a node."""
    claim = line.claim
    if claim is None and not sees_claims:
        return Leaving.UNKNOWN
    if claim is None or not claim.is_deleting:
        return Leaving.NODE_ALONE
    stage, _ = deletion_stage(claim, line.node)
    if stage is DrainStage.INSTANCE:
        return Leaving.FINALIZER if last_finalizers(line.node) else Leaving.INSTANCE
    if not line.has_node and sees_nodes:
        reference = claim.node_class_ref
        # Rule: IsManaged in Karpenter's pkg/utils/nodeclaim, since 1.1; v1beta1 allowed an empty group and kind.
        is_managed = (reference.group and reference.kind) or not reference.name
        return Leaving.NO_NODE if is_managed else Leaving.UNMANAGED
    if stage is DrainStage.VOLUMES:
        return Leaving.VOLUMES
    drain = line.findings.drain if line.findings is not None else None
    if drain is None:
        return Leaving.DRAINING if stage is DrainStage.DRAINING else Leaving.WAITS
    holds = {pod.hold for pod in drain.holders}
    if Hold.TERMINATING in holds:
        return Leaving.ENDING
    if stage is DrainStage.DELETING:
        return Leaving.WAITS
    if claim.condition(DRAINED) is None and not holds:
        return Leaving.UNKNOWN
    return Leaving.EVICTED if holds else Leaving.UNDRAINED
