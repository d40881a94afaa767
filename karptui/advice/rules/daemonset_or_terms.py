"""DaemonSets with alternatives in their node affinity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, verb
from karptui.whatif.edits import ObjectRef

_POOLS: Final = 2


def _find(context: AdviceContext) -> Iterator[Finding]:
    found = sorted(
        (one.key, one.name, one.namespace, len(one.template.required_node_terms or ()))
        for one in context.inventory.daemonsets
        if len(one.template.required_node_terms or ()) > 1
    )
    if found and len(context.tried_pools) >= _POOLS:
        names = (f"{key} ({terms} terms)" for key, _, _, terms in found)
        yield Finding(
            severity=Severity.INFO,
            objects=tuple(ObjectRef("DaemonSet", name, namespace) for _, name, namespace, _ in found),
            fact=f"{counted(len(found), 'DaemonSet')} ({listed(names)}) {verb(len(found), 'has', 'have')} alternatives "
            "in the required node affinity: on which types Karpenter counts them depends on which of "
            f"{counted(len(context.tried_pools), 'NodePool')} is looked at first.",
        )


RULE: Final = Rule(
    id="daemonset-or-terms",
    title="a DaemonSet with OR-terms",
    what="A DaemonSet has two or more required node affinity terms, and there are several NodePools.",
    why="When a type does not meet the first term Karpenter drops that term from its copy of the DaemonSet for good. "
    "Types and NodePools looked at later are judged by what is left, so the DaemonSet counts on some where it does "
    "not run and not on some where it does.",
    source="isDaemonPodCompatible in pkg/controllers/provisioning/scheduling/scheduler.go",
    remedy="Say it in one term (operator In with several values), or split the DaemonSet.",
    find=_find,
)
