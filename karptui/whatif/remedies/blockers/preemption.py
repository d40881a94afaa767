"""Which waiting pods kube-scheduler would put in the place of pods whose priority is lowered: preemption, approximated.

Rules: ``pkg/scheduler/framework/plugins/defaultpreemption`` of Kubernetes: a pod that fits nowhere ends the fewest pods
of lower priority that make room for it on one node; of equal nodes the one whose pods began last. Left out:
``preemptionPolicy: Never``, PodDisruptionBudgets, which only choose between nodes, and other pods of low priority.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from karptui.kube.pod import Pod
from karptui.provisioning.destination import Destination
from karptui.provisioning.pod_queue import QueuedPod
from karptui.provisioning.prepared import Prepared, Variant
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.run import Run
from karptui.provisioning.stage_memory import StageMemory
from karptui.whatif.situation import Situation

Taker = tuple[Destination, StageMemory, RequirementSet]


class Preemption(msgspec.Struct, frozen=True):
    """A pod that waits no more, and those that are ended for it."""

    pod_key: str
    node_name: str
    victims: tuple[Pod, ...]


def preemptions(situation: Situation, lowered: Collection[str], priority: int) -> tuple[Preemption, ...]:
    """Return the pods that would take the place of others whose priority is lowered, in kube-scheduler's order.

    Args:
        situation: The cluster as it is.
        lowered: ``namespace/name`` of the pods.
        priority: Their priority then.
    """
    virtual = {pod.uid for pod in situation.prepared.buffer_pods}
    pending = (pod for pod in situation.prepared.pending if pod.uid not in virtual)
    waiting = [pod for pod in pending if pod.template.priority > priority]
    if not waiting or not lowered:
        return ()
    pods = situation.inventory.pods
    emptied = situation.derive(replace(situation.inventory, pods=tuple(one for one in pods if one.key not in lowered)))
    present: dict[str, list[Pod]] = {}
    for one in pods:
        if one.key in lowered and one.node_name:
            present.setdefault(one.node_name, []).append(one)
    as_it_is, without = _Scheduler(situation.prepared), _Scheduler(emptied.prepared)
    found: list[Preemption] = []
    for pod in sorted(waiting, key=lambda one: (-one.template.priority, one.created_ns, one.key)):
        if as_it_is.place(pod):  # it needs nobody's place
            continue
        choices = [
            (victims, taker)
            for taker in without.takers(pod)
            if (victims := without.victims(pod, taker[0], present.get(taker[0].state.name, ()))) is not None
        ]
        if not choices:
            continue
        victims, taker = min(
            choices, key=lambda one: (len(one[0]), -min((pod.start_ns for pod in one[0]), default=0), one[1][0].index)
        )
        without.add(pod, taker)
        node_name = taker[0].state.name
        present[node_name] = [one for one in present.get(node_name, ()) if one not in victims]
        if victims:
            found.append(Preemption(pod.key, node_name, victims))
    return tuple(found)


class _Scheduler:
    """kube-scheduler's filters over a cluster, each pod seeing those before it."""

    def __init__(self, prepared: Prepared) -> None:
        closed = frozenset(
            state.provider_id
            for state in prepared.states
            if state.node is None or not state.is_initialized or state.is_marked_for_deletion
        )
        self._prepared = prepared
        self._run = Run(prepared, Variant(excluded=closed, is_scheduler=True))

    def takers(self, pod: Pod) -> Iterator[Taker]:
        """Yield the nodes that take a pod."""
        queued = self._queued(pod)
        if not self._prepared.is_bindable(queued):
            return
        for stage in self._prepared.classes.required_stages(queued.first):
            memory = self._run.stage_memory(stage, queued)
            for destination, labels in self._run.node_check.takers(queued, memory):
                yield destination, memory, labels

    def place(self, pod: Pod) -> bool:
        """Put a pod on the first node that takes it; return whether there is one."""
        taker = next(self.takers(pod), None)
        if taker is not None:
            self.add(pod, taker)
        return taker is not None

    def add(self, pod: Pod, taker: Taker) -> None:
        """Put a pod on a node."""
        destination, memory, labels = taker
        self._run.node_check.add(self._queued(pod), memory, destination, labels)

    def victims(self, pod: Pod, node: Destination, present: Sequence[Pod]) -> tuple[Pod, ...] | None:
        """Return who of the pods on a node has to end for one that comes; None where that makes no room.

        Args:
            pod: What comes.
            node: The node, without the pods.
            present: The pods; those that have run longest stay if they can.
        """
        filled = self._run.node_check.filled.get(node.index)
        room = node.room if filled is None else filled.room
        left = [have - need for have, need in zip(room, self._queued(pod).owner.row, strict=True)]
        ended: list[Pod] = []
        for one in sorted(present, key=lambda other: (other.start_ns, other.key)):
            row = self._prepared.columns.row(one.template.requests, pods=1)
            rest = [have - need for have, need in zip(left, row, strict=True)]
            if min(rest, default=0) < 0:
                ended.append(one)
            else:
                left = rest
        return tuple(ended)

    def _queued(self, pod: Pod) -> QueuedPod:
        return self._prepared.queued(pod)
