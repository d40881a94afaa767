"""Which methods want a node, by their own conditions (``ShouldDisrupt``) without the gates."""

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
    """Which methods want a node."""

    since: Mapping[Method, int] = {}
    """Since when each method has wanted it."""
    lacks: Mapping[Method, str] = {}
    """First unmet condition of the methods that do not want it, as a code."""
    ailment: Ailment | None = None
    """The problem that Repair would fix."""

    def floor(self, methods: Iterable[Method]) -> int | None:
        """Return since when any of the methods has wanted the node; None if none does."""
        return min((self.since[method] for method in methods if method in self.since), default=None)

    def any_of(self, methods: Iterable[Method]) -> bool:
        """Whether any of the methods wants the node."""
        return any(method in self.since for method in methods)

    def since_when(self, methods: Iterable[Method], in_force_ns: int | None) -> int | None:
        """Return since when something has blocked the methods: at the earliest when one of them wanted the node."""
        return not_before(in_force_ns, None if in_force_ns is None else self.floor(methods))


NOTHING_WANTED: Final = WantedBy()


def not_before(in_force_ns: int | None, floor_ns: int | None) -> int | None:
    """Return the later of two times, or the first if either is None."""
    return in_force_ns if in_force_ns is None or floor_ns is None else max(in_force_ns, floor_ns)


class ShouldDisrupt:
    """Evaluates the methods' conditions for the nodes of a fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.repair = Repair(fleet, Recorder()) if is_repairing(fleet.settings) else None
        """The Repair method; None if it is off."""

    def of(self, node: StateNode) -> WantedBy:
        """Return the methods that want a node; none if Karpenter does not manage it or it is being deleted."""
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
        """Return the methods' first unmet conditions for a node; empty for a method that wants it."""
        fleet, claim = self._fleet, node.claim
        assert claim is not None
        resolved = fleet.resolved(node.nodepool_name)
        if resolved is None:
            # Other conditions need instance types, but drift depends on the NodeClaim only.
            pool = fleet.pools.get(node.nodepool_name)
            code = Code.NODEPOOL_UNRESOLVED if pool is None else Code.NODEPOOL_NO_TYPES
            code = code if node.nodepool_name else Code.NO_NODEPOOL_LABEL
            drift_code = "" if claim.is_true(drift.DRIFTED) else FilterCode.NOT_DRIFTED
            is_static = pool is not None and pool.is_static
            return {
                **dict.fromkeys(_REMOVAL, str(code)),
                Method.DRIFT: FilterCode.STATIC if is_static else drift_code,
                Method.STATIC_DRIFT: drift_code if is_static else FilterCode.NOT_STATIC,
            }
        candidate = Candidate(fleet, node, *resolved)
        consolidation_code = _code(consolidation.refuse(candidate))
        return {
            Method.EMPTINESS: _code(emptiness.refuse(candidate)),
            Method.STATIC_DRIFT: static_drift.refuse(candidate),
            Method.DRIFT: drift.refuse(candidate),
            Method.MULTI_NODE: consolidation_code,
            Method.SINGLE_NODE: consolidation_code,
        }


def _code(refusal: tuple[str, str] | None) -> str:
    return "" if refusal is None else refusal[0]
