"""Workloads whose pods are moved again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.churn import loop_fact
from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.disruption.churn.loops import LoopKind
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    for loop in context.loops:
        kind, _, rest = loop.workload.partition("/")
        namespace, _, name = rest.partition("/")
        # Of pods whose controller is not known there is no object to name.
        if loop.kind is LoopKind.MOVED and kind != "Pod":
            yield Finding(severity=Severity.WARNING, objects=(ObjectRef(kind, name, namespace),), fact=loop_fact(loop))


RULE: Final = Rule(
    id="pod-moved-often",
    title="a workload is moved again and again",
    what="Pods of a workload had to leave nodes that were leaving at least three times in the time that is known, and "
    "at least twice for each pod that it has.",
    why="Each move ends a pod and starts another one elsewhere. Karpenter weighs prices, not how often a pod has moved "
    "already: a pod that lands on the next node to be consolidated is moved again.",
    source="pkg/controllers/node/termination/terminator/eviction.go",
    remedy="See which NodePool's nodes go and why (Churn); slow consolidation down with consolidateAfter, or protect "
    "the pods with a PodDisruptionBudget or karpenter.sh/do-not-disrupt with a duration.",
    find=_find,
)
