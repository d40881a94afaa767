"""Which zones a pending pod's volumes and selector leave it, each with the object that says so."""

from __future__ import annotations

from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import ZONE
from karptui.karpenter.requirements import IN, Requirements
from karptui.kube.pod import Pod
from karptui.provisioning.volumes import VolumeIndex, VolumeLookupError
from karptui.state.cluster import ClusterState
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean


def zone_lines(pod: Pod, state: ClusterState) -> tuple[Pieces, ...]:
    """Return who binds a pod to which zones, and what they have in common; nothing where no volume binds it."""
    volumes = _zones_of_volumes(pod, state)
    if not volumes:
        return ()
    chosen = pod.template.node_selector.get(ZONE)
    sources = [*([("nodeSelector", frozenset({chosen}))] if chosen else []), *volumes]
    common = frozenset.intersection(*(zones for _, zones in sources))
    said = " · ".join(f"{clean(name)} → {clean(', '.join(sorted(zones)))}" for name, zones in sources)
    if common or len(sources) == 1:
        left = f" · leaves {clean(', '.join(sorted(common)))}" if len(sources) > 1 else ""
        return ((("zones  ", Tone.STRONG), (f"{said}{left}", Tone.NORMAL)),)
    never = " · no zone is in all of them: no node can ever take the pod"
    return ((("zones  ", Tone.STRONG), (said, Tone.NORMAL), (never, Tone.FAULT)),)


def _zones_of_volumes(pod: Pod, state: ClusterState) -> list[tuple[str, frozenset[str]]]:
    inventory = Inventory(
        claims=tuple(state.of(Kind.PVC).values()),
        volumes=tuple(state.of(Kind.PV).values()),
        storage_classes=tuple(state.of(Kind.STORAGE_CLASS).values()),
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
