"""Which NodePool came closest to taking a pod, and whether DaemonSets are what keeps it out."""

from __future__ import annotations

from typing import Final

from karptui.karpenter.labels import NODEPOOL
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.provisioning.explain import GATES, PodExplanation, PoolExplanation
from karptui.provisioning.rejection import PlacementGate, TypesExhausted

_BEGINNING: Final = (PlacementGate.TAINTS, PlacementGate.REQUIREMENTS)
"""Gates before those that need the pod's own NodePool."""


def furthest(explanation: PodExplanation) -> PoolExplanation | None:
    """Return the NodePool that came closest to taking the pod: that which failed last, of equals the first asked.

    Where the pod names its NodePools, the others do not count. One that would take the pod if EC2 had not refused its
    types comes first. One at its limits stands where it would fail the pod
    without them, and nearest of all where it would take it. One that takes no part comes closest where the pod
    has its labels and tolerates its taints, and not those of another.
    """
    wanted = named_pools(explanation.pod)
    named = [pool for pool in explanation.pools if pool.nodepool in wanted]
    refused = next((pool for pool in named or explanation.pools if pool.refused), None)
    if refused is not None:
        return refused
    if named and all(pool.takes_no_part for pool in named):
        return named[0]
    asked = [pool for pool in named or explanation.pools if pool.failed is not None]
    best = max(asked, key=lambda pool: (_depth(pool), -pool.position), default=None)
    if best is None or _gate(best) in _BEGINNING:
        return next((pool for pool in explanation.pools if pool.takes_no_part and pool.is_meant), best)
    return best


def named_pools(pod: Pod) -> frozenset[str]:
    """Return the NodePools that a pod names by label; empty where it names none, and so goes to any."""
    template = pod.template
    if NODEPOOL in template.node_selector:
        return frozenset({template.node_selector[NODEPOOL]})
    terms = template.required_node_terms or ()
    return frozenset(
        value
        for term in terms[:1]
        for one in term.match_expressions
        if one.key == NODEPOOL and one.operator == "In"
        for value in one.values
    )


def _gate(pool: PoolExplanation) -> PlacementGate:
    rejection = pool.besides_limits or pool.rejection
    assert rejection is not None
    return rejection.gate


def _depth(pool: PoolExplanation) -> float:
    gate, rejection = _gate(pool), pool.besides_limits or pool.rejection
    if gate is PlacementGate.LIMITS:
        return float(len(GATES))  # nothing else is in the way
    has_labels = isinstance(rejection, TypesExhausted) and rejection.with_labels_and_offering
    return GATES.index(gate) + (0.5 if has_labels else 0.0) - (0.25 if pool.besides_limits is not None else 0.0)


def is_for_daemons(pool: PoolExplanation) -> bool:
    """Whether the nearest type, which lacks something, would do if no DaemonSets ran on it."""
    rejection = pool.rejection
    assert isinstance(rejection, TypesExhausted)
    assert pool.nearest is not None
    own = rejection.pod_requests
    return all(resources.nano(own, one.resource) <= one.room.nano for one in pool.nearest.shortages)
