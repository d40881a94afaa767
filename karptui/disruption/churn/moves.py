"""Pods that moved because their node was removed, and workloads whose pods move repeatedly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.karpenter.inventory import GonePod
from karptui.kube.generated_names import stem
from karptui.kube.group import group_by
from karptui.kube.objects import Event, controller_of
from karptui.kube.pod import Pod
from karptui.kube.timestamps import MINUTE_NS
from karptui.kube.workload import Workload

EVICTED: Final = frozenset({"Evicted", "Disrupted"})
"""Reasons of events about pods that Karpenter evicts, or deletes at the end of the grace period."""
ADVANCED_NS: Final = 10 * MINUTE_NS
"""A drain that evicts one pod after the other takes this long for each: until its successor is ready."""
KUBELET: Final = "kubelet"
"""Source of events about pods that the kubelet itself evicts, for want of resources: they are not moved."""
_EVICTED_PREFIX: Final = "Evicted pod: "
_MOST_REASONS: Final = 3


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that left a node being removed."""

    pod: str
    """``namespace/name``."""
    workload: str
    """``Kind/namespace/name`` of its workload."""
    node: str = ""
    """Empty if only an event reports the move."""
    at_ns: int
    reason: str = ""
    """From Karpenter's event: ``Underutilized``, ``Forceful Termination``; empty without an event."""


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """A workload whose pods were moved."""

    workload: str
    """``Kind/namespace/name``."""
    moves: int
    pods: int
    """Its current number of pods."""
    first_ns: int
    last_ns: int
    reasons: tuple[str, ...] = ()
    """Most frequent first."""

    @property
    def per_pod(self) -> float:
        """Moves per pod."""
        return self.moves / max(self.pods, 1)


def is_eviction(event: Event) -> bool:
    """Return whether an event reports that Karpenter evicted a pod; kubelets use the same reason."""
    return event.reason in EVICTED and event.involved_kind == "Pod" and event.source != KUBELET


def evicted_controllers(events: Iterable[Event]) -> set[str]:
    """Return ``namespace/name`` of the controllers of evicted pods, which have its name and a suffix."""
    pods = (f"{event.involved_namespace}/{event.involved_name}" for event in events if is_eviction(event))
    return {pod.rpartition("-")[0] for pod in pods}


def moves_of(events: Iterable[Event], gone: Iterable[GonePod], names: WorkloadNames) -> tuple[Move, ...]:
    """Return every known move once, oldest first.

    Args:
        events: Karpenter's events, including kept expired events.
        gone: Pods that were observed to leave nodes being removed.
    """
    by_pod: dict[str, Move] = {}
    for event in events:
        if is_eviction(event):
            key = f"{event.involved_namespace}/{event.involved_name}"
            reason = (
                event.message.removeprefix(_EVICTED_PREFIX)
                if event.message.startswith(_EVICTED_PREFIX)
                else "Forceful Termination"
            )
            move = Move(pod=key, workload=names.of_pod(key), at_ns=event.first_ns, reason=reason)
            earliest = by_pod.setdefault(event.involved_uid or event.key, move)
            if move.at_ns < earliest.at_ns:
                by_pod[event.involved_uid or event.key] = move
    for pod in gone:
        evicted = by_pod.get(pod.uid)
        workload = names.of_gone(pod)
        if evicted is not None:
            by_pod[pod.uid] = msgspec.structs.replace(evicted, node=pod.node_name, workload=workload)
        else:
            by_pod[pod.uid] = Move(pod=pod.key, workload=workload, node=pod.node_name, at_ns=pod.at_ns)
    return tuple(sorted(by_pod.values(), key=lambda move: (move.at_ns, move.pod)))


def moved_workloads(moves: Sequence[Move], names: WorkloadNames) -> tuple[Moved, ...]:
    """Return the workloads of moves, most moves first."""
    by_workload = group_by(moves, lambda move: move.workload)
    moved = [
        Moved(
            workload=workload,
            moves=len(workload_moves),
            pods=names.pods_of(workload),
            first_ns=workload_moves[0].at_ns,
            last_ns=workload_moves[-1].at_ns,
            reasons=tuple(
                reason for reason, _ in Counter(m.reason for m in workload_moves if m.reason).most_common(_MOST_REASONS)
            ),
        )
        for workload, workload_moves in by_workload.items()
    ]
    return tuple(sorted(moved, key=lambda item: (-item.moves, item.workload)))


class WorkloadNames:
    """Finds the workloads of deleted pods from their names and from the pods that replaced them.

    Args:
        namespaces: The namespaces to index; others are skipped, as there may be 100,000 pods.
        workloads: ReplicaSets and other objects that create pods.
    """

    def __init__(self, namespaces: frozenset[str], pods: Iterable[Pod], workloads: Sequence[Workload]) -> None:
        self._owners = OwnerIndex(workloads)
        origins = OriginIndex(self._owners)
        self._by_controller: dict[tuple[str, str], str] = {}
        """By a controller's namespace and name."""
        self._counts: Counter[str] = Counter()
        for workload in workloads:
            if workload.namespace in namespaces:
                top = str(self._owners.behind(workload.kind, workload.namespace, workload.name))
                self._by_controller[workload.namespace, workload.name] = top
        for pod in pods:
            if pod.namespace in namespaces and pod.is_active:
                origin = origins.of(pod)
                self._counts[origin] += 1
                controller = controller_of(pod.owners)
                if controller is not None:
                    self._by_controller[pod.namespace, controller.name] = origin
        self._by_name = {tuple(origin.split("/", 1)[1].split("/", 1)): origin for origin in self._counts}

    def pods_of(self, workload: str) -> int:
        """Return a workload's current number of pods."""
        return self._counts[workload]

    def of_gone(self, pod: GonePod) -> str:
        """Return the workload of a pod with a known controller."""
        namespace = pod.key.partition("/")[0]
        if not pod.owner_name:
            return self.of_pod(pod.key)
        indexed = self._by_controller.get((namespace, pod.owner_name))
        if indexed is not None:
            return indexed
        top = self._owners.behind(pod.owner_kind, namespace, pod.owner_name)
        return self._by_stem(namespace, top.name) or f"{top.kind}/{namespace}/{stem(top.name)}"

    def of_pod(self, key: str) -> str:
        """Return the workload of a pod from its name, which contains its controller's name."""
        namespace, _, name = key.partition("/")
        controller = name.rpartition("-")[0]
        indexed = self._by_controller.get((namespace, controller))
        return indexed or self._by_stem(namespace, controller) or f"Pod/{namespace}/{stem(name)}"

    def _by_stem(self, namespace: str, controller: str) -> str:
        """Return the Deployment of a deleted ReplicaSet, whose name is ``<deployment>-<hash>``; empty if unknown."""
        return self._by_name.get((namespace, controller.rpartition("-")[0]), "")
