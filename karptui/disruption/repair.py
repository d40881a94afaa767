"""Repair: unhealthy nodes are replaced or rebooted, most urgent first; also the repair controller before 1.15.

Rules: ``pkg/controllers/disruption/repair.go`` and ``pkg/controllers/node/legacyrepair`` of v1.15.0. Karpenter keeps
its reboot history in memory only, so it is known only if a snapshot contains it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple

import msgspec

from karptui.aws.repair_policies import aws_repair_policies
from karptui.disruption import static_drift
from karptui.disruption.budgets import REPAIR_GATE, is_repairing
from karptui.disruption.candidate import Candidate
from karptui.disruption.command import Command, RepairCase, TerminateFirst
from karptui.disruption.events import NODE_REPAIR_BLOCKED, Recorder
from karptui.disruption.fleet import Fleet
from karptui.disruption.gates import POD_GATES, Gate, GateCheck, iter_gates
from karptui.disruption.simulation import Simulation, Simulator, remove_or_terminate_first
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import DO_NOT_REPAIR, NODEPOOL
from karptui.karpenter.nodeclaim import REBOOTING, NodeClaim
from karptui.karpenter.nodepool import NodePool, is_aws
from karptui.karpenter.repair_policies import Ailment, RepairAction, RepairPolicies, RepairPolicy, legacy_ailment
from karptui.karpenter.settings import Settings
from karptui.kube.group import group_by
from karptui.kube.pod import Pod
from karptui.kube.timestamps import DAY_NS
from karptui.provisioning.state_node import StateNode

TERMINATE_FIRST_GATE: Final = "TerminateFirstRepair"
REBOOTS_BEFORE_REPLACEMENT: Final = 2
_REBOOT_WINDOW_NS: Final = DAY_NS
_UNHEALTHY_SHARE: Final = 0.2
NO_POOL: Final = "repair requires a NodePool to construct and budget a safe replacement"
VETOED: Final = f'repair is blocked through the "{DO_NOT_REPAIR}" annotation'
LEGACY_REPAIR: Final = "LegacyRepair"
"""Name of the repair controller before 1.15 in method results."""
UNBOUNDED: Final = "repair requires a termination grace period to bypass blocking pods"


class RepairCode(StrEnum):
    """Codes of blockers that affect only Repair."""

    VETOED = "DO_NOT_REPAIR"
    UNBOUNDED = "REPAIR_UNBOUNDED"
    TRIPPED = "REPAIR_TRIPPED"


class Stop(NamedTuple):
    """Why a node is not repaired: a gate or a code of Repair, and Karpenter's message."""

    code: Gate | RepairCode
    message: str


def _is_tripped(unhealthy: int, count: int) -> bool:
    """Return whether more than a fifth of the nodes are unhealthy."""
    return unhealthy > math.ceil(_UNHEALTHY_SHARE * count)


def _tripped_message(pool: str) -> str:
    return f'more than 20% of nodes in nodepool "{pool}" are unhealthy'


def is_legacy(settings: Settings) -> bool:
    """Return whether the old repair controller replaces the method.

    Only then does `simulate` report it instead of the method; before 1.15 only the Next screen does, by `is_apart`.
    """
    return settings.rules.has_repair_method and settings.gate(REPAIR_GATE) and settings.legacy_node_repair


def is_apart(settings: Settings) -> bool:
    """Return whether a separate controller deletes unhealthy nodes: before 1.15, or if kept since."""
    return settings.gate(REPAIR_GATE) and not is_repairing(settings)


def policies_of(nodepools: Sequence[NodePool], settings: Settings) -> tuple[RepairPolicy, ...]:
    """Return the repair policies: configured ones, else the AWS provider's; empty if those are unknown."""
    policies = settings.repair_policies
    if policies is not None:
        return policies
    return aws_repair_policies(settings) if is_aws(nodepools) else ()


