"""Adds the offerings that Karpenter leaves out after failed launches to the evidence."""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.aws.evidence import Evidence
from karptui.aws.launch_refusals import (
    ALL_AVAILABLE,
    LaunchRefusal,
    UnavailableOfferings,
    recent_launch_refusals,
    unavailable_now,
)
from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import Inventory
from karptui.kube.recent import LastAnswer
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.state.cluster import ClusterState

_KINDS: Final = (Kind.EVENT, Kind.NODECLAIM, Kind.NODEPOOL, Kind.NODECLASS, Kind.NODE)


def with_refusals(evidence: Evidence, state: ClusterState, now_ns: int) -> Evidence:
    """Return the evidence with the refusals in a cluster's events; the same object if it has them."""
    return _with(evidence, _refused(state, now_ns))


class RefusalReader:
    """Adds refusals again and again, and reads events only if they changed or refusals may have ended."""

    def __init__(self) -> None:
        self._refused: LastAnswer[UnavailableOfferings] = LastAnswer()
        self._latest: LastAnswer[Evidence] = LastAnswer()
        self._has_refusals = False

    def added(self, base: Evidence, state: ClusterState, now_ns: int) -> Evidence:
        """Return the evidence with refusals; the same object if nothing changed."""
        second = now_ns // NS_PER_SECOND if self._has_refusals else 0
        inputs = tuple(state.of(kind) for kind in _KINDS)
        refused = self._refused.get(inputs, lambda: _refused(state, now_ns), equals=(second,))
        self._has_refusals = refused != ALL_AVAILABLE
        return self._latest.get((base,), lambda: _with(base, refused), equals=(refused,))


def _with(evidence: Evidence, refused: UnavailableOfferings) -> Evidence:
    return evidence if evidence.refused == refused else msgspec.structs.replace(evidence, refused=refused)


def launch_refusals_of(state: ClusterState) -> tuple[LaunchRefusal, ...]:
    """Return the launches that failed for lack of capacity, for as long as events are kept."""
    return recent_launch_refusals(_inventory(state), state.history)


def _refused(state: ClusterState, now_ns: int) -> UnavailableOfferings:
    return unavailable_now(_inventory(state), now_ns, state.history)


def _inventory(state: ClusterState) -> Inventory:
    events, claims, pools, nodeclasses, nodes = (tuple(state.of(kind).values()) for kind in _KINDS)
    return Inventory(events=events, nodeclaims=claims, nodepools=pools, nodeclasses=nodeclasses, nodes=nodes)
