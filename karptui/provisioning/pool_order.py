"""NodePools that provisioning uses, in the order Karpenter tries them.

By weight; of equal weight the name that sorts last comes first. Rules: ``OrderByWeight`` in
``pkg/utils/nodepool/nodepool.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from karptui.karpenter.labels import AWS_GROUP
from karptui.karpenter.nodeclass import is_ec2
from karptui.karpenter.nodepool import NodePool


class SkipReason(StrEnum):
    """Why provisioning skips a NodePool, in order of precedence."""

    FOREIGN = "of another provider"
    DELETING = "being deleted"
    STATIC = "static"
    NOT_READY = "not ready"


def skip_reason(pool: NodePool, *, is_served: bool = True) -> SkipReason | None:
    """Return the reason why provisioning skips a NodePool, or None.

    Args:
        is_served: Whether this Karpenter manages it: `served_pools`.
    """
    if not is_served:
        return SkipReason.FOREIGN
    if pool.is_deleting:
        return SkipReason.DELETING
    if pool.is_static:
        return SkipReason.STATIC
    return None if pool.is_ready else SkipReason.NOT_READY


def served_pools(pools: Iterable[NodePool]) -> list[NodePool]:
    """Return the NodePools that this Karpenter manages.

    A controller only uses its provider's NodeClasses: EC2NodeClass if any NodePool refers to the AWS group.
    """
    pools = tuple(pools)
    is_aws = any(pool.node_class_ref.group == AWS_GROUP for pool in pools)
    return [pool for pool in pools if is_ec2(pool.node_class_ref) is is_aws]


def usable_pools(pools: Iterable[NodePool]) -> list[NodePool]:
    """Return the active NodePools, heaviest first; of equal weight the name that sorts last comes first."""
    usable = [pool for pool in served_pools(pools) if skip_reason(pool) is None]
    usable.sort(key=lambda pool: pool.name, reverse=True)
    usable.sort(key=lambda pool: -pool.weight)
    return usable
