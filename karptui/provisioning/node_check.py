"""Whether a node that exists takes a pod.

Rules: ``CanAdd`` in ``pkg/controllers/provisioning/scheduling/existingnode.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from karptui.kube.pod import Pod
from karptui.provisioning.destination import Destination
from karptui.provisioning.ports import OwnedPorts, clash
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.stage_run import StageRun
from karptui.provisioning.topology import narrowed
from karptui.provisioning.topology_spec import host_allowed

if TYPE_CHECKING:
    from karptui.provisioning.run import QueuedPod, Run


class FilledNode:
    """A node on which the run has placed pods."""

    __slots__ = ("attached", "labels", "pods", "ports", "room")

    def __init__(self, destination: Destination) -> None:
        self.labels = destination.kind.labels
        self.room = destination.room
        self.ports: tuple[OwnedPorts, ...] = destination.ports
        self.attached = destination.attached
        self.pods: list[Pod] = []


class NodeCheck:
    """Tries nodes in order, and remembers what was placed on them."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._destinations = run.prepared.destinations
        self._gone = run.variant.excluded
        self._waiting = run.prepared.waiting_destinations if run.variant.enforces_consolidate_after else frozenset()
        self.filled: dict[int, FilledNode] = {}
        self._interner = run.prepared.interner

    def place(self, queued: QueuedPod, stage_run: StageRun) -> bool:
        """Place a pod on the first node that takes it; return whether there was one."""
        dropped: set[int] = set()
        found = -1
        labels: RequirementSet | None = None
        for index in stage_run.open_nodes:
            verdict = self.check(queued, stage_run, self._destinations[index])
            if verdict is False:
                dropped.add(index)
            elif verdict is not None:
                found, labels = index, verdict
                break
        if dropped:
            stage_run.open_nodes = [index for index in stage_run.open_nodes if index not in dropped]
        while found < 0 and stage_run.next_node < len(self._destinations):
            index = stage_run.next_node
            stage_run.next_node += 1
            verdict = self.check(queued, stage_run, self._destinations[index])
            if verdict is not False:
                stage_run.open_nodes.append(index)
                if verdict is not None:
                    found, labels = index, verdict
        if labels is None:
            return False
        self._add(queued, stage_run, self._destinations[found], labels)
        return True

    def check(
        self, queued: QueuedPod, stage_run: StageRun, destination: Destination
    ) -> RequirementSet | Literal[False] | None:
        """Return what the node's labels would be with the pod; None if it does not take it now, False if it never will."""
        if destination.is_full or destination.state.provider_id in self._gone:
            return False
        if not queued.is_exempt and destination.index in self._waiting:
            return False
        filled = self.filled.get(destination.index)
        for need, left in zip(queued.owner.row, destination.room if filled is None else filled.room, strict=True):
            if need > left:
                return False
        if not self._suits(stage_run, destination):
            return False
        verdict = stage_run.host_verdict(destination.hostname)
        if not verdict:
            return verdict
        labels = destination.kind.labels if filled is None else filled.labels
        final = self._labels_with(stage_run, labels, destination.hostname)
        if not final:
            return final
        owner = queued.owner
        if owner.host_ports and clash(
            queued.pod.key, owner.host_ports, destination.ports if filled is None else filled.ports
        ):
            return False
        if destination.limits and self._exceeds_limits(queued, destination, filled):
            return None
        return final

    def _suits(self, stage_run: StageRun, destination: Destination) -> bool:
        kind = destination.kind
        known = stage_run.kinds.get(kind)
        if known is None:
            known = stage_run.kinds[kind] = stage_run.tolerates(kind.taints)
        return known and host_allowed(stage_run.stage.asked_host, destination.hostname)

    def _labels_with(
        self, stage_run: StageRun, labels: RequirementSet, hostname: str
    ) -> RequirementSet | Literal[False] | None:
        known = stage_run.node_sets
        if labels in known:
            return known[labels]
        final = self._narrow(stage_run, labels, hostname)
        if not any(host is not None for _, host in stage_run.stage.owner.volume_alternatives):
            known[labels] = final
        return final

    def _narrow(
        self, stage_run: StageRun, labels: RequirementSet, hostname: str
    ) -> RequirementSet | Literal[False] | None:
        stage = stage_run.stage
        base = self._interner.join_node(labels, stage.asked)
        if not base:
            return base
        for alternative in stage.owner.volume_alternatives or ((self._interner.empty, None),):
            wanted, host = alternative
            joined = self._interner.join_node(base, wanted)
            if not joined or not host_allowed(host, hostname):
                continue
            if not stage_run.rules:
                return joined
            left, choices, unmet = narrowed(stage_run.rules, joined.value, stage.strict.value)
            if unmet is not None:
                continue
            final = self._interner.join_node(joined, self._interner.left(left))
            if final:
                equals = [
                    (group.spec.key, choice.equals)
                    for (group, _), choice in zip(stage_run.rules, choices, strict=True)
                    if choice.equals
                ]
                if equals:
                    stage_run.ties[labels] = equals
                return final
        return None

    @staticmethod
    def _exceeds_limits(queued: QueuedPod, destination: Destination, filled: FilledNode | None) -> bool:
        """Return whether any driver would have more attachments than allowed; drivers the pod does not use count too."""
        attached = destination.attached if filled is None else filled.attached
        wanted: dict[str, set[str]] = {}
        for driver, claim in queued.owner.attachments or ():
            wanted.setdefault(driver, set()).add(claim)
        return any(
            len(attached.get(driver, frozenset()) | wanted.get(driver, set())) > limit
            for driver, limit in destination.limits.items()
        )

    def _add(self, queued: QueuedPod, stage_run: StageRun, destination: Destination, labels: RequirementSet) -> None:
        filled = self.filled.get(destination.index)
        if filled is None:
            filled = self.filled[destination.index] = FilledNode(destination)
        for key, equals in stage_run.ties.get(filled.labels, ()):
            self._run.ties.append((queued.pod.key, key, equals))
        owner = queued.owner
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
        self._run.topology.record(
            owner, labels, destination.hostname, destination.kind.taints, states_rules=queued.is_counted
        )
