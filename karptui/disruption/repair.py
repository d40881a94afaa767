"""Repair: unhealthy nodes are replaced or rebooted, the most urgent first; and the controller that did so before 1.15.

Rules: ``pkg/controllers/disruption/repair.go`` and ``pkg/controllers/node/legacyrepair`` of v1.15.0. How often a node
was rebooted lately is in Karpenter's memory alone, so it is known only as far as a snapshot tells.
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
from karptui.kube.pod import Pod
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.state_node import StateNode

TERMINATE_FIRST_GATE: Final = "TerminateFirstRepair"
REBOOTS_BEFORE_REPLACEMENT: Final = 2
_REBOOT_WINDOW_NS: Final = 24 * 3600 * NS_PER_SECOND
_UNHEALTHY_SHARE: Final = 0.2
NO_POOL: Final = "repair requires a NodePool to construct and budget a safe replacement"
VETOED: Final = f'repair is blocked through the "{DO_NOT_REPAIR}" annotation'
LEGACY_REPAIR: Final = "LegacyRepair"
"""What the controller of before 1.15 is called beside the methods."""
UNBOUNDED: Final = "repair requires a termination grace period to bypass blocking pods"


class RepairCode(StrEnum):
    """What keeps nothing but Repair from a node."""

    VETOED = "DO_NOT_REPAIR"
    UNBOUNDED = "REPAIR_UNBOUNDED"
    TRIPPED = "REPAIR_TRIPPED"


class Stop(NamedTuple):
    """What keeps a node from being repaired: a gate or a code of Repair's own, and Karpenter's words."""

    code: Gate | RepairCode
    message: str


def _is_tripped(unhealthy: int, count: int) -> bool:
    """Return whether more than a fifth of some nodes is unhealthy."""
    return unhealthy > math.ceil(_UNHEALTHY_SHARE * count)


def _tripped_message(pool: str) -> str:
    return f'more than 20% of nodes in nodepool "{pool}" are unhealthy'


def is_legacy(settings: Settings) -> bool:
    """Return whether the controller of before is kept in its place.

    Only then `simulate` answers for it, in the place of the method; before 1.15 only Next tells of it, by `is_apart`.
    """
    return settings.rules.has_repair_method and settings.gate(REPAIR_GATE) and settings.legacy_node_repair


def is_apart(settings: Settings) -> bool:
    """Return whether unhealthy nodes are deleted by a controller of its own: before 1.15, or kept since then."""
    return settings.gate(REPAIR_GATE) and not is_repairing(settings)


def policies_of(nodepools: Sequence[NodePool], settings: Settings) -> tuple[RepairPolicy, ...]:
    """Return the policies in force: those that were given, else the AWS provider's; none where those are not known."""
    policies = settings.repair_policies
    if policies is not None:
        return policies
    return aws_repair_policies(settings) if is_aws(nodepools) else ()


