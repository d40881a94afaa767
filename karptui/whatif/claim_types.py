"""The instance types of claims in price order; claims that allow the same offerings share the work."""

from __future__ import annotations

from itertools import compress
from typing import Final

from karptui.karpenter.labels import CAPACITY_TYPE, WELL_KNOWN, ZONE
from karptui.karpenter.requirements import Requirements
from karptui.provisioning.catalogue import Catalogue
from karptui.provisioning.solution import NewClaim
from karptui.provisioning.type_index import TypeIndex, single_value
from karptui.whatif.difference_lines import TypeOption

MOST_KEPT: Final = 100
"""Lists of types that are kept."""
_Offered = tuple[TypeIndex, int]
"""Labels and offerings of a list of types, and which kinds of offerings a claim allows: what prices follow from."""


class ClaimTypes:
    """Answers for the claims of all replays over the same labels and offerings, whatever nodes hold or keep back."""

    def __init__(self) -> None:
        self._ranked: dict[_Offered, _Ranking] = {}
        self._chosen: dict[tuple[_Offered, int], tuple[TypeOption, ...]] = {}
        self._numbers: dict[tuple[str, ...], int] = {}
        self._number_of: dict[tuple[_Offered, int], int] = {}

    def tidy(self) -> None:
        """Forget everything where edits have made too many lists; between two comparisons only."""
        if len(self._ranked) > MOST_KEPT:
            for kept in (self._ranked, self._chosen, self._numbers, self._number_of):
                kept.clear()

    def of(self, claim: NewClaim) -> tuple[TypeOption, ...]:
        """Return the types of a claim, the cheapest first; those without a price last, by name."""
        offered = _offered(claim)
        key = (offered, claim.type_mask)
        chosen = self._chosen.get(key)
        if chosen is None:
            ranking = self._ranked.get(offered)
            if ranking is None:
                ranking = self._ranked[offered] = _Ranking(claim.catalogue, claim.requirements)
            chosen = self._chosen[key] = ranking.of(claim.type_mask)
        return chosen

    def first(self, claim: NewClaim) -> TypeOption | None:
        """Return the cheapest of them, None without any."""
        options = self.of(claim)
        return options[0] if options else None

    def number(self, claim: NewClaim) -> int:
        """Return a number that claims have in common if they have the same types in the same order."""
        key = (_offered(claim), claim.type_mask)
        number = self._number_of.get(key)
        if number is None:
            names = tuple([option.name for option in self.of(claim)])
            number = self._number_of[key] = self._numbers.setdefault(names, len(self._numbers))
        return number


def _offered(claim: NewClaim) -> _Offered:
    index = claim.catalogue.index
    return index, index.allowed(claim.requirements)


class _Ranking:
    """All types of a list in price order, under some requirements."""

    def __init__(self, catalogue: Catalogue, requirements: Requirements) -> None:
        best = _best_offerings(catalogue, requirements)
        options = []
        for i, one in enumerate(catalogue.types):
            price, capacity_type, zone = best.get(i, (None, "", ""))
            options.append((i, TypeOption(one.name, price, zone, capacity_type)))
        options.sort(key=lambda pair: (pair[1].price_per_hour is None, pair[1].price_per_hour or 0.0, pair[1].name))
        self._options = [option for _, option in options]
        self._places = [i for i, _ in options]
        """Of each option, its type's place in the list."""

    def of(self, types: int) -> tuple[TypeOption, ...]:
        """Return the options of some types."""
        is_chosen = [digit == "1" for digit in bin(types)[:1:-1].ljust(len(self._places), "0")]
        return tuple(compress(self._options, map(is_chosen.__getitem__, self._places)))


def _best_offerings(catalogue: Catalogue, requirements: Requirements) -> dict[int, tuple[float, str, str]]:
    """Return by type price, capacity type and zone of its cheapest offering that requirements allow."""
    best: dict[int, tuple[float, str, str]] = {}
    for kind in catalogue.offering_kinds:
        if not requirements.compatible(kind.requirements, WELL_KNOWN):
            continue
        zone, capacity_type = (single_value(kind.requirements, key) for key in (ZONE, CAPACITY_TYPE))
        # On-demand wins equal prices, since unknown spot prices equal it.
        place = (capacity_type, zone)
        for i, price in kind.prices:
            known = best.get(i)
            if known is None or (price, *place) < known:
                best[i] = (price, *place)
    return best
