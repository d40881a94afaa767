"""Label selectors, and node selectors as pods, NodePools, NodeClaims and volumes state them."""

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
        """Whether the API's own conversion accepts it: In and NotIn need values, the others none."""
        if self.operator in ("In", "NotIn"):
            return bool(self.values)
        return self.operator in ("Exists", "DoesNotExist") and not self.values

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet it; NotIn and DoesNotExist are met by a missing key too."""
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
    """A label selector; the empty one matches everything. A null selector is None, and matches nothing."""

    match_labels: tuple[tuple[str, str], ...] = ()
    """Sorted by key."""
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Whether every expression can be converted; a selector that cannot matches nothing."""
        return all(expression.is_valid for expression in self.match_expressions)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet every part."""
        for key, value in self.match_labels:
            if labels.get(key) != value:
                return False
        if not self.match_expressions:
            return True
        return self.is_valid and all(expression.matches(labels) for expression in self.match_expressions)


class NodeSelectorRequirement(msgspec.Struct, frozen=True, gc=False):
    """One requirement as written: ``key operator values``."""

    key: str
    operator: str
    """``In``, ``NotIn``, ``Exists``, ``DoesNotExist``, ``Gt``, ``Lt``, and Karpenter's ``Gte`` and ``Lte``."""
    values: tuple[str, ...] = ()
    min_values: int | None = None
    """Karpenter's flexibility floor; NodePools and NodeClaims only."""


class NodeSelectorTerm(msgspec.Struct, frozen=True, gc=False):
    """Requirements that must hold together; several terms are alternatives."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class PreferredSchedulingTerm(msgspec.Struct, frozen=True, gc=False):
    """A weighted preference for a node."""

    weight: int
    preference: NodeSelectorTerm
