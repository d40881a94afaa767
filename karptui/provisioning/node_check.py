"""Checks whether a pod fits on an existing node.

Rules: ``CanAdd`` in ``pkg/controllers/provisioning/scheduling/existingnode.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from karptui.kube.pod import Pod
from karptui.provisioning.amounts import AmountIndex, roomy
from karptui.provisioning.destination import Destination
from karptui.provisioning.ports import OwnedPorts, clash
from karptui.provisioning.prepared import Prepared, Variant
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.stage_memory import StageMemory
from karptui.provisioning.topology import Topology
from karptui.provisioning.topology_group import narrowed
from karptui.provisioning.topology_spec import host_allowed
from karptui.provisioning.waiting_pods import QueuedPod

_REMEASURE_AFTER: Final = 64
"""Minimum number of placements after which filled nodes are indexed again."""


class FilledNode:
    """A node with pods that the run has scheduled there."""

    __slots__ = ("attached", "labels", "pods", "ports", "room")

    def __init__(self, destination: Destination) -> None:
        self.labels = destination.kind.labels
        self.room = destination.room
        self.ports: tuple[OwnedPorts, ...] = destination.ports
        self.attached = destination.attached
        self.pods: list[Pod] = []


class NodeCheck:
    """Tries existing nodes in order, and records the pods scheduled to them."""

    def __init__(
        self, prepared: Prepared, variant: Variant, topology: Topology, ties: list[tuple[str, str, tuple[str, ...]]]
    ) -> None:
        self._prepared = prepared
        self._is_scheduler = variant.is_scheduler
        self._topology = topology
        self._ties = ties
        self._destinations = prepared.destinations
        self._gone = prepared.destination_index.of(variant.excluded)
        self._waiting = prepared.waiting_destinations if variant.enforces_consolidate_after else 0
        self._kinds = prepared.destination_index.kinds
        self.filled: dict[int, FilledNode] = {}
        self._filled_nodes = 0
        """Filled nodes as bits."""
        self._filled_alike: dict[RequirementSet, int] = {}
        """Filled nodes by their current requirement set, as bits."""
        self._amount_indexes: list[AmountIndex] = []
        self._measured = 0
        """Nodes included in the amount indexes, as bits."""
        self._placed_since = 0
        self._interner = prepared.interner

    def place(self, queued: QueuedPod, stage_memory: StageMemory) -> Destination | None:
        """Schedule a pod to the first node that fits and return the node, or None."""
        for destination, labels in self.takers(queued, stage_memory):
            self.add(queued, stage_memory, destination, labels)
            return destination
        return None

    def takers(
        self, queued: QueuedPod, stage_memory: StageMemory, first: int = 0
    ) -> Iterator[tuple[Destination, RequirementSet]]:
        """Yield the nodes that fit a pod in order, with their requirements including the pod.

        Args:
            first: Index of the node to start with; those before it come last.
        """
        if stage_memory.open_nodes < 0:
            stage_memory.open_nodes = self._open_nodes(queued, stage_memory)
        # Without rules on the single host, labels are decisive for nodes that got no pods yet.
        by_labels = not (stage_memory.host_rules or stage_memory.stage.asked_host or queued.owner.host_ports)
        verdict_by_labels = stage_memory.node_sets
        left = stage_memory.open_nodes & ~(stage_memory.shut_nodes & ~self._filled_nodes)
        late = left & ((1 << first) - 1)
        left ^= late
        while left or late:
            if not left:
                left, late = late, 0
            low = left & -left
            left ^= low
            destination = self._destinations[low.bit_length() - 1]
            verdict = verdict_by_labels.get(destination.kind.labels) if by_labels and not destination.limits else None
            if not verdict or destination.index in self.filled:
                verdict = self.check(queued, stage_memory, destination)
            if verdict:
                yield destination, verdict
                continue
            if verdict is False:
                stage_memory.open_nodes ^= low
            # The result for its labels applies to every node with the same labels.
            alike = 0
            if not stage_memory.node_sets.get(destination.kind.labels, True):
                alike = self._kinds[destination.kind] & ~self._filled_nodes
                stage_memory.shut_nodes |= alike
            if low & self._filled_nodes:
                labels = self.filled[destination.index].labels
                if not stage_memory.node_sets.get(labels, True):
                    alike |= self._filled_alike[labels]
            if alike:
                left &= ~alike
                late &= ~alike

    def _open_nodes(self, queued: QueuedPod, stage_memory: StageMemory) -> int:
        """Return the nodes that would fit the pod if no further pods were scheduled to them, ignoring topology."""
        if not self._destinations:
            return 0
        if self._placed_since >= max(_REMEASURE_AFTER, len(self.filled)):
            self._measure()
        if not self._destinations:
            return 0
        index = self._prepared.destination_index
        if stage_memory.stage not in index.suited:
            index.suited[stage_memory.stage] = self._suited(stage_memory)
        nodes = index.suiting(stage_memory.stage) & ~self._gone
        if self._measured:
            nodes &= ~self._measured | roomy(self._amount_indexes, queued.owner.row)
        if not queued.is_exempt:
            nodes &= ~self._waiting
        return nodes

    def _suited(self, stage_memory: StageMemory) -> int:
        """Return the nodes whose taints and labels do not exclude a stage permanently."""
        nodes = 0
        for kind, members in self._kinds.items():
            if (
                stage_memory.tolerates(kind.taints)
                and self._interner.join_node(kind.labels, stage_memory.stage.asked) is not False
            ):
                nodes |= members
        return nodes

    def check(
        self, queued: QueuedPod, stage_memory: StageMemory, destination: Destination
    ) -> RequirementSet | Literal[False] | None:
        """Return the node's requirements with the pod; None if it does not fit now, False if it never will."""
        filled = self.filled.get(destination.index)
        if filled is not None:
            for need, left in zip(queued.owner.row, filled.room, strict=True):
                if need > left:
                    return False
        if not host_allowed(stage_memory.stage.asked_host, destination.hostname):
            return False
        verdict = stage_memory.host_verdict(destination.hostname)
        if not verdict:
            return verdict
        labels = destination.kind.labels if filled is None else filled.labels
        final = self.labels_with(stage_memory, labels, destination.hostname)
        if not final:
            return final
        owner = queued.owner
        if owner.host_ports and clash(
            queued.pod.key, owner.host_ports, destination.ports if filled is None else filled.ports
        ):
            return False
        if destination.limits and self.exceeds_limits(queued, destination, filled):
            return None
        return final

    def labels_with(
        self, stage_memory: StageMemory, labels: RequirementSet, hostname: str
    ) -> RequirementSet | Literal[False] | None:
        """Return labels narrowed by the pod, its volumes and topology rules; None or False on a conflict."""
        cache = stage_memory.node_sets
        if labels in cache:
            return cache[labels]
        final = self._narrow(stage_memory, labels, hostname)
        if not any(host is not None for _, host in stage_memory.stage.owner.volume_alternatives):
            cache[labels] = final
        return final

    def _narrow(
        self, stage_memory: StageMemory, labels: RequirementSet, hostname: str
    ) -> RequirementSet | Literal[False] | None:
        stage = stage_memory.stage
        base = self._interner.join_node(labels, stage.asked)
        if not base:
            return base
        for alternative in stage.owner.volume_alternatives or ((self._interner.empty, None),):
            volume_requirements, host = alternative
            joined = self._interner.join_node(base, volume_requirements)
            if not joined or not host_allowed(host, hostname):
                continue
            if not stage_memory.rules:
                return joined
            ways, choices, _ = narrowed(stage_memory.rules, joined.value, stage.strict.value)
            for left in ways:
                final = self._interner.join_node(joined, self._interner.left(left))
                if final:
                    stage_memory.note_ties(labels, choices)
                    return final
        return None

    def _measure(self) -> None:
        """Index the filled nodes by remaining amounts, so that new stages need not check each."""
        columns: list[dict[int, int]] = [{} for _ in self._prepared.columns.names]
        self._measured = 0
        for index, filled in self.filled.items():
            bit = 1 << index
            self._measured |= bit
            for column, amount in zip(columns, filled.room, strict=True):
                column[amount] = column.get(amount, 0) | bit
        self._amount_indexes = [AmountIndex(column) for column in columns]
        self._placed_since = 0

    def exceeds_limits(self, queued: QueuedPod, destination: Destination, filled: FilledNode | None) -> bool:
        """Return whether a driver's attachment limit would be exceeded.

        Karpenter also checks drivers that the pod does not use; kube-scheduler does not.
        """
        attached = destination.attached if filled is None else filled.attached
        claims_by_driver: dict[str, set[str]] = {}
        for driver, claim in queued.owner.attachments or ():
            claims_by_driver.setdefault(driver, set()).add(claim)
        return any(
            len(attached.get(driver, frozenset()) | claims_by_driver.get(driver, set())) > limit
            for driver, limit in destination.limits.items()
            if driver in claims_by_driver or not self._is_scheduler
        )

    def add(
        self, queued: QueuedPod, stage_memory: StageMemory, destination: Destination, labels: RequirementSet
    ) -> None:
        """Schedule a pod to a node that fits."""
        filled = self.filled.get(destination.index)
        bit = 1 << destination.index
        if filled is None:
            filled = self.filled[destination.index] = FilledNode(destination)
            self._filled_nodes |= bit
        elif filled.labels is not labels:
            self._filled_alike[filled.labels] ^= bit
        self._filled_alike[labels] = self._filled_alike.get(labels, 0) | bit
        for key, equals in stage_memory.ties_of(filled.labels, labels):
            self._ties.append((queued.pod.key, key, equals))
        owner = queued.owner
        self._placed_since += 1
        filled.pods.append(queued.pod)
        filled.labels = labels
        filled.room = [left - need for left, need in zip(filled.room, owner.row, strict=True)]
        if owner.host_ports:
            filled.ports = (*filled.ports, (queued.pod.key, owner.host_ports))
        if owner.attachments:
            attached = {driver: set(claims) for driver, claims in filled.attached.items()}
            for driver, claim in owner.attachments:
                attached.setdefault(driver, set()).add(claim)
            filled.attached = {driver: frozenset(claims) for driver, claims in attached.items()}
        self._topology.record(owner, labels, destination.hostname, destination.kind.taints)
