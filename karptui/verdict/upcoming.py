"""Findings about what will happen: protected pods that are ended anyway, pods that are lost, launches that moved."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from karptui.disruption.codes import Blocker, Code, WhyCode
from karptui.disruption.command import Method
from karptui.disruption.termination import claim_expiry, deadline_of
from karptui.karpenter.labels import RESERVATION_ID
from karptui.karpenter.nodepool import NodePool
from karptui.kube.group import group_by
from karptui.kube.timestamps import HOUR_NS, MINUTE_NS, parse_timestamp
from karptui.provisioning.pool_order import usable_pools
from karptui.verdict.case import VerdictCase, VerdictNode
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner
from karptui.verdict.pending_pods import folded_by_namespace

EXPIRY_HORIZON_NS: Final = 24 * HOUR_NS
"""Forced ends further away than this are left to the Claims screen."""
MOST_NODES_FOR_NEXT: Final = 500
"""In larger clusters the next command is worked out only while the Next screen is open."""
FEWEST_LAUNCHES: Final = 3
"""From this many new nodes on, a move of launches to another NodePool is reported."""
BLOCK_DRAIN_NS: Final = 40 * MINUTE_NS
"""Karpenter drains a capacity block's nodes this long before its end.

Source: pkg/apis/v1/ec2nodeclass_status.go and pkg/controllers/capacityreservation/expiration of the AWS provider.
"""
BLOCK_GRACE_NS: Final = 10 * MINUTE_NS
"""EC2 begins to end the instances this long after that."""
_CAPACITY_BLOCK: Final = "capacity-block"
_LEAVING: Final = (WhyCode.OK, WhyCode.WAITS, WhyCode.COMMAND, WhyCode.DRAIN, WhyCode.DELETING)


def forced_end_ns(line: VerdictNode) -> int | None:
    """Return when a drain that has begun, or that expiration will begin, ends every pod of a node; None if never.

    Source: pkg/controllers/nodeclaim/expiration and pkg/controllers/node/termination of Karpenter.
    """
    if line.claim is not None and line.claim.is_deleting:
        deadline = deadline_of(line.claim)
        return deadline.at_ns if deadline is not None else None
    expiry = claim_expiry(line.claim)
    return expiry.forced_end_ns if expiry is not None else None


def upcoming_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield findings about what will happen."""
    yield from _expiry(case)
    yield from _ending_capacity_blocks(case)
    yield from _cut_short(case)
    yield from _unread(case)
    yield from _lost(case)
    yield from _moved_launches(case)


