"""No NodePool takes pods, or the NodePool of nodes does not exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from karptui.disruption.codes import Code
from karptui.disruption.static_drift import is_refillable
from karptui.karpenter.nodepool import NodePool, is_being_checked
from karptui.provisioning.pool_order import SkipReason, served_pools, skip_reason
from karptui.verdict.blocked import lacks_some, sum_of
from karptui.verdict.case import VerdictCase, VerdictNode
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner


def nodepool_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield that no NodePool takes pods, unless Karpenter is still checking one."""
    cluster = case.analysis.cluster if case.analysis is not None else ()
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


def gone_pools(case: VerdictCase) -> Iterator[ClusterFinding]:
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
