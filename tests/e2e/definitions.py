"""Install Karpenter's CRDs on a test API server, made from the schemas that karptui ships."""

from __future__ import annotations

from typing import Any

from karptui.whatif.schema.schema import KindSchema, shipped_schemas

from .control_plane import Client


def install_definitions(client: Client, *, with_status: bool = False) -> None:
    """Install Karpenter's CRDs, and wait until each kind can be listed.

    Args:
        client: a client of the API server.
        with_status: whether the status is a subresource, as controllers need it.
    """
    kinds = [kind for kind in shipped_schemas().kinds.values() if not kind.built_in]
    for kind in kinds:
        client.request(
            "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(kind, with_status=with_status)
        )
    for kind in kinds:
        while "items" not in str(client.request("GET", collection(kind), expect=None)):
            pass


def definition(kind: KindSchema, *, with_status: bool = False) -> dict[str, Any]:
    """Return the CustomResourceDefinition of a shipped schema."""
    group, _, version = kind.api_version.partition("/")
    names = {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower(), "listKind": f"{kind.kind}List"}
    manifest = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": kind.schema}}
    if with_status:
        manifest["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
        },
        "spec": {
            "group": group,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [manifest],
        },
    }


def collection(kind: KindSchema) -> str:
    """Return the path of a kind's collection."""
    inner = f"namespaces/default/{kind.plural}" if kind.namespaced else kind.plural
    return f"/apis/{kind.api_version}/{inner}"