class Repair:
    """The Repair method on a fleet."""

    def __init__(self, fleet: Fleet, recorder: Recorder) -> None:
        self._fleet = fleet
        self._recorder = recorder
        self._policies = RepairPolicies(policies_of(fleet.inventory.nodepools, fleet.settings))

    def ailment_of(self, node: StateNode) -> Ailment | None:
        """Return a node's health problem if its toleration has expired, even if its repair is blocked."""
        if node.node is None:
            return None
        return self._policies.ailment(node.node, self._fleet.now_ns, _rebooted_ns(node))

    def ailments(self) -> dict[str, Ailment]:
        """Return the health problems by node."""
        by_node = ((node.name, self.ailment_of(node)) for node in self._fleet.nodes)
        return {name: ailment for name, ailment in by_node if ailment is not None}

    def cases(self) -> tuple[RepairCase, ...]:
        """Return the nodes to repair, and record Karpenter's events about the others."""
        return tuple(case for node in self._fleet.nodes if (case := self._case(node)) is not None)

    def _case(self, node: StateNode) -> RepairCase | None:
        fleet = self._fleet
        stop, pods = self._gates(node)
        if stop is not None:
            if stop.message:
                self._recorder.blocked(node, stop.message)
            return None
        resolved = fleet.resolved(node.nodepool_name)
        ailment = self.ailment_of(node)
        if resolved is None or ailment is None:
            return None
        candidate = Candidate(fleet, node, *resolved)
        claim = candidate.claim
        stop = self._repair_gate(node, ailment, has_blocking_pods=pods is not None)
        if stop is not None:
            self._recorder.blocked(node, stop.message)
            return None
        is_escalated = ailment.action is RepairAction.REBOOT and self._reboots(claim) >= REBOOTS_BEFORE_REPLACEMENT
        if is_escalated:
            ailment = msgspec.structs.replace(ailment, action=RepairAction.REPLACE)
        return RepairCase(candidate, ailment, is_escalated, self._legacy_cost(candidate))

    def _repair_gate(self, node: StateNode, ailment: Ailment, *, has_blocking_pods: bool) -> Stop | None:
        """Return the reason why Repair's own conditions exclude a node that it wants, or None."""
        assert node.claim is not None
        if node.annotations.get(DO_NOT_REPAIR) == "true":
            return Stop(RepairCode.VETOED, VETOED)
        if has_blocking_pods and ailment.bound_ns is None and node.claim.termination_grace_period_ns is None:
            return Stop(RepairCode.UNBOUNDED, UNBOUNDED)
        return None

    def stop_of(self, node: StateNode, ailment: Ailment) -> Stop | None:
        """Return the reason why a node is not repaired, apart from budgets and places for its pods; None if it is."""
        stop, pods = self._gates(node)
        stop = stop or self._repair_gate(node, ailment, has_blocking_pods=pods is not None)
        if stop is None and node.nodepool_name in self._tripped:
            return Stop(RepairCode.TRIPPED, _tripped_message(node.nodepool_name))
        return stop

    def command_for(self, node: StateNode, simulator: Simulator) -> Command | Simulation | None:
        """Return the command that would repair a node without blockers; None if it is healthy.

        Returns the simulation instead if its pods have no other place.
        """
        resolved, ailment = self._fleet.resolved(node.nodepool_name), self.ailment_of(node)
        if resolved is None or ailment is None:
            return None
        case = RepairCase(Candidate(self._fleet, node, *resolved), ailment, is_escalated=False, legacy_cost=0.0)
        return self._result(case, simulator)

    def _gates(self, node: StateNode) -> tuple[Stop | None, GateCheck | None]:
        """Return the gate that prevents a node's repair, and the blocking pod gate that the drain's bound may open."""
        recorder = self._recorder
        if node.claim is not None and not node.nodepool_name and node.name not in self._fleet.commanded:
            return Stop(Gate.NO_NODEPOOL_LABEL, NO_POOL), None
        is_over_nodes = False
        for check in iter_gates(self._fleet, node, recorder):
            if check.is_open is not False or (is_over_nodes and check.gate in _NODE_GATES):
                continue
            if check.gate in POD_GATES:
                return None, check
            if check.gate is Gate.NODE_DND or (check.gate is Gate.NOT_INITIALIZED and node.is_registered):
                # Karpenter stops at this first closed gate and ignores it: later gates are not evaluated.
                is_over_nodes = True
                continue
            return Stop(check.gate, check.message), None
        return None, None

    def _reboots(self, claim: NodeClaim) -> int:
        since_ns = self._fleet.now_ns - _REBOOT_WINDOW_NS
        return sum(1 for at_ns in self._fleet.settings.reboot_history.get(claim.name, ()) if at_ns > since_ns)

    @cached_property
    def _ended(self) -> Mapping[str, Sequence[Pod]]:
        """The pods that have ended and are not being deleted, by Node: Karpenter counts their costs too."""
        pods = (pod for pod in self._fleet.inventory.pods if pod.is_terminal and not pod.is_terminating)
        return group_by((pod for pod in pods if pod.node_name), lambda pod: pod.node_name)

    def _legacy_cost(self, candidate: Candidate) -> float:
        fleet, claim, node = self._fleet, candidate.claim, candidate.node
        traits = fleet.pods.traits
        ended = self._ended.get(node.node.name, ()) if node.node is not None else ()
        pods = sorted((*fleet.pods_of(node), *ended), key=lambda pod: (pod.namespace, pod.name))
        cost = sum(traits(pod.template).eviction_cost for pod in pods)
        if claim.expire_after_ns:
            left = 1 - (fleet.now_ns - claim.created_ns) / claim.expire_after_ns
            cost *= min(max(left, 0.0), 1.0)
        return cost

    def compute(
        self, cases: Iterable[RepairCase], budgets: Mapping[str, int], simulator: Simulator
    ) -> tuple[Command, ...]:
        """Return the command for the first node that can be repaired."""
        tripped = self._tripped
        for case in sorted(cases, key=lambda case: (-case.ailment.score, case.legacy_cost, case.candidate.name)):
            candidate = case.candidate
            pool = candidate.pool.name
            if pool in tripped:
                message = _tripped_message(pool)
                self._recorder.about_node(candidate.node, NODE_REPAIR_BLOCKED, message)
                self._recorder.publish("NodePool", pool, NODE_REPAIR_BLOCKED, message)
            elif not candidate.node.is_initialized or budgets.get(pool, 0):
                command = self._command(case, simulator)
                if command is not None:
                    return (msgspec.structs.replace(command, repairs={candidate.name: case}),)
        return ()

    @cached_property
    def _tripped(self) -> frozenset[str]:
        """The NodePools with more than a fifth of their nodes unhealthy."""
        total: Counter[str] = Counter()
        unhealthy: Counter[str] = Counter()
        for node in self._fleet.inventory.nodes:
            pool = node.labels.get(NODEPOOL, "")
            if pool:
                total[pool] += 1
                unhealthy[pool] += self._policies.is_unhealthy(node)
        return frozenset(pool for pool, count in total.items() if _is_tripped(unhealthy[pool], count))

    def _command(self, case: RepairCase, simulator: Simulator) -> Command | None:
        result = self._result(case, simulator)
        if isinstance(result, Simulation):
            self._recorder.blocked(case.candidate.node, result.explanation())
            return None
        return result

    def _result(self, case: RepairCase, simulator: Simulator) -> Command | Simulation | None:
        candidate, fleet = case.candidate, self._fleet
        if case.ailment.action is RepairAction.REBOOT:
            return Command((candidate,), is_reboot=True)
        may_terminate_first = fleet.settings.rules.has_terminate_first and fleet.settings.gate(TERMINATE_FIRST_GATE)
        if candidate.pool.is_static:
            return self._of_static(candidate, may_terminate_first=may_terminate_first)
        simulation, is_first = remove_or_terminate_first(
            simulator, candidate, may_terminate_first=may_terminate_first, with_blocked=True
        )
        if is_first:
            return Command((candidate,), simulation=simulation, terminate_first=TerminateFirst.NO_RESERVED_CAPACITY)
        if simulation.blocking_errors:
            return simulation
        return Command((candidate,), simulation.new_nodes, simulation)

    def _of_static(self, candidate: Candidate, *, may_terminate_first: bool) -> Command | None:
        pool, fleet = candidate.pool, self._fleet
        headroom = static_drift.headroom(fleet, pool)
        if headroom.active > headroom.replicas:
            return None
        full = static_drift.full_reservations(pool, candidate.book) if may_terminate_first else None
        if full is None and headroom.room != 0:
            return Command((candidate,), from_template=1)
        if full is not None and not static_drift.holds_slot(candidate, full):
            self._recorder.blocked(candidate.node, static_drift.RESERVATIONS_FULL)
            return None
        if not may_terminate_first or not static_drift.is_refillable(pool):
            message = static_drift.AT_LIMIT if full is None else static_drift.RESERVATIONS_FULL
            self._recorder.blocked(candidate.node, message)
            return None
        reason = TerminateFirst.STATIC_AT_LIMIT if full is None else TerminateFirst.NO_RESERVED_CAPACITY
        return Command((candidate,), terminate_first=reason)


