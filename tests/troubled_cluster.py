"""A small cluster with troubles: a spot node that cannot be replaced, volumes of two zones in one pod,
a nomination that came to nothing, and offerings that are sold out."""

from __future__ import annotations

from typing import Any, Final

from tests.builders.manifests import CLASS_REFERENCE, one_of
from tests.story_d import an_event

ZONES: Final = ("us-east-1a", "us-east-1b")
PRICES: Final = {
    "m5.large": 0.04,
    "m5a.large": 0.05,
    "m6i.large": 0.06,
    "m6a.large": 0.07,
    "m5.xlarge": 0.08,
    "m6i.xlarge": 0.11,
    "m6i.4xlarge": 0.31,
}
SOLD_OUT: Final = "m5.large"
"""To be had in no zone."""
EXTRA_POOL: Final = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: extra}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
"""
"""A manifest of one more NodePool."""


def _type(name: str, price: float) -> dict[str, Any]:
    cpu, memory = {"large": ("2", "8Gi"), "xlarge": ("4", "16Gi")}.get(name.partition(".")[2], ("16", "64Gi"))
    return {
        "name": name,
        "requirements": [
            one_of("node.kubernetes.io/instance-type", name),
            one_of("kubernetes.io/arch", "amd64"),
            one_of("kubernetes.io/os", "linux"),
            one_of("topology.kubernetes.io/zone", *ZONES),
            one_of("karpenter.sh/capacity-type", "spot"),
        ],
        "capacity": {"cpu": cpu, "memory": memory, "pods": "29", "ephemeral-storage": "20Gi"},
        "overhead": {"kubeReserved": {"cpu": "70m", "memory": "500Mi"}},
        "offerings": [
            {
                "requirements": [
                    one_of("karpenter.sh/capacity-type", "spot"),
                    one_of("topology.kubernetes.io/zone", zone),
                ],
                "price": price,
                "available": name != SOLD_OUT,
            }
            for zone in ZONES
        ],
    }


def _object(kind: str, name: str, *, api: str = "v1", namespace: str = "", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"{kind}-{name}", "creationTimestamp": "2026-11-20T06:00:00Z"}
    metadata |= {"namespace": namespace} if namespace else {}
    metadata |= fields.pop("metadata", {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def _pool() -> list[dict[str, Any]]:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    requirements = [one_of("karpenter.sh/capacity-type", "spot")]
    spec = {
        "template": {"spec": {"nodeClassRef": CLASS_REFERENCE, "requirements": requirements}},
        "disruption": {"consolidateAfter": "0s", "consolidationPolicy": "WhenEmptyOrUnderutilized"},
    }
    return [
        _object("NodePool", "spot", api="karpenter.sh/v1", spec=spec, status=ready),
        _object("EC2NodeClass", "default", api="karpenter.k8s.aws/v1", spec={}, status=ready),
    ]


def _node() -> list[dict[str, Any]]:
    labels = {
        "karpenter.sh/nodepool": "spot",
        "karpenter.sh/capacity-type": "spot",
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": "true",
        "node.kubernetes.io/instance-type": "m6i.4xlarge",
        "topology.kubernetes.io/zone": "us-east-1a",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": "spot-1",
    }
    amounts = {"cpu": "15930m", "memory": "63500Mi", "pods": "29", "ephemeral-storage": "20Gi"}
    stamp = {"status": "True", "lastTransitionTime": "2026-11-20T06:01:00Z"}
    steps = ("Launched", "Registered", "Initialized", "Consolidatable", "Ready")
    provider = "aws:///us-east-1a/i-spot-1"
    return [
        _object(
            "Node",
            "spot-1",
            metadata={"labels": labels},
            spec={"providerID": provider},
            status={
                "capacity": {**amounts, "cpu": "16", "memory": "64Gi"},
                "allocatable": amounts,
                "conditions": [{"type": "Ready", **stamp}],
            },
        ),
        _object(
            "NodeClaim",
            "spot-abcde",
            api="karpenter.sh/v1",
            metadata={"labels": labels},
            spec={"nodeClassRef": CLASS_REFERENCE},
            status={
                "nodeName": "spot-1",
                "providerID": provider,
                "allocatable": amounts,
                "capacity": {**amounts, "cpu": "16", "memory": "64Gi"},
                "conditions": [{"type": step, **stamp} for step in steps],
            },
        ),
    ]


def _pod(key: str, *, node: str = "", cpu: str = "500m", **spec: Any) -> dict[str, Any]:
    namespace, _, name = key.partition("/")
    requests = {"cpu": cpu, "memory": "512Mi"}
    refused = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 node(s) had volume node affinity conflict.",
        "lastTransitionTime": "2026-11-20T11:29:00Z",
    }
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": f"rs-{name}", "controller": True}
    return _object(
        "Pod",
        name,
        namespace=namespace,
        metadata={"ownerReferences": [owner], "creationTimestamp": "2026-11-20T11:29:00Z"},
        spec={
            "containers": [{"name": "c", "image": "x", "resources": {"requests": requests}}],
            **({"nodeName": node} if node else {}),
            **spec,
        },
        status={"phase": "Running"} if node else {"phase": "Pending", "conditions": [refused]},
    )


def _volume(name: str, zone: str) -> list[dict[str, Any]]:
    term = {"matchExpressions": [one_of("topology.kubernetes.io/zone", zone)]}
    return [
        _object(
            "PersistentVolumeClaim",
            name,
            namespace="db",
            metadata={"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            spec={"volumeName": f"pv-{name}", "storageClassName": "gp3"},
            status={"phase": "Bound"},
        ),
        _object(
            "PersistentVolume",
            f"pv-{name}",
            spec={
                "storageClassName": "gp3",
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": f"vol-{name}"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            },
        ),
    ]


def troubles_document() -> dict[str, Any]:
    """Return the snapshot after the edits recorded."""
    claims = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("orders-2024", "orders-2025")]
    where = "Pod should schedule on: nodeclaim/spot-gone1"
    return {
        "karptui": 1,
        "name": "troubles",
        "capturedAt": "2026-11-20T12:00:00Z",
        "settings": {"FEATURE_GATES": "SpotToSpotConsolidation=true"},
        "instanceTypes": [_type(name, price) for name, price in PRICES.items()],
        "objects": [
            *_pool(),
            *_node(),
            _pod("web/front-1", node="spot-1"),
            _pod("db/report-0", volumes=claims),
            *_volume("orders-2024", "us-east-1a"),
            *_volume("orders-2025", "us-east-1b"),
            _pod("web/front-2"),
            an_event("web/front-2", "karpenter", "Nominated", where, at="11:30:00"),
        ],
    }