def _expiry(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield the protected pods that expiration ends within a day, the earliest first by name."""
    ends = sorted(
        (
            (end, line.name, line, pods)
            for line in case.nodes
            if line.protected_pods and (end := forced_end_ns(line)) is not None and end > case.now_ns
            if line.goes or _expires_ns(line, case.now_ns) is not None
            if (pods := _protected_until(line, end, case))
        ),
        key=lambda entry: entry[:2],
    )
    if not ends:
        return
    end_ns, _, first, names = ends[0]
    assert first.claim is not None
    yield replace(
        _ending(end_ns, first, [pods for _, _, _, pods in ends], case.now_ns),
        expires_ns=_expires_ns(first, case.now_ns),
        names=names,
    )


def _protected_until(line: VerdictNode, end_ns: int, case: VerdictCase) -> tuple[str, ...]:
    """Return the pods of a node whose protection is expected to last until an instant."""
    blockers = line.findings.blockers if line.findings is not None else ()
    ending = {blocker.object_key for blocker in blockers if not _lasts(blocker, end_ns, case)}
    return tuple(key for key in line.protected_pods if key not in ending)


def _lasts(blocker: Blocker, end_ns: int, case: VerdictCase) -> bool:
    """Return whether a blocker is expected to last until an instant.

    A rollout or an eviction uses up a PodDisruptionBudget for a while. One that allows no eviction now counts if it has
    done so for as long as is left.
    """
    if blocker.until_ns is not None and blocker.until_ns < end_ns and not blocker.blocks_drain:
        return False
    if blocker.code is not Code.PDB_EXHAUSTED or case.never_allows(blocker.value):
        return True
    return blocker.since_ns is not None and case.now_ns - blocker.since_ns >= end_ns - case.now_ns


def _ending_capacity_blocks(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield capacity blocks whose nodes, with pods on them, are drained within a day because the block ends."""
    ends = dict(_capacity_block_ends(case))
    blocks: dict[str, list[VerdictNode]] = {}
    for line in case.nodes:
        block = line.claim.labels.get(RESERVATION_ID, "") if line.claim is not None else ""
        if block in ends and not line.goes:
            blocks.setdefault(block, []).append(line)
    for block, lines in sorted(blocks.items(), key=lambda entry: (ends[entry[0]], entry[0])):
        drain_ns = ends[block] - BLOCK_DRAIN_NS
        pods = sum(line.pods for line in lines)
        if not pods or not 0 <= drain_ns - case.now_ns <= EXPIRY_HORIZON_NS:
            continue
        protected = [key for line in lines for key in _protected_until(line, drain_ns, case)]
        is_urgent = bool(protected) and drain_ns - case.now_ns <= 2 * HOUR_NS
        yield ClusterFinding(
            severity=FindingSeverity.ERROR if is_urgent else FindingSeverity.WARNING,
            code=FindingCode.EXPIRY,
            until_ns=drain_ns + BLOCK_GRACE_NS,
            expires_ns=drain_ns,
            objects=(*(f"Pod/{key}" for key in protected), *(f"Node/{line.name}" for line in lines)),
            names=folded_by_namespace(protected),
            pools=tuple(sorted({line.pool for line in lines})),
            nodes=len(lines),
            pods=pods,
            detail=block,
            manner=Manner.BLOCK_ENDS,
            screen="claims",
        )


def _capacity_block_ends(case: VerdictCase) -> Iterator[tuple[str, int]]:
    """Yield the capacity blocks in the status of NodeClasses, with their ends."""
    for nodeclass in case.nodeclasses.values():
        for reservation in nodeclass.status.get("capacityReservations") or ():
            if reservation.get("reservationType") == _CAPACITY_BLOCK:
                with contextlib.suppress(ValueError):
                    yield str(reservation.get("id")), parse_timestamp(str(reservation.get("endTime") or ""))


def _cut_short(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield pods whose grace period is cut short, because that of their draining node ends before."""
    lines = [(end, line) for line in case.nodes if line.cut_pods and (end := forced_end_ns(line)) is not None]
    lines = sorted([(end, line) for end, line in lines if end > case.now_ns], key=lambda pair: (pair[0], pair[1].name))
    if not lines:
        return
    end_ns, first = lines[0]
    yield replace(
        _ending(end_ns, first, [line.cut_pods for _, line in lines], case.now_ns),
        since_ns=first.deleted_ns,
        names=folded_by_namespace(key for _, line in lines for key in line.cut_pods),
        manner=Manner.OWN_GRACE,
    )


def _unread(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield pods with an annotation that does not protect them, on nodes that expire within a day."""
    ends = [(ns, line) for line in case.nodes if line.unread_pods and (ns := _expires_ns(line, case.now_ns))]
    for annotation, lines in group_by(ends, lambda pair: pair[1].unread_annotation).items():
        expires_ns, first = min(lines, key=lambda pair: (pair[0], pair[1].name))
        yield replace(
            _ending(expires_ns, first, [line.unread_pods for _, line in lines], case.now_ns),
            severity=FindingSeverity.WARNING,
            expires_ns=expires_ns,
            names=folded_by_namespace(key for _, line in lines for key in line.unread_pods),
            words=annotation,
            manner=Manner.UNREAD,
        )


def _ending(end_ns: int, first: VerdictNode, pods_of_nodes: Sequence[tuple[str, ...]], now_ns: int) -> ClusterFinding:
    """Return a finding about pods that end with their nodes, the first node at an instant."""
    pods = [key for keys in pods_of_nodes for key in keys]
    return ClusterFinding(
        severity=FindingSeverity.ERROR if end_ns - now_ns <= 2 * HOUR_NS else FindingSeverity.WARNING,
        code=FindingCode.EXPIRY,
        until_ns=end_ns,
        objects=(*(f"Pod/{key}" for key in pods), f"Node/{first.name}"),
        nodes=len(pods_of_nodes),
        pods=len(pods),
        detail=first.name,
        screen="claims",
    )


def _lost(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield pods that nothing recreates, on nodes that are being removed or that Karpenter would remove."""
    report = case.analysis.next if case.analysis is not None else None
    chosen = {name for command in (report.commands if report is not None else ()) for name in command.node_names}
    lines = [line for line in case.nodes if line.lost_pods and (line.name in chosen or is_leaving(line, case.now_ns))]
    if not lines:
        return
    # Nodes of the next command come first.
    lines.sort(key=lambda line: (line.name not in chosen, line.name))
    pods = [key for line in lines for key in line.lost_pods]
    yield ClusterFinding(
        severity=FindingSeverity.WARNING,
        code=FindingCode.PODS_LOST,
        objects=(*(f"Pod/{key}" for key in pods), *(f"Node/{line.name}" for line in lines)),
        names=tuple(pods),
        nodes=len(lines),
        pods=len(pods),
        detail=lines[0].name,
        expires_ns=_expires_ns(lines[0], case.now_ns) if lines[0].name not in chosen else None,
        manner=Manner.PLAIN if lines[0].goes or lines[0].name in chosen else Manner.AFTER_OTHERS,
        screen="next",
    )


def _expires_ns(line: VerdictNode, now_ns: int) -> int | None:
    """Return when a node expires within a day, None if it does not."""
    expires_ns = line.claim.expires_ns if line.claim is not None and not line.goes else None
    return expires_ns if expires_ns is not None and expires_ns - now_ns <= EXPIRY_HORIZON_NS else None


def is_leaving(line: VerdictNode, now_ns: int) -> bool:
    """Return whether a node is being removed, expires within a day, or would be removed by Karpenter."""
    if line.goes or _expires_ns(line, now_ns) is not None:
        return True
    return line.findings is not None and line.findings.why.code in _LEAVING


def _moved_launches(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield that all nodes of the last hour come from one NodePool, and most older ones from another capacity type."""
    new: list[VerdictNode] = []
    old: list[VerdictNode] = []
    for line in case.nodes:
        if line.claim is not None and line.claim.provider_id and line.pool and not line.claim.is_deleting:
            (new if case.now_ns - line.claim.created_ns <= HOUR_NS else old).append(line)
    if len(new) < FEWEST_LAUNCHES or len(old) < FEWEST_LAUNCHES:
        return
    pool_now, launched = Counter(line.pool for line in new).most_common(1)[0]
    pool_before, of_pool = Counter(line.pool for line in old).most_common(1)[0]
    if pool_now == pool_before or launched < len(new) or 2 * of_pool < len(old):
        return
    kinds_now = {line.capacity_type for line in new}
    kinds_before = {line.capacity_type for line in old if line.pool == pool_before}
    pools = {pool.name: pool for pool in usable_pools(case.pools)}
    if len(kinds_now) != 1 or kinds_now == kinds_before or not {pool_now, pool_before} <= pools.keys():
        return
    manner = _why_moved(case, pools[pool_now], pools[pool_before])
    if manner is None:
        return
    yield ClusterFinding(
        severity=FindingSeverity.WARNING,
        code=FindingCode.LAUNCHES_MOVED,
        since_ns=min(line.claim.created_ns for line in new if line.claim is not None),
        objects=(f"NodePool/{pool_now}", f"NodePool/{pool_before}"),
        names=(pool_now, pool_before, str(pools[pool_now].weight), str(pools[pool_before].weight)),
        nodes=launched,
        of_nodes=len(new),
        detail=", ".join(sorted(kinds_now)),
        manner=manner,
        price_per_hour=None,
        screen="pools",
    )


def _why_moved(case: VerdictCase, now: NodePool, before: NodePool) -> Manner | None:
    """Return the reason that launches moved between NodePools; None if that is not known."""
    if any(line.pool == before.name for line in case.limits if not line.is_open):
        return Manner.LIMIT
    return Manner.WEIGHT if now.weight > before.weight else None


def next_finding(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield Karpenter's next command, as the Next screen shows it; nothing if it is unknown, or rests on ignored kinds.

    In a large cluster it yields that the Next screen has to be opened for it.
    """
    if not case.sees_pods or case.ignored:
        return
    report = case.analysis.next if case.analysis is not None else None
    is_current = case.analysis is not None and report is not None and report.generation == case.analysis.generation
    if len(case.nodes) > MOST_NODES_FOR_NEXT and case.analysis is not None and not is_current:
        info, code = FindingSeverity.INFO, FindingCode.NEXT
        yield ClusterFinding(severity=info, code=code, manner=Manner.ON_REQUEST, screen="next")
        return
    if report is None:
        return
    if report.expiring:
        yield ClusterFinding(
            severity=FindingSeverity.INFO,
            code=FindingCode.NEXT,
            manner=Manner.EXPIRED,
            objects=tuple(f"Node/{name}" for name in report.expiring),
            names=report.expiring,
            nodes=len(report.expiring),
            screen="next",
        )
        return
    acting = report.then if report.paused_by else report
    nodes = {line.name for line in case.nodes}
    if acting is None or not acting.commands or not nodes.issuperset(acting.commands[0].node_names):
        return
    if case.unread and acting.method != Method.EMPTINESS:
        return  # volumes may keep the pods of these nodes where they are
    first = acting.commands[0]
    alike, different = acting.as_likely_by_outcome()
    yield ClusterFinding(
        severity=FindingSeverity.INFO,
        code=FindingCode.NEXT,
        price_per_hour=first.savings_per_hour,
        manner=Manner.AFTER_OTHERS if report.paused_by else Manner.PLAIN,
        objects=tuple(f"Node/{name}" for name in first.node_names),
        names=first.node_names,
        nodes=len(first.node_names),
        of_nodes=len(alike),
        others=len(different),
        detail=f"{first.decision} {acting.method}",
        screen="next",
    )
