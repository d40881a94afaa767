"""Interned requirement sets: equal sets are the same object, so that results derived from them are cached.

The hostname is kept separate, because it differs between all nodes and claims and would make every set different.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from karptui.karpenter.labels import HOSTNAME
from karptui.karpenter.requirements import Requirement, Requirements
from karptui.karpenter.rules import Rules
from karptui.provisioning.catalogue import Catalogue

_NOTHING: Final[frozenset[str]] = frozenset()


class TypeFilter:
    """Types and offerings of a catalogue that match a requirement set."""

    __slots__ = ("may_widen", "offering_rows", "types")

    def __init__(self, catalogue: Catalogue, requirements: Requirements) -> None:
        self.types = catalogue.compatible(requirements)
        """Types whose requirements are compatible with the set."""
        self.offering_rows = catalogue.offering_rows(requirements)
        """Rows with an available offering that the set allows."""
        self.may_widen = any(
            requirement.complement and not requirement.values and requirement.key in catalogue.negative_keys
            for requirement in requirements
        )
        """Whether a later NotIn could allow more types: Exists conflicts with a type's DoesNotExist, NotIn does not."""


class RequirementSet:
    """An interned requirement set; compare with ``is``."""

    __slots__ = ("_filters", "value")

    def __init__(self, value: Requirements) -> None:
        self.value = value
        self._filters: dict[Catalogue, TypeFilter] = {}

    def filter_of(self, catalogue: Catalogue) -> TypeFilter:
        """Return the types and offerings of a catalogue that match this set."""
        matching = self._filters.get(catalogue)
        if matching is None:
            matching = self._filters[catalogue] = TypeFilter(catalogue, self.value)
        return matching


Joined = RequirementSet | Literal[False] | None
"""The joined set; None if the sets conflict, False if they conflict regardless of further narrowing."""
_Joins = dict[tuple[RequirementSet, RequirementSet], Joined]


class Interner:
    """Creates requirement sets, and caches the results of joining them."""

    def __init__(self) -> None:
        self._sets: dict[Requirements, RequirementSet] = {}
        self._claim_joins: _Joins = {}
        self._node_joins: _Joins = {}
        self.empty = self.of(Requirements())

    def of(self, requirements: Requirements) -> RequirementSet:
        """Return the set for requirements, which must not include the hostname."""
        interned = self._sets.get(requirements)
        if interned is None:
            interned = self._sets[requirements] = RequirementSet(requirements)
        return interned

    def split(self, requirements: Requirements) -> tuple[RequirementSet, Requirement | None]:
        """Return the set without the hostname, and the requirement on the hostname if there is one."""
        host = requirements.find(HOSTNAME)
        return self.of(requirements if host is None else requirements.without(HOSTNAME)), host

    def left(self, by_key: dict[str, Requirement]) -> RequirementSet:
        """Return the set of the requirements that topology rules allow, by key."""
        return self.of(Requirements(by_key.values())) if by_key else self.empty

    def join_claim(self, existing: RequirementSet, incoming: RequirementSet) -> Joined:
        """Narrow the set of a claim or template; well-known labels may be undefined in it."""
        return self._joined(self._claim_joins, existing, incoming, existing.value.well_known)

    def join_node(self, existing: RequirementSet, incoming: RequirementSet) -> Joined:
        """Narrow a node's set; all requested labels must be defined in it."""
        return self._joined(self._node_joins, existing, incoming, _NOTHING)

    def _joined(
        self, joins: _Joins, existing: RequirementSet, incoming: RequirementSet, allow_undefined: frozenset[str]
    ) -> Joined:
        pair = (existing, incoming)
        if pair in joins:
            return joins[pair]
        joined = joins[pair] = self._join(existing.value, incoming.value, allow_undefined)
        return joined

    def _join(self, existing: Requirements, incoming: Requirements, allow_undefined: frozenset[str]) -> Joined:
        if existing.compatible(incoming, allow_undefined):
            return self.of(existing.merge(incoming))
        return False if clashes_for_good(existing, incoming) else None


def clashes_for_good(existing: Requirements, incoming: Iterable[Requirement]) -> bool:
    """Return whether the two are incompatible regardless of how ``existing`` is narrowed later.

    A conflict with a list of values is permanent. A conflict with an undefined key, Exists or bounds may end when
    another pod's NotIn or DoesNotExist defines the key.
    """
    for requirement in incoming:
        present = existing.find(requirement.key)
        if present is not None and not present.complement and present.clashes(requirement):
            return bool(present.values) or not requirement.is_negative
    return False


def is_counted(requirement: Requirement, value: str, rules: Rules) -> bool:
    """Return whether ``minValues`` counts a type's value: since 1.14.3 only values that are still allowed."""
    return not rules.counts_allowed_values or requirement.allows(value)


def unmet_min_values(catalogue: Catalogue, types: int, requirements: Requirements) -> dict[str, int]:
    """Return the keys with fewer values than ``minValues``, with the number of values.

    An empty set of types meets every ``minValues``. Rule: ``SatisfiesMinValues`` in ``pkg/cloudprovider/types.go``.
    """
    unmet: dict[str, int] = {}
    if not types:
        return unmet
    for requirement in requirements:
        if requirement.min_values is not None:
            index = catalogue.keys.get(requirement.key)
            masks = index.value_masks() if index is not None else ()
            offered = sum(
                1 for value, mask in masks if mask & types and is_counted(requirement, value, catalogue.rules)
            )
            if offered < requirement.min_values:
                unmet[requirement.key] = offered
    return unmet
