"""Which zones a pending pod's volumes leave it."""

from __future__ import annotations

from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import ZONE
from karptui.karpenter.requirements import IN, Requirements
from karptui.kube.pod import Pod
from karptui.provisioning.volumes import VolumeIndex, VolumeLookupError
from karptui.state.cluster import ClusterState


def zones_of_volumes(pod: Pod, state: ClusterState) -> list[tuple[str, frozenset[str]]]:
    """Return the zones that each of a pod's volumes is bound to, by its claim; nothing where one is unknown."""
    inventory = Inventory(
        claims=tuple(state.of(Kind.PVC).values()),
        volumes=tuple(state.of(Kind.PV).values()),
        storage_classes=tuple(state.of(Kind.STORAGE_CLASS).values()),
        unread=state.unread,
    )
    try:
        reach = VolumeIndex(inventory).reach(pod)
    except VolumeLookupError:
        return []
    found = ((f"PVC {key}", _zones(alternatives)) for key, alternatives in reach)
    return [(name, zones) for name, zones in found if zones is not None]


def _zones(alternatives: tuple[Requirements, ...]) -> frozenset[str] | None:
    """Return the zones of a volume's alternatives; None where one of them is not bound to zones."""
    asked = [one.find(ZONE) for one in alternatives]
    if any(one is None or one.operator != IN for one in asked):
        return None
    return frozenset(value for one in asked if one is not None for value in one.values)
