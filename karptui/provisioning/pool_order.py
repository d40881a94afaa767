"""In which order Karpenter tries NodePools: by weight, of equal weight the name that comes last first.

Rules: ``OrderByWeight`` in ``pkg/utils/nodepool/nodepool.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

from karptui.karpenter.labels import AWS_GROUP
from karptui.karpenter.nodeclass import is_ec2
from karptui.karpenter.nodepool import NodePool


def served_pools(pools: Iterable[NodePool]) -> list[NodePool]:
    """Return the NodePools that this Karpenter manages.

    A controller serves the NodeClasses of its own provider only: EC2NodeClass where any NodePool refers to AWS's group.
    """
    pools = tuple(pools)
    is_aws = any(pool.node_class_ref.group == AWS_GROUP for pool in pools)
    return [pool for pool in pools if is_ec2(pool.node_class_ref) is is_aws]


def usable_pools(pools: Iterable[NodePool]) -> list[NodePool]:
    """Return the NodePools that take part, heaviest first; of equal weight the one whose name comes last."""
    usable = [pool for pool in served_pools(pools) if not pool.is_static and pool.is_ready and not pool.is_deleting]
    usable.sort(key=lambda pool: pool.name, reverse=True)
    usable.sort(key=lambda pool: -pool.weight)
    return usable
