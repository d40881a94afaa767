"""Nodes that protect themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import node_refs
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, listed, verb
from karptui.disruption.do_not_disrupt import protects_node
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.whatif.edits import ObjectRef, SetField

_EDITED: Final = 20


def _find(context: AdviceContext) -> Iterator[Finding]:
    by_template = {pool.name for pool in context.pools if DO_NOT_DISRUPT in pool.template_annotations}
    nodes = [
        node
        for node in context.fleet.nodes
        if node.claim is not None
        and node.node is not None
        and protects_node(node.annotations)
        and node.nodepool_name not in by_template
        and not node.is_marked_for_deletion
    ]
    if not nodes:
        return
    drifted = [node for node in nodes if node.claim is not None and node.claim.is_true("Drifted")]
    cost = context.cost(nodes)
    waits = (
        f"; {counted(len(drifted), 'of them has', 'of them have')} drifted and {verb(len(drifted), 'stays', 'stay')} "
        "whatever terminationGracePeriod says"
        if drifted
        else ""
    )
    yield Finding(
        severity=Severity.WARNING if drifted else Severity.INFO,
        objects=node_refs(nodes),
        fact=f"{counted(len(nodes), 'node')} ({listed(node.name for node in nodes)}){at_cost(cost)} "
        f"{verb(len(nodes), 'says', 'say')} do-not-disrupt themselves: neither drift nor consolidation takes them, for "
        f"ever{waits}.",
        edits=tuple(
            SetField(ObjectRef("Node", node.node.name), ("metadata", "annotations", DO_NOT_DISRUPT))
            for node in nodes[:_EDITED]
            if node.node is not None
        ),
        per_hour=cost,
    )


RULE: Final = Rule(
    id="node-protected",
    title="a node that protects itself",
    what='Nodes carry karpenter.sh/do-not-disrupt "true", and not because their NodePool\'s template has it.',
    why="The annotation on a node is stronger than on its pods: terminationGracePeriod lets drift take a node with "
    "protected pods, and never one that is protected itself. It does not run out and is easily forgotten. Expiry, "
    "deletion and interruption go on.",
    source="pkg/controllers/state/statenode.go",
    remedy="kubectl annotate node NAME karpenter.sh/do-not-disrupt- once it has served; annotate pods instead where "
    "they are what should be left alone.",
    find=_find,
)
