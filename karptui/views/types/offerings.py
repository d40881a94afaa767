"""The offerings of one type as a grid: zones down, capacity types across."""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.aws.money import node_price_text
from karptui.karpenter.labels import ON_DEMAND, RESERVED, SPOT
from karptui.session.types import Offer, Standing, TypeEntry
from karptui.views.row import Tone
from karptui.views.sanitize import clean

_ORDER: Final = (ON_DEMAND, SPOT, RESERVED)


class Square(msgspec.Struct, frozen=True):
    """One square of the grid."""

    price: str
    """``$1.8080``, or n/a."""
    words: str
    """Why it is not to be had; empty where it is."""
    tone: Tone
    is_struck: bool
    """Whether the price is struck out: the offering is not to be had."""

    @property
    def text(self) -> str:
        """Price and words."""
        return f"{self.price} {self.words}".strip()


EMPTY: Final = Square("-", "", Tone.MUTED, is_struck=False)


class Grid(msgspec.Struct, frozen=True):
    """All offerings of a type."""

    capacity_types: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Square, ...]], ...]
    """Zone, and a square for each capacity type."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Cells of each column, that of the zones first."""
        zones = max((len(zone) for zone, _ in self.rows), default=0)
        columns = [
            max(len(name), *(len(squares[index].text) for _, squares in self.rows))
            for index, name in enumerate(self.capacity_types)
        ]
        return (max(zones, 4), *columns)


def offering_grid(entry: TypeEntry) -> Grid:
    """Return the grid of a type; a reservation beside another of its zone is added to its square's words."""
    known = {offer.capacity_type for offer in entry.offers}
    capacity_types = tuple(name for name in _ORDER if name in known) + tuple(sorted(known.difference(_ORDER)))
    zones = sorted({offer.zone for offer in entry.offers})
    rows = []
    for zone in zones:
        squares = []
        for name in capacity_types:
            offers = [one for one in entry.offers if one.zone == zone and one.capacity_type == name]
            best = min(offers, key=lambda one: one.standing is not Standing.OFFERED, default=None)
            squares.append(_square(best) if best is not None else EMPTY)
        rows.append((clean(zone) or "-", tuple(squares)))
    return Grid(tuple(clean(name) or "-" for name in capacity_types), tuple(rows))


def _square(offer: Offer) -> Square:
    price = node_price_text(offer.price.per_hour, offer.price.currency) if offer.price is not None else "n/a"
    words = "" if offer.standing is Standing.OFFERED else offer.standing.value
    if offer.reservation_id and offer.standing is Standing.OFFERED:
        words = f"{offer.instances_left} left"
    if offer.standing is Standing.OFFERED:
        return Square(price, words, Tone.NORMAL if offer.price is not None else Tone.MUTED, is_struck=False)
    tone = Tone.WARNING if offer.standing is Standing.SOLD_OUT else Tone.MUTED
    return Square(price, words, tone, is_struck=offer.standing is not Standing.NOT_ALLOWED)
