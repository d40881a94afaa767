"""Drains that have lasted for long and have no end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import node_refs
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, listed, span
from karptui.disruption.deadline import deadline_of
from karptui.kube.timestamps import NS_PER_SECOND

_LONG_NS: Final = 30 * 60 * NS_PER_SECOND


def _find(context: AdviceContext) -> Iterator[Finding]:
    found = [
        (context.now_ns - node.claim.deletion_ns, node)
        for node in context.fleet.nodes
        if node.node is not None
        and node.claim is not None
        and node.claim.is_deleting
        and context.now_ns - node.claim.deletion_ns > _LONG_NS
        and deadline_of(node.claim) is None
    ]
    if not found:
        return
    found.sort(key=lambda pair: (-pair[0], pair[1].name))
    nodes = [node for _, node in found]
    cost = context.cost(nodes)
    waiting = [pod.key for node in nodes for pod in node.pods if context.fleet.pods.is_waited_for(pod)]
    waits = (
        f" They wait for {listed(waiting)}." if waiting else " No pod is in the way: look for finalizers and volumes."
    )
    yield Finding(
        severity=Severity.WARNING,
        objects=node_refs(nodes),
        fact=f"{counted(len(nodes), 'node')} ({listed(node.name for node in nodes)}){at_cost(cost)} "
        f"{'has' if len(nodes) == 1 else 'have'} been on the way out for up to {span(found[0][0])}, and without "
        f"terminationGracePeriod nothing ends that.{waits}",
        per_hour=cost,
    )


RULE: Final = Rule(
    id="node-drain-without-end",
    title="a drain without an end",
    what="A NodeClaim has been in deletion for more than half an hour and has no deadline.",
    why="A drain waits for pods with do-not-disrupt and for PodDisruptionBudgets. terminationGracePeriod of the "
    "NodeClaim would end the wait; it is fixed when the NodeClaim is made, so adding it to the NodePool now does not "
    "help this node.",
    source="pkg/controllers/node/termination/controller.go",
    remedy="Settle what the drain waits for, or delete those pods; the node's detail lists them. For later nodes set "
    "terminationGracePeriod on the NodePool.",
    find=_find,
)
