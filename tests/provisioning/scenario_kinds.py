"""Which of the things that bear on provisioning a snapshot holds, read from the snapshot itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Json = dict[str, Any]


class Contents:
    """The objects of a snapshot by kind, and its pods in their parts."""

    def __init__(self, snapshot: Json) -> None:
        self.settings: dict[str, str] = snapshot.get("settings") or {}
        self.types: list[Json] = snapshot.get("instanceTypes") or []
        self._objects: dict[str, list[Json]] = {}
        for manifest in snapshot["objects"]:
            self._objects.setdefault(manifest["kind"], []).append(manifest)
        self.pods = self["Pod"]
        self.pending = [pod for pod in self.pods if not pod["spec"].get("nodeName")]
        self.specs = [pod["spec"] for pod in self.pods]

    def __getitem__(self, kind: str) -> list[Json]:
        return self._objects.get(kind, [])

    def gate(self, name: str) -> bool:
        return f"{name}=true" in self.settings.get("FEATURE_GATES", "")

    def affinity(self, kind: str) -> Iterator[Json]:
        """Yield terms of pods, required ones and what is behind the weight of preferred ones."""
        for spec in self.specs:
            rules = (spec.get("affinity") or {}).get(kind) or {}
            yield from rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
            for item in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
                yield item["podAffinityTerm"]

    @property
    def pod_terms(self) -> Iterator[Json]:
        yield from self.affinity("podAffinity")
        yield from self.affinity("podAntiAffinity")

    @property
    def node_terms(self) -> Iterator[Json]:
        for spec in self.specs:
            rules = (spec.get("affinity") or {}).get("nodeAffinity") or {}
            required = rules.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
            yield from required.get("nodeSelectorTerms") or ()
            for item in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
                yield item["preference"]

    @property
    def spreads(self) -> Iterator[Json]:
        for spec in self.specs:
            yield from spec.get("topologySpreadConstraints") or ()

    def conditions(self, kind: str) -> Iterator[Json]:
        for document in self[kind]:
            yield from (document.get("status") or {}).get("conditions") or ()

    def labels(self, kind: str) -> Iterator[Json]:
        for document in self[kind]:
            yield document["metadata"].get("labels") or {}


def _containers(specs: Iterable[Json], field: str = "containers") -> Iterator[Json]:
    for spec in specs:
        yield from spec.get(field) or ()


def _reserved(c: Contents) -> bool:
    return any("reservationCapacity" in offering for it in c.types for offering in it["offerings"])


def _joined(c: Contents) -> set[str]:
    return {claim["status"].get("providerID", "") for claim in c["NodeClaim"]}


def _nodes_by_label(c: Contents, key: str, *, has: bool) -> bool:
    claimed = _joined(c)
    return any(
        (key in (node["metadata"].get("labels") or {})) is has and node["spec"].get("providerID", "") in claimed
        for node in c["Node"]
    )


KINDS: dict[str, Callable[[Contents], bool]] = {
    "sidecars": lambda c: any(container.get("restartPolicy") for container in _containers(c.specs, "initContainers")),
    "init containers": lambda c: any(not item.get("restartPolicy") for item in _containers(c.specs, "initContainers")),
    "scheduling gates": lambda c: any(spec.get("schedulingGates") for spec in c.specs),
    "in-place resize": lambda c: any((pod.get("status") or {}).get("containerStatuses") for pod in c.pods),
    "pod-level resources": lambda c: any((spec.get("resources") or {}).get("requests") for spec in c.specs),
    "pod overhead": lambda c: any(spec.get("overhead") for spec in c.specs),
    "host ports": lambda c: any(
        port.get("hostPort") for container in _containers(c.specs) for port in container.get("ports", ())
    ),
    "node selectors": lambda c: any(spec.get("nodeSelector") for spec in c.specs),
    "node affinity": lambda c: any(True for _ in c.node_terms),
    "matchFields": lambda c: any(term.get("matchFields") for term in c.node_terms),
    "pod affinity": lambda c: any(True for _ in c.affinity("podAffinity")),
    "pod anti-affinity": lambda c: any(True for _ in c.affinity("podAntiAffinity")),
    "namespace selectors": lambda c: any("namespaceSelector" in term for term in c.pod_terms),
    "spread": lambda c: any(True for _ in c.spreads),
    "minDomains": lambda c: any(spread.get("minDomains") for spread in c.spreads),
    "matchLabelKeys": lambda c: any(spread.get("matchLabelKeys") for spread in c.spreads),
    "nodeTaintsPolicy": lambda c: any(spread.get("nodeTaintsPolicy") == "Honor" for spread in c.spreads),
    "nodeAffinityPolicy": lambda c: any(spread.get("nodeAffinityPolicy") == "Ignore" for spread in c.spreads),
    "ScheduleAnyway": lambda c: any(spread["whenUnsatisfiable"] == "ScheduleAnyway" for spread in c.spreads),
    "numeric tolerations": lambda c: any(
        item.get("operator") in ("Lt", "Gt") for spec in c.specs for item in spec.get("tolerations") or ()
    ),
    "many pods apart": lambda c: len(c.pending) > 60,
    "pods of the size of nothing": lambda c: any(
        not (container.get("resources") or {}).get("requests") for container in _containers(c.specs)
    ),
    "volumes": lambda c: any(spec.get("volumes") for spec in c.specs),
    "several volumes": lambda c: any(len(spec.get("volumes") or ()) > 1 for spec in c.specs),
    "ephemeral volumes": lambda c: any("ephemeral" in item for spec in c.specs for item in spec.get("volumes") or ()),
    "CSI limits": lambda c: bool(c["CSINode"]),
    "reserved capacity": _reserved,
    "DaemonSets": lambda c: bool(c["DaemonSet"]),
    "custom labels": lambda c: any(pool["spec"]["template"]["metadata"].get("labels") for pool in c["NodePool"]),
    "taints": lambda c: any(pool["spec"]["template"]["spec"].get("taints") for pool in c["NodePool"]),
    "minValues": lambda c: any(
        item.get("minValues") for pool in c["NodePool"] for item in pool["spec"]["template"]["spec"]["requirements"]
    ),
    "limits": lambda c: any(pool["spec"].get("limits") for pool in c["NodePool"]),
    "limits of nodes": lambda c: any("nodes" in (pool["spec"].get("limits") or {}) for pool in c["NodePool"]),
    "static NodePools": lambda c: any("replicas" in pool["spec"] for pool in c["NodePool"]),
    "unready NodePools": lambda c: any(
        condition["type"] == "Ready" and condition["status"] == "False" for condition in c.conditions("NodePool")
    ),
    "NodePools being deleted": lambda c: any(item["metadata"].get("deletionTimestamp") for item in c["NodePool"]),
    "NodePools of another provider": lambda c: any(
        pool["spec"]["template"]["spec"]["nodeClassRef"]["kind"] != "EC2NodeClass" for pool in c["NodePool"]
    ),
    "launched NodeClaims": lambda c: bool(
        _joined(c) - {node["spec"].get("providerID", "") for node in c["Node"]} - {""}
    ),
    "unregistered nodes": lambda c: _nodes_by_label(c, "karpenter.sh/registered", has=False),
    "uninitialized nodes": lambda c: _nodes_by_label(c, "karpenter.sh/initialized", has=False),
    "initialized nodes": lambda c: _nodes_by_label(c, "karpenter.sh/initialized", has=True),
    "unmanaged nodes": lambda c: any("karpenter.sh/nodepool" not in labels for labels in c.labels("Node")),
    "nodes being deleted": lambda c: any(document["metadata"].get("deletionTimestamp") for document in c["NodeClaim"]),
    "terminating instances": lambda c: any(item["type"] == "InstanceTerminating" for item in c.conditions("NodeClaim")),
    "cordoned nodes": lambda c: any(node["spec"].get("unschedulable") for node in c["Node"]),
    "nodes that are not ready": lambda c: any(
        condition["type"] == "Ready" and condition["status"] != "True" for condition in c.conditions("Node")
    ),
    "nodes without a provider id": lambda c: any(not node["spec"].get("providerID") for node in c["Node"]),
    "PodDisruptionBudgets": lambda c: bool(c["PodDisruptionBudget"]),
    "NodeOverlays": lambda c: c.gate("NodeOverlay") and bool(c["NodeOverlay"]),
    "CapacityBuffers": lambda c: c.gate("CapacityBuffer") and bool(c["CapacityBuffer"]),
    "StaticCapacity": lambda c: c.gate("StaticCapacity"),
    "ReservedCapacity off": lambda c: "ReservedCapacity=false" in c.settings.get("FEATURE_GATES", ""),
    "PREFERENCE_POLICY Ignore": lambda c: c.settings.get("PREFERENCE_POLICY") == "Ignore",
    "MIN_VALUES_POLICY BestEffort": lambda c: c.settings.get("MIN_VALUES_POLICY") == "BestEffort",
    "resource claims": lambda c: any(spec.get("resourceClaims") for spec in c.specs),
}


def kinds_of(snapshot: Json) -> list[str]:
    """Return what a snapshot holds."""
    contents = Contents(snapshot)
    return [name for name, holds in KINDS.items() if holds(contents)]
