"""The order in which Karpenter tries things, and what decides between equals.

NodePools go by weight, pods by what they ask, claims of a run by number of pods. Where Karpenter sorts with Go's
unstable ``sort.Slice``, the order of equals is that of ``go_sort``.
Rules: ``NewScheduler`` and ``sort.Slice`` in ``scheduler.go``, ``queue.go`` and ``nodeclaimtemplate.go`` of
``pkg/controllers/provisioning/scheduling``, ``OrderByWeight`` in ``pkg/utils/nodepool/nodepool.go``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from typing import Final

from karptui.karpenter.labels import AWS_GROUP
from karptui.karpenter.nodeclass import is_ec2
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import Pod
from karptui.kube.resources import CPU, MEMORY
from karptui.provisioning.claim import Claim
from karptui.provisioning.go_sort import go_sort
from karptui.provisioning.pod_class import Stage

_INSERTION_MAX: Final = 12
_REPAIR_MIN: Final = 50


def served_pools(pools: Iterable[NodePool]) -> list[NodePool]:
    """Return the NodePools that this Karpenter manages.

    A controller serves the NodeClasses of its own provider only: EC2NodeClass where any NodePool refers to AWS's group.
    """
    pools = tuple(pools)
    is_aws = any(pool.node_class_ref.group == AWS_GROUP for pool in pools)
    return [pool for pool in pools if is_ec2(pool.node_class_ref) is is_aws]


def usable_pools(pools: Iterable[NodePool]) -> list[NodePool]:
    """Return the NodePools that take part, heaviest first; of equal weight the one whose name comes last."""
    usable = [pool for pool in served_pools(pools) if not pool.is_static and pool.is_ready and not pool.is_deleting]
    usable.sort(key=lambda pool: pool.name, reverse=True)
    usable.sort(key=lambda pool: -pool.weight)
    return usable


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


class ClaimOrder:
    """Claims by number of pods, kept as Go's unstable sort would leave them before each attempt."""

    __slots__ = ("_counts", "_displaced", "claims")

    def __init__(self) -> None:
        self.claims: list[Claim] = []
        self._counts: list[int] = []
        self._displaced = -1
        """Position of the one claim that is out of order, -1 if none is."""

    def append(self, claim: Claim) -> None:
        """Add a claim with its first pod."""
        self.settle()
        self.claims.append(claim)
        self._counts.append(1)
        self._displaced = len(self.claims) - 1

    def grew(self, position: int) -> None:
        """Note that the claim at a position got one more pod."""
        self._counts[position] += 1
        self._displaced = position

    def position(self, claim: Claim) -> int:
        """Return where a claim stands in the settled order."""
        counts = self._counts
        count = len(claim.pods)
        return self.claims.index(claim, bisect_left(counts, count), bisect_right(counts, count))

    def settle(self) -> None:
        """Sort, as Karpenter does before it looks at claims."""
        position = self._displaced
        if position < 0:
            return
        self._displaced = -1
        counts, claims = self._counts, self.claims
        size = len(counts)
        if size > _INSERTION_MAX and (size < _REPAIR_MIN or self._is_sampled(position)):
            if (position == size - 1 or counts[position] <= counts[position + 1]) and (
                position == 0 or counts[position - 1] <= counts[position]
            ):
                return
            order = go_sort(counts)
            self._counts = [counts[i] for i in order]
            self.claims[:] = [claims[i] for i in order]
            return
        # One element out of order is moved and nothing else: before its equals if it grew, behind them if it is new.
        count, claim = counts.pop(position), claims.pop(position)
        target = bisect_right(counts, count) if position == size - 1 and count == 1 else bisect_left(counts, count)
        if size <= _INSERTION_MAX:
            target = self._insertion_target(position, count)
        counts.insert(target, count)
        claims.insert(target, claim)

    def _insertion_target(self, position: int, count: int) -> int:
        """Return where insertion sort leaves the element that was taken from ``position``."""
        counts = self._counts
        if position and counts[position - 1] > count:
            return bisect_right(counts, count, 0, position)
        return bisect_left(counts, count, position)

    def _is_sampled(self, position: int) -> bool:
        """Return whether Go's sort compares this position when it looks for a pivot."""
        quarter = len(self._counts) // 4
        return any(abs(position - quarter * i) <= 1 for i in (1, 2, 3))
