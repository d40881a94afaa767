"""a1 types never boot AL2023."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted
from karptui.aws.ami_family import AL2023
from karptui.aws.nodeclass import KIND
from karptui.karpenter.labels import AWS_GROUP
from karptui.whatif.edits import ObjectRef

_FAMILY: Final = f"{AWS_GROUP}/instance-family"


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodeclass = context.ec2_nodeclass_of(pool)
        wanted = context.requirements_of(pool).find(_FAMILY)
        if nodeclass is None or nodeclass.family != AL2023 or wanted is None or wanted.complement:
            continue
        if "a1" in wanted.values:
            others = len(wanted.values) - 1
            rest = f"the other {counted(others, 'family', 'families')} may" if others else "nothing is left"
            yield Finding(
                severity=Severity.WARNING if others else Severity.ERROR,
                objects=(pool_ref(pool), ObjectRef(KIND, nodeclass.name)),
                fact=f"{pool.name} asks for the family a1, and a1 types never launch with AL2023: {rest}.",
            )


RULE: Final = Rule(
    id="nodeclass-a1-al2023",
    title="a1 does not boot AL2023",
    what="A NodePool names the family a1 and its EC2NodeClass is AL2023.",
    why="First-generation Graviton lacks instructions that AL2023 is built for; Karpenter rules the types out.",
    source="pkg/providers/instancetype/compatibility of the AWS provider",
    remedy="Take a1 out of the requirement, or use another family of images.",
    find=_find,
)
