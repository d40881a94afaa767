"""API objects of the demo, and what happens to them in their life: plain values, as an API server would send them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp

Manifest = dict[str, Any]

DISRUPTED: Final = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
UNREGISTERED: Final = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
LIFECYCLE: Final = ("Launched", "Registered", "Initialized")

_GRACE_SECONDS: Final = 30
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


def a_uid(rng: random.Random) -> str:
    """Return a UID."""
    digits = f"{rng.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], f"4{digits[13:16]}", f"a{digits[17:20]}", digits[20:]))


def a_suffix(rng: random.Random, length: int = 5) -> str:
    """Return the random end that controllers give to names."""
    return "".join(rng.choices(_LETTERS, k=length))


def metadata(
    name: str,
    *,
    uid: str,
    created_ns: int,
    namespace: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: Mapping[str, str] | None = None,
) -> Manifest:
    """Return the metadata of an object; the owner is its controller."""
    result: Manifest = {"name": name}
    if namespace:
        result["namespace"] = namespace
    result |= {"uid": uid, "creationTimestamp": stamp(created_ns)}
    if labels:
        result["labels"] = dict(labels)
    if annotations:
        result["annotations"] = dict(annotations)
    if owner:
        result["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    return result


def stamp(instant_ns: int) -> str:
    """Return an instant as API servers write it: to the second."""
    return format_timestamp(instant_ns - instant_ns % NS_PER_SECOND)


def owner_of(manifest: Manifest) -> dict[str, str]:
    """Return the reference to an owner."""
    meta = manifest["metadata"]
    return {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "name": meta["name"], "uid": meta["uid"]}


def condition(type_: str, status: str, since_ns: int, *, reason: str = "", message: str = "") -> Manifest:
    """Return a condition."""
    return {
        "type": type_,
        "status": status,
        "reason": reason or type_,
        "message": message,
        "lastTransitionTime": stamp(since_ns),
    }


def with_condition(manifest: Manifest, changed: Manifest) -> Manifest:
    """Return an object with one condition set."""
    status = manifest.get("status", {})
    others = [one for one in status.get("conditions", ()) if one["type"] != changed["type"]]
    return {**manifest, "status": {**status, "conditions": [*others, changed]}}


def without_condition(manifest: Manifest, type_: str) -> Manifest:
    """Return an object without a condition."""
    status = manifest.get("status", {})
    kept = [one for one in status.get("conditions", ()) if one["type"] != type_]
    return {**manifest, "status": {**status, "conditions": kept}}


def pod(meta: Manifest, spec: Manifest) -> Manifest:
    """Return a pod that has just been created."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": dict(spec),
        "status": {"phase": "Pending"},
    }


def pod_of(owner: Manifest, rng: random.Random, created_ns: int) -> Manifest:
    """Return a pod that a DaemonSet or a Job makes of its template."""
    template, meta = owner["spec"]["template"], owner["metadata"]
    made = metadata(
        f"{meta['name']}-{a_suffix(rng)}",
        uid=a_uid(rng),
        created_ns=created_ns,
        namespace=meta["namespace"],
        labels=template["metadata"]["labels"],
        annotations=template["metadata"].get("annotations"),
        owner=owner_of(owner),
    )
    return pod(made, template["spec"])


def pod_spec(
    *,
    cpu: str,
    memory: str,
    image: str,
    tolerations: Sequence[Mapping[str, str]] = (),
    node_selector: Mapping[str, str] | None = None,
    **others: Any,
) -> Manifest:
    """Return the spec of a pod with one container; ``others`` are further fields."""
    name = image.rpartition("/")[2].partition(":")[0]
    resources = {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}}
    spec: Manifest = {"containers": [{"name": name, "image": image, "resources": resources}]}
    if tolerations:
        spec["tolerations"] = [dict(one) for one in tolerations]
    if node_selector:
        spec["nodeSelector"] = dict(node_selector)
    return {**spec, "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": _GRACE_SECONDS, **others}


def unschedulable(manifest: Manifest, message: str, since_ns: int) -> Manifest:
    """Return a pod that kube-scheduler finds no node for."""
    said = condition("PodScheduled", "False", since_ns, reason="Unschedulable", message=message)
    return with_condition(manifest, said)


