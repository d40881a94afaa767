"""Types of an architecture that no image of the NodeClass boots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import joined, share
from karptui.aws.nodeclass import KIND, Ec2NodeClass
from karptui.karpenter.labels import ARCH
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirement import Requirement
from karptui.karpenter.requirements import Requirements
from karptui.provisioning.catalogue import bits
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.tried_pools:
        nodeclass = context.ec2_nodeclass_of(pool)
        if nodeclass is None or not nodeclass.amis:
            continue
        lost = _lost(context, pool, nodeclass)
        if not lost:
            continue
        offered = len(context.offered_types(pool))
        count = sum(lost.values())
        yield Finding(
            severity=Severity.ERROR if count == offered else Severity.WARNING,
            objects=(pool_ref(pool), ObjectRef(KIND, nodeclass.name)),
            fact=f"{pool.name} allows {share(count, offered)} types of {joined(sorted(lost))}, and {KIND} "
            f"{nodeclass.name} has no image for it: Karpenter plans with them and drops them at launch.",
        )


def _lost(context: AdviceContext, pool: NodePool, nodeclass: Ec2NodeClass) -> dict[str, int]:
    """Return the architectures without an image, each with the number of available types that the pool allows."""
    images = [Requirements.from_selectors(ami.selectors) for ami in nodeclass.amis]
    catalogue = context.catalogue_of(pool)
    offered = frozenset(context.offered_types(pool))
    index = catalogue.keys.get(ARCH)
    found: dict[str, int] = {}
    for arch, mask in (index.by_value if index is not None else {}).items():
        types = sum(1 for i in bits(mask) if catalogue.types[i].name in offered)
        asked = Requirements((Requirement.of(ARCH, "In", (arch,)),))
        if types and not any(image.intersects(asked) for image in images):
            found[arch] = types
    return found


RULE: Final = Rule(
    id="pool-arm64-image",
    title="no image for an architecture",
    what="A NodePool allows types of an architecture for which its EC2NodeClass has resolved no image.",
    why="Images play no part in scheduling. Types without a matching image are planned for, also as the cheapest "
    "choice, and dropped when the instance is launched; if none is left the launch fails and is tried again.",
    source="pkg/providers/amifamily/resolver.go of the AWS provider",
    remedy="Add a requirement on kubernetes.io/arch to the NodePool, or an image for the other architecture.",
    find=_find,
)
