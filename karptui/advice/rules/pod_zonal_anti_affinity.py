"""Pods that may not share a zone with their own kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.facts.pods import PodGroup
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted
from karptui.karpenter.labels import ZONE


def _find(context: AdviceContext) -> Iterator[Finding]:
    for group in context.workload_groups:
        if not _shuns_itself(group):
            continue
        zones = frozenset(zone for pool in context.pools_for(group.template) for zone in context.zones_of(pool))
        pods = len(group.pods)
        fact = f"{counted(pods, 'pod')} of {ref_text(group.owner)} may not share a zone with each other, and NodePools "
        fact += f"reach {counted(len(zones), 'zone')} for them"
        if pods > len(zones):
            fact += f": at most {len(zones)} can run."
        else:
            fact += ": new ones are placed one per run, ten seconds apart at best."
        if zones:
            yield Finding(
                severity=Severity.WARNING if pods > len(zones) else Severity.INFO, objects=(group.owner,), fact=fact
            )


def _shuns_itself(group: PodGroup) -> bool:
    if len(group.pods) < 2:
        return False
    labels = group.pods[0].labels
    return any(
        term.topology_key == ZONE and term.label_selector is not None and term.label_selector.matches(labels)
        for term in group.template.pod_anti_affinity
    )


RULE: Final = Rule(
    id="pod-zonal-anti-affinity",
    title="one pod per zone, one per run",
    what="Two or more pods of a workload have required anti-affinity to themselves over zones.",
    why="While it plans, Karpenter cannot say in which zone a claim with several zones will end up, so one placed pod "
    "closes them all for the next: each run places one pod. There can never be more of them than zones.",
    source="nextDomainAntiAffinity in pkg/controllers/provisioning/scheduling/topologygroup.go",
    remedy="Use topologySpreadConstraints with maxSkew 1 over zones instead, with anti-affinity over hostname.",
    find=_find,
)
