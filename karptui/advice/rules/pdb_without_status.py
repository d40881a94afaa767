"""PodDisruptionBudgets that nobody has looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import counted, span
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.whatif.edits import ObjectRef

_PATIENCE_NS: Final = 300 * NS_PER_SECOND


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pdb in sorted(context.inventory.pdbs, key=lambda one: one.key):
        age_ns = context.now_ns - pdb.created_ns
        if pdb.observed_generation is not None or not pdb.created_ns or age_ns < _PATIENCE_NS:
            continue
        selector = pdb.selector
        pods = sum(
            len(group.pods)
            for group in context.groups
            if group.template.namespace == pdb.namespace
            and selector is not None
            and selector.matches(group.pods[0].labels)
        )
        if pods:
            yield Finding(
                severity=Severity.WARNING,
                objects=(ObjectRef("PodDisruptionBudget", pdb.name, pdb.namespace),),
                fact=f"PodDisruptionBudget {pdb.key} is {span(age_ns)} old and has no status, which counts as none "
                f"allowed: {counted(pods, 'pod')} cannot be evicted.",
            )


RULE: Final = Rule(
    id="pdb-without-status",
    title="a budget without status blocks",
    what="A PodDisruptionBudget with pods is older than five minutes and its status was never written.",
    why="disruptionsAllowed of a missing status reads as 0, and 0 keeps every pod of the budget where it is.",
    source="pkg/utils/pdb/pdb.go",
    remedy="Look after the disruption controller of kube-controller-manager; the budget's events tell what it met.",
    find=_find,
)
