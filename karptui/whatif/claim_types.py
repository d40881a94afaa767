"""The instance types of claims in price order; claims with the same requirements share the work."""

from __future__ import annotations

from karptui.karpenter.labels import CAPACITY_TYPE, WELL_KNOWN, ZONE
from karptui.karpenter.requirements import Requirements
from karptui.provisioning.catalogue import Catalogue
from karptui.provisioning.solution import NewClaim
from karptui.provisioning.type_index import single_value
from karptui.whatif.lines import TypeOption

MOST_KEPT = 100
"""Lists of types that are kept."""
_Key = tuple[Catalogue, Requirements, int]


class ClaimTypes:
    """Answers for the claims of all replays over the same catalogues."""

    def __init__(self) -> None:
        self._ranked: dict[tuple[Catalogue, Requirements], list[tuple[int, TypeOption]]] = {}
        self._chosen: dict[_Key, tuple[TypeOption, ...]] = {}
        self._numbers: dict[tuple[str, ...], int] = {}
        self._number_of: dict[_Key, int] = {}

    def tidy(self) -> None:
        """Forget everything where edits have made too many catalogues; between two comparisons only."""
        if len(self._ranked) > MOST_KEPT:
            self.__init__()  # type: ignore[misc]

    def of(self, claim: NewClaim) -> tuple[TypeOption, ...]:
        """Return the types of a claim, the cheapest first; those without a price last, by name."""
        key = (claim.catalogue, claim.requirements, claim.type_mask)
        chosen = self._chosen.get(key)
        if chosen is None:
            ranked = self._ranked.get(key[:2])
            if ranked is None:
                ranked = self._ranked[key[:2]] = _ranked(claim.catalogue, claim.requirements)
            mask = claim.type_mask
            chosen = self._chosen[key] = tuple([option for bit, option in ranked if mask & bit])
        return chosen

    def price(self, claim: NewClaim) -> float | None:
        """Return the least price per hour of any of its types, None without one."""
        options = self.of(claim)
        return options[0].price_per_hour if options else None

    def number(self, claim: NewClaim) -> int:
        """Return a number that claims have in common if they have the same types in the same order."""
        key = (claim.catalogue, claim.requirements, claim.type_mask)
        number = self._number_of.get(key)
        if number is None:
            names = tuple(option.name for option in self.of(claim))
            number = self._number_of[key] = self._numbers.setdefault(names, len(self._numbers))
        return number


def _ranked(catalogue: Catalogue, requirements: Requirements) -> list[tuple[int, TypeOption]]:
    best: dict[int, tuple[float, str, str]] = {}
    for kind in catalogue.offering_kinds:
        if not requirements.compatible(kind.requirements, WELL_KNOWN):
            continue
        zone, capacity_type = (single_value(kind.requirements, key) for key in (ZONE, CAPACITY_TYPE))
        for i, price in kind.prices:
            known = best.get(i)
            if known is None or (price, capacity_type, zone) < (known[0], known[2], known[1]):
                best[i] = (price, zone, capacity_type)
    options = [
        (1 << i, TypeOption(one.name, *best[i]) if i in best else TypeOption(one.name, None))
        for i, one in enumerate(catalogue.types)
    ]
    return sorted(
        options,
        key=lambda pair: (pair[1].price_per_hour is None, pair[1].price_per_hour or 0.0, pair[1].name),
    )
