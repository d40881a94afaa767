"""One thing that keeps one node from being disrupted, and what wants the node: without that it only would block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karptui.disruption.codes import CODES, Code, Scope
from karptui.disruption.command import Method
from karptui.provisioning.state_node import StateNode

_DRIFTING: Final = (Method.DRIFT, Method.STATIC_DRIFT)


class Wanted(msgspec.Struct, frozen=True, gc=False):
    """Since when drift and consolidation want a node; None where they do not."""

    drift_ns: int | None = None
    consolidation_ns: int | None = None

    def floor(self, methods: Iterable[Method]) -> int | None:
        """Return since when the first of the methods has wanted the node, None where none does."""
        return min((since for method in methods if (since := self._of(method)) is not None), default=None)

    def any_of(self, methods: Iterable[Method]) -> bool:
        """Whether one of the methods wants the node."""
        return any(self._of(method) is not None for method in methods)

    def since(self, methods: Iterable[Method], in_force_ns: int | None) -> int | None:
        """Return since when something in force has stood in the way: no earlier than a method wanted the node."""
        return not_before(in_force_ns, None if in_force_ns is None else self.floor(methods))

    def _of(self, method: Method) -> int | None:
        return self.drift_ns if method in _DRIFTING else self.consolidation_ns


def not_before(in_force_ns: int | None, floor_ns: int | None) -> int | None:
    """Return since when something in force has stood in the way of what began at ``floor_ns``."""
    return in_force_ns if in_force_ns is None or floor_ns is None else max(in_force_ns, floor_ns)


def wanted_of(node: StateNode) -> Wanted:
    """Return what wants a node, by the conditions of its NodeClaim."""
    claim = node.claim
    if claim is None:
        return Wanted()
    drifted, consolidatable = claim.condition("Drifted"), claim.condition("Consolidatable")
    is_drifted = drifted is not None and drifted.status == "True"
    is_consolidatable = consolidatable is not None and consolidatable.status == "True"
    return Wanted(
        drift_ns=drifted.last_transition_ns if drifted is not None and is_drifted else None,
        consolidation_ns=consolidatable.last_transition_ns
        if consolidatable is not None and is_consolidatable
        else None,
    )


class Blocker(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One (node, blocker)."""

    code: Code
    node_name: str = ""
    """The Node's name, the NodeClaim's while there is no Node, empty for what holds the whole cluster."""
    claim_name: str = ""
    pool_name: str = ""
    price_per_hour: float | None = None
    """Dollars that the node costs; None where that is not known."""
    blocks: frozenset[Method] = frozenset()
    """The methods it keeps from taking the node."""
    blocks_drain: bool = False
    """Whether it holds up a drain that has begun."""
    object_kind: str = ""
    object_key: str = ""
    """``namespace/name``, or the name of a cluster-scoped object."""
    owner: str = ""
    """``Kind/namespace/name`` of a pod's owner, empty for a pod on its own and for other objects."""
    origin: str = ""
    """``Kind/namespace/name`` of what a pod comes from: CI jobs of one kind share it. Empty for other objects."""
    value: str = ""
    """What is written there: the annotation's value, the budget's line, the PodDisruptionBudgets' names."""
    since_ns: int | None = None
    """When it began to stand in the way: no earlier than something wanted the node. None where nothing tells."""
    until_ns: int | None = None
    """When it ends by itself, None where it does not or nothing tells."""
    message: str = ""
    """Karpenter's words where it has some, else ours."""
    is_wanted: bool = False
    """Whether one of the blocked methods wants the node now; else it only would block."""
    is_reported: bool = False
    """Whether it is the one that Karpenter itself names: of several it publishes the first it meets."""
    quoted_ns: int | None = None
    """When an event last said exactly this about the node, None where none did."""
    pod_uid: str = ""
    """Of the pod, where it is about one."""

    @property
    def scope(self) -> Scope:
        """What it is about."""
        return CODES[self.code].scope

    @property
    def word(self) -> str:
        """The short word of its code."""
        return CODES[self.code].word

    @property
    def is_passing(self) -> bool:
        """Whether it ends by itself, so that nobody has to lift it."""
        return CODES[self.code].is_passing or self.until_ns is not None

    @property
    def is_idle(self) -> bool:
        """Whether it is a budget in the way of a node that nothing wants: it only would block."""
        return self.code is Code.BUDGET_ZERO and not self.is_wanted

    @property
    def object_ref(self) -> str:
        """``Kind/namespace/name``."""
        return f"{self.object_kind}/{self.object_key}" if self.object_kind else ""
