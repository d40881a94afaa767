"""Finds all blockers of each node at once; Karpenter reports the first and stops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from msgspec.structs import replace

from karptui.disruption.codes import Blocker, Code
from karptui.disruption.command import Method
from karptui.disruption.do_not_disrupt import pod_message
from karptui.disruption.drain import Hold, WaitingPod, waiting_pods
from karptui.disruption.events import FOR_EVER_NS, EventMessages
from karptui.disruption.fleet import Fleet
from karptui.disruption.gates import Gate, GateCheck, iter_node_gates, pdb_message
from karptui.disruption.no_place import NO_POOLS
from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.disruption.pool_blockers import PoolBlockers
from karptui.disruption.repair import RepairCode, Stop
from karptui.disruption.should_disrupt import ShouldDisrupt, WantedBy, not_before
from karptui.disruption.termination import command_condition, deadline_of
from karptui.karpenter.labels import CAPACITY_TYPE, DO_NOT_DISRUPT, INSTANCE_TYPE, ZONE
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.pdb_limits import PdbBlock
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS
from karptui.provisioning.pool_order import skip_reason
from karptui.provisioning.state_node import StateNode

_EVENTUAL: Final = frozenset({Method.DRIFT, Method.STATIC_DRIFT})
_HOLD_CODES: Final = {Hold.DND: Code.POD_DND, Hold.PDB: Code.PDB_EXHAUSTED, Hold.TERMINATING: Code.TERMINATING}


class PodBlockers:
    """Finds the blockers that a node's pods cause."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._owners = OwnerIndex(fleet.inventory.workloads)
        self._origins = OriginIndex(self._owners)

    def of(self, node: StateNode, blocks: frozenset[Method], wanted_by: WantedBy) -> Iterator[Blocker]:
        """Yield a blocker for each protected pod, and for each pod whose eviction PodDisruptionBudgets prevent."""
        assert node.claim is not None
        if node.claim.termination_grace_period_ns is not None:
            blocks -= _EVENTUAL
        predicates = self.fleet.pods
        may_hold = predicates.may_hold
        holding = [pod for pod in (*node.pods, *node.ending) if may_hold(pod)]
        if not holding:
            return
        wanted_ns = wanted_by.floor(blocks)
        holding.sort(key=lambda pod: (pod.template.namespace, pod.name))
        for pod in holding:
            if not predicates.is_disruptable(pod):
                yield self._protected(pod, blocks, wanted_ns)
            else:
                block = predicates.pdb_block(pod)
                if block is not None:
                    yield self._pdb_blocker(pod, block, blocks, wanted_ns)

    def _protected(self, pod: Pod, blocks: frozenset[Method], wanted_ns: int | None) -> Blocker:
        protection = self.fleet.pods.protection(pod)
        return Blocker(
            code=Code.POD_DND,
            blocks=blocks,
            object_kind="Pod",
            object_key=pod.key,
            owner=self._owner(pod),
            origin=self._origins.of(pod),
            value=protection.value,
            since_ns=not_before(bound_ns(pod), wanted_ns),
            until_ns=protection.until_ns if protection.until_ns != ABSENT_NS else None,
            message=pod_message(pod),
            is_wanted=wanted_ns is not None,
            pod_uid=pod.uid,
        )

    def _pdb_blocker(self, pod: Pod, block: PdbBlock, blocks: frozenset[Method], wanted_ns: int | None) -> Blocker:
        if len(block.pdbs) > 1:
            began = max(pod.created_ns, *(pdb.created_ns for pdb in block.pdbs)) or None
        else:
            began = block.pdbs[0].allowed_since_ns or None
        return Blocker(
            code=Code(block.kind),
            blocks=blocks,
            object_kind="Pod",
            object_key=pod.key,
            owner=self._owner(pod),
            origin=self._origins.of(pod),
            value=" ".join(pdb.key for pdb in block.pdbs),
            since_ns=not_before(began, wanted_ns),
            message=pdb_message(block),
            is_wanted=wanted_ns is not None,
            pod_uid=pod.uid,
        )

    def of_drain(self, node: StateNode) -> Iterator[Blocker]:
        """Yield the pods that a drain waits for and cannot simply evict."""
        assert node.claim is not None
        deadline = deadline_of(node.claim)
        for waiting in waiting_pods(self.fleet, node, deadline):
            if waiting.hold in _HOLD_CODES:
                yield self._draining(node, waiting)

    def _draining(self, node: StateNode, waiting: WaitingPod) -> Blocker:
        assert node.claim is not None
        pod = waiting.pod
        code = _HOLD_CODES[waiting.hold]
        if waiting.hold is Hold.PDB:
            block = self.fleet.pods.pdb_block(pod)
            assert block is not None
            code = Code(block.kind)
        ends = [end for end in (waiting.until_ns, waiting.forced_ns) if end is not None]
        return Blocker(
            code=code,
            blocks_drain=True,
            object_kind="Pod",
            object_key=pod.key,
            owner=self._owner(pod),
            origin=self._origins.of(pod),
            value=waiting.holder,
            since_ns=max(node.claim.deletion_ns, bound_ns(pod) or 0) or None,
            until_ns=min(ends, default=None),
            message=f"the drain waits for the pod ({waiting.hold})",
            is_wanted=True,
            pod_uid=pod.uid,
        )

    def _owner(self, pod: Pod) -> str:
        owner = self._owners.of(pod)
        return "" if owner is None else str(owner)


