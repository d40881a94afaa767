"""Label selectors, and node selectors of pods, NodePools, NodeClaims and volumes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class LabelSelectorRequirement(msgspec.Struct, frozen=True, gc=False):
    """One entry of ``matchExpressions``."""

    key: str
    operator: str
    """``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``."""
    values: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Whether the API's conversion accepts it: In and NotIn need values, the others must have none."""
        if self.operator in ("In", "NotIn"):
            return bool(self.values)
        return self.operator in ("Exists", "DoesNotExist") and not self.values

    def __str__(self) -> str:
        values = f"({','.join(self.values)})"
        words = {"In": f"{self.key} in {values}", "NotIn": f"{self.key} notin {values}", "DoesNotExist": f"!{self.key}"}
        return words.get(self.operator, self.key)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels match; NotIn and DoesNotExist also match a missing key."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels
            case _:
                return False


class LabelSelector(msgspec.Struct, frozen=True, gc=False):
    """A label selector; an empty one matches everything. A null selector is None and matches nothing."""

    match_labels: tuple[tuple[str, str], ...] = ()
    """Sorted by key."""
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    def __str__(self) -> str:
        """Return it as kubectl writes it: ``app=web,tier in (a,b)``."""
        return ",".join((*(f"{key}={value}" for key, value in self.match_labels), *map(str, self.match_expressions)))

    @property
    def is_valid(self) -> bool:
        """Whether all expressions are valid; an invalid selector matches nothing."""
        return all(expression.is_valid for expression in self.match_expressions)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels match every part."""
        for key, value in self.match_labels:
            if labels.get(key) != value:
                return False
        if not self.match_expressions:
            return True
        return self.is_valid and all(expression.matches(labels) for expression in self.match_expressions)


class NodeSelectorRequirement(msgspec.Struct, frozen=True, gc=False):
    """A node selector requirement: ``key operator values``."""

    key: str
    operator: str
    """``In``, ``NotIn``, ``Exists``, ``DoesNotExist``, ``Gt``, ``Lt``, and Karpenter's ``Gte`` and ``Lte``."""
    values: tuple[str, ...] = ()
    min_values: int | None = None
    """Karpenter's ``minValues``; NodePools and NodeClaims only."""


class NodeSelectorTerm(msgspec.Struct, frozen=True, gc=False):
    """Requirements that are ANDed; several terms are ORed."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class PreferredSchedulingTerm(msgspec.Struct, frozen=True, gc=False):
    """A weighted node preference."""

    weight: int
    preference: NodeSelectorTerm
