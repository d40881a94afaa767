"""What initiated a node's deletion, which command includes it, when its drain is forced to end, and expiry.

Karpenter records only some causes of a deletion and keeps its command queue in memory, so both are derived from
objects. Rules: ``pkg/controllers/nodeclaim/lifecycle/controller.go`` and
``pkg/controllers/node/termination/terminator``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from karptui.karpenter.labels import TERMINATION_TIMESTAMP
from karptui.karpenter.nodeclaim import DISRUPTION_REASON, NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Condition, Event, true_condition
from karptui.kube.pod import Pod
from karptui.kube.timestamps import MINUTE_NS, NS_PER_SECOND, parse_timestamp
from karptui.provisioning.state_node import StateNode


def command_condition(node: StateNode) -> Condition | None:
    """Return the NodeClaim's condition of a disruption command, with the command's reason and start, or None."""
    return true_condition(node.claim.conditions, DISRUPTION_REASON) if node.claim is not None else None


def commanded_names(nodes: Iterable[StateNode]) -> frozenset[str]:
    """Return the names of the nodes that commands include."""
    return frozenset(node.name for node in nodes if node.is_held_by_command)


STUCK_ALLOWANCE_NS: Final = MINUTE_NS
"""How long after its deletionTimestamp a pod may still delay a drain."""


class Deadline(msgspec.Struct, frozen=True, gc=False):
    """When a drain begins to ignore all protection."""

    at_ns: int
    is_provisional: bool = False
    """Whether it is computed from the grace period because Karpenter has not recorded it yet."""


def deadline_of(claim: NodeClaim) -> Deadline | None:
    """Return a NodeClaim's deadline; None without one: the drain then ends when all pods are gone, if ever.

    A recorded deadline overrides the grace period, whoever recorded it.
    """
    recorded = claim.annotations.get(TERMINATION_TIMESTAMP)
    if recorded is not None:
        try:
            return Deadline(parse_timestamp(recorded))
        except ValueError:
            return None
    if claim.is_deleting and claim.termination_grace_period_ns is not None:
        return Deadline(claim.deletion_ns + claim.termination_grace_period_ns, is_provisional=True)
    return None


def forced_at(pod: Pod, deadline_ns: int) -> int:
    """Return when a pod is deleted in spite of all protection: its grace period before the deadline."""
    return deadline_ns - pod.template.termination_grace_seconds * NS_PER_SECOND


def is_forced(pod: Pod, deadline_ns: int, now_ns: int) -> bool:
    """Return whether a pod in a drain is now deleted by force.

    A terminating pod is if it would otherwise outlast the deadline.
    """
    if pod.is_terminating:
        return pod.deletion_ns > deadline_ns
    return now_ns > forced_at(pod, deadline_ns)


INSTANCE_ENDS: Final = frozenset({"InstanceStopping", "InstanceTerminating"})
"""Reasons of events about instances that end, including terminations by Karpenter."""
BY_INTERRUPTION: Final = "TerminatingOnInterruption"
"""Reason of the event about a NodeClaim, and its Node, that Karpenter deletes because of what EC2 reports."""
_NOTICES: Final = frozenset({"SpotInterrupted", "InstanceUnhealthy", "CapacityReservationInstanceInterrupted"})
INTERRUPTIONS: Final = _NOTICES | {BY_INTERRUPTION}
"""Reasons of events by which EC2, not Karpenter or a user, began the removal of a node."""
INSTANCE_EVENTS: Final = INTERRUPTIONS | INSTANCE_ENDS
"""Reasons of the AWS provider's events about instances, except rebalance recommendations."""
_AT_ONCE_NS: Final = 5 * NS_PER_SECOND
_EXPIRY_SLACK_NS: Final = MINUTE_NS


class Initiator(StrEnum):
    """What initiates a node's deletion."""

    EMPTY = "Empty"
    DRIFTED = "Drifted"
    UNDERUTILIZED = "Underutilized"
    REPAIR = "Repair"
    """Node repair or failed instance status checks: until 1.14 the deadline equals the deletion."""
    INTERRUPTION = "Interruption"
    EXPIRY = "Expiry"
    NODEPOOL_DELETED = "NodePoolDeleted"
    STATIC_SCALE_DOWN = "StaticScaleDown"
    MANUAL = "Manual"
    """A user or another controller deleted the Node or the NodeClaim."""


