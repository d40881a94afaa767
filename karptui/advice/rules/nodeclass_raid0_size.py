"""RAID0 over local disks: the EBS size does not count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted, share, verb
from karptui.aws.nodeclass import KIND
from karptui.karpenter.labels import AWS_GROUP
from karptui.whatif.edits import ObjectRef

_LOCAL_DISK: Final = f"{AWS_GROUP}/instance-local-nvme"


def _find(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        pools = context.pools_with(nodeclass.name)
        if not nodeclass.uses_raid0 or not pools:
            continue
        without, total = 0, 0
        for pool in pools:
            offered = frozenset(context.offered_types(pool))
            total += len(offered)
            without += sum(
                one.name in offered
                for one in context.catalogue_of(pool).types
                if not any(need.key == _LOCAL_DISK and need.operator == "In" for need in one.requirements)
            )
        if not without:
            continue
        yield Finding(
            severity=Severity.INFO,
            objects=(ObjectRef(KIND, nodeclass.name), *map(pool_ref, pools)),
            fact=f"{KIND} {nodeclass.name} puts pods' storage on local disks (RAID0), and {share(without, total)} "
            f"available types of {counted(len(pools), 'NodePool')} {verb(without, 'has', 'have')} none: there the EBS "
            "volume's size counts, elsewhere the disks' alone.",
        )


RULE: Final = Rule(
    id="nodeclass-raid0-size",
    title="RAID0 changes what storage counts",
    what="An EC2NodeClass has instanceStorePolicy RAID0, and its NodePools allow types without local disks.",
    why="With RAID0 a type's ephemeral storage is the size of its local disks, in decimal gigabytes, and the EBS size "
    "is ignored. Types without local disks silently keep the EBS size, which is often much smaller.",
    source="ephemeralStorage in pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Require instance-local-nvme (Gt 0) in the NodePool where pods need the local disks.",
    find=_find,
)
