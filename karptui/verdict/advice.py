"""Findings of Advice: one for each error and urgent warning, one for all other warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final

from msgspec.structs import replace

from karptui.advice.catalogue import BY_ID
from karptui.advice.finding import Finding
from karptui.verdict.case import PendingLine, VerdictCase
from karptui.verdict.finding import NOTHING_PENDING, ClusterFinding, FindingCode, FindingSeverity
from karptui.verdict.pending_pods import PendingPods, expected_on, of_pools

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
"""Rules of Advice whose errors and warnings another finding reports, unless they are about a passing state."""
_COVERED_ERRORS: Final = frozenset({"volume-zone-without-offering"})
"""Rules whose errors are also in the line of the pending pods."""
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
        "reservation-unused",
    }
)
"""Advice rules whose warnings get a separate line: they announce something within hours, or hold nodes now."""


def _uncovered(case: VerdictCase) -> list[Finding]:
    """Return the findings of Advice that no other finding covers."""
    return [f for f in case.advice.findings if f.rule not in COVERED_RULES] if case.advice is not None else []


def urgent_advice(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
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


def advice_findings(case: VerdictCase) -> Iterator[ClusterFinding]:
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


def with_unreported(findings: Sequence[ClusterFinding], case: VerdictCase) -> list[ClusterFinding]:
    """Return findings whose line of Advice counts the warnings of covered rules that no finding is about."""
    objects = {name for finding in findings if finding.code is not FindingCode.ADVICE for name in finding.objects}
    others = [f for f in case.advice.findings if f.rule in COVERED_RULES] if case.advice is not None else []
    unreported = sum(
        str(f.severity) == "warning" and objects.isdisjoint(f"{ref.kind}/{ref.key}" for ref in f.objects)
        for f in others
    )
    return [
        replace(f, of_nodes=f.of_nodes + unreported) if f.code is FindingCode.ADVICE and f.of_nodes else f
        for f in findings
    ]
