"""NodeClaims that a run is about to create: host names, and the reservations they hold.

Rules: ``nodeclaim.go`` and ``reservationmanager.go`` of ``pkg/controllers/provisioning/scheduling``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karptui.kube.pod import Pod
from karptui.provisioning.catalogue import Catalogue
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
