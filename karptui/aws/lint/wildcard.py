"""A literal ``*`` among the values of a requirement: label values are compared, not matched."""

from __future__ import annotations

from collections.abc import Iterable

from karptui.aws.lint.finding import Finding, Severity
from karptui.kube.selectors import NodeSelectorRequirement

RULE = "wildcard-value"


def wildcard_values(owner: str, field: str, requirements: Iterable[NodeSelectorRequirement]) -> tuple[Finding, ...]:
    """Find values with a ``*`` in them.

    Args:
        owner: Kind and name of the object, such as ``NodePool flex``.
        field: Path of the requirements within it.
        requirements: As written.
    """
    return tuple(
        _finding(owner, f"{field}[{index}].values", requirement)
        for index, requirement in enumerate(requirements)
        if any("*" in value for value in requirement.values)
    )


def _finding(owner: str, field: str, requirement: NodeSelectorRequirement) -> Finding:
    stars = tuple(value for value in requirement.values if "*" in value)
    alone = len(stars) == len(requirement.values)
    effect = {
        "In": "matches nothing" if alone else "adds nothing to the other values",
        "NotIn": "excludes nothing",
    }.get(requirement.operator, "is not a number")
    is_dead = requirement.operator == "In" and alone
    return Finding(
        rule=RULE,
        severity=Severity.ERROR if is_dead else Severity.WARNING,
        object=owner,
        field=field,
        fact=f"{requirement.key} {requirement.operator} [{' '.join(requirement.values)}]: "
        f"* is not a wildcard, so {' '.join(stars)} {effect}.",
        remedy="Leave the requirement out to allow every value, use operator Exists, or list the values.",
    )
