"""Nodes that a disruption command already holds, as far as objects tell: Karpenter keeps its queue in memory only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karptui.karpenter.labels import DISRUPTED_TAINT
from karptui.kube.objects import Condition
from karptui.provisioning.state_node import StateNode

DISRUPTION_REASON: Final = "DisruptionReason"


def command_condition(node: StateNode) -> Condition | None:
    """Return the NodeClaim's mark of a disruption command: its reason is the command's, its transition the start."""
    condition = node.claim.condition(DISRUPTION_REASON) if node.claim is not None else None
    return condition if condition is not None and condition.status == "True" else None


def is_commanded(node: StateNode) -> bool:
    """Return whether a command waits for replacements: tainted and marked, and not being deleted yet.

    After a restart Karpenter forgets the command and takes both marks away again within moments.
    """
    if node.node is None or node.is_marked_for_deletion or command_condition(node) is None:
        return False
    return any(taint.matches(DISRUPTED_TAINT) for taint in node.node.taints)


def commanded_names(nodes: Iterable[StateNode]) -> frozenset[str]:
    """Return the names of the nodes that a command holds."""
    return frozenset(node.name for node in nodes if is_commanded(node))
