"""Objects as files and servers have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.sources.history.store import Change

CLASS_REFERENCE: Final = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
READY: Final = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-20T11:00:00Z"}]}
"""A status that says Ready."""


def a_manifest(kind: str, name: str, *, namespace: str = "", api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    """Return an object as files and servers have it; ``metadata`` among the fields adds to the metadata."""
    metadata: dict[str, Any] = {
        "name": name,
        "uid": f"uid-{kind.lower()}-{name}",
        "creationTimestamp": "2026-11-20T11:00:00Z",
    }
    if namespace:
        metadata["namespace"] = namespace
    metadata |= fields.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def decoded(manifest: Mapping[str, Any], kind: Kind | None = None) -> Any:
    """Return the domain value of a manifest."""
    return KindReader(kind or Kind(str(manifest["kind"]))).convert(manifest)


def a_pool_manifest(
    name: str = "general", *, nodes: Mapping[str, Any] | None = None, status: Any = None, **spec: Any
) -> dict[str, Any]:
    """Return a NodePool; ``nodes`` adds to the specification of its nodes."""
    template = {"spec": {"nodeClassRef": CLASS_REFERENCE, "requirements": [], **(nodes or {})}}
    fields = {"spec": {**spec, "template": template}} | ({"status": status} if status else {})
    return a_manifest("NodePool", name, api_version="karpenter.sh/v1", **fields)


def one_of(key: str, *values: str) -> dict[str, Any]:
    """Return a requirement that allows some values."""
    return {"key": key, "operator": "In", "values": list(values)}


def an_event_manifest(name: str, reason: str, message: str, at: str, *, kind: str = "NodeClaim") -> dict[str, Any]:
    """Return Karpenter's event about an object of its own."""
    return a_manifest(
        "Event",
        f"{name}.{reason}",
        namespace="default",
        involvedObject={"kind": kind, "name": name, "apiVersion": "karpenter.sh/v1"},
        reason=reason,
        message=message,
        type="Normal",
        source={"component": "karpenter"},
        firstTimestamp=at,
        lastTimestamp=at,
    )


def a_type_manifest(name: str, price: float, *requirements: Any, **capacity: str) -> dict[str, Any]:
    """Return an instance type of a recording, sold on demand in us-east-1a."""
    sold = one_of("karpenter.sh/capacity-type", "on-demand")
    offering = {"requirements": [sold, one_of("topology.kubernetes.io/zone", "us-east-1a")], "price": price}
    return {
        "name": name,
        "requirements": [one_of("node.kubernetes.io/instance-type", name), *requirements],
        "capacity": capacity,
        "offerings": [offering],
    }


def key_of(manifest: Mapping[str, Any]) -> str:
    """Return the key of an object: its name, after its namespace if it has one."""
    metadata = manifest["metadata"]
    return "/".join(filter(None, (metadata.get("namespace", ""), metadata["name"])))


def a_change(at_ns: int, manifest: Mapping[str, Any], *, kind: str = "", manager: str = "") -> Change:
    """Return what a history records of an object that is created or changed."""
    return Change(
        at_ns, kind or manifest["kind"], key_of(manifest), manager, msgspec.Raw(msgspec.json.encode(manifest))
    )
