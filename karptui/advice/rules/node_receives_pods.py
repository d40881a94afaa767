"""Protected nodes that keep receiving pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import node_refs
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, listed
from karptui.disruption.blocker import Code
from karptui.karpenter.nodepool import NodePool
from karptui.provisioning.state_node import StateNode
from karptui.whatif.edits import CordonNode

_PROTECTED: Final = frozenset({Code.POD_DND, Code.NODE_DND})
_CORDONED: Final = 20
"""Nodes that a what-if would cordon at most."""


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        found = [
            (node, one.recent_pods)
            for node in context.nodes_of(pool)
            if (one := context.findings.get(f"claim/{node.claim.name}" if node.claim is not None else "")) is not None
            and one.recent_pods
            and any(blocker.code in _PROTECTED for blocker in one.blockers)
            and node.node is not None
            and not node.node.is_unschedulable
        ]
        if found:
            yield _finding(context, pool, found)


def _finding(context: AdviceContext, pool: NodePool, found: list[tuple[StateNode, int]]) -> Finding:
    nodes = [node for node, _ in sorted(found, key=lambda pair: (-pair[1], pair[0].name))]
    cost, pods = context.cost(nodes), sum(count for _, count in found)
    return Finding(
        severity=Severity.WARNING,
        objects=node_refs(nodes),
        fact=f"{counted(len(nodes), 'node')} of {pool.name}{at_cost(cost)} "
        f"{'is' if len(nodes) == 1 else 'are'} held by do-not-disrupt and still took {counted(pods, 'new pod')} in the "
        f"last hour ({listed(node.name for node in nodes)}): they never run empty.",
        edits=tuple(CordonNode(node.name) for node in nodes[:_CORDONED]),
        per_hour=cost,
    )


RULE: Final = Rule(
    id="node-receives-pods",
    title="a protected node keeps filling up",
    what="Pods, DaemonSets' left out, came within the last hour to a node that do-not-disrupt holds and that is not "
    "cordoned.",
    why="do-not-disrupt does not keep new pods away: Karpenter and kube-scheduler go on filling the node, protected "
    "pods land beside those that end, and the node is never free. terminationGracePeriod bounds the wait for drift and "
    "deletion only.",
    source="pkg/controllers/state/statenode.go and pkg/controllers/provisioning/scheduling/existingnode.go",
    remedy="A NodePool of their own for the protected pods, with a taint, frees all other nodes; cordon the nodes that "
    "should run out; give the annotation a duration instead of true.",
    find=_find,
)
