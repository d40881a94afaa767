"""Which NodePools take part in provisioning, and in which order Karpenter tries them.

By weight, of equal weight the name that comes last first.
Rules: ``OrderByWeight`` in ``pkg/utils/nodepool/nodepool.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from karptui.karpenter.labels import AWS_GROUP
from karptui.karpenter.nodeclass import is_ec2
from karptui.karpenter.nodepool import NodePool


class Bystanding(StrEnum):
    """Why a NodePool takes no part, the first that holds."""

    FOREIGN = "of another provider"
    DELETING = "being deleted"
    STATIC = "static"
    NOT_READY = "not ready"


def bystanding(pool: NodePool, *, is_served: bool = True) -> Bystanding | None:
    """Return why a NodePool takes no pods; None where it takes part.

    Args:
        pool: The NodePool.
        is_served: Whether this Karpenter manages it: `served_pools`.
    """
    if not is_served:
        return Bystanding.FOREIGN
    if pool.is_deleting:
        return Bystanding.DELETING
    if pool.is_static:
        return Bystanding.STATIC
    return None if pool.is_ready else Bystanding.NOT_READY


def served_pools(pools: Iterable[NodePool]) -> list[NodePool]:
    """Return the NodePools that this Karpenter manages.

    A controller serves the NodeClasses of its own provider only: EC2NodeClass where any NodePool refers to AWS's group.
    """
    pools = tuple(pools)
    is_aws = any(pool.node_class_ref.group == AWS_GROUP for pool in pools)
    return [pool for pool in pools if is_ec2(pool.node_class_ref) is is_aws]


def usable_pools(pools: Iterable[NodePool]) -> list[NodePool]:
    """Return the NodePools that take part, heaviest first; of equal weight the one whose name comes last."""
    usable = [pool for pool in served_pools(pools) if bystanding(pool) is None]
    usable.sort(key=lambda pool: pool.name, reverse=True)
    usable.sort(key=lambda pool: -pool.weight)
    return usable
