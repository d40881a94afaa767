"""Zones that a pod's volumes tie it to."""

from __future__ import annotations

from karptui.advice.context import AdviceContext
from karptui.karpenter.labels import ZONE
from karptui.kube.pod import Pod
from karptui.provisioning.volumes import VolumeLookupError


def zones_of_volumes(context: AdviceContext, pod: Pod) -> frozenset[str]:
    """Return the zones in which all volumes of a pod can be reached; empty where they do not say, or do not exist."""
    try:
        alternatives = context.prepared.volumes.alternatives(pod)
    except VolumeLookupError:
        return frozenset()
    zones: set[str] = set()
    for alternative in alternatives:
        zone = alternative.find(ZONE)
        if zone is None or zone.complement:
            return frozenset()
        zones |= zone.values
    return frozenset(zones)
