"""Volumes that tie pods to zones."""

from __future__ import annotations

from collections.abc import Iterator

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import joined, listed, ref_text
from karptui.kube.pod import Pod
from karptui.kube.units import counted, verb
from karptui.whatif.edits import ObjectRef


@rule(
    "volume-zone-without-offering",
    title="a volume in an unreachable zone",
    what="A volume, or the allowedTopologies of its StorageClass, ties a pod to zones without an available offering in "
    "any NodePool that accepts the pod.",
    why="A volume's zone is added to the pod's requirements. If no NodePool has subnets, an allowed zone and an "
    "offering there, the pod fails with a message about instance types, or keeps its node from ever being replaced.",
    source="pkg/controllers/provisioning/scheduling/volumetopology.go",
    remedy="Add a subnet in that zone to the NodeClass or the zone to the NodePool, or move the data.",
)
def _zone_without_offering(context: AdviceContext) -> Iterator[Finding]:
    stranded: dict[tuple[str, ...], list[tuple[ObjectRef, Pod]]] = {}
    for group in context.workload_groups:
        reach: frozenset[str] | None = None
        for pod in group.pods:
            zones = context.zones_of_volumes(pod) if pod.volumes else frozenset()
            if not zones or (pod.node_name and not context.nodes_with((pod,))):
                continue
            if reach is None:
                reach = context.zones_for(group.template)
            if reach and not zones & reach:
                stranded.setdefault(tuple(sorted(zones)), []).append((group.owner, pod))
    for where, pods in sorted(stranded.items()):
        owners = tuple(dict.fromkeys(owner for owner, _ in pods))
        waiting = sum(1 for _, pod in pods if not pod.node_name)
        state = (
            f"{counted(waiting, 'pod is', 'pods are')} pending"
            if waiting
            else verb(len(pods), "it runs, and has", "they run, and have") + " no zone to move to"
        )
        yield Finding(
            severity=Severity.ERROR if waiting else Severity.WARNING,
            objects=owners,
            fact=f"{counted(len(pods), 'pod')} ({listed(map(ref_text, owners))}) {verb(len(pods), 'needs', 'need')} "
            f"volumes in {joined(where)}, where no NodePool for {verb(len(pods), 'it', 'them')} has an available "
            f"offering; {state}.",
        )
