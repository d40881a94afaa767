"""Capacity reservations during a run: each claim holds every reservation that it could use.

Rules: ``pkg/controllers/provisioning/scheduling/reservationmanager.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karptui.provisioning.catalogue import Catalogue


def reservation_capacity(catalogues: Iterable[Catalogue]) -> dict[str, int]:
    """Return instances left by reservation id, the least that any NodePool's types report."""
    least: dict[str, int] = {}
    for catalogue in catalogues:
        for reservation, count in catalogue.reservation_capacity.items():
            least[reservation] = min(count, least.get(reservation, count))
    return least


class Reservations:
    """Instances left in each reservation."""

    __slots__ = ("remaining", "version")

    def __init__(self, capacity: Mapping[str, int]) -> None:
        self.remaining = dict(capacity)
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
