"""Operators that do not exist."""

from __future__ import annotations

import pytest

from karptui.aws.lint.finding import Severity
from karptui.aws.lint.operator import unknown_operators
from karptui.kube.selectors import NodeSelectorRequirement

FIELD = "spec.template.spec.requirements"


@pytest.mark.parametrize(("operator", "shown"), [("in", "in"), ("Like", "Like"), ("", "(empty)")])
def test_unknown_operators_are_found(operator: str, shown: str) -> None:
    requirements = [NodeSelectorRequirement("a", "Exists"), NodeSelectorRequirement("b", operator, ("x",))]
    (found,) = unknown_operators("NodePool flex", FIELD, requirements)
    assert (found.object, found.field) == ("NodePool flex", f"{FIELD}[1].operator")
    assert found.severity is Severity.ERROR
    assert found.fact.startswith(f"b has the unknown operator {shown}: ")


def test_known_operators_are_none() -> None:
    known = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
    assert unknown_operators("NodePool flex", FIELD, [NodeSelectorRequirement("a", one) for one in known]) == ()
