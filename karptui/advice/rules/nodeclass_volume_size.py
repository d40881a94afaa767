"""Block devices without a size count as the default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.aws.nodeclass import KIND, BlockDevice, Ec2NodeClass
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        problem = _problem(nodeclass)
        if problem:
            size = nodeclass.family.default_storage_bytes >> 30
            yield Finding(
                severity=Severity.WARNING,
                objects=(ObjectRef(KIND, nodeclass.name), *map(pool_ref, context.pools_with(nodeclass.name))),
                fact=f"{KIND} {nodeclass.name} ({nodeclass.family.name}) {problem}: Karpenter plans with {size}Gi of "
                "ephemeral storage for pods.",
            )


def _problem(nodeclass: Ec2NodeClass) -> str:
    devices = nodeclass.block_devices
    if not devices or nodeclass.uses_raid0:
        return ""
    device, named = nodeclass.family.data_device, [one for one in devices if one.root_volume][:1]
    named += [devices[-1]] if device is None else [one for one in devices if one.device_name == device][:1]
    if not named:
        return f"maps {_names(devices)}, and pods' storage is on {device}, which it does not map"
    if any(one.ebs is None or one.ebs.volume_size is not None for one in named):
        return ""
    return f"gives {_names(tuple(named))} no volumeSize, and the size of a snapshot does not count"


def _names(devices: tuple[BlockDevice, ...]) -> str:
    return ", ".join(one.device_name or "a device without a name" for one in devices)


RULE: Final = Rule(
    id="nodeclass-volume-size",
    title="the disk counts as 20Gi",
    what="An EC2NodeClass maps block devices, and the one that holds pods' storage has no volumeSize or is not mapped "
    "(on Bottlerocket that is /dev/xvdb, not the root device).",
    why="Karpenter takes pods' ephemeral storage from the volumeSize of the data device and never looks at snapshots. "
    "Without a size it plans with 20Gi, 50Gi on Windows, however large the disk is.",
    source="ephemeralStorage in pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Set volumeSize on the data device, or mark the right one with rootVolume.",
    find=_find,
)
