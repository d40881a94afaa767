"""Soft eviction thresholds that Karpenter does not count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.aws.nodeclass import KIND
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        soft = nodeclass.kubelet.eviction_soft
        if not soft:
            continue
        said = ", ".join(f"{signal} {value}" for signal, value in sorted(soft.items()))
        yield Finding(
            severity=Severity.INFO,
            objects=(ObjectRef(KIND, nodeclass.name), *map(pool_ref, context.pools_with(nodeclass.name))),
            fact=f"{KIND} {nodeclass.name} sets evictionSoft ({said}): the kubelet obeys it, and Karpenter subtracts "
            "only evictionHard from what a node offers.",
        )


RULE: Final = Rule(
    id="nodeclass-eviction-soft",
    title="evictionSoft does not count",
    what="An EC2NodeClass sets spec.kubelet.evictionSoft.",
    why="Since version 1.9 only hard thresholds reduce the memory and storage that Karpenter plans with; some pages of "
    "the documentation still say otherwise. Pods are packed up to the hard threshold and may be evicted by the soft "
    "one.",
    source="pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Where nodes should keep room free, say so in systemReserved or evictionHard.",
    find=_find,
)
