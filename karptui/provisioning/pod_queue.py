"""Pods that wait for a place, and in which order a run takes them up: by what they ask.

Rules: ``queue.go`` in ``pkg/controllers/provisioning/scheduling``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karptui.kube.pod import Pod
from karptui.kube.resources import CPU, MEMORY
from karptui.provisioning.pod_class import Stage


class QueuedPod:
    """A pod to place."""

    __slots__ = ("first", "is_counted", "is_exempt", "last_length", "owner", "pod")

    def __init__(self, pod: Pod, first: Stage, *, is_exempt: bool, is_counted: bool) -> None:
        self.pod = pod
        self.first = first
        """With all its preferences."""
        self.owner = first.owner
        self.is_exempt = is_exempt
        """Whether it may go to nodes that wait for consolidateAfter."""
        self.is_counted = is_counted
        """Whether its topology rules hold: if its volumes cannot be found they do only after it failed once."""
        self.last_length = 0
        """Queue length after it was last put back, 0 if never."""


def queue_order(pods: Iterable[QueuedPod], columns: Mapping[str, int]) -> list[QueuedPod]:
    """Return pods as a run takes them up: most cpu first, then most memory, then the oldest.

    Args:
        pods: To be placed.
        columns: Place of each resource in the rows of amounts.
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