_NODE_GATES: Final = frozenset({Gate.NOMINATED, Gate.NODE_DND, Gate.NO_NODEPOOL_LABEL})


def _rebooted_ns(node: StateNode) -> int:
    """Return when a node's last reboot ended, which restarts its toleration; 0 without one."""
    rebooting = node.claim.condition(REBOOTING) if node.claim is not None else None
    return rebooting.last_transition_ns if rebooting is not None and rebooting.status == "False" else 0


def tolerated_until(fleet: Fleet) -> tuple[int, ...]:
    """Return the future times at which unhealthy nodes' tolerations expire; empty without Repair."""
    if not is_repairing(fleet.settings):
        return ()
    policies = RepairPolicies(policies_of(fleet.inventory.nodepools, fleet.settings))
    nodes = ((state.node, _rebooted_ns(state)) for state in fleet.nodes)
    times = {at_ns for node, since_ns in nodes if node is not None for at_ns in policies.eligible(node, since_ns)}
    return tuple(sorted(at_ns for at_ns in times if at_ns > fleet.now_ns))


class HealthDeletion(msgspec.Struct, frozen=True, gc=False):
    """When the old repair controller deletes an unhealthy node."""

    at_ns: int
    is_tripped: bool
    """Whether more than a fifth of the nodes are unhealthy, so that none is deleted."""
    is_going: bool = False
    """Whether its NodeClaim is already being deleted, so that only its drain is forced to end."""

    def deletes(self, now_ns: int) -> bool:
        """Whether the node is deleted at a point in time."""
        return self.at_ns <= now_ns and not self.is_tripped and not self.is_going


