"""NodeClasses that are not ready, or cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import listed
from karptui.aws.errors import NodeClassError
from karptui.aws.nodeclass import is_ec2_nodeclass, parse_nodeclass
from karptui.karpenter.nodeclass import NodeClass
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in sorted(context.inventory.nodeclasses, key=lambda one: one.key):
        users = [
            pool
            for pool in context.pools
            if (pool.node_class_ref.kind, pool.node_class_ref.name) == (nodeclass.kind, nodeclass.name)
        ]
        reason = _problem(nodeclass)
        if not reason:
            continue
        used = f"{listed(pool.name for pool in users)} cannot launch nodes" if users else "no NodePool uses it"
        yield Finding(
            severity=Severity.ERROR if users else Severity.INFO,
            objects=(ObjectRef(nodeclass.kind, nodeclass.name), *map(pool_ref, users)),
            fact=f"{nodeclass.kind} {nodeclass.name} {reason}: {used}.",
        )


def _problem(nodeclass: NodeClass) -> str:
    failing = [one for one in nodeclass.conditions if one.status != "True"]
    if failing:
        own = [one for one in failing if one.type != "Ready"] or failing
        words = [f"{one.type} is {one.status}" + (f" ({one.message})" if one.message else "") for one in own]
        return f"is not ready: {'; '.join(words)}"
    if is_ec2_nodeclass(nodeclass):
        try:
            parse_nodeclass(nodeclass)
        except NodeClassError as error:
            return f"cannot be read ({error})"
    return ""


RULE: Final = Rule(
    id="nodeclass-not-ready",
    title="the NodeClass is not ready",
    what="A condition of a NodeClass is not True, or its spec cannot be read.",
    why="A NodePool is ready only if its NodeClass is: subnets, security groups, images and the instance profile must "
    "have been resolved. Until then the NodePool takes no pods.",
    source="pkg/controllers/nodeclass of the AWS provider",
    remedy="Mend what the condition names; selectors that match nothing are the usual cause.",
    find=_find,
)
