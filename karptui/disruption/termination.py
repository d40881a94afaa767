"""What sets the deletion of a node going, what already holds it, and when its drain ends by force.

Karpenter writes down only some of what began a deletion and keeps its queue of commands in memory: both are known as
far as objects tell. Rules: ``pkg/controllers/nodeclaim/lifecycle/controller.go`` and
``pkg/controllers/node/termination/terminator``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from karptui.karpenter.labels import TERMINATION_TIMESTAMP
from karptui.karpenter.nodeclaim import DISRUPTION_REASON, NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Condition, Event
from karptui.kube.pod import Pod
from karptui.kube.timestamps import NS_PER_SECOND, parse_timestamp
from karptui.provisioning.state_node import StateNode


def command_condition(node: StateNode) -> Condition | None:
    """Return the NodeClaim's mark of a disruption command: its reason is the command's, its transition the start."""
    condition = node.claim.condition(DISRUPTION_REASON) if node.claim is not None else None
    return condition if condition is not None and condition.status == "True" else None


def is_commanded(node: StateNode) -> bool:
    """Return whether a command waits for replacements."""
    return node.is_held_by_command


def commanded_names(nodes: Iterable[StateNode]) -> frozenset[str]:
    """Return the names of the nodes that a command holds."""
    return frozenset(node.name for node in nodes if is_commanded(node))


STUCK_ALLOWANCE_NS: Final = 60 * NS_PER_SECOND
"""How long after its own deletionTimestamp a pod may still hold a drain."""


class Deadline(msgspec.Struct, frozen=True, gc=False):
    """The instant after which a drain no longer respects anything."""

    at_ns: int
    is_provisional: bool = False
    """Whether it is reckoned from the grace period, as Karpenter has not written it down yet."""


def deadline_of(claim: NodeClaim) -> Deadline | None:
    """Return a NodeClaim's deadline, None without one: the drain then ends when the pods have gone, if ever.

    What is written down wins over the grace period, whoever wrote it.
    """
    written = claim.annotations.get(TERMINATION_TIMESTAMP)
    if written is not None:
        try:
            return Deadline(parse_timestamp(written))
        except ValueError:
            return None
    if claim.is_deleting and claim.termination_grace_period_ns is not None:
        return Deadline(claim.deletion_ns + claim.termination_grace_period_ns, is_provisional=True)
    return None


def forced_at(pod: Pod, deadline_ns: int) -> int:
    """Return when a pod is deleted whatever protects it: its own grace period before the deadline."""
    return deadline_ns - pod.template.termination_grace_seconds * NS_PER_SECOND


def is_forced(pod: Pod, deadline_ns: int, now_ns: int) -> bool:
    """Return whether a pod that is waited for is deleted by force now.

    A terminating pod is, where it would take longer than the deadline allows.
    """
    if pod.is_terminating:
        return pod.deletion_ns > deadline_ns
    return now_ns > forced_at(pod, deadline_ns)


INSTANCE_ENDS: Final = frozenset({"InstanceStopping", "InstanceTerminating"})
"""Reasons of events about instances that end, also of those that Karpenter terminates itself."""
BY_INTERRUPTION: Final = "TerminatingOnInterruption"
"""Reason of the event about a NodeClaim, and its Node, that Karpenter deletes because of what EC2 reports."""
_NOTICES: Final = frozenset({"SpotInterrupted", "InstanceUnhealthy", "CapacityReservationInstanceInterrupted"})
INTERRUPTIONS: Final = _NOTICES | {BY_INTERRUPTION}
"""Reasons of events by which EC2, not Karpenter or a user, began the removal of a node."""
INSTANCE_EVENTS: Final = INTERRUPTIONS | INSTANCE_ENDS
"""Reasons of the AWS provider's events about instances, but for rebalance recommendations."""
_AT_ONCE_NS: Final = 5 * NS_PER_SECOND
_EXPIRY_SLACK_NS: Final = 60 * NS_PER_SECOND


class Initiator(StrEnum):
    """What deletes a node."""

    EMPTY = "Empty"
    DRIFTED = "Drifted"
    UNDERUTILIZED = "Underutilized"
    REPAIR = "Repair"
    """Node repair, or an instance that failed its status checks: until 1.14 the deadline is the deletion itself."""
    INTERRUPTION = "Interruption"
    EXPIRY = "Expiry"
    NODEPOOL_DELETED = "NodePoolDeleted"
    STATIC_SCALE_DOWN = "StaticScaleDown"
    MANUAL = "Manual"
    """Someone, or another controller, deleted the Node or the NodeClaim."""


_UNHEALTHY: Final = "Unhealthy"
"""What the repair of 1.15 writes as its reason; its drain has a bound of its own, so it may end much later."""
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
    if condition is not None and condition.status == "True":
        if condition.reason == _UNHEALTHY:
            return Initiator.REPAIR
        if condition.reason in _COMMANDED:
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


class InstanceWarning(NamedTuple):
    """What the cloud says of an instance that goes; nothing in the cluster holds it."""

    reason: str
    """Of the event, such as ``SpotInterrupted``."""
    at_ns: int


def warnings_by_object(events: Iterable[Event]) -> dict[tuple[str, str], InstanceWarning]:
    """Return by kind and name the last warning about each Node and NodeClaim."""
    found: dict[tuple[str, str], InstanceWarning] = {}
    for event in sorted(events, key=lambda one: one.last_ns):
        if event.reason in _NOTICES | INSTANCE_ENDS:
            found[event.involved_kind, event.involved_name] = InstanceWarning(event.reason, event.last_ns)
    return found


def _is_about(event: Event, claim: NodeClaim, node_name: str) -> bool:
    named = {"Node": node_name, "NodeClaim": claim.name}.get(event.involved_kind)
    return bool(named) and named == event.involved_name