class Repair:
    """The method on one fleet."""

    def __init__(self, fleet: Fleet, recorder: Recorder) -> None:
        self._fleet = fleet
        self._recorder = recorder
        self._policies = RepairPolicies(policies_of(fleet.inventory.nodepools, fleet.settings))

    def ailment_of(self, node: StateNode) -> Ailment | None:
        """Return what is wrong with a node whose toleration is over, whatever holds its repair back."""
        if node.node is None:
            return None
        return self._policies.ailment(node.node, self._fleet.now_ns, _rebooted_ns(node))

    def ailments(self) -> dict[str, Ailment]:
        """Return what is wrong by node."""
        found = ((node.name, self.ailment_of(node)) for node in self._fleet.nodes)
        return {name: ailment for name, ailment in found if ailment is not None}

    def cases(self) -> tuple[RepairCase, ...]:
        """Return the nodes to repair; why others are not is said where Karpenter says so."""
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
        stop = self._own_gate(node, ailment, has_blocking_pods=pods is not None)
        if stop is not None:
            self._recorder.blocked(node, stop.message)
            return None
        is_escalated = ailment.action is RepairAction.REBOOT and self._reboots(claim) >= REBOOTS_BEFORE_REPLACEMENT
        if is_escalated:
            ailment = msgspec.structs.replace(ailment, action=RepairAction.REPLACE)
        return RepairCase(candidate, ailment, is_escalated, self._legacy_cost(candidate))

    def _own_gate(self, node: StateNode, ailment: Ailment, *, has_blocking_pods: bool) -> Stop | None:
        """Return what only Repair asks of a node that it wants."""
        assert node.claim is not None
        if node.annotations.get(DO_NOT_REPAIR) == "true":
            return Stop(RepairCode.VETOED, VETOED)
        if has_blocking_pods and ailment.bound_ns is None and node.claim.termination_grace_period_ns is None:
            return Stop(RepairCode.UNBOUNDED, UNBOUNDED)
        return None

    def stop_of(self, node: StateNode, ailment: Ailment) -> Stop | None:
        """Return what keeps a node from being repaired, budgets and places of its pods aside; None where nothing does.

        Args:
            node: The node.
            ailment: What is wrong with it.
        """
        stop, pods = self._gates(node)
        stop = stop or self._own_gate(node, ailment, has_blocking_pods=pods is not None)
        if stop is None and node.nodepool_name in self._tripped:
            return Stop(RepairCode.TRIPPED, _tripped_message(node.nodepool_name))
        return stop

    def command_for(self, node: StateNode, simulator: Simulator) -> Command | Simulation | None:
        """Return how a node would be repaired, as if nothing held it back; None where nothing is wrong with it.

        The simulation where its pods have no other place.

        Raises:
            SimulationError: when there is no NodePool to schedule with.
        """
        resolved, ailment = self._fleet.resolved(node.nodepool_name), self.ailment_of(node)
        if resolved is None or ailment is None:
            return None
        case = RepairCase(Candidate(self._fleet, node, *resolved), ailment, is_escalated=False, legacy_cost=0.0)
        return self._answer(case, simulator)

    def _gates(self, node: StateNode) -> tuple[Stop | None, GateCheck | None]:
        """Return the gate that keeps a node from Repair, and the pods that block it but do not count yet."""
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
                # Karpenter stops at the first gate that is shut, and takes that one back: later ones are not asked.
                is_over_nodes = True
                continue
            return Stop(check.gate, check.message), None
        return None, None

    def _reboots(self, claim: NodeClaim) -> int:
        since_ns = self._fleet.now_ns - _REBOOT_WINDOW_NS
        return sum(1 for at_ns in self._fleet.settings.reboot_history.get(claim.name, ()) if at_ns > since_ns)

    @cached_property
    def _ended(self) -> Mapping[str, Sequence[Pod]]:
        """The pods that have ended and are not being deleted, by Node: they count where nodes are equally urgent."""
        found: dict[str, list[Pod]] = {}
        for pod in self._fleet.inventory.pods:
            if pod.node_name and pod.is_terminal and not pod.is_terminating:
                found.setdefault(pod.node_name, []).append(pod)
        return found

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
        """Return the command for the first node that can be repaired.

        Raises:
            SimulationError: when there is no NodePool to schedule with.
        """
        tripped = self._tripped
        for case in sorted(cases, key=lambda one: (-one.ailment.score, one.legacy_cost, one.candidate.name)):
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
        """The NodePools of which more than a fifth of the nodes is unhealthy."""
        total: Counter[str] = Counter()
        unhealthy: Counter[str] = Counter()
        for node in self._fleet.inventory.nodes:
            pool = node.labels.get(NODEPOOL, "")
            if pool:
                total[pool] += 1
                unhealthy[pool] += self._policies.is_unhealthy(node)
        return frozenset(pool for pool, count in total.items() if _is_tripped(unhealthy[pool], count))

    def _command(self, case: RepairCase, simulator: Simulator) -> Command | None:
        answer = self._answer(case, simulator)
        if isinstance(answer, Simulation):
            self._recorder.blocked(case.candidate.node, answer.explanation())
            return None
        return answer

    def _answer(self, case: RepairCase, simulator: Simulator) -> Command | Simulation | None:
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
        room = static_drift.headroom(fleet, pool)
        if room.active > room.replicas:
            return None
        full = static_drift.full_reservations(pool, candidate.book) if may_terminate_first else None
        if full is None and room.room != 0:
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
    """Return when the last reboot of a node ended, since when it is tolerated at the earliest; 0 without one."""
    rebooting = node.claim.condition(REBOOTING) if node.claim is not None else None
    return rebooting.last_transition_ns if rebooting is not None and rebooting.status == "False" else 0


