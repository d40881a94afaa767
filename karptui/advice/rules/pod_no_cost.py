"""Pods whose deletion cost is zero or less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import owner_refs, ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, verb


def _find(context: AdviceContext) -> Iterator[Finding]:
    groups = [
        group
        for group in context.workload_groups
        if context.fleet.pods.traits(group.template).eviction_cost <= 0 and context.nodes_with(group.pods)
    ]
    if not groups:
        return
    owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
    nodes = context.nodes_with(pod for group in groups for pod in group.pods)
    empty = sum(1 for node in nodes if node.is_initialized and context.fleet.is_empty(node))
    yield Finding(
        severity=Severity.WARNING if empty else Severity.INFO,
        objects=owners,
        fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'costs', 'cost')} nothing to "
        f"evict, by deletion cost or priority: {counted(empty, 'node')} with nothing else on "
        f"{'it counts' if empty == 1 else 'them count'} as "
        "empty and may be deleted without another place for them.",
    )


RULE: Final = Rule(
    id="pod-no-cost",
    title="pods that count as nothing",
    what="Workload pods on Karpenter's nodes have an eviction cost of zero or less: a strongly negative "
    "pod-deletion-cost or priority.",
    why="A node is empty when the costs of its pods come to nothing. Such a node is deleted by Emptiness, which looks "
    "for no other place; the pods are evicted and wait for whatever comes.",
    source="pkg/utils/disruption/disruption.go and pkg/controllers/disruption/emptiness.go",
    remedy="Raise controller.kubernetes.io/pod-deletion-cost or the priority of pods that matter.",
    find=_find,
)