def bound_ns(pod: Pod) -> int | None:
    """Return when a pod was bound to its node, or the best known approximation."""
    return pod.scheduled_ns or pod.start_ns or pod.created_ns or None


_DYNAMIC: Final = frozenset({Method.EMPTINESS, Method.DRIFT, Method.MULTI_NODE, Method.SINGLE_NODE})
_STATIC: Final = frozenset({Method.STATIC_DRIFT})


def methods_for(fleet: Fleet, node: StateNode) -> frozenset[Method]:
    """Return the methods that can disrupt a node: only StaticDrift for static NodePools."""
    return _STATIC if fleet.is_static(node) else _DYNAMIC


def price_of(fleet: Fleet, node: StateNode) -> float | None:
    """Return a node's price per hour by its labels, or None if unknown: `ReckonedPrices.known_price`."""
    book = fleet.books.get(node.nodepool_name)
    if book is None:
        return None
    labels = node.labels
    return book.known_price(labels.get(INSTANCE_TYPE, ""), labels.get(ZONE, ""), labels.get(CAPACITY_TYPE, ""))


class BlockerSurvey:
    """Finds the blockers of a fleet, without simulations."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._pods = PodBlockers(fleet)
        self._event_messages = EventMessages(fleet.inventory.events)
        self._pools = PoolBlockers(fleet)
        self.should_disrupt = ShouldDisrupt(fleet)
        """Which methods want a node."""

    @cached_property
    def cluster(self) -> tuple[Blocker, ...]:
        """The blockers of every node."""
        blockers = [
            Blocker(
                code=Code.UNSYNCED,
                claim_name=claim.name,
                blocks=_DYNAMIC | _STATIC,
                object_kind="NodeClaim",
                object_key=claim.name,
                since_ns=claim.created_ns or None,
                message="voluntary disruption is paused: the NodeClaim has no provider ID yet",
                is_wanted=True,
            )
            for claim in self.fleet.inventory.nodeclaims
            if not claim.provider_id
        ]
        pools = self.fleet.pools.values()
        if pools and not any(skip_reason(pool) is None for pool in pools):
            blocks = frozenset({Method.DRIFT, Method.MULTI_NODE, Method.SINGLE_NODE})
            blockers.append(Blocker(code=Code.NO_NODEPOOLS, blocks=blocks, message=NO_POOLS, is_wanted=True))
        return tuple(blockers)

    def of(self, node: StateNode, wanted_by: WantedBy | None = None) -> tuple[Blocker, ...]:
        """Return the blockers of a node, gates first; empty for nodes that Karpenter does not manage.

        Args:
            wanted_by: Which methods want it; computed if None.
        """
        claim = node.claim
        if claim is None:
            return ()
        if wanted_by is None:
            wanted_by = self.should_disrupt.of(node)
        closed = [check for check in iter_node_gates(self.fleet, node) if check.is_open is False]
        if node.is_marked_for_deletion:
            # The gates no longer matter for a node that is being deleted: only its drain does.
            closed = [check for check in closed if check.gate is Gate.DELETING]
        blockers = [self._of_gate(node, check, wanted_by) for check in closed]
        if node.is_marked_for_deletion:
            blockers.extend(self._pods.of_drain(node))
        else:
            blockers.extend(self._pods.of(node, methods_for(self.fleet, node), wanted_by))
            blockers.extend(self._pools.of(node, wanted_by))
            if wanted_by.ailment is not None and self.should_disrupt.repair is not None:
                stop = self.should_disrupt.repair.stop_of(node, wanted_by.ailment)
                blockers = blockers if stop is None else _with_repair(blockers, stop, node, wanted_by)
        return self._completed(node, claim, blockers) if blockers else ()

    def _completed(self, node: StateNode, claim: NodeClaim, blockers: Sequence[Blocker]) -> tuple[Blocker, ...]:
        """Return blockers with their node, and whether Karpenter reports each."""
        reported = _reported(blockers)
        node_name = node.node_name
        pool_name, price = node.nodepool_name, price_of(self.fleet, node)
        return tuple(
            replace(
                blocker,
                node_name=node_name,
                claim_name=claim.name,
                pool_name=pool_name,
                price_per_hour=price,
                is_reported=_is_reported(blocker, reported),
                quoted_ns=self._event_messages.quoted(node, blocker.message),
            )
            for blocker in blockers
        )

    def of_pool(self, name: str) -> tuple[Blocker, ...]:
        """Return the blockers that a NodePool causes for all its nodes."""
        return self._pools.of_pool(name)

    def events_about(self, node: StateNode) -> tuple[Mapping[str, int], ...]:
        """Return the times of events about a node and its claim, by message."""
        return self._event_messages.about(node)

    def is_type_known(self, node: StateNode) -> bool:
        """Return whether a node's instance type is in its NodePool's list."""
        book = self.fleet.books.get(node.nodepool_name)
        return book is not None and node.labels.get(INSTANCE_TYPE, "") in book.types

    def _of_gate(self, node: StateNode, check: GateCheck, wanted_by: WantedBy) -> Blocker:
        blocks = methods_for(self.fleet, node)
        kind, _, key = check.object_key.partition("/")
        assert node.claim is not None
        if not kind:
            kind, key = ("Node", node.node.name) if node.node is not None else ("NodeClaim", node.claim.name)
        since_ns, until_ns, value = self._gate_times(node, check.gate)
        return Blocker(
            code=Code(check.gate),
            blocks=blocks,
            object_kind=kind,
            object_key=key,
            value=value,
            since_ns=wanted_by.since_when(blocks, since_ns),
            until_ns=until_ns,
            message=check.message or _COMMAND_MESSAGE,
            is_wanted=wanted_by.any_of(blocks),
        )

    def _gate_times(self, node: StateNode, gate: Gate) -> tuple[int | None, int | None, str]:
        """Return since when a gate is closed, until when, and the value that closes it."""
        claim = node.claim
        assert claim is not None
        match gate:
            case Gate.IN_COMMAND:
                condition = command_condition(node)
                since = None if condition is None else condition.last_transition_ns
                return since, None, "" if condition is None else condition.reason
            case Gate.NOT_INITIALIZED:
                condition = claim.condition("Initialized")
                if condition is None:
                    return claim.created_ns or None, None, ""
                return condition.last_transition_ns or claim.created_ns or None, None, condition.message
            case Gate.DELETING:
                deadline = deadline_of(claim)
                return claim.deletion_ns or None, None if deadline is None else deadline.at_ns, ""
            case Gate.NOMINATED:
                until_ns = self.fleet.nominated.get(node.name)
                return None, None if until_ns == FOR_EVER_NS else until_ns, ""
            case Gate.NODE_DND:
                return None, None, node.annotations.get(DO_NOT_DISRUPT, "")
            case Gate.NO_NODE:
                return claim.created_ns or None, None, ""
            case _:
                return None, None, node.nodepool_name


def _with_repair(blockers: Sequence[Blocker], stop: Stop, node: StateNode, wanted_by: WantedBy) -> list[Blocker]:
    """Return blockers with the one that prevents Repair: an existing one extended, or a new one for Repair only."""
    if any(str(blocker.code) == str(stop.code) for blocker in blockers):
        return [
            replace(blocker, blocks=blocker.blocks | {Method.REPAIR}, is_wanted=True)
            if str(blocker.code) == str(stop.code)
            else blocker
            for blocker in blockers
        ]
    of_pool = stop.code is RepairCode.TRIPPED
    repair_blocker = Blocker(
        code=Code(stop.code),
        blocks=frozenset({Method.REPAIR}),
        object_kind="NodePool" if of_pool else "Node",
        object_key=node.nodepool_name if of_pool or node.node is None else node.node.name,
        since_ns=wanted_by.since[Method.REPAIR] or None,
        message=stop.message,
        is_wanted=True,
    )
    return [*blockers, repair_blocker]


def _reported(blockers: Sequence[Blocker]) -> Blocker | None:
    """Return the blocker of the first closed gate, the only one that Karpenter reports; None if all are open.

    Protected pods precede all PodDisruptionBudgets. Karpenter reports nothing about a node held by a command.
    """
    gates = [blocker for blocker in blockers if blocker.code in _GATES and not blocker.blocks_drain]
    pod_codes = (Code.POD_DND, Code.PDB_MULTIPLE, Code.PDB_EXHAUSTED)
    ranked = sorted(
        gates, key=lambda blocker: (pod_codes.index(blocker.code) > 0) + 1 if blocker.code in pod_codes else 0
    )
    return ranked[0] if ranked else None


def _is_reported(blocker: Blocker, reported: Blocker | None) -> bool:
    if reported is None:
        return blocker.code in _REPORTED_BY_METHODS
    return blocker is reported and blocker.code is not Code.IN_COMMAND


_GATES: Final = frozenset(Code(gate) for gate in Gate if gate is not Gate.UNMANAGED)
_COMMAND_MESSAGE: Final = "a disruption command includes the node and waits for its replacements"
_REPORTED_BY_METHODS: Final = frozenset(
    {
        Code.CONSOLIDATION_DISABLED,
        Code.WHEN_EMPTY_POLICY,
        Code.INSTANCE_TYPE_UNKNOWN,
        Code.NO_CAPACITY_TYPE_LABEL,
        Code.NO_ZONE_LABEL,
        Code.BUFFER_PODS,
    }
)
"""Codes that a method reports for a node that passed the gates."""