def tolerated_until(fleet: Fleet) -> tuple[int, ...]:
    """Return the instants at which nodes have been unhealthy for too long, those to come; nothing without Repair."""
    if not is_repairing(fleet.settings):
        return ()
    policies = RepairPolicies(policies_of(fleet.inventory.nodepools, fleet.settings))
    nodes = ((state.node, _rebooted_ns(state)) for state in fleet.nodes)
    found = {at_ns for node, since_ns in nodes if node is not None for at_ns in policies.eligible(node, since_ns)}
    return tuple(sorted(at_ns for at_ns in found if at_ns > fleet.now_ns))


class HealthDeletion(msgspec.Struct, frozen=True, gc=False):
    """When the controller of before deletes an unhealthy node."""

    at_ns: int
    is_tripped: bool
    """Whether more than a fifth of the nodes is unhealthy, so that none of them is deleted."""
    is_going: bool = False
    """Whether its NodeClaim is being deleted already, so that only its drain is ended by force."""

    def deletes(self, now_ns: int) -> bool:
        """Whether the node is deleted at an instant."""
        return self.at_ns <= now_ns and not self.is_tripped and not self.is_going


def health_deletions(inventory: Inventory, settings: Settings) -> dict[str, HealthDeletion]:
    """Return by name when unhealthy nodes are deleted, where a controller of its own does that.

    It ends a node's drain at once and deletes its NodeClaim: without budget, veto or a place for its pods.
    """
    return _health_deletions(inventory, settings) if is_apart(settings) else {}


def _health_deletions(inventory: Inventory, settings: Settings) -> dict[str, HealthDeletion]:
    policies = [one for one in policies_of(inventory.nodepools, settings) if one.action is RepairAction.REPLACE]
    nodes = sorted(inventory.nodes, key=lambda node: node.name)
    ailing = {node.name: at_ns for node in nodes if (at_ns := legacy_ailment(policies, node)) is not None}
    if not ailing:
        return {}
    claims = _claims_by_instance(inventory)
    total = Counter(node.labels.get(NODEPOOL) for node in nodes)
    sick = Counter(node.labels.get(NODEPOOL) for node in nodes if node.name in ailing)
    found: dict[str, HealthDeletion] = {}
    for node in nodes:
        claim = claims.get(node.provider_id)
        if claim is None or node.name not in ailing:
            continue
        pool = claim.labels.get(NODEPOOL)
        unhealthy, count = (len(ailing), len(nodes)) if pool is None else (sick[pool], total[pool])
        found[node.name] = HealthDeletion(ailing[node.name], _is_tripped(unhealthy, count), claim.is_deleting)
    return found


def _claims_by_instance(inventory: Inventory) -> dict[str, NodeClaim]:
    """Return NodeClaims by provider ID: not those without, nor those that share one, which Karpenter takes for none.

    Rules: ``NodeClaimForNode`` in ``pkg/utils/node/node.go``.
    """
    count = Counter(claim.provider_id for claim in inventory.nodeclaims)
    return {
        claim.provider_id: claim
        for claim in inventory.nodeclaims
        if claim.provider_id and count[claim.provider_id] == 1
    }


def legacy_deletions(fleet: Fleet, recorder: Recorder) -> tuple[str, ...]:
    """Return the nodes that the controller of before deletes now; why others are not is said as Karpenter says it."""
    claims = _claims_by_instance(fleet.inventory)
    of_node = {node.name: claims[node.provider_id] for node in fleet.inventory.nodes if node.provider_id in claims}
    found = _health_deletions(fleet.inventory, fleet.settings)
    for name in (name for name, one in found.items() if one.at_ns <= fleet.now_ns and one.is_tripped):
        # Both texts as Karpenter writes them.
        message = "more than 20% nodes are unhealthy in the nodepool"
        if NODEPOOL not in of_node[name].labels:
            message = "more then 20% nodes are unhealthy in the cluster"
        recorder.publish("Node", name, NODE_REPAIR_BLOCKED, message)
    return tuple(name for name, one in found.items() if one.deletes(fleet.now_ns))
