"""A literal ``*`` among the values of a requirement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.facts.requirement_form import REQUIREMENTS_PATH, requirement_form
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.aws.lint.wildcard import wildcard_values
from karptui.karpenter.nodepool import NodePool
from karptui.whatif.edits import SetField


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        for one in wildcard_values(f"NodePool {pool.name}", ".".join(REQUIREMENTS_PATH), pool.requirements):
            yield Finding(
                severity=Severity(str(one.severity)),
                objects=(pool_ref(pool),),
                fact=one.fact,
                remedy=one.remedy,
                edits=(SetField(pool_ref(pool), REQUIREMENTS_PATH, _without_stars(pool)),),
            )


def _without_stars(pool: NodePool) -> list[dict[str, object]]:
    """Return the requirements in the API's form, without values that hold a star and requirements made of these."""
    found: list[dict[str, object]] = []
    for requirement in pool.requirements:
        values = [value for value in requirement.values if "*" not in value]
        if requirement.values and not values:
            continue
        found.append(requirement_form(requirement, values=values))
    return found


RULE: Final = Rule(
    id="pool-wildcard-value",
    title="* is not a wildcard",
    what="A requirement of a NodePool has a value with a * in it.",
    why="Label values are compared, never matched as patterns: In [*] asks for a type whose label is a star, and there "
    "is none, so the pool launches nothing and the next one takes its pods.",
    source="pkg/scheduling/requirement.go",
    remedy="Leave the requirement out to allow every value, use operator Exists, or list the values.",
    find=_find,
)
