"""Why Karpenter 1.15 marks an EC2NodeClass as not ready because of ``spec.kubelet`` or annotations.

Source: pkg/controllers/nodeclass/validation.go in Karpenter's AWS provider 1.15.1, with the same order of checks.
Checks that call AWS are not included.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karptui.aws.devices import SHARING, sharing_problem
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.kubelet import CEL_GATE, compile_problem, evaluates, expressions, failures
from karptui.aws.kubelet_rules import parse_problem, rule_breaks, unmanaged_fields
from karptui.aws.nodeclass import AL2023, CUSTOM, Ec2NodeClass
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.settings import Settings

_PODS_PER_CORE: Final = "podsPerCore"
REASONS: Final = frozenset(
    {
        "InvalidKubeletConfiguration",
        "KubeletExpressionsDisabled",
        "KubeletExpressionInvalid",
        "UnsupportedKubeletConfiguration",
        "NVIDIAConsumableCapacityInvalid",
        "DRADisabled",
        "KubeletExpressionEvaluationFailed",
    }
)
"""All reasons of ``refusal``."""


class NodeClassRefusal(msgspec.Struct, frozen=True):
    """A ValidationSucceeded condition that is False."""

    reason: str
    message: str


def refusal(
    nodeclass: NodeClass, parsed: Ec2NodeClass, settings: Settings, facts: Iterable[InstanceTypeFacts]
) -> NodeClassRefusal | None:
    """Return the first reason why 1.15 marks an EC2NodeClass as not ready, or None.

    Args:
        nodeclass: The original object.
        facts: Types to evaluate expressions for: Karpenter uses all types, regardless of NodePools.
    """
    kubelet = nodeclass.spec.get("kubelet") or {}
    broken = rule_breaks(kubelet) or tuple(filter(None, (parse_problem(kubelet),)))
    if broken:
        return NodeClassRefusal("InvalidKubeletConfiguration", "; ".join(broken))
    texts = expressions(parsed.kubelet)
    if texts and not settings.aws_gates.get(CEL_GATE, False):
        return NodeClassRefusal(
            "KubeletExpressionsDisabled",
            f"spec.kubelet contains a CEL expression, but the {CEL_GATE} feature gate is disabled",
        )
    if not evaluates(settings):
        texts = {}
    if wrong := next(filter(None, map(compile_problem, texts.values())), ""):
        return NodeClassRefusal("KubeletExpressionInvalid", wrong)
    if dropped := _dropped(nodeclass, parsed):
        return NodeClassRefusal("UnsupportedKubeletConfiguration", dropped)
    reason, message = sharing_problem(nodeclass.annotations.get(SHARING, ""), settings)
    if reason:
        return NodeClassRefusal(reason, message)
    for type_facts in facts if texts else ():
        if problem := next(iter(failures(type_facts, parsed, settings).values()), ""):
            return NodeClassRefusal("KubeletExpressionEvaluationFailed", f"{type_facts.name}: {problem}")
    return None


def _dropped(nodeclass: NodeClass, parsed: Ec2NodeClass) -> str:
    """Return the fields that the family would silently drop; AL2023 passes everything on, Custom nothing."""
    kubelet, family = nodeclass.spec.get("kubelet") or {}, parsed.family
    if not kubelet or family in (AL2023, CUSTOM):
        return ""
    fields = set(unmanaged_fields(kubelet))
    if kubelet.get(_PODS_PER_CORE) is not None and not family.honours_pods_per_core:
        fields.add(_PODS_PER_CORE)
    problems = []
    if fields:
        problems.append(
            f"spec.kubelet has fields not applied by the {family.name} AMI family that would be silently dropped: "
            f"{', '.join(sorted(fields))}"
        )
    servers = len(kubelet.get("clusterDNS") or ())
    if servers > 1:
        problems.append(
            f"spec.kubelet.clusterDNS: the {family.name} AMI family doesn't accept multiple entries, only one, but "
            f"{servers} were set"
        )
    return "; ".join(problems)
