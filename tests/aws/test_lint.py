from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.instance_types import instance_types
from karptui.aws.lint import (
    LintSeverity,
    reserved_more_than_node,
    too_few_pod_slots,
    unknown_operators,
    wildcard_values,
)
from karptui.karpenter.instance_type import InstanceType
from karptui.kube.selectors import NodeSelectorRequirement
from tests.aws.builders import a_market, a_nodeclass, some_settings


@pytest.mark.parametrize(("operator", "shown"), [("in", "in"), ("Like", "Like"), ("", "(empty)")])
def test_unknown_operators_are_found(operator: str, shown: str) -> None:
    requirements = [NodeSelectorRequirement("a", "Exists"), NodeSelectorRequirement("b", operator, ("x",))]
    (finding,) = unknown_operators("NodePool flex", requirements)
    assert finding.object == "NodePool flex"
    assert finding.severity is LintSeverity.ERROR
    assert finding.fact.startswith(f"b has the unknown operator {shown}: ")


FAMILY = "karpenter.k8s.aws/instance-family"


@pytest.mark.parametrize(("operator", "values", "severity", "words"), [
    ("In", ("*",), LintSeverity.ERROR, "* matches nothing"),
    ("In", ("m5*", "c5*"), LintSeverity.ERROR, "m5* c5* matches nothing"),
    ("In", ("m5", "c*"), LintSeverity.WARNING, "c* adds nothing to the other values"),
    ("NotIn", ("*",), LintSeverity.WARNING, "* excludes nothing"),
    ("Gt", ("*",), LintSeverity.WARNING, "* is not a number"),
])  # fmt: skip
def test_stars_are_found(operator: str, values: tuple[str, ...], severity: LintSeverity, words: str) -> None:
    requirements = [NodeSelectorRequirement("a", "Exists"), NodeSelectorRequirement(FAMILY, operator, values)]
    (finding,) = wildcard_values("NodePool flex", requirements)
    assert finding.object == "NodePool flex"
    assert finding.severity is severity
    assert words in finding.fact
    assert finding.fact.startswith(f"{FAMILY} {operator} [")


def types(*names: str, **spec: Any) -> tuple[InstanceType, ...]:
    facts = [instance_type_facts()[name] for name in names] if names else None
    return instance_types(a_nodeclass(**spec), some_settings(), a_market(), facts=facts)


def test_every_type_gone_is_an_error() -> None:
    reserving = types(kubelet={"systemReserved": {"ephemeral-storage": "20Gi"}})
    (finding,) = reserved_more_than_node("default", reserving)
    assert finding.severity is LintSeverity.ERROR
    assert "on 1392 of 1392 types" in finding.fact
    assert "; and 1387 more)" in finding.fact


def test_eight_slots_are_too_few_for_eleven_daemonsets() -> None:
    allowed = types("m6g.medium", "m6g.large", "t3.nano")
    (finding,) = too_few_pod_slots("general", allowed, dict.fromkeys((kind.name for kind in allowed), 11))
    assert finding.severity is LintSeverity.WARNING
    assert finding.object == "NodePool general"
    assert finding.fact == (
        "2 of 3 types have no pod slot left after the DaemonSets: t3.nano (4 slots, 11 DaemonSet pods), "
        "m6g.medium (8 slots, 11 DaemonSet pods); Karpenter excludes them without a message."
    )
