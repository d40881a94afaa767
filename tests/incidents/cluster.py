"""The objects of a small EKS cluster at one instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Final

from tests.incidents.objects import API, Object, digest, duration, rfc3339, uid

ZONE_IDS: Final = {
    "us-east-1a": "use1-az4",
    "us-east-1b": "use1-az6",
    "us-east-1c": "use1-az1",
    "us-east-1d": "use1-az2",
}
HASH: Final = "8812644370196153902"


@cache
def _before(now: str, age: str) -> str:
    instant = datetime.fromisoformat(now)
    return rfc3339(instant + duration(age[1:]) if age.startswith("-") else instant - duration(age))


@dataclass
class NodePair:
    """A Node and its NodeClaim; a node of a managed node group has no NodeClaim, a starting NodeClaim no Node."""

    zone: str
    created: str
    node: Object | None = None
    claim: Object | None = None
    without: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The Node's name."""
        assert self.node is not None
        return str(self.node["metadata"]["name"])

    @property
    def status(self) -> Object:
        """The Node's status."""
        assert self.node is not None
        status: Object = self.node["status"]
        return status

    @property
    def claim_name(self) -> str:
        """The NodeClaim's name."""
        assert self.claim is not None
        return str(self.claim["metadata"]["name"])


@dataclass
class Cluster:
    """Objects of a cluster at one instant; ages such as ``2h`` count back from it.

    ``listed``: the kinds of a `kubectl get -o json` list, instead of a recording with everything.
    """

    name: str
    now: str = "2026-11-24T09:30:00Z"
    zones: tuple[str, ...] = ("us-east-1a", "us-east-1b", "us-east-1c")
    settings: Mapping[str, str] = field(default_factory=dict)
    karpenter_version: str = "1.15.0"
    karpenter_runs: bool = True
    instance_types: Sequence[Object] = ()
    listed: Sequence[str] = ()
    objects: list[Object] = field(default_factory=list)
    namespaces: set[str] = field(default_factory=set)
    nodes: list[NodePair] = field(default_factory=list)
    daemonsets: list[tuple[Object, Object]] = field(default_factory=list)
    system: list[NodePair] = field(default_factory=list)

    def at(self, age: str) -> str:
        """Return the instant an age ago; ``-5m`` is in five minutes."""
        return _before(self.now, age)

    def add(self, kind: str, name: str, namespace: str = "", *, age: str = "60d", **fields: Any) -> Object:
        """Add an object and return it; labels, annotations and other metadata go to its metadata."""
        metadata: Object = {
            "name": name,
            "uid": uid(self.name, kind, namespace, name),
            "creationTimestamp": self.at(age),
        }
        if namespace:
            metadata["namespace"] = namespace
        for key in ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp", "generation"):
            if key in fields:
                metadata[key] = fields.pop(key)
        manifest = {"apiVersion": API[kind], "kind": kind, "metadata": metadata, **fields}
        self.objects.append(manifest)
        if kind == "Namespace":
            self.namespaces.add(name)
        return manifest

    def find(self, kind: str, name: str) -> Object:
        """Return an object that was added."""
        return next(item for item in self.objects if item["kind"] == kind and item["metadata"]["name"] == name)

    def event(
        self,
        about: Object,
        reason: str,
        message: str,
        *,
        last: str = "1m",
        first: str = "",
        count: int = 1,
        kind: str = "Warning",
        source: str = "karpenter",
    ) -> None:
        """Add an event about an object."""
        meta = about["metadata"]
        namespace = meta.get("namespace", "default")
        self.objects.append(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {
                    "name": f"{meta['name']}.{digest(meta['name'], reason, message, last)[:16]}",
                    "namespace": namespace,
                    "uid": uid(self.name, "Event", meta["name"], reason, message, last),
                    "creationTimestamp": self.at(first or last),
                },
                "involvedObject": {
                    "apiVersion": about["apiVersion"],
                    "kind": about["kind"],
                    "name": meta["name"],
                    "uid": meta["uid"],
                    **({"namespace": namespace} if "namespace" in meta else {}),
                },
                "reason": reason,
                "message": message,
                "type": kind,
                "count": count,
                "firstTimestamp": self.at(first or last),
                "lastTimestamp": self.at(last),
                "source": {"component": source},
                "reportingComponent": source,
            }
        )

    def series_event(
        self, about: Object, reason: str, note: str, *, last: str, first: str, count: int, kind: str, controller: str
    ) -> None:
        """Add an event about an object in the form of events.k8s.io/v1; a series if it happened more than once."""
        meta = about["metadata"]
        namespace = meta.get("namespace", "default")
        series = {"count": count, "lastObservedTime": self.at(last).replace("Z", ".000000Z")}
        self.objects.append(
            {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": {
                    "name": f"{meta['name']}.{digest(meta['name'], reason, note, last)[:16]}",
                    "namespace": namespace,
                    "uid": uid(self.name, "Event", meta["name"], reason, note, last),
                    "creationTimestamp": self.at(first),
                },
                "eventTime": self.at(first).replace("Z", ".000000Z"),
                "regarding": {
                    "apiVersion": about["apiVersion"],
                    "kind": about["kind"],
                    "name": meta["name"],
                    "uid": meta["uid"],
                    **({"namespace": namespace} if "namespace" in meta else {}),
                },
                "reason": reason,
                "note": note,
                "type": kind,
                "action": reason,
                "reportingController": controller,
                "reportingInstance": f"{controller}-0",
                **({"series": series} if count > 1 else {}),
            }
        )


def owned_by(result: Object, name: str) -> bool:
    """Return whether an object's controller has a name."""
    return any(item["name"] == name for item in result["metadata"].get("ownerReferences", ()))