_UNHEALTHY: Final = "Unhealthy"
"""The reason recorded by the repair of 1.15, whose drain has its own bound and so may end much later."""
_COMMANDED: Final = frozenset({Initiator.EMPTY, Initiator.DRIFTED, Initiator.UNDERUTILIZED})


def initiator_of(node: StateNode, pool: NodePool | None, events: Iterable[Event]) -> Initiator | None:
    """Return the most likely cause of a node's deletion; None if it is not being deleted.

    Args:
        events: Interruptions; events about other nodes are ignored.
    """
    if node.claim is None or not node.claim.is_deleting:
        return None
    return claim_initiator(node.claim, node.node.name if node.node is not None else "", pool, events)


def claim_initiator(claim: NodeClaim, node_name: str, pool: NodePool | None, events: Iterable[Event]) -> Initiator:
    """Return the most likely cause of a NodeClaim's deletion.

    Args:
        events: Interruptions; events about other nodes are ignored.
    """
    condition = true_condition(claim.conditions, DISRUPTION_REASON)
    if condition is not None:
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
    """Whether the deadline equals the deletion for another reason than a grace period of zero."""
    deadline = deadline_of(claim)
    if deadline is None or claim.termination_grace_period_ns == 0:
        return False
    return deadline.at_ns <= claim.deletion_ns + _AT_ONCE_NS


class InstanceWarning(NamedTuple):
    """The cloud's warning about an interrupted instance; nothing in the cluster can block it."""

    reason: str
    """The event's reason, such as ``SpotInterrupted``."""
    at_ns: int


def warnings_by_object(events: Iterable[Event]) -> dict[tuple[str, str], InstanceWarning]:
    """Return the latest warning about each Node and NodeClaim, by kind and name."""
    warnings: dict[tuple[str, str], InstanceWarning] = {}
    for event in sorted(events, key=lambda event: event.last_ns):
        if event.reason in _NOTICES | INSTANCE_ENDS:
            warnings[event.involved_kind, event.involved_name] = InstanceWarning(event.reason, event.last_ns)
    return warnings


def _is_about(event: Event, claim: NodeClaim, node_name: str) -> bool:
    named = {"Node": node_name, "NodeClaim": claim.name}.get(event.involved_kind)
    return bool(named) and named == event.involved_name


WAVE_NS: Final = 30 * MINUTE_NS
"""Expiries within this period count as simultaneous: new nodes take minutes, and nothing spreads expiries out."""


class Expiry(msgspec.Struct, frozen=True, gc=False):
    """A NodeClaim's expiry."""

    claim_name: str
    at_ns: int
    forced_end_ns: int | None
    """When the subsequent drain is forced to end; None without a terminationGracePeriod, when it may never end."""


def claim_expiry(claim: NodeClaim | None) -> Expiry | None:
    """Return a NodeClaim's expiry; None if it does not expire or is being deleted."""
    if claim is None or claim.is_deleting:
        return None
    at_ns = claim.expires_ns
    if at_ns is None:
        return None
    grace_ns = claim.termination_grace_period_ns
    return Expiry(claim.name, at_ns, None if grace_ns is None else at_ns + grace_ns)


def expiry_calendar(nodes: Iterable[StateNode]) -> tuple[Expiry, ...]:
    """Return a cluster's expiries, earliest first."""
    expiries = (expiry for node in nodes if (expiry := claim_expiry(node.claim)) is not None)
    return tuple(sorted(expiries, key=lambda expiry: (expiry.at_ns, expiry.claim_name)))


def expiring_nodes(nodes: Iterable[StateNode], now_ns: int) -> tuple[str, ...]:
    """Return the nodes that have expired and are not being deleted yet, by name."""
    expiries = ((node.node_name, claim_expiry(node.claim)) for node in nodes)
    return tuple(sorted(name for name, expiry in expiries if expiry is not None and expiry.at_ns <= now_ns))


def expiry_wave(coming: Sequence[Expiry]) -> Sequence[Expiry]:
    """Return the largest set of expiries within ``WAVE_NS`` of each other; of equal ones, the earliest."""
    best: Sequence[Expiry] = ()
    start = 0
    for end, expiry in enumerate(coming):
        while expiry.at_ns - coming[start].at_ns > WAVE_NS:
            start += 1
        if end + 1 - start > len(best):
            best = coming[start : end + 1]
    return best
