"""An operator that does not exist in a requirement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.facts.requirement_form import REQUIREMENTS_PATH, requirement_form
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.aws.lint.operator import unknown_operators
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirement import OPERATORS
from karptui.whatif.edits import SetField

_SPELLED: Final = {name.lower(): name for name in OPERATORS}


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        ref, edits = pool_ref(pool), _respelled(pool)
        for one in unknown_operators(f"NodePool {pool.name}", ".".join(REQUIREMENTS_PATH), pool.requirements):
            yield Finding(
                severity=Severity(str(one.severity)), objects=(ref,), fact=one.fact, remedy=one.remedy, edits=edits
            )


def _respelled(pool: NodePool) -> tuple[SetField, ...]:
    """Return the edit that writes operators in Karpenter's capitals; none where one is no operator in any."""
    written = [one.operator for one in pool.requirements]
    spelled = [_SPELLED.get(one.strip().lower(), "") for one in written]
    if not all(spelled):
        return ()
    forms = [requirement_form(one, operator=operator) for one, operator in zip(pool.requirements, spelled, strict=True)]
    return (SetField(pool_ref(pool), REQUIREMENTS_PATH, forms),)


RULE: Final = Rule(
    id="pool-unknown-operator",
    title="an operator that does not exist",
    what="A requirement of a NodePool has an operator that is none of Karpenter's, such as in instead of In. Only a "
    "file can hold one: the API server refuses it.",
    why="Operators are compared letter by letter. One that is none of them sets no bounds, so that the requirement "
    "allows every value and the pool more types than it says.",
    source="SupportedNodeSelectorOps in pkg/apis/v1/nodeclaim_validation.go and pkg/scheduling/requirement.go",
    remedy=f"Write one of {', '.join(OPERATORS)}.",
    find=_find,
)
