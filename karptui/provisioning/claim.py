"""NodeClaims that a run is about to create: host names, the reservations they hold, the order they are tried in.

Where Karpenter sorts with Go's unstable ``sort.Slice``, the order of equals is that of ``go_sort``. Rules:
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
    """Return instances left by reservation id, the least that any NodePool's types report."""
    least: dict[str, int] = {}
    for catalogue in catalogues:
        for reservation, count in catalogue.reservation_capacity.items():
            least[reservation] = min(count, least.get(reservation, count))
    return least


class Reservations:
    """Instances left in each reservation."""

    __slots__ = ("credited", "remaining", "version")

    def __init__(self, capacity: Mapping[str, int], credited: str = "") -> None:
        self.remaining = dict(capacity)
        self.credited = credited if credited in self.remaining else ""
        """A reservation that gets back the slot of a node which goes."""
        if self.credited:
            self.remaining[self.credited] += 1
        self.version = 0
        """Grows whenever something is reserved or released."""

    def reservable(self, wanted: Iterable[str], held: frozenset[str]) -> frozenset[str]:
        """Return which of the wanted reservations a claim can have, given what it holds."""
        return frozenset(one for one in wanted if one in held or self.remaining[one] > 0)

    def exchange(self, held: frozenset[str], wanted: frozenset[str]) -> None:
        """Reserve what is wanted anew and release what is wanted no more."""
        if held == wanted:
            return
        self.version += 1
        for one in wanted - held:
            self.remaining[one] -= 1
        for one in held - wanted:
            self.remaining[one] += 1


class Hostnames:
    """Host names of one run."""

    __slots__ = ("_given", "_known", "_shown")

    def __init__(self) -> None:
        self._given = 0
        self._known: Iterable[str] = ()
        """Every host name there is at the end of the run; walked through only once a message shows them."""
        self._shown: dict[TopologyGroup, dict[str, int]] = {}

    def next(self) -> str:
        """Return a host name that stands for a node that will come."""
        self._given += 1
        return f"hostname-placeholder-{self._given:04d}"

    def shown_counts(self, group: TopologyGroup) -> dict[str, int]:
        """Return the counts of a rule for its message, which shows those at the end of the run."""
        if not group.is_hostname:
            return group.counts
        counts = self._shown.get(group)
        if counts is None:
            counts = self._shown[group] = {}
            self._fill(group, counts)
        return counts

    def finish(self, known: Iterable[str]) -> None:
        """Fill in the counts that messages show, which name hosts without pods too.

        Args:
            known: Host names of the nodes that exist and of the claims.
        """
        self._known = known
        for group, counts in self._shown.items():
            self._fill(group, counts)

    def _fill(self, group: TopologyGroup, counts: dict[str, int]) -> None:
        self._known = tuple(self._known)
        counts.update(dict.fromkeys(self._known, 0))
        counts.update(group.counts)


class Claim:
    """A claim of this run."""

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
        """Place in the order of creation."""
        self.hostname = hostname
        self.template = template
        self.labels: RequirementSet = template.requirements
        self.types = 0
        self.requests: tuple[int, ...] = zero
        """What its pods ask, by column, without daemons."""
        self.room: tuple[int, ...] = zero
        """More than this does not fit on any of its types, by column."""
        self.pods: list[Pod] = []
        self.ports: list[OwnedPorts] = []
        self.attached: dict[str, set[str]] = {}
        """Volume claims of its pods by driver."""
        self.reserved: frozenset[str] = frozenset()
        """Reservations that it holds."""

    def measure_room(self) -> None:
        """Recompute how much still fits at best."""
        template = self.template
        catalogue = template.catalogue
        if catalogue.row_types:
            # Where an offering changes the allocatable, only the exact check tells.
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
        self.room = tuple([most - asked for most, asked in zip(best, self.requests, strict=True)])


_INSERTION_MAX: Final = 12
_REPAIR_MIN: Final = 50


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
