"""The demo's cluster: API objects, pending changes, the free room of nodes, and a queue of scheduled actions."""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from karptui.kube.quantity import parse_quantity
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


def a_suffix(rng: random.Random) -> str:
    """Return the random end that controllers give to names."""
    return "".join(rng.choices(_LETTERS, k=5))


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
    others = [entry for entry in status.get("conditions", ()) if entry["type"] != changed["type"]]
    return {**manifest, "status": {**status, "conditions": [*others, changed]}}


def without_condition(manifest: Manifest, type_: str) -> Manifest:
    """Return an object without a condition."""
    status = manifest.get("status", {})
    kept = [entry for entry in status.get("conditions", ()) if entry["type"] != type_]
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
    manifest = metadata(
        f"{meta['name']}-{a_suffix(rng)}",
        uid=a_uid(rng),
        created_ns=created_ns,
        namespace=meta["namespace"],
        labels=template["metadata"]["labels"],
        annotations=template["metadata"].get("annotations"),
        owner=owner_of(owner),
    )
    return pod(manifest, template["spec"])


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
        spec["tolerations"] = [dict(toleration) for toleration in tolerations]
    if node_selector:
        spec["nodeSelector"] = dict(node_selector)
    return {**spec, "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": _GRACE_SECONDS, **others}


def unschedulable(manifest: Manifest, message: str, since_ns: int) -> Manifest:
    """Return a pod that kube-scheduler finds no node for."""
    scheduled = condition("PodScheduled", "False", since_ns, reason="Unschedulable", message=message)
    return with_condition(manifest, scheduled)


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
        "count": 1,
        "source": {"component": "karpenter"},
        "reportingComponent": "karpenter",
        "firstTimestamp": stamp(at_ns),
        "lastTimestamp": stamp(at_ns),
    }


def key_of(manifest: Manifest) -> tuple[str, str]:
    """Return kind and ``namespace/name``."""
    meta = manifest["metadata"]
    return manifest["kind"], f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]


def tolerates(spec: Manifest, taints: Iterable[Mapping[str, str]]) -> bool:
    """Whether a pod tolerates taints; of operators, Exists and Equal as the demo writes them."""
    tolerations = spec.get("tolerations", ())
    return all(any(_covers(toleration, taint) for toleration in tolerations) for taint in taints)


