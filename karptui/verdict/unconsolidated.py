"""Nodes that consolidation leaves: preferences keep them, their type is unknown, or the search times out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from karptui.disruption.events import UNCONSOLIDATABLE, unlisted_type
from karptui.kube.timestamps import HOUR_NS, NS_PER_SECOND
from karptui.verdict.blocked import lacks_some, sum_of
from karptui.verdict.case import VerdictCase, VerdictNode
from karptui.verdict.finding import Apart, ClusterFinding, FindingCode, FindingSeverity, Manner

_REQUIRED: Final = (Apart.ANTI_AFFINITY, Apart.SPREAD, Apart.MIN_VALUES)
"""Rules that hold whatever Karpenter's settings are."""
FEWEST_PREFERRED: Final = 4
"""From this many nearly empty nodes on it is reported that preferences keep them."""


def unconsolidated_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield nodes that consolidation leaves because of preferences or an unknown instance type."""
    yield from _preferred(case)
    yield from _unknown_types(case)


def _preferred(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield nodes that a rule about separate nodes or minValues keeps: Karpenter treats preferences as required."""
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
            price_per_hour=None if rule is Apart.MIN_VALUES else sum_of(line.per_hour for line in lines),
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
        event.involved_name: type_name
        for event in case.recent(UNCONSOLIDATABLE, kind="Node")
        if (type_name := unlisted_type(event))
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


def timed_out(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield a finding if Karpenter's consolidation times out."""
    if not case.timeouts or case.started_ns is None:
        return
    is_often = case.timeouts * HOUR_NS >= case.now_ns - case.started_ns
    yield ClusterFinding(
        severity=FindingSeverity.WARNING if is_often else FindingSeverity.INFO,
        code=FindingCode.TIMED_OUT,
        since_ns=case.started_ns,
        detail=str(case.timeouts),
        screen="advice",
    )
