"""Everything that keeps each node from being disrupted, all of it at once: Karpenter names one thing and stops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from msgspec.structs import replace

from karptui.disruption.blocker import Blocker
from karptui.disruption.codes import Code
from karptui.disruption.command import Method
from karptui.disruption.events import EventMessages
from karptui.disruption.fleet import Fleet
from karptui.disruption.gates import Gate, GateCheck, iter_node_gates
from karptui.disruption.no_place import NO_POOLS
from karptui.disruption.pod_blockers import PodBlockers
from karptui.disruption.pool_blockers import PoolBlockers
from karptui.disruption.repair import RepairCode, Stop
from karptui.disruption.should_disrupt import ShouldDisrupt, WantedBy
from karptui.disruption.termination import command_condition, deadline_of
from karptui.karpenter.labels import CAPACITY_TYPE, DO_NOT_DISRUPT, INSTANCE_TYPE, ZONE
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.provisioning.pool_order import skip_reason
from karptui.provisioning.state_node import StateNode

_DYNAMIC: Final = frozenset({Method.EMPTINESS, Method.DRIFT, Method.MULTI_NODE, Method.SINGLE_NODE})
_STATIC: Final = frozenset({Method.STATIC_DRIFT})


def methods_for(fleet: Fleet, node: StateNode) -> frozenset[Method]:
    """Return the methods that can ever take a node: of static NodePools only StaticDrift does."""
    return _STATIC if fleet.is_static(node) else _DYNAMIC


def price_of(fleet: Fleet, node: StateNode) -> float | None:
    """Return what a node costs per hour by its labels, None where that is not known: `ReckonedPrices.known_price`."""
    book = fleet.books.get(node.nodepool_name)
    if book is None:
        return None
    labels = node.labels
    return book.known_price(labels.get(INSTANCE_TYPE, ""), labels.get(ZONE, ""), labels.get(CAPACITY_TYPE, ""))


class BlockerSurvey:
    """Finds the blockers of a fleet; nothing is simulated."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._pods = PodBlockers(fleet)
        self._said = EventMessages(fleet.inventory.events)
        self._pools = PoolBlockers(fleet)
        self.should_disrupt = ShouldDisrupt(fleet)
        """Which methods want a node."""

    def all(self) -> Iterator[Blocker]:
        """Yield what holds the whole cluster, then the blockers of each node, by node name."""
        yield from self.cluster
        for node in self.fleet.nodes:
            yield from self.of(node)

    @cached_property
    def cluster(self) -> tuple[Blocker, ...]:
        """What holds every node."""
        found = [
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
            found.append(Blocker(code=Code.NO_NODEPOOLS, blocks=blocks, message=NO_POOLS, is_wanted=True))
        return tuple(found)

    def of(self, node: StateNode, wanted: WantedBy | None = None) -> tuple[Blocker, ...]:
        """Return the blockers of one node, those of its gates first; nothing for nodes that Karpenter did not make.

        Args:
            node: The node.
            wanted: Which methods want it; worked out where None.
        """
        claim = node.claim
        if claim is None:
            return ()
        if wanted is None:
            wanted = self.should_disrupt.of(node)
        shut = [check for check in iter_node_gates(self.fleet, node) if check.is_open is False]
        if node.is_marked_for_deletion:
            # What would have kept the node from being chosen no longer matters: only the drain is left.
            shut = [check for check in shut if check.gate is Gate.DELETING]
        found = [self._of_gate(node, check, wanted) for check in shut]
        if node.is_marked_for_deletion:
            found.extend(self._pods.of_drain(node))
        else:
            found.extend(self._pods.of(node, methods_for(self.fleet, node), wanted))
            found.extend(self._pools.of(node, wanted))
            if wanted.ailment is not None and self.should_disrupt.repair is not None:
                stop = self.should_disrupt.repair.stop_of(node, wanted.ailment)
                found = found if stop is None else _with_repair(found, stop, node, wanted)
        return self._placed(node, claim, found) if found else ()

    def _placed(self, node: StateNode, claim: NodeClaim, found: Sequence[Blocker]) -> tuple[Blocker, ...]:
        """Return blockers with the node that they are of, and what Karpenter says of each."""
        named = _named(found)
        node_name = node.node_name
        pool_name, price = node.nodepool_name, price_of(self.fleet, node)
        return tuple(
            replace(
                one,
                node_name=node_name,
                claim_name=claim.name,
                pool_name=pool_name,
                price_per_hour=price,
                is_reported=_is_said(one, named),
                quoted_ns=self._said.quoted(node, one.message),
            )
            for one in found
        )

    def of_pool(self, name: str) -> tuple[Blocker, ...]:
        """Return what a NodePool puts in the way of every node of it."""
        return self._pools.of_pool(name)

    def events_about(self, node: StateNode) -> tuple[Mapping[str, int], ...]:
        """Return what events say about a node and its claim."""
        return self._said.about(node)

    def is_type_known(self, node: StateNode) -> bool:
        """Return whether the instance type of a node is among those of its NodePool."""
        book = self.fleet.books.get(node.nodepool_name)
        return book is not None and node.labels.get(INSTANCE_TYPE, "") in book.types

    def _of_gate(self, node: StateNode, check: GateCheck, wanted: WantedBy) -> Blocker:
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
            since_ns=wanted.since_when(blocks, since_ns),
            until_ns=until_ns,
            message=check.message or _COMMAND_MESSAGE,
            is_wanted=wanted.any_of(blocks),
        )

    def _gate_times(self, node: StateNode, gate: Gate) -> tuple[int | None, int | None, str]:
        """Return since when a gate has been shut, until when it will be, and what is written there."""
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
                return None, self.fleet.nominated.get(node.name), ""
            case Gate.NODE_DND:
                return None, None, node.annotations.get(DO_NOT_DISRUPT, "")
            case Gate.NO_NODE:
                return claim.created_ns or None, None, ""
            case _:
                return None, None, node.nodepool_name