def _covers(toleration: Mapping[str, str], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect", taint["effect"]) != taint["effect"]:
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key", taint["key"]) == taint["key"]
    return toleration.get("key") == taint["key"] and toleration.get("value", "") == taint.get("value", "")


Key = tuple[str, str]
MAX_NEW_EVENTS: Final = 150
NOTHING: Final = (0, 0, 0)


class DemoWorld:
    """Every object of the demo. Objects are replaced, never changed, so that other threads may read them."""

    def __init__(self, objects: Iterable[Manifest], rng: random.Random) -> None:
        self.rng = rng
        self._objects: dict[Key, Manifest] = {key_of(manifest): manifest for manifest in objects}
        self._of_kind: defaultdict[str, dict[Key, Manifest]] = defaultdict(dict)
        self._changed: dict[Key, Manifest | None] = {}
        self._on_node: dict[str, set[Key]] = {}
        self._used: dict[str, tuple[int, ...]] = {}
        self._new_events: list[Key] = []
        for key, manifest in self._objects.items():
            self._index(key, manifest)

    def get(self, kind: str, key: str) -> Manifest | None:
        """Return an object, None if it is deleted."""
        return self._objects.get((kind, key))

    def of(self, kind: str) -> list[Manifest]:
        """Return the objects of a kind."""
        return [*self._of_kind[kind].values()]

    def put(self, manifest: Manifest) -> Manifest:
        """Add an object, or replace it."""
        key = key_of(manifest)
        self._unindex(key)
        self._objects[key] = manifest
        self._changed[key] = manifest
        self._index(key, manifest)
        return manifest

    def remove(self, manifest: Manifest) -> None:
        """Take an object away."""
        key = key_of(manifest)
        self._unindex(key)
        self._of_kind[key[0]].pop(key, None)
        if self._objects.pop(key, None) is not None:
            self._changed[key] = None

    def say(self, about: Manifest, reason: str, message: str, at_ns: int, *, type_: str = "Normal") -> None:
        """Add an event; of those added so only the latest are kept."""
        manifest = self.put(event(about, reason, message, at_ns, uid=a_uid(self.rng), type_=type_))
        self._new_events.append(key_of(manifest))
        if len(self._new_events) > MAX_NEW_EVENTS and (old := self._objects.get(self._new_events.pop(0))):
            self.remove(old)

    def take_changes(self) -> dict[Key, Manifest | None]:
        """Return the changes since the last call; None for a deleted object."""
        changed, self._changed = self._changed, {}
        return changed

    def everything(self) -> dict[Key, Manifest]:
        """Return every object."""
        return dict(self._objects)

    def pods_on(self, node_name: str) -> list[Manifest]:
        """Return the pods bound to a node, in the order of their names."""
        return [self._objects[key] for key in sorted(self._on_node.get(node_name, ()))]

    def daemons_on(self, node_name: str) -> list[Manifest]:
        """Return the pods of DaemonSets that are bound to a node."""
        return [manifest for manifest in self.pods_on(node_name) if is_owned_by(manifest, "DaemonSet")]

    def is_held(self, pod: Manifest) -> bool:
        """Whether no eviction of a pod is allowed: by do-not-disrupt, by its PodDisruptionBudget, or as it has two."""
        if is_protected(pod):
            return True
        namespace, labels = pod["metadata"]["namespace"], pod["metadata"].get("labels", {})
        over = [
            manifest
            for manifest in self.of("PodDisruptionBudget")
            if manifest["metadata"]["namespace"] == namespace
            and manifest["spec"]["selector"]["matchLabels"].items() <= labels.items()
        ]
        return len(over) > 1 or any(manifest["status"]["disruptionsAllowed"] == 0 for manifest in over)

    def claim_of(self, node: Manifest) -> Manifest | None:
        """Return the NodeClaim of a node."""
        provider_id = node["spec"].get("providerID")
        return next((m for m in self.of("NodeClaim") if m["status"].get("providerID") == provider_id), None)

    def fits(self, pod: Manifest, node: Manifest) -> bool:
        """Whether a pod may run on a node: selector, taints, cordon, cpu, memory and slots."""
        spec, labels = pod["spec"], node["metadata"]["labels"]
        if node["spec"].get("unschedulable") or not tolerates(spec, node["spec"].get("taints", ())):
            return False
        if any(labels.get(key) != value for key, value in spec.get("nodeSelector", {}).items()):
            return False
        room = asked(node["status"]["allocatable"])
        used = self._used.get(node["metadata"]["name"], NOTHING)
        return all(has - takes >= asks_for for has, takes, asks_for in zip(room, used, asks(pod), strict=True))

    def nodes_for(self, pod: Manifest) -> Iterator[Manifest]:
        """Return the nodes that have room for a pod."""
        return (node for node in self.of("Node") if self.fits(pod, node))

    def _index(self, key: Key, manifest: Manifest) -> None:
        self._of_kind[key[0]][key] = manifest
        if node_name := _node_name(manifest):
            self._on_node.setdefault(node_name, set()).add(key)
            self._book(node_name, manifest, 1)

    def _unindex(self, key: Key) -> None:
        before = self._objects.get(key)
        if before is None:
            return
        if node_name := _node_name(before):
            self._on_node[node_name].discard(key)
            self._book(node_name, before, -1)

    def _book(self, node_name: str, pod: Manifest, sign: int) -> None:
        used = self._used.get(node_name, NOTHING)
        self._used[node_name] = tuple(has + sign * takes for has, takes in zip(used, asks(pod), strict=True))


def _node_name(manifest: Manifest) -> str:
    return str(manifest["spec"].get("nodeName", "")) if manifest["kind"] == "Pod" else ""


def asked(amounts: dict[str, Any]) -> tuple[int, ...]:
    """Return millicores, bytes and slots of a resource list."""
    return (
        parse_quantity(amounts["cpu"]).millis,
        parse_quantity(amounts["memory"]).units,
        parse_quantity(amounts.get("pods", "1")).units,
    )


def asks(pod: Manifest) -> tuple[int, ...]:
    """Return a pod's requests: millicores, bytes, one slot."""
    parts = [asked(container["resources"]["requests"]) for container in pod["spec"]["containers"]]
    return (sum(part[0] for part in parts), sum(part[1] for part in parts), 1)


def is_owned_by(pod: Manifest, kind: str) -> bool:
    """Whether an owner of this kind made the pod."""
    return any(owner["kind"] == kind for owner in pod["metadata"].get("ownerReferences", ()))


def is_protected(pod: Manifest) -> bool:
    """Whether the pod says do-not-disrupt."""
    return "karpenter.sh/do-not-disrupt" in pod["metadata"].get("annotations", {})


SECOND_NS: Final = 1_000_000_000
Act = Callable[["DemoPlay"], None]


class DemoPlay:
    """A world with scheduled actions; deterministic from the world's seed and the times it is advanced to."""

    def __init__(self, world: DemoWorld, now_ns: int) -> None:
        self.world = world
        self.rng = world.rng
        self.now_ns = now_ns
        """The instant of the act that takes place: nanoseconds since the epoch."""
        self._queue: list[tuple[int, int, Act]] = []
        self._count = 0

    def after(self, seconds: float, act: Act) -> None:
        """Let an act take place some seconds from now."""
        self._count += 1
        heapq.heappush(self._queue, (self.now_ns + int(seconds * SECOND_NS), self._count, act))

    def every(self, low_seconds: float, high_seconds: float, act: Act) -> None:
        """Let an act take place again and again, with uneven breaks."""

        def again(play: DemoPlay) -> None:
            act(play)
            play.every(low_seconds, high_seconds, act)

        self.after(self.rng.uniform(low_seconds, high_seconds), again)

    def advance(self, now_ns: int) -> None:
        """Let everything take place that is due, in order."""
        while self._queue and self._queue[0][0] <= now_ns:
            at_ns, _, act = heapq.heappop(self._queue)
            self.now_ns = at_ns
            act(self)
        self.now_ns = max(self.now_ns, now_ns)
