"""Pods that two PodDisruptionBudgets select."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, joined, listed, verb
from karptui.kube.pod import Pod
from karptui.whatif.edits import ObjectRef

_SHOWN: Final = 3


def _find(context: AdviceContext) -> Iterator[Finding]:
    predicates = context.fleet.pods
    by_budgets: dict[tuple[str, ...], list[tuple[ObjectRef, Pod]]] = {}
    for matching, group in context.budgeted:
        pods = [(group.owner, pod) for pod in group.pods if predicates.is_evictable(pod)] if len(matching) > 1 else []
        if pods:
            by_budgets.setdefault(tuple(one.key for one in matching), []).extend(pods)
    for budgets, found in sorted(by_budgets.items()):
        owners = tuple(dict.fromkeys(owner for owner, _ in found))
        nodes = context.nodes_with(pod for _, pod in found)
        cost = context.cost(nodes)
        refs = tuple(ObjectRef("PodDisruptionBudget", *reversed(key.split("/", 1))) for key in budgets)
        yield Finding(
            severity=Severity.ERROR,
            objects=(*refs, *owners),
            fact=f"{counted(len(found), 'pod')} ({listed(map(ref_text, owners))}) {verb(len(found), 'is', 'are')} "
            f"selected by {counted(len(budgets), 'PodDisruptionBudget')} ({joined(list(budgets[:_SHOWN]))}): no "
            f"eviction is ever allowed, which holds {counted(len(nodes), 'node')} of Karpenter{at_cost(cost)}.",
            per_hour=cost,
        )


RULE: Final = Rule(
    id="pod-several-pdbs",
    title="two PDBs select a pod",
    what="Two or more PodDisruptionBudgets select the same pod.",
    why="The eviction API refuses a pod that several budgets select, whatever they allow. Karpenter takes its node as "
    "blocked, and a drain that has begun waits for the pod until terminationGracePeriod ends it, if ever.",
    source="pkg/utils/pdb/pdb.go; the eviction subresource of the Kubernetes API",
    remedy="Delete one of them, or narrow its selector.",
    find=_find,
)