def _with_repair(found: Sequence[Blocker], stop: Stop, node: StateNode, wanted: WantedBy) -> list[Blocker]:
    """Return blockers with what keeps the node from Repair: one of them, or one that concerns no other method."""
    if any(str(one.code) == str(stop.code) for one in found):
        return [
            replace(one, blocks=one.blocks | {Method.REPAIR}, is_wanted=True) if one.code == str(stop.code) else one
            for one in found
        ]
    of_pool = stop.code is RepairCode.TRIPPED
    own = Blocker(
        code=Code(stop.code),
        blocks=frozenset({Method.REPAIR}),
        object_kind="NodePool" if of_pool else "Node",
        object_key=node.nodepool_name if of_pool or node.node is None else node.node.name,
        since_ns=wanted.since[Method.REPAIR] or None,
        message=stop.message,
        is_wanted=True,
    )
    return [*found, own]


def _named(found: Sequence[Blocker]) -> Blocker | None:
    """Return the blocker that shuts the first gate, which is the only one that Karpenter names; None if no gate is.

    Protected pods come before all PodDisruptionBudgets; of a command that holds the node Karpenter says nothing.
    """
    gates = [one for one in found if one.code in _GATES and not one.blocks_drain]
    of_pods = (Code.POD_DND, Code.PDB_MULTIPLE, Code.PDB_EXHAUSTED)
    ranked = sorted(gates, key=lambda one: (of_pods.index(one.code) > 0) + 1 if one.code in of_pods else 0)
    return ranked[0] if ranked else None


def _is_said(blocker: Blocker, named: Blocker | None) -> bool:
    if named is None:
        return blocker.code in _SAID_BY_METHODS
    return blocker is named and blocker.code is not Code.IN_COMMAND


_GATES: Final = frozenset(Code(gate) for gate in Gate if gate is not Gate.UNMANAGED)
_COMMAND_MESSAGE: Final = "a disruption command holds the node and waits for its replacements"
_SAID_BY_METHODS: Final = frozenset(
    {
        Code.CONSOLIDATION_DISABLED,
        Code.WHEN_EMPTY_POLICY,
        Code.INSTANCE_TYPE_UNKNOWN,
        Code.NO_CAPACITY_TYPE_LABEL,
        Code.NO_ZONE_LABEL,
        Code.BUFFER_PODS,
    }
)
"""Codes that a method publishes for a node that passed the gates."""
