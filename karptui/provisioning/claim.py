"""NodeClaims to be created in a run: hostnames, reservations, and the order Karpenter tries them.

Where Karpenter uses Go's unstable ``sort.Slice``, equal claims are ordered by ``go_sort``. Rules:
``nodeclaim.go``, ``reservationmanager.go`` and ``sort.Slice`` in ``scheduler.go`` of
``pkg/controllers/provisioning/scheduling``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from typing import Final

from karptui.kube.pod import Pod
from karptui.provisioning.catalogue import Catalogue
from karptui.provisioning.go_sort import go_sort
from karptui.provisioning.ports import OwnedPorts
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.template import Template
from karptui.provisioning.topology_group import TopologyGroup


def reservation_capacity(catalogues: Iterable[Catalogue]) -> dict[str, int]:
    """Return free instances by reservation id, the minimum over all NodePools' types."""
    least: dict[str, int] = {}
    for catalogue in catalogues:
        for reservation, count in catalogue.reservation_capacity.items():
            least[reservation] = min(count, least.get(reservation, count))
    return least


class Reservations:
    """Free instances of each reservation during a run."""

    __slots__ = ("credited", "remaining", "version")

    def __init__(self, capacity: Mapping[str, int], credited: str = "") -> None:
        self.remaining = dict(capacity)
        self.credited = credited if credited in self.remaining else ""
        """Reservation whose instance is freed by a node that is terminated first."""
        if self.credited:
            self.remaining[self.credited] += 1
        self.version = 0
        """Increases whenever something is reserved or released."""

    def reservable(self, names: Iterable[str], held: frozenset[str]) -> frozenset[str]:
        """Return the reservations that a claim can have, given those it already holds."""
        return frozenset(name for name in names if name in held or self.remaining[name] > 0)

    def exchange(self, held: frozenset[str], needed: frozenset[str]) -> None:
        """Reserve newly wanted reservations and release those no longer wanted."""
        if held == needed:
            return
        self.version += 1
        for reservation in needed - held:
            self.remaining[reservation] -= 1
        for reservation in held - needed:
            self.remaining[reservation] += 1


class Hostnames:
    """Hostnames of a run."""

    __slots__ = ("_given", "_hostnames", "_shown")

    def __init__(self) -> None:
        self._given = 0
        self._hostnames: Iterable[str] = ()
        """All hostnames at the end of the run; only iterated if a message shows them."""
        self._shown: dict[TopologyGroup, dict[str, int]] = {}

    def next(self) -> str:
        """Return a placeholder hostname for a new node."""
        self._given += 1
        return f"hostname-placeholder-{self._given:04d}"

    def shown_counts(self, group: TopologyGroup) -> dict[str, int]:
        """Return the counts for a rule's message, which shows those at the end of the run."""
        if not group.is_hostname:
            return group.counts
        counts = self._shown.get(group)
        if counts is None:
            counts = self._shown[group] = {}
            self._fill(group, counts)
        return counts

    def finish(self, hostnames: Iterable[str]) -> None:
        """Complete the counts in messages, which include hosts without pods.

        Args:
            hostnames: Those of existing nodes and of claims.
        """
        self._hostnames = hostnames
        for group, counts in self._shown.items():
            self._fill(group, counts)

    def _fill(self, group: TopologyGroup, counts: dict[str, int]) -> None:
        self._hostnames = tuple(self._hostnames)
        counts.update(dict.fromkeys(self._hostnames, 0))
        counts.update(group.counts)


class Claim:
    """A NodeClaim of this run."""

    __slots__ = (
        "attached",
        "hostname",
        "index",
        "labels",
        "pods",
        "ports",
        "requests",
        "reserved",
        "room",
        "template",
        "types",
    )

    def __init__(self, index: int, hostname: str, template: Template, zero: tuple[int, ...]) -> None:
        self.index = index
        """Position in order of creation."""
        self.hostname = hostname
        self.template = template
        self.labels: RequirementSet = template.requirements
        self.types = 0
        self.requests: tuple[int, ...] = zero
        """Requests of its pods by column, without DaemonSet pods."""
        self.room: tuple[int, ...] = zero
        """Upper bound of what still fits on any of its types, by column."""
        self.pods: list[Pod] = []
        self.ports: list[OwnedPorts] = []
        self.attached: dict[str, set[str]] = {}
        """Volume claims of its pods, by driver."""
        self.reserved: frozenset[str] = frozenset()
        """Reservations it holds."""

    def measure_room(self) -> None:
        """Update the upper bound of what still fits."""
        template = self.template
        catalogue = template.catalogue
        if catalogue.row_types:
            # If offerings change allocatable, only the exact check is valid.
            self.room = tuple(2**200 for _ in self.requests)
            return
        best: list[int] | None = None
        for group in template.groups:
            types = group.types & self.types
            if types:
                room = [
                    (amount_index.greatest(types) if amount_index is not None else 0) - held
                    for amount_index, held in zip(template.amount_indexes, group.row, strict=True)
                ]
                best = room if best is None else [max(a, b) for a, b in zip(best, room, strict=True)]
        assert best is not None
        self.room = tuple([most - requested for most, requested in zip(best, self.requests, strict=True)])


_INSERTION_MAX: Final = 12
_REPAIR_MIN: Final = 50


class ClaimOrder:
    """Claims by number of pods, in the order that Go's unstable sort gives before each attempt."""

    __slots__ = ("_counts", "_displaced", "claims")

    def __init__(self) -> None:
        self.claims: list[Claim] = []
        self._counts: list[int] = []
        self._displaced = -1
        """Position of the only claim out of order, or -1."""

    def append(self, claim: Claim) -> None:
        """Add a claim with its first pod."""
        self.settle()
        self.claims.append(claim)
        self._counts.append(1)
        self._displaced = len(self.claims) - 1

    def grew(self, position: int) -> None:
        """Record that the claim at a position got another pod."""
        self._counts[position] += 1
        self._displaced = position

    def position(self, claim: Claim) -> int:
        """Return a claim's position in the sorted order."""
        counts = self._counts
        count = len(claim.pods)
        return self.claims.index(claim, bisect_left(counts, count), bisect_right(counts, count))

    def settle(self) -> None:
        """Sort, as Karpenter does before it tries claims."""
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
        # Go moves only the displaced element: before its equals if it grew, after them if it is new.
        count, claim = counts.pop(position), claims.pop(position)
        target = bisect_right(counts, count) if position == size - 1 and count == 1 else bisect_left(counts, count)
        if size <= _INSERTION_MAX:
            target = self._insertion_target(position, count)
        counts.insert(target, count)
        claims.insert(target, claim)

    def _insertion_target(self, position: int, count: int) -> int:
        """Return the index at which insertion sort puts the element removed from ``position``."""
        counts = self._counts
        if position and counts[position - 1] > count:
            return bisect_right(counts, count, 0, position)
        return bisect_left(counts, count, position)

    def _is_sampled(self, position: int) -> bool:
        """Return whether Go's sort compares this position when it chooses a pivot."""
        quarter = len(self._counts) // 4
        return any(abs(position - quarter * i) <= 1 for i in (1, 2, 3))
