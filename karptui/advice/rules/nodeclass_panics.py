"""NodeClasses that the API accepts and that end the controller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import joined
from karptui.aws.nodeclass import KIND, Ec2NodeClass
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        problems = list(_problems(nodeclass))
        if problems:
            yield Finding(
                severity=Severity.ERROR,
                objects=(ObjectRef(KIND, nodeclass.name), *map(pool_ref, context.pools_with(nodeclass.name))),
                fact=f"{KIND} {nodeclass.name}: {joined(problems)}; version 1.14.1 panics where it resolves the types.",
            )


def _problems(nodeclass: Ec2NodeClass) -> Iterator[str]:
    for index, device in enumerate(nodeclass.block_devices):
        if device.ebs is None:
            yield f"blockDeviceMappings[{index}] has no ebs"
        if device.device_name is None:
            yield f"blockDeviceMappings[{index}] has no deviceName"
    for signal, value in (nodeclass.kubelet.eviction_hard or {}).items():
        if not value:
            yield f"evictionHard {signal} is empty"


RULE: Final = Rule(
    id="nodeclass-panics",
    title="a NodeClass that Karpenter chokes on",
    what="A block device mapping of an EC2NodeClass has no ebs or no deviceName, or a hard eviction threshold is "
    "empty.",
    why="The schema of v1.14.1 accepts these, and the code that works out the instance types reads the missing part. "
    "Whether the NodeClass's own validation stops it first is not known.",
    source="pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Complete the mapping, and give the threshold a value.",
    find=_find,
)
