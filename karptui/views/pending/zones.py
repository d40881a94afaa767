"""Which zones a pending pod's volumes and selector leave it, each with the object that says so."""

from __future__ import annotations

from karptui.karpenter.labels import ZONE
from karptui.kube.pod import Pod
from karptui.pending.zones import zones_of_volumes
from karptui.state.cluster import ClusterState
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean


def zone_lines(pod: Pod, state: ClusterState) -> tuple[Pieces, ...]:
    """Return who binds a pod to which zones, and what they have in common; nothing where no volume binds it."""
    volumes = zones_of_volumes(pod, state)
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