def bound(manifest: Manifest, node_name: str, at_ns: int) -> Manifest:
    """Return a pod that has got its node."""
    placed = {**manifest, "spec": {**manifest["spec"], "nodeName": node_name}}
    placed["status"] = {**placed["status"], "phase": "Pending", "startTime": stamp(at_ns)}
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    placed["status"]["containerStatuses"] = [
        {"name": container["name"], "ready": False, "state": waiting} for container in placed["spec"]["containers"]
    ]
    return with_condition(placed, condition("PodScheduled", "True", at_ns))


def running(manifest: Manifest, at_ns: int) -> Manifest:
    """Return a pod whose containers run."""
    state = {"running": {"startedAt": stamp(at_ns)}}
    statuses = [
        {"name": container["name"], "ready": True, "state": state} for container in manifest["spec"]["containers"]
    ]
    started = {**manifest, "status": {**manifest["status"], "phase": "Running", "containerStatuses": statuses}}
    return with_condition(started, condition("Ready", "True", at_ns))


def terminating(manifest: Manifest, at_ns: int, *, grace_seconds: int = _GRACE_SECONDS) -> Manifest:
    """Return an object that is being deleted; a pod's deletionTimestamp is when its grace ends."""
    meta = {**manifest["metadata"], "deletionTimestamp": stamp(at_ns + grace_seconds * NS_PER_SECOND)}
    return {**manifest, "metadata": {**meta, "deletionGracePeriodSeconds": grace_seconds}}


def tainted(node: Manifest, *taints: Mapping[str, str]) -> Manifest:
    """Return a node with further taints."""
    spec = node["spec"]
    return {**node, "spec": {**spec, "taints": [*spec.get("taints", ()), *map(dict, taints)]}}


def untainted(node: Manifest, *taints: Mapping[str, str]) -> Manifest:
    """Return a node without some taints."""
    keys = {taint["key"] for taint in taints}
    kept = [taint for taint in node["spec"].get("taints", ()) if taint["key"] not in keys]
    return {**node, "spec": {**node["spec"], "taints": kept}}


def labelled(manifest: Manifest, labels: Mapping[str, str]) -> Manifest:
    """Return an object with further labels."""
    meta = manifest["metadata"]
    return {**manifest, "metadata": {**meta, "labels": {**meta.get("labels", {}), **labels}}}


def event(
    about: Manifest,
    reason: str,
    message: str,
    at_ns: int,
    *,
    uid: str,
    type_: str = "Normal",
    count: int = 1,
    first_ns: int | None = None,
    source: str = "karpenter",
) -> Manifest:
    """Return an event about an object."""
    meta = about["metadata"]
    namespace = meta.get("namespace", "default")
    involved = {key: about[key] for key in ("apiVersion", "kind")} | {"name": meta["name"], "uid": meta["uid"]}
    if "namespace" in meta:
        involved["namespace"] = meta["namespace"]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata(
            f"{meta['name']}.{uid[:16].replace('-', '')}", uid=uid, created_ns=at_ns, namespace=namespace
        ),
        "involvedObject": involved,
        "reason": reason,
        "message": message,
        "type": type_,
        "count": count,
        "source": {"component": source},
        "reportingComponent": source,
        "firstTimestamp": stamp(first_ns if first_ns is not None else at_ns),
        "lastTimestamp": stamp(at_ns),
    }


def key_of(manifest: Manifest) -> tuple[str, str]:
    """Return kind and ``namespace/name``."""
    meta = manifest["metadata"]
    return manifest["kind"], f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]


def tolerates(spec: Manifest, taints: Iterable[Mapping[str, str]]) -> bool:
    """Whether a pod tolerates taints; of operators, Exists and Equal as the demo writes them."""
    tolerations = spec.get("tolerations", ())
    return all(any(_covers(one, taint) for one in tolerations) for taint in taints)


def _covers(toleration: Mapping[str, str], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect", taint["effect"]) != taint["effect"]:
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key", taint["key"]) == taint["key"]
    return toleration.get("key") == taint["key"] and toleration.get("value", "") == taint.get("value", "")
