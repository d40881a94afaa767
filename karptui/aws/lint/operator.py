"""A requirement whose operator is none of Karpenter's, as only a file can hold it: the API server refuses it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karptui.aws.lint.finding import Finding, Severity
from karptui.karpenter.requirements import OPERATORS
from karptui.kube.selectors import NodeSelectorRequirement

RULE: Final = "unknown-operator"


def unknown_operators(owner: str, field: str, requirements: Iterable[NodeSelectorRequirement]) -> tuple[Finding, ...]:
    """Find operators that do not exist; they are spelled with capitals.

    Args:
        owner: Kind and name of the object, such as ``NodePool flex``.
        field: Path of the requirements within it.
        requirements: As written.
    """
    return tuple(
        Finding(
            rule=RULE,
            severity=Severity.ERROR,
            object=owner,
            field=f"{field}[{index}].operator",
            fact=f"{requirement.key} has the unknown operator {requirement.operator or '(empty)'}: the API server"
            " refuses the object, and here the requirement allows every value.",
            remedy=f"Write one of {', '.join(OPERATORS)}.",
        )
        for index, requirement in enumerate(requirements)
        if requirement.operator not in OPERATORS
    )
