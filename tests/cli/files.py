"""A small cluster in a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.builders import NOW, a_manifest
from tests.builders.files import written

ROOM = {"cpu": "4", "memory": "8Gi", "pods": "20", "nvidia.com/gpu": "1"}


def a_node_manifest(name: str, *, pool: str = "general", **labels: str) -> dict[str, Any]:
    usual = {
        "karpenter.sh/nodepool": pool,
        "karpenter.sh/capacity-type": "on-demand",
        "node.kubernetes.io/instance-type": "m5.xlarge",
        "topology.kubernetes.io/zone": "us-east-1a",
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": "true",
        "kubernetes.io/arch": "amd64",
    }
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-20T11:00:30Z"}
    return a_manifest(
        "Node",
        name,
        metadata={"labels": usual | labels},
        spec={"providerID": f"aws:///us-east-1a/{name}"},
        status={"capacity": ROOM, "allocatable": ROOM, "conditions": [ready]},
    )


def a_pod_manifest(name: str, *, node: str = "", namespace: str = "web", owner: str = "ReplicaSet") -> dict[str, Any]:
    """Return a pod that requests 500m CPU and 1Gi memory."""
    requests = {"cpu": "500m", "memory": "1Gi"}
    return a_manifest(
        "Pod",
        name,
        namespace=namespace,
        metadata={
            "labels": {"app": name[:3]},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": owner, "name": "x", "controller": True}],
        },
        spec={"nodeName": node, "containers": [{"name": "c", "resources": {"requests": requests}}]},
        status={"phase": "Running" if node else "Pending"},
    )


OBJECTS = [
    a_node_manifest("node-1", team="a"),
    a_node_manifest("node-2", pool="gpu", team="b"),
    a_manifest("NodeClaim", "general-abcde", api_version="karpenter.sh/v1",
               metadata={"labels": {"karpenter.sh/nodepool": "general"}, "creationTimestamp": "2026-11-20T11:59:00Z"},
               status={"conditions": [{"type": "Launched", "status": "Unknown", "reason": "AwaitingReconciliation"}]}),
    a_pod_manifest("api-1", node="node-1"),
    a_pod_manifest("api-2", node="node-1"),
    a_pod_manifest("agent-1", node="node-1", namespace="kube-system", owner="DaemonSet"),
    a_pod_manifest("job-1"),
]  # fmt: skip


def a_file(folder: Path, *more: Any, name: str = "small", objects: list[Any] | None = None, **fields: Any) -> str:
    """Write a recording with these additional fields, and return its path."""
    file = folder / f"{name}.json"
    held = [*(OBJECTS if objects is None else objects), *more]
    file.write_text(json.dumps({"karptui": 1, "name": name, "capturedAt": NOW, "objects": held, **fields}))
    return str(file)


def kubeconfig(folder: Path, urls: str | Mapping[str, str]) -> str:
    """Write a kubeconfig for one server, or for a mapping of contexts to servers, and return its path."""
    servers = {"test": urls} if isinstance(urls, str) else urls
    document = {
        "current-context": next(iter(servers)),
        "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}} for name in servers],
        "clusters": [{"name": name, "cluster": {"server": url}} for name, url in servers.items()],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    return str(written(folder / "kubeconfig", document))
