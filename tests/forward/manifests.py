"""A play's cluster as a snapshot document, so that others can be asked about the same moment."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from karptui.forward.world import World
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.node import Node
from karptui.kube.objects import Condition
from karptui.kube.pod import Pod
from karptui.kube.resources import ResourceList
from karptui.kube.taints import Taint
from karptui.kube.timestamps import ABSENT_NS, NS_PER_SECOND, format_timestamp

Manifest = dict[str, Any]


class Writer:
    """Writes moments of a play that began with a snapshot."""

    def __init__(self, snapshot: Mapping[str, Any], inventory: Inventory) -> None:
        self._snapshot = snapshot
        self._manifests = {_key(manifest): manifest for manifest in snapshot["objects"]}
        self._objects: dict[tuple[str, str], Any] = {}
        self._of_template: dict[int, Manifest] = {}
        for kind, items in _changing(inventory).items():
            for item in items:
                self._objects[kind, item.key] = item
        for pod in inventory.pods:
            self._of_template.setdefault(id(pod.template), self._manifests["Pod", pod.key])

    def write(self, name: str, world: World, now_ns: int) -> dict[str, Any]:
        changing = _changing(world.inventory)
        objects = [result for (kind, _), result in self._manifests.items() if kind not in changing]
        objects += [self._written(kind, item) for kind, items in changing.items() for item in items]
        return {**self._snapshot, "name": name, "capturedAt": format_timestamp(now_ns), "objects": objects}

    def _written(self, kind: str, item: Any) -> Manifest:
        result: Any = self._objects.get((kind, item.key))
        if result is item:
            unchanged: Manifest = self._manifests[kind, item.key]
            return unchanged
        if kind == "Pod":
            outcome = result is not None and result.uid == item.uid
            return _pod(item, self._manifests[kind, item.key] if outcome else self._of_template[id(item.template)])
        manifest = copy.deepcopy(self._manifests[kind, item.key]) if result is not None else _metadata(kind, item)
        if kind == "PodDisruptionBudget":
            manifest["status"] = {
                **manifest.get("status", {}),
                "disruptionsAllowed": item.disruptions_allowed, "currentHealthy": item.current_healthy
            }  # fmt: skip
            return manifest
        return _node(manifest, item) if kind == "Node" else _claim(manifest, item)


def _changing(inventory: Inventory) -> dict[str, tuple[Any, ...]]:
    return {
        "Pod": inventory.pods, "Node": inventory.nodes, "NodeClaim": inventory.nodeclaims,
        "PodDisruptionBudget": inventory.pdbs,
    }  # fmt: skip


def _key(manifest: Mapping[str, Any]) -> tuple[str, str]:
    meta = manifest["metadata"]
    namespace = meta.get("namespace", "")
    return manifest["kind"], f"{namespace}/{meta['name']}" if namespace else meta["name"]


def _pod(pod: Pod, source: Manifest) -> Manifest:
    manifest = copy.deepcopy(source)
    meta, spec = manifest["metadata"], manifest["spec"]
    meta |= {"name": pod.name, "uid": pod.uid, "creationTimestamp": format_timestamp(pod.created_ns)}
    meta.pop("deletionTimestamp", None)
    if pod.is_terminating:
        meta["deletionTimestamp"] = _whole(pod.deletion_ns)
    spec.pop("nodeName", None)
    if pod.node_name:
        spec["nodeName"] = pod.node_name
    conditions = [
        Condition("PodScheduled", "True" if pod.node_name else "False", pod.scheduled_reason, "", pod.scheduled_ns)
    ]
    if pod.ready is not None:
        conditions.append(Condition("Ready", "True" if pod.ready else "False"))
    manifest["status"] = {"phase": pod.phase, "conditions": _conditions(conditions)}
    if pod.start_ns != ABSENT_NS:
        manifest["status"]["startTime"] = _whole(pod.start_ns)
    return manifest


def _metadata(kind: str, item: Node | NodeClaim) -> Manifest:
    return {
        "apiVersion": "v1" if kind == "Node" else "karpenter.sh/v1",
        "kind": kind,
        "metadata": {"name": item.name, "uid": item.uid, "creationTimestamp": _whole(item.created_ns)},
        "spec": {},
        "status": {},
    }


def _changed(manifest: Manifest, item: Node | NodeClaim) -> None:
    meta = manifest["metadata"]
    meta |= {"labels": dict(item.labels), "annotations": dict(item.annotations)}
    if item.is_deleting:
        meta["deletionTimestamp"] = _whole(item.deletion_ns)
    manifest.setdefault("spec", {})["taints"] = _taints(item.taints)
    manifest.setdefault("status", {})["conditions"] = _conditions(item.conditions)


def _node(manifest: Manifest, node: Node) -> Manifest:
    _changed(manifest, node)
    manifest["spec"]["providerID"] = node.provider_id
    manifest["status"] |= {"capacity": _amounts(node.capacity), "allocatable": _amounts(node.allocatable)}
    return manifest


def _claim(manifest: Manifest, claim: NodeClaim) -> Manifest:
    _changed(manifest, claim)
    spec, status = manifest["spec"], manifest["status"]
    ref = claim.node_class_ref
    spec.setdefault("nodeClassRef", {"group": ref.group, "kind": ref.kind, "name": ref.name})
    spec.setdefault("requirements", [
        {"key": item.key, "operator": item.operator, **({"values": list(item.values)} if item.values else {})}
        for item in claim.requirements
    ])  # fmt: skip
    spec.setdefault("resources", {"requests": _amounts(claim.requests)})
    spec["startupTaints"] = _taints(claim.startup_taints)
    if claim.expire_after_ns is not None:
        spec.setdefault("expireAfter", f"{claim.expire_after_ns // NS_PER_SECOND}s")
    if claim.termination_grace_period_ns is not None:
        spec.setdefault("terminationGracePeriod", f"{claim.termination_grace_period_ns // NS_PER_SECOND}s")
    status |= {
        "providerID": claim.provider_id, "nodeName": claim.node_name,
        "capacity": _amounts(claim.capacity), "allocatable": _amounts(claim.allocatable),
    }  # fmt: skip
    if claim.last_pod_event_ns != ABSENT_NS:
        status["lastPodEventTime"] = _whole(claim.last_pod_event_ns)
    return manifest


def _whole(instant_ns: int) -> str:
    return format_timestamp(instant_ns - instant_ns % NS_PER_SECOND)


def _amounts(amounts: ResourceList) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def _taints(taints: Iterable[Taint]) -> list[dict[str, str]]:
    return [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in taints]


def _conditions(conditions: Iterable[Condition]) -> list[dict[str, str]]:
    return [
        {
            "type": item.type, "status": item.status, "reason": item.reason or item.type, "message": item.message,
            "lastTransitionTime": _whole(item.last_transition_ns),
        }
        for item in conditions
    ]  # fmt: skip
