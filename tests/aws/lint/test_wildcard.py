"""A literal * is no wildcard."""

from __future__ import annotations

import pytest

from karptui.aws.lint.finding import Severity
from karptui.aws.lint.wildcard import wildcard_values
from karptui.kube.selectors import NodeSelectorRequirement

FAMILY = "karpenter.k8s.aws/instance-family"


@pytest.mark.parametrize(
    ("operator", "values", "severity", "words"),
    [
        ("In", ("*",), Severity.ERROR, "so * matches nothing"),
        ("In", ("m5*", "c5*"), Severity.ERROR, "so m5* c5* matches nothing"),
        ("In", ("m5", "c*"), Severity.WARNING, "so c* adds nothing to the other values"),
        ("NotIn", ("*",), Severity.WARNING, "so * excludes nothing"),
        ("Gt", ("*",), Severity.WARNING, "so * is not a number"),
    ],
)
def test_stars_are_found(operator: str, values: tuple[str, ...], severity: Severity, words: str) -> None:
    requirements = [NodeSelectorRequirement("a", "Exists"), NodeSelectorRequirement(FAMILY, operator, values)]
    (found,) = wildcard_values("NodePool flex", "spec.template.spec.requirements", requirements)
    assert (found.object, found.field) == ("NodePool flex", "spec.template.spec.requirements[1].values")
    assert found.severity is severity
    assert words in found.fact
    assert found.fact.startswith(f"{FAMILY} {operator} [")


def test_requirements_without_stars_are_fine() -> None:
    requirements = [
        NodeSelectorRequirement(FAMILY, "In", ("m5", "c7i-flex")),
        NodeSelectorRequirement(FAMILY, "Exists"),
        NodeSelectorRequirement("karpenter.k8s.aws/instance-cpu", "Gt", ("4",)),
    ]
    assert wildcard_values("NodePool flex", "spec.template.spec.requirements", requirements) == ()
