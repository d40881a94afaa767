"""A node's drain: its stage, the pods that it waits for, and when each is deleted by force.

Rules: ``pkg/controllers/node/termination/controller.go`` and ``pkg/controllers/node/termination/terminator``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from karptui.disruption.budgets import Reason
from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.disruption.repair import Repair
from karptui.disruption.termination import (
    STUCK_ALLOWANCE_NS,
    Deadline,
    Initiator,
    command_condition,
    deadline_of,
    forced_at,
    initiator_of,
    is_forced,
)
from karptui.karpenter.nodeclaim import DrainStage, NodeClaim, deletion_stage
from karptui.kube.objects import true_condition
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS, MINUTE_NS
from karptui.provisioning.state_node import StateNode

LONG_NS: Final = 30 * MINUTE_NS
"""A termination normally takes minutes; a longer one is reported."""


class Hold(StrEnum):
    """Why a pod still exists."""

    TERMINATING = "terminating"
    DND = "do-not-disrupt"
    PDB = "PodDisruptionBudget"
    EVICTED_NOW = "evicted now"
    """Nothing holds it: its eviction has been or is about to be requested."""
    FORCED = "deleted by force now"


class WaitingPod(msgspec.Struct, frozen=True, gc=False):
    """A pod that a drain waits for."""

    pod: Pod
    tier: int
    """1 to 4: ordinary pods, DaemonSet pods, critical pods, critical DaemonSet pods; drained one tier at a time."""
    hold: Hold
    holder: str = ""
    """The annotation's value, or the PodDisruptionBudgets' names."""
    until_ns: int | None = None
    """When the hold ends without action; None if unknown."""
    forced_ns: int | None = None
    """When it is deleted by force, at the earliest when the drain began; None without a deadline."""


class DrainState(msgspec.Struct, frozen=True, gc=False):
    """The state of a node's termination."""

    stage: DrainStage
    since_ns: int = ABSENT_NS
    """When the stage began; ``ABSENT_NS`` if unknown."""
    initiator: Initiator | None = None
    """What most likely deletes it; None if nothing does."""
    reason: str = ""
    """The reason of the command or of drift: ``Empty``, ``Drifted``, ``AMIDrift``…"""
    deadline: Deadline | None = None
    tier: int | None = None
    """The tier being drained; None if no pod is waited for."""
    waiting: tuple[WaitingPod, ...] = ()
    """All pods waited for, by tier, namespace and name."""
    bound_ns: int | None = None
    """Maximum duration of a repair's drain once it begins; its policy bounds it even without a grace period."""
    latest_end_ns: int | None = None
    """When the drain is over at the latest: a minute after the deadline; None without one."""

    @property
    def holders(self) -> tuple[WaitingPod, ...]:
        """The pods of the current tier; the others wait for them."""
        return tuple(pod for pod in self.waiting if pod.tier == self.tier)

    def is_long(self, now_ns: int) -> bool:
        """Return whether its stage takes longer than usual; False if its beginning is unknown."""
        return bool(self.since_ns) and now_ns - self.since_ns >= LONG_NS

    @property
    def has_no_end(self) -> bool:
        """Whether it may never end: a pod is held, and nothing bounds the wait."""
        held = any(pod.hold in (Hold.DND, Hold.PDB) and pod.until_ns is None for pod in self.waiting)
        return self.stage is DrainStage.DRAINING and self.deadline is None and held


def drain_state(fleet: Fleet, node: StateNode) -> DrainState:
    """Return a node's termination state; unmanaged nodes are always idle."""
    claim = node.claim
    if claim is None:
        return DrainState(DrainStage.IDLE)
    if not claim.is_deleting:
        return _before_deletion(fleet, node, claim)
    stage, since_ns = deletion_stage(claim, node.node)
    deadline = deadline_of(claim)
    waiting = waiting_pods(fleet, node, deadline) if stage in (DrainStage.DELETING, DrainStage.DRAINING) else ()
    return DrainState(
        stage=stage,
        since_ns=since_ns,
        initiator=initiator_of(node, fleet.pools.get(node.nodepool_name), fleet.interruptions),
        reason=(command_condition(node) or _NO_CONDITION).reason,
        deadline=deadline,
        tier=min((pod.tier for pod in waiting), default=None),
        waiting=waiting,
        latest_end_ns=None if deadline is None else deadline.at_ns + STUCK_ALLOWANCE_NS,
    )


