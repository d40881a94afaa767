"""Pods to be scheduled, and the order in which a run schedules them.

Rules: ``queue.go`` in ``pkg/controllers/provisioning/scheduling``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karptui.kube.pod import Pod
from karptui.kube.resources import CPU, MEMORY
from karptui.provisioning.pod_class import Stage


class QueuedPod:
    """A pod to be scheduled."""

    __slots__ = ("first", "is_counted", "is_exempt", "last_length", "owner", "pod")

    def __init__(self, pod: Pod, first: Stage, *, is_exempt: bool, is_counted: bool) -> None:
        self.pod = pod
        self.first = first
        """Stage with all its preferences."""
        self.owner = first.owner
        self.is_exempt = is_exempt
        """Whether it may use nodes that are within consolidateAfter."""
        self.is_counted = is_counted
        """Whether its topology rules apply; if its volumes are missing they apply only after a first failure."""
        self.last_length = 0
        """Queue length when it was last put back, 0 if never."""


def queue_order(pods: Iterable[QueuedPod], columns: Mapping[str, int]) -> list[QueuedPod]:
    """Return pods in the order of a run: most cpu first, then most memory, then oldest.

    Args:
        pods: Pods to be scheduled.
        columns: Column of each resource in the rows of amounts.
    """
    cpu, memory = columns.get(CPU), columns.get(MEMORY)
    return sorted(
        pods,
        key=lambda queued: (
            -queued.owner.row[cpu] if cpu is not None else 0,
            -queued.owner.row[memory] if memory is not None else 0,
            queued.pod.created_ns,
            queued.pod.uid,
        ),
    )
