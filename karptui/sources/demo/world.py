"""The demo's cluster while it plays: objects, what has changed, and what room nodes have."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from karptui.kube.quantity import parse_quantity
from karptui.sources.demo.manifests import Manifest, a_uid, event, key_of, tolerates

Key = tuple[str, str]
MAX_NEW_EVENTS: Final = 150
NOTHING: Final = (0, 0, 0)


class World:
    """Every object of the demo. Objects are replaced, never changed, so that other threads may read them."""

    def __init__(self, objects: Iterable[Manifest], rng: random.Random) -> None:
        self.rng = rng
        self._objects: dict[Key, Manifest] = {key_of(one): one for one in objects}
        self._changed: dict[Key, Manifest | None] = {}
        self._on_node: dict[str, set[Key]] = {}
        self._used: dict[str, tuple[int, ...]] = {}
        self.counts: Counter[str] = Counter()
        """Objects by kind."""
        self._new_events: list[Key] = []
        for key, manifest in self._objects.items():
            self._index(key, manifest)

    def get(self, kind: str, key: str) -> Manifest | None:
        """Return an object, None where it is gone."""
        return self._objects.get((kind, key))

    def of(self, kind: str) -> list[Manifest]:
        """Return the objects of a kind."""
        return [one for (its, _), one in self._objects.items() if its == kind]

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
        if self._objects.pop(key, None) is not None:
            self._changed[key] = None

    def say(self, about: Manifest, reason: str, message: str, at_ns: int, *, type_: str = "Normal") -> None:
        """Add an event; of those added so only the latest are kept."""
        said = self.put(event(about, reason, message, at_ns, uid=a_uid(self.rng), type_=type_))
        self._new_events.append(key_of(said))
        if len(self._new_events) > MAX_NEW_EVENTS:
            old = self._objects.get(self._new_events.pop(0))
            if old is not None:
                self.remove(old)

    def take_changes(self) -> dict[Key, Manifest | None]:
        """Return what has changed since the last time; None is gone."""
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
        return [one for one in self.pods_on(node_name) if is_owned_by(one, "DaemonSet")]

    def claim_of(self, node: Manifest) -> Manifest | None:
        """Return the NodeClaim of a node."""
        provider_id = node["spec"].get("providerID")
        return next((one for one in self.of("NodeClaim") if one["status"].get("providerID") == provider_id), None)

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
        self.counts[key[0]] += 1
        node_name = _node_name(manifest)
        if node_name:
            self._on_node.setdefault(node_name, set()).add(key)
            self._book(node_name, manifest, 1)

    def _unindex(self, key: Key) -> None:
        before = self._objects.get(key)
        if before is None:
            return
        self.counts[key[0]] -= 1
        node_name = _node_name(before)
        if node_name:
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
    """Return what a pod takes: millicores, bytes, one slot."""
    parts = [asked(container["resources"]["requests"]) for container in pod["spec"]["containers"]]
    return (sum(part[0] for part in parts), sum(part[1] for part in parts), 1)


def is_owned_by(pod: Manifest, kind: str) -> bool:
    """Whether an owner of this kind made the pod."""
    return any(owner["kind"] == kind for owner in pod["metadata"].get("ownerReferences", ()))


def is_protected(pod: Manifest) -> bool:
    """Whether the pod says do-not-disrupt."""
    return "karpenter.sh/do-not-disrupt" in pod["metadata"].get("annotations", {})
