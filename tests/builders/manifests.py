"""Objects as JSON manifests, as in files and in answers of the API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.sources.history.store import Change

CLASS_REFERENCE: Final = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
READY: Final = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-20T11:00:00Z"}]}
"""A status whose Ready condition is True."""


def a_manifest(kind: str, name: str, *, namespace: str = "", api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    """Return a manifest; a ``metadata`` field is merged into the default metadata."""
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
    """Return the domain object decoded from a manifest."""
    return KindReader(kind or Kind(str(manifest["kind"]))).convert(manifest)


def a_pool_manifest(
    name: str = "general", *, nodes: Mapping[str, Any] | None = None, status: Any = None, **spec: Any
) -> dict[str, Any]:
    """Return a NodePool; ``nodes`` is merged into ``spec.template.spec``."""
    template = {"spec": {"nodeClassRef": CLASS_REFERENCE, "requirements": [], **(nodes or {})}}
    fields = {"spec": {**spec, "template": template}} | ({"status": status} if status else {})
    return a_manifest("NodePool", name, api_version="karpenter.sh/v1", **fields)


def one_of(key: str, *values: str) -> dict[str, Any]:
    """Return an ``In`` requirement."""
    return {"key": key, "operator": "In", "values": list(values)}


def an_event_manifest(name: str, reason: str, message: str, at: str, *, kind: str = "NodeClaim") -> dict[str, Any]:
    """Return an event of Karpenter about a NodeClaim or another object of its API."""
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
    """Return an instance type as recordings store it, with one on-demand offering in us-east-1a."""
    sold = one_of("karpenter.sh/capacity-type", "on-demand")
    offering = {"requirements": [sold, one_of("topology.kubernetes.io/zone", "us-east-1a")], "price": price}
    return {
        "name": name,
        "requirements": [one_of("node.kubernetes.io/instance-type", name), *requirements],
        "capacity": capacity,
        "offerings": [offering],
    }


def key_of(manifest: Mapping[str, Any]) -> str:
    """Return ``NAMESPACE/NAME``, or ``NAME`` for a cluster-scoped object."""
    metadata = manifest["metadata"]
    return "/".join(filter(None, (metadata.get("namespace", ""), metadata["name"])))


def a_change(at_ns: int, manifest: Mapping[str, Any], *, kind: str = "", manager: str = "") -> Change:
    """Return the history record of an object that was created or changed."""
    return Change(
        at_ns, kind or manifest["kind"], key_of(manifest), manager, msgspec.Raw(msgspec.json.encode(manifest))
    )
