"""Objects as files and servers have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader


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