def health_deletions(inventory: Inventory, settings: Settings) -> dict[str, HealthDeletion]:
    """Return when the separate repair controller deletes unhealthy nodes, by name; empty if it is not in use.

    It forces the drain to end and deletes the NodeClaim regardless of budgets, annotations and its pods' places.
    """
    return _health_deletions(inventory, settings) if is_apart(settings) else {}


def _health_deletions(inventory: Inventory, settings: Settings) -> dict[str, HealthDeletion]:
    policies = [
        policy for policy in policies_of(inventory.nodepools, settings) if policy.action is RepairAction.REPLACE
    ]
    nodes = sorted(inventory.nodes, key=lambda node: node.name)
    ailing = {node.name: at_ns for node in nodes if (at_ns := legacy_ailment(policies, node)) is not None}
    if not ailing:
        return {}
    claims = _claims_by_instance(inventory)
    total = Counter(node.labels.get(NODEPOOL) for node in nodes)
    unhealthy_by_pool = Counter(node.labels.get(NODEPOOL) for node in nodes if node.name in ailing)
    deletions: dict[str, HealthDeletion] = {}
    for node in nodes:
        claim = claims.get(node.provider_id)
        if claim is None or node.name not in ailing:
            continue
        pool = claim.labels.get(NODEPOOL)
        unhealthy, count = (len(ailing), len(nodes)) if pool is None else (unhealthy_by_pool[pool], total[pool])
        deletions[node.name] = HealthDeletion(ailing[node.name], _is_tripped(unhealthy, count), claim.is_deleting)
    return deletions


def _claims_by_instance(inventory: Inventory) -> dict[str, NodeClaim]:
    """Return NodeClaims by provider ID, without those that have none or share one, which Karpenter ignores.

    Rules: ``NodeClaimForNode`` in ``pkg/utils/node/node.go``.
    """
    count = Counter(claim.provider_id for claim in inventory.nodeclaims)
    return {
        claim.provider_id: claim
        for claim in inventory.nodeclaims
        if claim.provider_id and count[claim.provider_id] == 1
    }


def legacy_deletions(fleet: Fleet, recorder: Recorder) -> tuple[str, ...]:
    """Return the nodes that the old repair controller deletes now, and record Karpenter's events about the others."""
    claims = _claims_by_instance(fleet.inventory)
    of_node = {node.name: claims[node.provider_id] for node in fleet.inventory.nodes if node.provider_id in claims}
    deletions = _health_deletions(fleet.inventory, fleet.settings)
    due = (name for name, deletion in deletions.items() if deletion.at_ns <= fleet.now_ns and deletion.is_tripped)
    for name in due:
        # Both messages are Karpenter's, including the typo.
        message = "more than 20% nodes are unhealthy in the nodepool"
        if NODEPOOL not in of_node[name].labels:
            message = "more then 20% nodes are unhealthy in the cluster"
        recorder.publish("Node", name, NODE_REPAIR_BLOCKED, message)
    return tuple(name for name, deletion in deletions.items() if deletion.deletes(fleet.now_ns))