def is_stalled(fleet: Fleet, drain: DrainState) -> bool:
    """Return whether a drain has made no progress for long, although no known blocker holds its pods."""
    if drain.stage is DrainStage.DRAINING:
        is_idle = any(_is_unevictable(fleet, waiting) for waiting in drain.holders)
    else:
        is_idle = drain.stage in (DrainStage.VOLUMES, DrainStage.INSTANCE)
    return is_idle and drain.is_long(fleet.now_ns)


def _is_unevictable(fleet: Fleet, waiting: WaitingPod) -> bool:
    """Return whether a pod's eviction must have failed for long: it may be evicted, and not only since a moment."""
    pod = waiting.pod
    if waiting.hold is not Hold.EVICTED_NOW or fleet.pods.protection(pod).value:
        return False
    budgets = fleet.pods.limits.matching(pod)
    since_ns = (pod.created_ns, pod.scheduled_ns, *(budget.allowed_since_ns or fleet.now_ns for budget in budgets))
    return fleet.now_ns - max(since_ns) >= LONG_NS


class _NoCondition(msgspec.Struct, frozen=True):
    reason: str = ""


_NO_CONDITION: Final = _NoCondition()


def _before_deletion(fleet: Fleet, node: StateNode, claim: NodeClaim) -> DrainState:
    command = command_condition(node)
    if command is not None and node.is_held_by_command:
        bound_ns = _repair_bound(fleet, node, claim) if command.reason == Reason.UNHEALTHY else None
        return DrainState(DrainStage.COMMANDED, command.last_transition_ns, reason=command.reason, bound_ns=bound_ns)
    open_conditions = [
        condition
        for type_ in ("Drifted", "Consolidatable")
        if (condition := true_condition(claim.conditions, type_)) is not None
    ]
    if not open_conditions:
        return DrainState(DrainStage.IDLE)
    first = min(open_conditions, key=lambda condition: condition.last_transition_ns)
    return DrainState(DrainStage.WANTED, first.last_transition_ns, reason=first.reason)


def _repair_bound(fleet: Fleet, node: StateNode, claim: NodeClaim) -> int | None:
    """Return the maximum duration of a repair's drain; None if it is unbounded or the node has recovered."""
    ailment = Repair(fleet, Recorder()).ailment_of(node)
    return None if ailment is None else ailment.drain_bound(claim.termination_grace_period_ns)


def waiting_pods(fleet: Fleet, node: StateNode, deadline: Deadline | None) -> tuple[WaitingPod, ...]:
    """Return the pods that a node's drain waits for, or would wait for, by tier, namespace and name."""
    pods = [_waiting(fleet, node, pod, deadline) for pod in fleet.pods_of(node) if fleet.pods.is_waited_for(pod)]
    return tuple(sorted(pods, key=lambda waiting: (waiting.tier, waiting.pod.namespace, waiting.pod.name)))


def tier_of(fleet: Fleet, pod: Pod) -> int:
    """Return a pod's eviction tier, 1 to 4."""
    traits = fleet.pods.traits(pod.template)
    return 1 + traits.is_daemonset_owned + 2 * traits.is_critical


def _waiting(fleet: Fleet, node: StateNode, pod: Pod, deadline: Deadline | None) -> WaitingPod:
    tier = tier_of(fleet, pod)
    began_ns = node.claim.deletion_ns if node.claim is not None else ABSENT_NS
    forced_ns = None if deadline is None else max(forced_at(pod, deadline.at_ns), began_ns)
    if deadline is not None and is_forced(pod, deadline.at_ns, fleet.now_ns):
        return WaitingPod(pod, tier, Hold.FORCED, forced_ns=forced_ns)
    if pod.is_terminating:
        until_ns = pod.deletion_ns + STUCK_ALLOWANCE_NS
        return WaitingPod(pod, tier, Hold.TERMINATING, until_ns=until_ns, forced_ns=forced_ns)
    protection = fleet.pods.protection(pod)
    if protection.is_active:
        ends_ns = protection.until_ns if protection.until_ns != ABSENT_NS else None
        return WaitingPod(pod, tier, Hold.DND, protection.value, ends_ns, forced_ns)
    block = fleet.pods.pdb_block(pod)
    if block is not None:
        names = " ".join(pdb.key for pdb in block.pdbs)
        return WaitingPod(pod, tier, Hold.PDB, names, None, forced_ns)
    return WaitingPod(pod, tier, Hold.EVICTED_NOW, forced_ns=forced_ns)
