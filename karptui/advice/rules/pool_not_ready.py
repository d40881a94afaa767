"""NodePools that Karpenter does not use, with the condition that says why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted
from karptui.karpenter.nodepool import NodePool
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    classes = {(one.kind, one.name) for one in context.inventory.nodeclasses}
    for pool in context.pools:
        if pool.is_ready:
            continue
        ref = pool.node_class_ref
        is_missing = "NodeClass" not in context.hidden and (ref.kind, ref.name) not in classes
        reason = f"its {ref.kind} {ref.name} does not exist" if is_missing else _reason(pool)
        nodes = len(context.nodes_of(pool))
        yield Finding(
            severity=Severity.ERROR,
            objects=(pool_ref(pool), *(() if is_missing else (ObjectRef(ref.kind, ref.name),))),
            fact=f"{pool.name} is not ready: {reason}. It takes no pods; its {counted(nodes, 'node')} stay.",
        )


def _reason(pool: NodePool) -> str:
    """Return what the conditions say: those that are not True, Ready itself last."""
    failing = [one for one in pool.conditions if one.status != "True"]
    own = [one for one in failing if one.type != "Ready"] or failing
    if not own:
        return "it has no Ready condition yet"
    return "; ".join(f"{one.type} is {one.status}{_because(one.message or one.reason, one.type)}" for one in own)


def _because(text: str, type_: str) -> str:
    return f" ({text})" if text and text != type_ else ""


RULE: Final = Rule(
    id="pool-not-ready",
    title="the NodePool is not ready",
    what="A NodePool's Ready condition is not True.",
    why="Karpenter passes over NodePools that are not ready, most often because their NodeClass is missing or cannot "
    "be resolved; pods go to other pools or fail. With no usable NodePool at all there is neither error nor event.",
    source="pkg/controllers/nodepool/readiness and pkg/controllers/provisioning/provisioner.go",
    remedy="Mend what the condition names; for EC2NodeClasses that is mostly a selector for subnets, security groups "
    "or images that matches nothing, or the instance profile's role.",
    find=_find,
)
