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

FAMILY = "karpenter.k8s.aws/instance-family"
UNKNOWN = "b has the unknown operator"


@pytest.mark.parametrize(("find", "requirement", "severity", "begin", "words"), [
    (unknown_operators, ("b", "in", ("x",)), LintSeverity.ERROR, f"{UNKNOWN} in: ", ""),
    (unknown_operators, ("b", "Like", ("x",)), LintSeverity.ERROR, f"{UNKNOWN} Like: ", ""),
    (unknown_operators, ("b", "", ("x",)), LintSeverity.ERROR, f"{UNKNOWN} (empty): ", ""),
    (wildcard_values, (FAMILY, "In", ("*",)), LintSeverity.ERROR, f"{FAMILY} In [", "* matches nothing"),
    (wildcard_values, (FAMILY, "In", ("m5*", "c5*")), LintSeverity.ERROR, f"{FAMILY} In [", "m5* c5* matches nothing"),
    (wildcard_values, (FAMILY, "In", ("m5", "c*")), LintSeverity.WARNING, f"{FAMILY} In [",
     "c* adds nothing to the other values"),
    (wildcard_values, (FAMILY, "NotIn", ("*",)), LintSeverity.WARNING, f"{FAMILY} NotIn [", "* excludes nothing"),
    (wildcard_values, (FAMILY, "Gt", ("*",)), LintSeverity.WARNING, f"{FAMILY} Gt [", "* is not a number"),
])  # fmt: skip
def test_operators_and_stars_without_effect_are_found(
    find: Any, requirement: tuple[str, str, tuple[str, ...]], severity: LintSeverity, begin: str, words: str
) -> None:
    requirements = [NodeSelectorRequirement("a", "Exists"), NodeSelectorRequirement(*requirement)]
    (finding,) = find("NodePool flex", requirements)
    assert (finding.object, finding.severity) == ("NodePool flex", severity)
    assert finding.fact.startswith(begin)
    assert words in finding.fact


def types(*names: str, **spec: Any) -> tuple[InstanceType, ...]:
    facts = [instance_type_facts()[name] for name in names] if names else None
    return instance_types(a_nodeclass(**spec), some_settings(), a_market(), facts=facts)


def test_reserving_more_than_every_type_is_an_error() -> None:
    reserving = types(kubelet={"systemReserved": {"ephemeral-storage": "20Gi"}})
    (finding,) = reserved_more_than_node("default", reserving)
    assert finding.severity is LintSeverity.ERROR
    assert "on 1392 of 1392 types" in finding.fact
    assert "; and 1387 more)" in finding.fact


def test_types_with_fewer_pod_slots_than_daemonsets_are_a_warning() -> None:
    allowed = types("m6g.medium", "m6g.large", "t3.nano")
    (finding,) = too_few_pod_slots("general", allowed, dict.fromkeys((kind.name for kind in allowed), 11))
    assert finding.severity is LintSeverity.WARNING
    assert finding.object == "NodePool general"
    assert finding.fact == (
        "2 of 3 types have no pod slot left after the DaemonSets: t3.nano (4 slots, 11 DaemonSet pods), "
        "m6g.medium (8 slots, 11 DaemonSet pods); Karpenter excludes them without a message."
    )
