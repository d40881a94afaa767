"""A small cluster of each provider: one node, two NodePools, and pods that fit, are too large or select a label."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.builders.manifests import one_of

NOW = "2026-11-20T12:00:00Z"
BEFORE = "2026-11-20T06:00:00Z"


class Provider(NamedTuple):
    """The values that differ between providers."""

    name: str
    group: str
    kind: str
    instance_type: str
    zone: str
    region: str
    own_labels: dict[str, str]
    """Labels of the provider on every node of the instance type."""
    pool_key: str
    """Label of the provider that the NodePool requires and that its nodes have."""
    unseen_key: str
    """Label of the provider that no node has."""


AUTO_MODE = Provider(
    "auto-mode",
    "eks.amazonaws.com",
    "NodeClass",
    "m6i.xlarge",
    "us-east-1a",
    "us-east-1",
    {
        "eks.amazonaws.com/compute-type": "auto",
        "eks.amazonaws.com/nodeclass": "default",
        "eks.amazonaws.com/instance-category": "m",
        "eks.amazonaws.com/instance-family": "m6i",
    },
    "eks.amazonaws.com/instance-category",
    "eks.amazonaws.com/instance-gpu-name",
)
"""AWS documents the instance types of EKS Auto Mode, so karptui knows them, unlike those of the other providers."""

PROVIDERS = (
    Provider(
        "aks", "karpenter.azure.com", "AKSNodeClass", "Standard_D4s_v5", "westeurope-1", "westeurope",
        {"karpenter.azure.com/sku-family": "D", "karpenter.azure.com/sku-cpu": "4"},
        "karpenter.azure.com/sku-family", "karpenter.azure.com/sku-gpu-name",
    ),
    Provider(
        "gcp", "karpenter.k8s.gcp", "GCENodeClass", "e2-standard-4", "europe-west1-b", "europe-west1",
        {"karpenter.k8s.gcp/instance-family": "e2"},
        "karpenter.k8s.gcp/instance-family", "karpenter.k8s.gcp/instance-gpu-name",
    ),
    Provider(
        "kwok", "karpenter.kwok.sh", "KWOKNodeClass", "c-4x-amd64-linux", "test-zone-a", "",
        {"karpenter.kwok.sh/instance-family": "c", "karpenter.kwok.sh/instance-size": "4x"},
        "karpenter.kwok.sh/instance-family", "karpenter.kwok.sh/instance-memory",
    ),
    Provider(
        "cluster-api", "karpenter.cluster.x-k8s.io", "ClusterAPINodeClass", "n1.medium", "az-1", "",
        {"cluster.x-k8s.io/rack": "r1"},
        "cluster.x-k8s.io/rack", "cluster.x-k8s.io/flavour",
    ),
)  # fmt: skip


def snapshot(provider: Provider) -> dict[str, Any]:
    reference = {"group": provider.group, "kind": provider.kind, "name": "default"}
    return {
        "karptui": 1,
        "name": provider.name,
        "capturedAt": NOW,
        "karpenterVersion": "1.14.1",
        "settings": {},
        "disruption": True,
        "objects": [
            _nodeclass(provider),
            _pool("general", reference, [one_of(provider.pool_key, provider.own_labels[provider.pool_key])]),
            _pool("gpu", reference, [{"key": provider.unseen_key, "operator": "Exists"}]),
            *_node(provider, reference),
            _pod("runs", node="node-1", cpu="500m"),
            _pod("fits", cpu="1"),
            _pod("large", cpu="64"),
            _pod("asks", cpu="1", select={provider.unseen_key: "x"}),
        ],
    }


def _nodeclass(provider: Provider) -> dict[str, Any]:
    return {
        "apiVersion": f"{provider.group}/v1",
        "kind": provider.kind,
        "metadata": {"name": "default", "uid": "nodeclass", "creationTimestamp": BEFORE},
        "spec": {},
        "status": {"conditions": [_true("Ready")], "subnets": _subnets(provider)},
    }


def _subnets(provider: Provider) -> list[dict[str, str]]:
    """Return the subnets in the status of an EKS Auto Mode NodeClass; none for other providers."""
    zones = {"us-east-1a": "use1-az4", "us-east-1b": "use1-az6"} if provider is AUTO_MODE else {}
    return [{"id": f"subnet-{zone_id}", "zone": zone, "zoneID": zone_id} for zone, zone_id in zones.items()]


def _pool(name: str, reference: dict[str, str], requirements: list[dict[str, Any]]) -> dict[str, Any]:
    template = {"spec": {"nodeClassRef": reference, "requirements": requirements, "expireAfter": "720h"}}
    disruption = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"}
    conditions = [_true(kind) for kind in ("ValidationSucceeded", "NodeClassReady", "Ready")]
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name, "uid": f"pool-{name}", "creationTimestamp": BEFORE},
        "spec": {"template": template, "disruption": disruption},
        "status": {"conditions": conditions},
    }


def _node(provider: Provider, reference: dict[str, str]) -> list[dict[str, Any]]:
    labels = {
        "karpenter.sh/nodepool": "general",
        "karpenter.sh/capacity-type": "on-demand",
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": "true",
        "node.kubernetes.io/instance-type": provider.instance_type,
        "topology.kubernetes.io/zone": provider.zone,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": "node-1",
        **({"topology.kubernetes.io/region": provider.region} if provider.region else {}),
        **provider.own_labels,
    }
    amounts = {
        "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
        "allocatable": {"cpu": "3900m", "memory": "14Gi", "pods": "110"},
    }
    conditions = [_true(kind) for kind in ("Launched", "Registered", "Initialized", "Consolidatable")]
    claim = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "claim-1", "uid": "claim-1", "labels": labels, "creationTimestamp": BEFORE},
        "spec": {"nodeClassRef": reference, "requirements": [], "resources": {}, "expireAfter": "720h"},
        "status": {"providerID": _provider_id(provider), "nodeName": "node-1", "conditions": conditions, **amounts},
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-1", "uid": "node-1", "labels": labels, "creationTimestamp": BEFORE},
        "spec": {"providerID": _provider_id(provider)},
        "status": {**amounts, "conditions": [_true("Ready")]},
    }
    return [claim, node]


def _provider_id(provider: Provider) -> str:
    return "aws:///us-east-1a/i-0123456789abcdef0" if provider is AUTO_MODE else f"{provider.name}:///node-1"


def _pod(name: str, *, cpu: str, node: str = "", select: dict[str, str] | None = None) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]
    waiting = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": BEFORE}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"pod-{name}",
            "creationTimestamp": BEFORE,
            "ownerReferences": [owner],
        },
        "spec": {
            "containers": containers,
            **({"nodeName": node} if node else {}),
            **({"nodeSelector": select} if select else {}),
        },
        "status": {"phase": "Running" if node else "Pending", "conditions": [_true("Ready") if node else waiting]},
    }


def _true(kind: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "reason": kind, "lastTransitionTime": BEFORE}
