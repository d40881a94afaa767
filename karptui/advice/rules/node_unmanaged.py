"""Nodes that Karpenter does not manage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import node_refs
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, share, verb
from karptui.karpenter.labels import NODEPOOL


def _find(context: AdviceContext) -> Iterator[Finding]:
    nodes = [node for node in context.fleet.nodes if node.claim is None and node.node is not None]
    orphans = [node for node in nodes if NODEPOOL in node.labels]
    others = [node for node in nodes if NODEPOOL not in node.labels]
    if orphans:
        yield Finding(
            severity=Severity.WARNING,
            objects=node_refs(orphans),
            fact=f"{counted(len(orphans), 'node')} ({listed(node.name for node in orphans)}) "
            f"{verb(len(orphans), 'carries', 'carry')} the label of a NodePool and "
            f"{verb(len(orphans), 'has', 'have')} no NodeClaim: Karpenter takes them for somebody else's and never "
            "removes them.",
        )
    if others:
        pods = sum(1 for node in others for pod in node.pods if context.fleet.pods.is_reschedulable(pod))
        yield Finding(
            severity=Severity.INFO,
            objects=node_refs(others),
            fact=f"{share(len(others), len(context.fleet.nodes))} nodes {verb(len(others), 'is', 'are')} not "
            f"Karpenter's ({listed(node.name for node in others)}): it may place pods there and never removes or "
            f"replaces them. {counted(pods, 'workload pod')} {verb(pods, 'runs', 'run')} on them.",
        )


RULE: Final = Rule(
    id="node-unmanaged",
    title="nodes Karpenter does not manage",
    what="There are nodes without a NodeClaim.",
    why="Nodes of managed node groups, of Fargate or made by hand take part as places for pods, and nothing of "
    "Karpenter's disruption applies to them. A node that lost its NodeClaim is in the same state, and keeps costing.",
    source="pkg/controllers/state/cluster.go",
    remedy="Where a node should be Karpenter's, drain and delete it, and let its pods get a new one. Nodes for "
    "Karpenter itself are best left as they are.",
    find=_find,
)
