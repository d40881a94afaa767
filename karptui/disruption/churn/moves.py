"""Pods that had to go because their node did, and the workloads that are moved again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.karpenter.inventory import GonePod
from karptui.kube.generated_names import stem
from karptui.kube.objects import Event, controller_of
from karptui.kube.pod import Pod
from karptui.kube.workload import Workload

EVICTED: Final = frozenset({"Evicted", "Disrupted"})
"""Reasons of events about pods that Karpenter evicts, or deletes at the end of a grace period."""
_SAID: Final = "Evicted pod: "
_MOST_REASONS: Final = 3


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that left a node which was on its way out."""

    pod: str
    """``namespace/name``."""
    workload: str
    """``Kind/namespace/name`` of what made it."""
    node: str = ""
    """Empty where only an event tells of it."""
    at_ns: int
    reason: str = ""
    """As Karpenter's event has it: ``Underutilized``, ``Forceful Termination``; empty without an event."""


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """A workload of which pods were moved."""

    workload: str
    """``Kind/namespace/name``."""
    moves: int
    pods: int
    """How many pods it has now."""
    first_ns: int
    last_ns: int
    reasons: tuple[str, ...] = ()
    """The most frequent first."""

    @property
    def per_pod(self) -> float:
        """How often each of its pods was moved on average."""
        return self.moves / max(self.pods, 1)


def moves_of(events: Iterable[Event], gone: Iterable[GonePod], names: WorkloadNames) -> tuple[Move, ...]:
    """Return every move that anything tells of, once, the oldest first.

    Args:
        events: Karpenter's, those it has forgotten too.
        gone: Pods seen to leave nodes that were leaving.
        names: Finds the workloads.
    """
    found: dict[str, Move] = {}
    for event in events:
        if event.reason in EVICTED and event.involved_kind == "Pod":
            key = f"{event.involved_namespace}/{event.involved_name}"
            reason = event.message.removeprefix(_SAID) if event.message.startswith(_SAID) else "Forceful Termination"
            move = Move(pod=key, workload=names.of_pod(key), at_ns=event.first_ns, reason=reason)
            known = found.setdefault(event.involved_uid or event.key, move)
            if move.at_ns < known.at_ns:
                found[event.involved_uid or event.key] = move
    for one in gone:
        known_move = found.get(one.uid)
        workload = names.of_gone(one)
        if known_move is not None:
            found[one.uid] = msgspec.structs.replace(known_move, node=one.node_name, workload=workload)
        else:
            found[one.uid] = Move(pod=one.key, workload=workload, node=one.node_name, at_ns=one.at_ns)
    return tuple(sorted(found.values(), key=lambda move: (move.at_ns, move.pod)))


def moved_workloads(moves: Sequence[Move], names: WorkloadNames) -> tuple[Moved, ...]:
    """Return the workloads behind moves, those with the most moves first."""
    by_workload: dict[str, list[Move]] = {}
    for move in moves:
        by_workload.setdefault(move.workload, []).append(move)
    found = [
        Moved(
            workload=workload,
            moves=len(own),
            pods=names.pods_of(workload),
            first_ns=own[0].at_ns,
            last_ns=own[-1].at_ns,
            reasons=tuple(name for name, _ in Counter(m.reason for m in own if m.reason).most_common(_MOST_REASONS)),
        )
        for workload, own in by_workload.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.moves, one.workload)))


class WorkloadNames:
    """Finds the workloads of pods that are gone, from their names and from the pods that have taken their place.

    Args:
        namespaces: Where to look; pods elsewhere are passed over, as there may be a hundred thousand.
        pods: Every pod that is there.
        workloads: ReplicaSets and whatever else is known to make pods.
    """

    def __init__(self, namespaces: frozenset[str], pods: Iterable[Pod], workloads: Sequence[Workload]) -> None:
        self._owners = OwnerIndex(workloads)
        origins = OriginIndex(self._owners)
        self._by_controller: dict[tuple[str, str], str] = {}
        """By namespace and name of a controller."""
        self._counts: Counter[str] = Counter()
        for workload in workloads:
            if workload.namespace in namespaces:
                behind = str(self._owners.behind(workload.kind, workload.namespace, workload.name))
                self._by_controller[workload.namespace, workload.name] = behind
        for pod in pods:
            if pod.namespace in namespaces and pod.is_active:
                origin = origins.of(pod)
                self._counts[origin] += 1
                controller = controller_of(pod.owners)
                if controller is not None:
                    self._by_controller[pod.namespace, controller.name] = origin
        self._written = {tuple(origin.split("/", 1)[1].split("/", 1)): origin for origin in self._counts}

    def pods_of(self, workload: str) -> int:
        """Return how many pods a workload has now."""
        return self._counts[workload]

    def of_gone(self, pod: GonePod) -> str:
        """Return the workload of a pod whose controller is known."""
        namespace = pod.key.partition("/")[0]
        if not pod.owner_name:
            return self.of_pod(pod.key)
        known = self._by_controller.get((namespace, pod.owner_name))
        if known is not None:
            return known
        behind = self._owners.behind(pod.owner_kind, namespace, pod.owner_name)
        return self._by_stem(namespace, behind.name) or f"{behind.kind}/{namespace}/{stem(behind.name)}"

    def of_pod(self, key: str) -> str:
        """Return the workload of a pod of which only the name is known: controllers lend it theirs."""
        namespace, _, name = key.partition("/")
        controller = name.rpartition("-")[0]
        known = self._by_controller.get((namespace, controller))
        return known or self._by_stem(namespace, controller) or f"Pod/{namespace}/{stem(name)}"

    def _by_stem(self, namespace: str, controller: str) -> str:
        """Return the Deployment of a ReplicaSet that is gone itself, which is named ``<deployment>-<hash>``."""
        return self._written.get((namespace, controller.rpartition("-")[0]), "")
