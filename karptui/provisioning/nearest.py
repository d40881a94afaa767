"""Finds the NodePool that came closest to accepting a pod, and whether DaemonSets are the reason it did not."""

from __future__ import annotations

from typing import Final

from karptui.karpenter.labels import NODEPOOL, WELL_KNOWN
from karptui.karpenter.requirements import KeyConflict
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.provisioning.explain import GATES, PodExplanation, PoolExplanation
from karptui.provisioning.rejection import PlacementGate, RequirementsUnmet, TypesExhausted

_BEGINNING: Final = (PlacementGate.TAINTS, PlacementGate.REQUIREMENTS)
"""Gates that also other NodePools than the pod's can pass."""


def furthest(explanation: PodExplanation) -> PoolExplanation | None:
    """Return the NodePool that came closest to accepting the pod: it failed at the latest gate; the first of equals.

    Only NodePools named by the pod count, if there are any. A NodePool that would accept the pod if EC2 had not refused
    its types comes first. A NodePool at its limits is ranked by its result without limits, and closest if it would then
    accept the pod. NodePools with the pod's devices whose taints it tolerates come before others. Where the others lack
    the labels that the pod selects, or its devices, a skipped NodePool that would take it comes closest, then one that
    only its taints keep from taking it.
    """
    names = named_pools(explanation.pod)
    named = [pool for pool in explanation.pools if pool.nodepool in names]
    refused = next((pool for pool in named or explanation.pools if pool.refused), None)
    if refused is not None:
        return refused
    if named and all(pool.takes_no_part for pool in named):
        return named[0]
    failed = [pool for pool in named or explanation.pools if pool.failed is not None]
    with_devices = [pool for pool in failed if pool.has_devices and _gate(pool) is not PlacementGate.TAINTS]
    best = max(with_devices or failed, key=lambda pool: (_depth(pool), -pool.position), default=None)
    lacks_devices = best is not None and best.nearest is not None and bool(best.nearest.unoffered)
    is_only_elsewhere = bool(with_devices) and best is not None and _conflicts_by_provider(best)
    if best is None or lacks_devices or (_gate(best) in _BEGINNING and not is_only_elsewhere):
        meant = [pool for pool in explanation.pools if pool.is_meant]
        return next((pool for pool in sorted(meant, key=lambda pool: not pool.takes_no_part)), best)
    return best


def named_pools(pod: Pod) -> frozenset[str]:
    """Return the NodePools that a pod names by label; empty if it names none."""
    template = pod.template
    if NODEPOOL in template.node_selector:
        return frozenset({template.node_selector[NODEPOOL]})
    terms = template.required_node_terms or ()
    return frozenset(
        value
        for term in terms[:1]
        for expression in term.match_expressions
        if expression.key == NODEPOOL and expression.operator == "In"
        for value in expression.values
    )


def _gate(pool: PoolExplanation) -> PlacementGate:
    rejection = pool.besides_limits or pool.rejection
    assert rejection is not None
    return rejection.gate


def _conflicts_by_provider(pool: PoolExplanation) -> bool:
    """Return whether a NodePool rejects the pod for labels of its provider alone, such as the zone."""
    rejection = pool.besides_limits or pool.rejection
    return isinstance(rejection, RequirementsUnmet) and all(reason.key in WELL_KNOWN for reason in rejection.reasons)


def _depth(pool: PoolExplanation) -> float:
    gate, rejection = _gate(pool), pool.besides_limits or pool.rejection
    if gate is PlacementGate.LIMITS:
        return float(len(GATES))  # only the limits reject the pod
    has_labels = isinstance(rejection, TypesExhausted) and bool(rejection.with_labels_and_offering)
    if isinstance(rejection, RequirementsUnmet):  # a label with another value is closer than no such label
        has_labels = all(isinstance(reason, KeyConflict) for reason in rejection.reasons)
    return GATES.index(gate) + (0.5 if has_labels else 0.0) - (0.25 if pool.besides_limits is not None else 0.0)


def is_for_daemons(pool: PoolExplanation) -> bool:
    """Return whether the nearest type would fit the pod without DaemonSet pods."""
    rejection = pool.rejection
    assert isinstance(rejection, TypesExhausted)
    assert pool.nearest is not None
    requests = rejection.pod_requests
    return all(resources.nano(requests, shortage.resource) <= shortage.room.nano for shortage in pool.nearest.shortages)
