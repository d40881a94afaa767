"""Which methods want a node: those whose own filter (``ShouldDisrupt``) it passes, whatever the gates say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from karptui.disruption import consolidation, drift, emptiness, static_drift
from karptui.disruption.budgets import is_repairing
from karptui.disruption.candidate import Candidate
from karptui.disruption.codes import Code
from karptui.disruption.command import Method
from karptui.disruption.emptiness import CONSOLIDATABLE, FilterCode
from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.disruption.repair import Repair
from karptui.karpenter.repair_policies import Ailment
from karptui.provisioning.state_node import StateNode

_REMOVAL: Final = (Method.EMPTINESS, Method.MULTI_NODE, Method.SINGLE_NODE)


class WantedBy(msgspec.Struct, frozen=True, gc=False):
    """What the methods want of one node."""

    since: Mapping[Method, int] = {}
    """By method that wants it, since when."""
    lacks: Mapping[Method, str] = {}
    """By method that does not, the first thing that it misses: a code."""
    ailment: Ailment | None = None
    """What Repair would mend."""

    def floor(self, methods: Iterable[Method]) -> int | None:
        """Return since when the first of the methods has wanted the node, None where none does."""
        return min((self.since[method] for method in methods if method in self.since), default=None)

    def any_of(self, methods: Iterable[Method]) -> bool:
        """Whether one of the methods wants the node."""
        return any(method in self.since for method in methods)

    def since_when(self, methods: Iterable[Method], in_force_ns: int | None) -> int | None:
        """Return since when something in force has stood in the way: no earlier than a method wanted the node."""
        return not_before(in_force_ns, None if in_force_ns is None else self.floor(methods))


NOTHING_WANTED: Final = WantedBy()


def not_before(in_force_ns: int | None, floor_ns: int | None) -> int | None:
    """Return since when something in force has stood in the way of what began at ``floor_ns``."""
    return in_force_ns if in_force_ns is None or floor_ns is None else max(in_force_ns, floor_ns)


class ShouldDisrupt:
    """Asks the methods' filters about the nodes of one fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.repair = Repair(fleet, Recorder()) if is_repairing(fleet.settings) else None
        """The method, None where it is not at work."""

    def of(self, node: StateNode) -> WantedBy:
        """Return which methods want a node; none where it is not Karpenter's, or on its way out already."""
        claim = node.claim
        if claim is None or node.is_marked_for_deletion:
            return NOTHING_WANTED
        lacks = self._lacks(node)
        ailment = None
        if self.repair is not None:
            ailment = self.repair.ailment_of(node)
            if ailment is None:
                lacks[Method.REPAIR] = FilterCode.HEALTHY
        marks = {
            Method.DRIFT: claim.condition(drift.DRIFTED),
            Method.EMPTINESS: claim.condition(CONSOLIDATABLE),
        }
        since: dict[Method, int] = {}
        for method in Method:
            if lacks.get(method) or (method is Method.REPAIR and ailment is None):
                continue
            mark = marks[Method.EMPTINESS if method in _REMOVAL else Method.DRIFT]
            since[method] = (
                ailment.eligible_ns
                if method is Method.REPAIR and ailment is not None
                else mark.last_transition_ns
                if mark is not None
                else 0
            )
        return WantedBy(since, {method: code for method, code in lacks.items() if code}, ailment)

    def _lacks(self, node: StateNode) -> dict[Method, str]:
        """Return by method what it misses of a node, empty where it wants it."""
        fleet, claim = self._fleet, node.claim
        assert claim is not None
        resolved = fleet.resolved(node.nodepool_name)
        if resolved is None:
            # No filter can be asked without instance types, but drift is a matter of the NodeClaim alone.
            pool = fleet.pools.get(node.nodepool_name)
            code = Code.NODEPOOL_UNRESOLVED if pool is None else Code.NODEPOOL_NO_TYPES
            code = code if node.nodepool_name else Code.NO_NODEPOOL_LABEL
            drifts = "" if claim.is_true(drift.DRIFTED) else FilterCode.NOT_DRIFTED
            is_static = pool is not None and pool.is_static
            return {
                **dict.fromkeys(_REMOVAL, str(code)),
                Method.DRIFT: FilterCode.STATIC if is_static else drifts,
                Method.STATIC_DRIFT: drifts if is_static else FilterCode.NOT_STATIC,
            }
        candidate = Candidate(fleet, node, *resolved)
        consolidates = _code(consolidation.refuse(candidate))
        return {
            Method.EMPTINESS: _code(emptiness.refuse(candidate)),
            Method.STATIC_DRIFT: static_drift.refuse(candidate),
            Method.DRIFT: drift.refuse(candidate),
            Method.MULTI_NODE: consolidates,
            Method.SINGLE_NODE: consolidates,
        }


def _code(refusal: tuple[str, str] | None) -> str:
    return "" if refusal is None else refusal[0]
