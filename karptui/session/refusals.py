"""Adds the offerings that Karpenter leaves out after failed launches to the evidence."""

from __future__ import annotations

import operator
from typing import Final

import msgspec

from karptui.aws.evidence import NO_EVIDENCE, Evidence
from karptui.aws.launch_refusals import (
    ALL_AVAILABLE,
    LaunchRefusal,
    UnavailableOfferings,
    recent_launch_refusals,
    unavailable_now,
)
from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import Inventory
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.state.cluster import ClusterState

_KINDS: Final = (Kind.EVENT, Kind.NODECLAIM, Kind.NODEPOOL, Kind.NODECLASS, Kind.NODE)


def with_refusals(evidence: Evidence, state: ClusterState, now_ns: int) -> Evidence:
    """Return the evidence with the refusals in a cluster's events; the same object if it has them."""
    return _with(evidence, _refused(state, now_ns))


class RefusalReader:
    """Adds refusals again and again, and reads events only if they changed or refusals may have ended."""

    def __init__(self) -> None:
        self._inputs: tuple[object, ...] = ()
        self._read_second = 0
        self._refused: UnavailableOfferings = ALL_AVAILABLE
        self._base: Evidence = NO_EVIDENCE
        self._latest: Evidence = NO_EVIDENCE

    def added(self, base: Evidence, state: ClusterState, now_ns: int) -> Evidence:
        """Return the evidence with refusals; the same object if nothing changed."""
        inputs, second = tuple(state.of(kind) for kind in _KINDS), now_ns // NS_PER_SECOND
        is_same = len(inputs) == len(self._inputs) and all(map(operator.is_, inputs, self._inputs))
        if not is_same or (self._refused != ALL_AVAILABLE and second != self._read_second):
            self._inputs, self._read_second, self._refused = inputs, second, _refused(state, now_ns)
        if base is not self._base or self._latest.refused != self._refused:
            self._base, self._latest = base, _with(base, self._refused)
        return self._latest


def _with(evidence: Evidence, refused: UnavailableOfferings) -> Evidence:
    return evidence if evidence.refused == refused else msgspec.structs.replace(evidence, refused=refused)


def launch_refusals_of(state: ClusterState) -> tuple[LaunchRefusal, ...]:
    """Return the launches that failed for lack of capacity, for as long as events are kept."""
    return recent_launch_refusals(_inventory(state), state.history)


def _refused(state: ClusterState, now_ns: int) -> UnavailableOfferings:
    return unavailable_now(_inventory(state), now_ns, state.history)


def _inventory(state: ClusterState) -> Inventory:
    """Return the input for refusals, without the many pods."""
    events, claims, pools, nodeclasses, nodes = (tuple(state.of(kind).values()) for kind in _KINDS)
    return Inventory(events=events, nodeclaims=claims, nodepools=pools, nodeclasses=nodeclasses, nodes=nodes)
