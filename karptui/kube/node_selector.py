"""Node selectors: requirements on a node's labels, as pods, NodePools, NodeClaims and volumes state them."""

from __future__ import annotations

import msgspec


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
