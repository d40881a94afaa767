"""What set the deletion of a node going, inferred from what is left behind: Karpenter writes down only some of it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from karptui.disruption.commanded import DISRUPTION_REASON
from karptui.disruption.deadline import deadline_of
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.event import Event
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.state_node import StateNode

INTERRUPTIONS: Final = frozenset(
    {
        "SpotInterrupted",
        "InstanceStopping",
        "InstanceTerminating",
        "InstanceUnhealthy",
        "CapacityReservationInstanceInterrupted",
    }
)
"""Reasons of the AWS provider's events about instances that go, whoever wants to keep them."""
_AT_ONCE_NS: Final = 5 * NS_PER_SECOND
_EXPIRY_SLACK_NS: Final = 60 * NS_PER_SECOND


class Initiator(StrEnum):
    """What deletes a node."""

    EMPTY = "Empty"
    DRIFTED = "Drifted"
    UNDERUTILIZED = "Underutilized"
    REPAIR = "Repair"
    """Node repair, or an instance that failed its status checks: the deadline is the deletion itself."""
    INTERRUPTION = "Interruption"
    EXPIRY = "Expiry"
    NODEPOOL_DELETED = "NodePoolDeleted"
    STATIC_SCALE_DOWN = "StaticScaleDown"
    MANUAL = "Manual"
    """Someone, or another controller, deleted the Node or the NodeClaim."""


_COMMANDED: Final = frozenset({Initiator.EMPTY, Initiator.DRIFTED, Initiator.UNDERUTILIZED})


def initiator_of(node: StateNode, pool: NodePool | None, events: Iterable[Event]) -> Initiator | None:
    """Return what most likely deletes a node; None where it is not being deleted.

    Args:
        node: The node.
        pool: Its NodePool, None where it is gone.
        events: Interruptions, of any node; those of others are passed over.
    """
    if node.claim is None or not node.claim.is_deleting:
        return None
    return claim_initiator(node.claim, node.node.name if node.node is not None else "", pool, events)


def claim_initiator(claim: NodeClaim, node_name: str, pool: NodePool | None, events: Iterable[Event]) -> Initiator:
    """Return what most likely deletes, or deleted, a NodeClaim.

    Args:
        claim: The NodeClaim, being deleted or as it was last seen.
        node_name: Of its Node; empty where it has none.
        pool: Its NodePool, None where it is gone.
        events: Interruptions, of any node; those of others are passed over.
    """
    condition = claim.condition(DISRUPTION_REASON)
    if condition is not None and condition.status == "True" and condition.reason in _COMMANDED:
        return Initiator(condition.reason)
    if _is_at_once(claim):
        return Initiator.REPAIR
    if any(event.reason in INTERRUPTIONS and _is_about(event, claim, node_name) for event in events):
        return Initiator.INTERRUPTION
    expiry_ns = claim.expires_ns
    if expiry_ns is not None and 0 <= claim.deletion_ns - expiry_ns <= _EXPIRY_SLACK_NS:
        return Initiator.EXPIRY
    if pool is None or pool.is_deleting:
        return Initiator.NODEPOOL_DELETED
    return Initiator.STATIC_SCALE_DOWN if pool.is_static else Initiator.MANUAL


def _is_at_once(claim: NodeClaim) -> bool:
    """Whether the deadline is no later than the deletion, other than by a grace period of nothing."""
    deadline = deadline_of(claim)
    if deadline is None or claim.termination_grace_period_ns == 0:
        return False
    return deadline.at_ns <= claim.deletion_ns + _AT_ONCE_NS


def _is_about(event: Event, claim: NodeClaim, node_name: str) -> bool:
    named = {"Node": node_name, "NodeClaim": claim.name}.get(event.involved_kind)
    return bool(named) and named == event.involved_name
