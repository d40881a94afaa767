"""Nodes that have joined and never become initialised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import node_refs
from karptui.advice.rule import Rule
from karptui.advice.words import at_cost, counted, listed, span, verb
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.state_node import StateNode

_LONG_NS: Final = 15 * 60 * NS_PER_SECOND


def _find(context: AdviceContext) -> Iterator[Finding]:
    found = [
        (context.now_ns - node.claim.created_ns, node)
        for node in context.fleet.nodes
        if node.claim is not None
        and node.node is not None
        and node.is_registered
        and not node.is_initialized
        and not node.is_marked_for_deletion
        and 0 < node.claim.created_ns < context.now_ns - _LONG_NS
    ]
    if not found:
        return
    found.sort(key=lambda pair: (-pair[0], pair[1].name))
    nodes = [node for _, node in found]
    cost = context.cost(nodes)
    yield Finding(
        severity=Severity.ERROR,
        objects=node_refs(nodes),
        fact=f"{counted(len(nodes), 'node')} ({listed(node.name for node in nodes)}){at_cost(cost)} registered and "
        f"{verb(len(nodes), 'is', 'are')} not initialised after up to {span(found[0][0])}{_because(nodes[0])}: drift "
        "and consolidation never take such a node.",
        per_hour=cost,
    )


def _because(node: StateNode) -> str:
    """Return what the NodeClaim says, else which startup taints are still there."""
    condition = node.claim.condition("Initialized") if node.claim is not None else None
    if condition is not None and condition.message:
        return f" ({condition.message})"
    startup = node.claim.startup_taints if node.claim is not None else ()
    left = [
        str(taint) for taint in (node.node.taints if node.node is not None else ()) if any(map(taint.matches, startup))
    ]
    return f" (startup taint {listed(left)})" if left else ""


RULE: Final = Rule(
    id="node-never-initialized",
    title="a node never becomes initialised",
    what="A node registered more than a quarter of an hour ago and has not been initialised.",
    why="A node counts as initialised once it is Ready, its startup taints are gone and it reports every resource that "
    "was asked of it. One that never gets there is not a candidate for anything, is left out of the budgets, and no "
    "timer removes it: the registration timeout is only for nodes that never joined.",
    source="pkg/controllers/nodeclaim/lifecycle/initialization.go and liveness.go",
    remedy="See which startup taint stays or which resource is missing (a device plugin, mostly); or delete the claim.",
    find=_find,
)
