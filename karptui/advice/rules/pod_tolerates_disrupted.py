"""Protected pods that tolerate everything: no drain waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import owner_refs, ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, verb


def _find(context: AdviceContext) -> Iterator[Finding]:
    predicates = context.fleet.pods
    groups = [
        group
        for group in context.workload_groups
        if predicates.traits(group.template).tolerates_disrupted and context.nodes_with(group.pods)
    ]
    if not groups:
        return
    protected = [group for group in groups if any(not predicates.is_disruptable(pod) for pod in group.pods)]
    owners, pods = owner_refs((*protected, *groups)), sum(len(group.pods) for group in groups)
    held = sum(len(group.pods) for group in protected)
    also = f", {held:,} of them in spite of do-not-disrupt" if held else ""
    yield Finding(
        severity=Severity.WARNING if held else Severity.INFO,
        objects=owners,
        fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'tolerates', 'tolerate')} the "
        "taint of nodes on their way out: a drain neither evicts nor waits for them, new ones may still land there, "
        f"and they end with the instance{also}.",
    )


RULE: Final = Rule(
    id="pod-tolerates-disrupted",
    title="pods that no drain waits for",
    what="Workload pods on Karpenter's nodes tolerate karpenter.sh/disrupted, mostly by a toleration without a key.",
    why="A pod that tolerates the disrupted taint is taken for one that wants to stay to the end. It is not evicted, "
    "PodDisruptionBudgets are not asked, and the instance is terminated without it once all other pods are gone. "
    "do-not-disrupt keeps voluntary disruption away and does nothing against that.",
    source="IsDrainable and ToleratesDisruptedNoScheduleTaint in pkg/utils/pod/scheduling.go",
    remedy="Name the taints that are meant to be tolerated instead of operator Exists without a key.",
    find=_find,
)
