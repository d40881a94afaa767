"""minValues switch off filters that people rely on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import joined


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.tried_pools:
        floors = [f"{one.key} {one.min_values}" for one in pool.requirements if (one.min_values or 0) > 1]
        if floors and context.ec2_nodeclass_of(pool) is not None:
            yield Finding(
                severity=Severity.INFO,
                objects=(pool_ref(pool),),
                fact=f"{pool.name} asks for minValues ({joined(floors)}): at launch exotic types are not kept out, and "
                "spot offerings dearer than the cheapest on-demand type are not either.",
            )


RULE: Final = Rule(
    id="pool-min-values",
    title="minValues switch filters off",
    what="A NodePool of the AWS provider has a requirement with minValues above 1.",
    why="Before it asks EC2 for an instance the AWS provider drops metal, GPU and accelerator types that no pod needs, "
    "and spot offerings dearer than the cheapest on-demand one. With minValues it does neither, as either could leave "
    "too few values.",
    source="pkg/providers/instance/filter/filter.go of the AWS provider",
    remedy="Exclude what you do not want by requirements (instance-category, instance-gpu-count DoesNotExist, "
    "instance-size NotIn [metal]).",
    find=_find,
)
