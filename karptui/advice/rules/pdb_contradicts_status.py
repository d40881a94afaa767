"""PodDisruptionBudgets whose spec allows nothing and whose status says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import counted
from karptui.provisioning.eligible_pods import is_always_blocking
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pdb in sorted(context.inventory.pdbs, key=lambda one: one.key):
        if not is_always_blocking(pdb) or pdb.disruptions_allowed <= 0:
            continue
        yield Finding(
            severity=Severity.WARNING,
            objects=(ObjectRef("PodDisruptionBudget", pdb.name, pdb.namespace),),
            fact=f"PodDisruptionBudget {pdb.key} allows nothing by its spec and reports "
            f"{counted(pdb.disruptions_allowed, 'disruption')} allowed: Karpenter may delete a node of its pods "
            "without making room for them elsewhere.",
        )


RULE: Final = Rule(
    id="pdb-contradicts-status",
    title="a blocking budget that reports room",
    what="A PodDisruptionBudget blocks fully by its spec while its status says that disruptions are allowed.",
    why="Whether a node may go is read from the status, and whether its pods need a place from the spec: pods of a "
    "fully blocking budget are taken as staying, so no capacity is looked for when the node is removed all the same.",
    source="pkg/utils/pdb/pdb.go and IsCurrentlyReschedulable beside it",
    remedy="Find out why the disruption controller does not keep the status up; it should be mended within seconds.",
    find=_find,
)
