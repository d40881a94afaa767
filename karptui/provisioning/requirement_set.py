"""Requirement sets of one run, interned: equal sets are one object, so what follows from them is computed once.

The host name is kept apart: it differs on every node and claim and would make every set different.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from karptui.karpenter.labels import HOSTNAME
from karptui.karpenter.requirements import Requirement, Requirements
from karptui.provisioning.catalogue import Catalogue

_NOTHING: Final[frozenset[str]] = frozenset()


class TypeFilter:
    """What a requirement set leaves of a catalogue."""

    __slots__ = ("may_widen", "offering_rows", "types")

    def __init__(self, catalogue: Catalogue, requirements: Requirements) -> None:
        self.types = catalogue.compatible(requirements)
        """Types whose own requirements do not clash with the set."""
        self.offering_rows = catalogue.offering_rows(requirements)
        """Rows that have an available offering which the set allows."""
        self.may_widen = any(
            own.complement and not own.values and own.key in catalogue.negative_keys for own in requirements
        )
        """Whether a later NotIn could let types in again: Exists clashes with a type's DoesNotExist, NotIn does not."""


class RequirementSet:
    """One requirement set of a run; compare with ``is``."""

    __slots__ = ("_filters", "value")

    def __init__(self, value: Requirements) -> None:
        self.value = value
        self._filters: dict[Catalogue, TypeFilter] = {}

    def filter_of(self, catalogue: Catalogue) -> TypeFilter:
        """Return what this set leaves of a catalogue."""
        found = self._filters.get(catalogue)
        if found is None:
            found = self._filters[catalogue] = TypeFilter(catalogue, self.value)
        return found


Joined = RequirementSet | Literal[False] | None
"""A narrowed set; None where the two clash, False where they will clash whatever narrows the first."""
_Joins = dict[tuple[RequirementSet, RequirementSet], Joined]


class Interner:
    """Makes requirement sets, one object for equal ones, and remembers what they come to together."""

    def __init__(self) -> None:
        self._sets: dict[Requirements, RequirementSet] = {}
        self._claim_joins: _Joins = {}
        self._node_joins: _Joins = {}
        self.empty = self.of(Requirements())

    def of(self, requirements: Requirements) -> RequirementSet:
        """Return the set of these requirements, which must not name the host."""
        found = self._sets.get(requirements)
        if found is None:
            found = self._sets[requirements] = RequirementSet(requirements)
        return found

    def split(self, requirements: Requirements) -> tuple[RequirementSet, Requirement | None]:
        """Return the set without the host name, and the requirement on the host name if there is one."""
        host = requirements.find(HOSTNAME)
        return self.of(requirements if host is None else requirements.without(HOSTNAME)), host

    def left(self, by_key: dict[str, Requirement]) -> RequirementSet:
        """Return the set of what topology rules leave, by key."""
        return self.of(Requirements(by_key.values())) if by_key else self.empty

    def join_claim(self, existing: RequirementSet, incoming: RequirementSet) -> Joined:
        """Narrow a claim's or template's set; well-known labels may be undefined in it."""
        return self._joined(self._claim_joins, existing, incoming, existing.value.well_known)

    def join_node(self, existing: RequirementSet, incoming: RequirementSet) -> Joined:
        """Narrow a node's set; every label asked for must be defined in it."""
        return self._joined(self._node_joins, existing, incoming, _NOTHING)

    def _joined(
        self, known: _Joins, existing: RequirementSet, incoming: RequirementSet, allow_undefined: frozenset[str]
    ) -> Joined:
        pair = (existing, incoming)
        if pair in known:
            return known[pair]
        joined = known[pair] = self._join(existing.value, incoming.value, allow_undefined)
        return joined

    def _join(self, existing: Requirements, incoming: Requirements, allow_undefined: frozenset[str]) -> Joined:
        if existing.compatible(incoming, allow_undefined):
            return self.of(existing.merge(incoming))
        return False if clashes_for_good(existing, incoming) else None


def clashes_for_good(existing: Requirements, incoming: Iterable[Requirement]) -> bool:
    """Return whether no later narrowing of ``existing`` can make the two compatible.

    A clash on a key that lists its values stays; one on an undefined key, or against Exists and bounds, may end once
    another pod's NotIn or DoesNotExist defines the key.
    """
    for requirement in incoming:
        known = existing.find(requirement.key)
        if known is not None and not known.complement and known.clashes(requirement):
            return bool(known.values) or not requirement.is_negative
    return False
