"""Fractional GPU types among those that plain pods may get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, verb
from karptui.karpenter.labels import AWS_GROUP

_GPU_COUNT: Final = f"{AWS_GROUP}/instance-gpu-count"
_FAMILY: Final = "g6f."


def _find(context: AdviceContext) -> Iterator[Finding]:
    pools, fractional = [], set()
    for pool in context.tried_pools:
        if context.ec2_nodeclass_of(pool) is None or _GPU_COUNT in context.requirements_of(pool):
            continue
        types = context.offered_types(pool)
        own = {name for name in types if name.startswith(_FAMILY)}
        if own and len(own) < len(types):
            pools.append(pool)
            fractional |= own
    if pools:
        yield Finding(
            severity=Severity.INFO,
            objects=tuple(map(pool_ref, pools)),
            fact=f"{listed(pool.name for pool in pools)} {verb(len(pools), 'allows', 'allow')} "
            f"{counted(len(fractional), 'type')} with a part of a GPU ({listed(sorted(fractional), 6)}): they count as "
            "having no GPU, so plain pods may get one, with the GPU image.",
        )


RULE: Final = Rule(
    id="pool-fractional-gpu",
    title="fractional GPUs count as none",
    what="A NodePool without a requirement on instance-gpu-count allows g6f types.",
    why="g6f types carry a fraction of a GPU. They have the label instance-gpu-count with the value 0 and no GPU "
    "resource, so the filter that keeps GPU types from plain pods lets them through, and they boot the GPU image.",
    source="pkg/providers/instancetype/types.go and pkg/providers/instance/filter/filter.go of the AWS provider",
    remedy="Exclude the family (instance-family NotIn [g6f]) from pools for plain pods.",
    find=_find,
)
