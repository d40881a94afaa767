"""RESERVED_ENIS lowers pods and not the memory reserve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    count = context.settings.reserved_enis
    if count and context.ec2_nodeclasses:
        yield Finding(
            severity=Severity.INFO,
            objects=(ObjectRef("Setting", "RESERVED_ENIS"),),
            fact=f"RESERVED_ENIS is {count}: every type has fewer pod slots, and the memory reserved for the kubelet "
            "stays that of all interfaces, except on Bottlerocket and Windows.",
        )


RULE: Final = Rule(
    id="setting-reserved-enis",
    title="RESERVED_ENIS keeps kubeReserved",
    what="RESERVED_ENIS is above 0 and the cluster has EC2NodeClasses.",
    why="The setting takes interfaces away from the count of pods. Its help text says that kubeReserved follows; since "
    "version 1.6 it does not on AL2, AL2023 and Custom.",
    source="pkg/operator/options/options.go and pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Set spec.kubelet.kubeReserved memory yourself where the difference matters.",
    find=_find,
)
