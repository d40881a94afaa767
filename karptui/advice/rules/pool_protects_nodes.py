"""do-not-disrupt in the template of a NodePool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted
from karptui.disruption.do_not_disrupt import protects_node
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.whatif.edits import SetField

_PATH: Final = ("spec", "template", "metadata", "annotations", DO_NOT_DISRUPT)


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        value = pool.template_annotations.get(DO_NOT_DISRUPT)
        if value is None:
            continue
        nodes = [one for one in context.nodes_of(pool) if protects_node(one.annotations)]
        cost = context.cost(nodes)
        if protects_node(pool.template_annotations):
            fact = f"Every new node of {pool.name} says do-not-disrupt: neither consolidation nor drift ever takes "
            fact += f"one. {counted(len(nodes), 'node')}{at_cost(cost)} of it do now."
        else:
            fact = f'The template of {pool.name} has do-not-disrupt "{value}": on nodes only "true" counts, so it '
            fact += "protects nothing."
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool),),
            fact=fact,
            edits=(SetField(pool_ref(pool), _PATH),),
            per_hour=cost if protects_node(pool.template_annotations) else None,
        )


RULE: Final = Rule(
    id="pool-protects-nodes",
    title="the pool protects all its nodes",
    what="The template of a NodePool carries karpenter.sh/do-not-disrupt.",
    why="Annotations of the template are copied to each node once, when it registers. On a node only the value true "
    "counts, and it never runs out; durations are understood on pods alone. Adding or removing the annotation changes "
    "the template's hash, so that every present node drifts.",
    source="pkg/controllers/nodeclaim/lifecycle/registration.go and pkg/controllers/state/statenode.go",
    remedy="Take it out; protect the pods that need it, or close the pool for a reason with a disruption budget.",
    find=_find,
)
