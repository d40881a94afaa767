"""What wants a node, and since when: without that, a blocker only would block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karptui.disruption.command import Method
from karptui.provisioning.state_node import StateNode

_DRIFTING: Final = (Method.DRIFT, Method.STATIC_DRIFT)


class Wants(msgspec.Struct, frozen=True, gc=False):
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


def wants_of(node: StateNode) -> Wants:
    """Return what wants a node, by the conditions of its NodeClaim."""
    claim = node.claim
    if claim is None:
        return Wants()
    drifted, consolidatable = claim.condition("Drifted"), claim.condition("Consolidatable")
    is_drifted = drifted is not None and drifted.status == "True"
    is_consolidatable = consolidatable is not None and consolidatable.status == "True"
    return Wants(
        drift_ns=drifted.last_transition_ns if drifted is not None and is_drifted else None,
        consolidation_ns=consolidatable.last_transition_ns
        if consolidatable is not None and is_consolidatable
        else None,
    )
