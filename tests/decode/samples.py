"""One object of each kind as an API server sends it, with every field that karptui reads."""

from __future__ import annotations

import copy
import json
from typing import Any

from karptui.decode.kinds import Kind
from karptui.kube.selectors import LabelSelector, LabelSelectorRequirement, NodeSelectorRequirement, NodeSelectorTerm

JSON = dict[str, Any]
CREATED = "2026-11-20T12:00:00Z"
CREATED_NS = 1_795_176_000_000_000_000
SECOND_NS = 1_000_000_000
HOUR_NS = 3_600_000_000_000


def metadata(name: str, namespace: str | None = "prod", **more: Any) -> JSON:
    meta: JSON = {
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": "42",
        "generation": 3,
        "creationTimestamp": CREATED,
        "labels": {"app": "web"},
        "annotations": {"team": "a", "kubectl.kubernetes.io/last-applied-configuration": '{"spec":{}}'},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "uid-rs", "controller": True}
        ],
        "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}],
    }
    if namespace is not None:
        meta["namespace"] = namespace
    return meta | more


def condition(type_: str, status: str = "True", **more: str) -> JSON:
    return {"type": type_, "status": status, "lastProbeTime": None, "lastTransitionTime": CREATED, **more}


def requirement(key: str = "zone", operator: str = "In", *values: str) -> JSON:
    return {"key": key, "operator": operator, "values": list(values or ("a",))}


SELECTOR: JSON = {"matchLabels": {"tier": "x", "app": "web"}, "matchExpressions": [requirement("env", "NotIn", "dev")]}
AFFINITY_TERM: JSON = {
    "topologyKey": "zone",
    "labelSelector": SELECTOR,
    "namespaces": ["other"],
    "namespaceSelector": {},
    "matchLabelKeys": ["pod-template-hash"],
    "mismatchLabelKeys": ["tenant"],
}
NODE_TERM: JSON = {"matchExpressions": [requirement()], "matchFields": [requirement("metadata.name")]}
TOKEN_MOUNT = {
    "name": "kube-api-access-abcde",
    "readOnly": True,
    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
}
POD_SPEC: JSON = {
    "containers": [
        {
            "name": "app",
            "image": "web:1",
            "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
            "ports": [{"containerPort": 80}, {"hostPort": 8080, "protocol": "UDP", "hostIP": "10.0.0.1"}],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}, TOKEN_MOUNT],
        },
        {"name": "proxy", "image": "proxy:1", "resources": {"requests": {"cpu": "1"}}, "ports": [{"hostPort": 9090}]},
    ],
    "initContainers": [
        {
            "name": "sidecar",
            "restartPolicy": "Always",
            "resources": {"requests": {"cpu": "100m"}, "claims": [{"name": "gpu"}]},
            "volumeMounts": [TOKEN_MOUNT],
        },
        {"name": "init", "resources": {"requests": {"cpu": "2"}}},
    ],
    "nodeSelector": {"kubernetes.io/arch": "arm64"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [NODE_TERM]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "preference": NODE_TERM}],
        },
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [AFFINITY_TERM],
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 20, "podAffinityTerm": AFFINITY_TERM}],
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [AFFINITY_TERM],
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 30, "podAffinityTerm": AFFINITY_TERM}],
        },
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": SELECTOR,
            "minDomains": 3,
            "nodeAffinityPolicy": "Honor",
            "nodeTaintsPolicy": "Ignore",
            "matchLabelKeys": ["pod-template-hash"],
        }
    ],
    "tolerations": [
        {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        {"key": "team", "value": "a"},
    ],
    "volumes": [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-web"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "gp3"}}}},
        {"name": "kube-api-access-abcde", "projected": {"sources": []}},
    ],
    "overhead": {"memory": "64Mi"},
    "resources": {"requests": {"cpu": "4"}},
    "resourceClaims": [{"name": "gpu"}],
    "priority": 1000,
    "priorityClassName": "high",
    "schedulerName": "default-scheduler",
    "runtimeClassName": "gvisor",
    "terminationGracePeriodSeconds": 60,
    "hostNetwork": True,
}
POD_TEMPLATE: JSON = {
    "metadata": {"labels": {"app": "web"}, "annotations": {"karpenter.sh/do-not-disrupt": "true"}},
    "spec": POD_SPEC,
}
CLAIM_SPEC: JSON = {
    "requirements": [requirement("karpenter.sh/capacity-type", "In", "spot") | {"minValues": 2}],
    "taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}],
    "startupTaints": [{"key": "boot", "effect": "NoExecute"}],
    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
    "expireAfter": "720h",
    "terminationGracePeriod": "24h",
}
SMALL_TEMPLATE: JSON = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "app", "image": "web:1"}], "volumes": POD_SPEC["volumes"]},
}
WORKLOAD_SPEC: JSON = {"replicas": 3, "selector": SELECTOR, "template": SMALL_TEMPLATE}

SAMPLES: dict[Kind, JSON] = {
    Kind.NODE: {
        "metadata": metadata("node-1", None),
        "spec": {
            "providerID": "aws:///us-east-1a/i-1",
            "taints": [{"key": "team", "value": "a", "effect": "NoSchedule", "timeAdded": CREATED}],
            "unschedulable": True,
        },
        "status": {
            "capacity": {"cpu": "4", "memory": "16Gi", "pods": "58"},
            "allocatable": {"cpu": "3920m"},
            "conditions": [condition("Ready", reason="KubeletReady", message="ok")],
            "nodeInfo": {"kubeletVersion": "v1.33.0", "osImage": "Amazon Linux", "architecture": "arm64"},
            "addresses": [{"type": "Hostname", "address": "node-1"}, {"type": "InternalIP", "address": "10.0.0.1"}],
        },
    },
    Kind.POD: {
        "metadata": metadata("web-1-abcde", deletionTimestamp="2026-11-20T13:00:00Z"),
        "spec": POD_SPEC | {"nodeName": "node-1"},
        "status": {
            "phase": "Running",
            "reason": "Evicted",
            "startTime": "2026-11-20T12:00:05Z",
            "nominatedNodeName": "node-2",
            "conditions": [
                condition("PodScheduled", "False", reason="Unschedulable", message="0/3 nodes"),
                condition("Ready", "False"),
                condition("PodResizePending", "True", reason="Deferred"),
            ],
            "containerStatuses": [
                {
                    "name": "app",
                    "resources": {"requests": {"cpu": "2", "memory": "1Gi"}},
                    "allocatedResources": {"cpu": "1500m"},
                    "state": {"running": {"startedAt": CREATED}},
                },
                {"name": "proxy", "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
            ],
            "initContainerStatuses": [
                {"name": "init", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}},
                {"name": "sidecar", "resources": {"requests": {"cpu": "100m"}}},
            ],
        },
    },
    Kind.NODEPOOL: {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": metadata("general", None),
        "spec": {
            "weight": 10,
            "replicas": 2,
            "limits": {"cpu": "1000", "nodes": 5},
            "template": {"metadata": {"labels": {"team": "a"}, "annotations": {"note": "x"}}, "spec": CLAIM_SPEC},
            "disruption": {
                "consolidationPolicy": "WhenEmpty",
                "consolidateAfter": "30s",
                "budgets": [
                    {"nodes": "10%", "schedule": "0 9 * * *", "duration": "8h", "reasons": ["Drifted"]},
                    {"nodes": 1},
                    {"reasons": []},
                ],
            },
        },
        "status": {"resources": {"cpu": "12"}, "conditions": [condition("Ready")]},
    },
    Kind.NODECLAIM: {
        "metadata": metadata("general-abcde", None),
        "spec": CLAIM_SPEC | {"resources": {"requests": {"cpu": "3"}}},
        "status": {
            "nodeName": "node-1",
            "providerID": "aws:///us-east-1a/i-1",
            "imageID": "ami-1",
            "capacity": {"cpu": "4"},
            "allocatable": {"cpu": "3920m"},
            "conditions": [condition("Launched"), condition("Drifted", "False")],
            "lastPodEventTime": CREATED,
        },
    },
    Kind.NODECLASS: {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": metadata("default", None),
        "spec": {"amiFamily": "AL2023", "tags": {"a": None}},
        "status": {"conditions": [condition("Ready")], "amis": []},
    },
    Kind.NODEOVERLAY: {
        "metadata": metadata("discount", None),
        "spec": {
            "requirements": [requirement()],
            "price": "0.5",
            "priceAdjustment": "-10%",
            "capacity": {"smarter.com/fuse": "20"},
            "weight": 5,
        },
        "status": {"conditions": [condition("Ready")]},
    },
    Kind.DAEMONSET: {
        "metadata": metadata("agent"),
        "spec": {"selector": SELECTOR, "template": SMALL_TEMPLATE},
        "status": {"desiredNumberScheduled": 7},
    },
    Kind.PDB: {
        "metadata": metadata("web"),
        "spec": {
            "selector": SELECTOR,
            "minAvailable": "50%",
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
        "status": {
            "disruptionsAllowed": 1,
            "currentHealthy": 3,
            "desiredHealthy": 2,
            "expectedPods": 3,
            "observedGeneration": 3,
            "conditions": [condition("DisruptionAllowed")],
        },
    },
    **{
        kind: {"metadata": metadata("web"), "spec": WORKLOAD_SPEC, "status": {"replicas": 3}}
        for kind in (Kind.REPLICASET, Kind.DEPLOYMENT, Kind.STATEFULSET, Kind.JOB, Kind.CRONJOB)
    },
    Kind.REPLICATION_CONTROLLER: {
        "metadata": metadata("old"),
        "spec": {"replicas": 1, "selector": {"b": "2", "a": "1"}, "template": SMALL_TEMPLATE},
    },
    Kind.PVC: {
        "metadata": metadata("data-web"),
        "spec": {"storageClassName": "gp3", "volumeName": "pv-1"},
        "status": {"phase": "Bound"},
    },
    Kind.PV: {
        "metadata": metadata("pv-1", None),
        "spec": {
            "nodeAffinity": {"required": {"nodeSelectorTerms": [NODE_TERM]}},
            "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"},
            "storageClassName": "gp3",
        },
    },
    Kind.STORAGE_CLASS: {
        "metadata": metadata("gp3", None),
        "provisioner": "ebs.csi.aws.com",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}],
    },
    Kind.CSI_NODE: {
        "metadata": metadata("node-1", None),
        "spec": {"drivers": [{"name": "ebs.csi.aws.com", "allocatable": {"count": 26}}, {"name": "efs.csi.aws.com"}]},
    },
    Kind.NAMESPACE: {"metadata": metadata("prod", None)},
    Kind.PRIORITY_CLASS: {"metadata": metadata("high", None), "value": 1000},
    Kind.SERVICE: {"metadata": metadata("web"), "spec": {"selector": {"tier": "x", "app": "web"}}},
    Kind.EVENT: {
        "metadata": metadata("web.1"),
        "reason": "DisruptionBlocked",
        "message": "Pod blocks",
        "type": "Normal",
        "count": 4,
        "involvedObject": {"kind": "Node", "namespace": "default", "name": "node-1", "uid": "uid-node-1"},
        "source": {"component": "karpenter"},
        "firstTimestamp": CREATED,
        "lastTimestamp": "2026-11-20T12:00:10Z",
        "eventTime": None,
    },
    Kind.CAPACITY_BUFFER: {
        "metadata": metadata("spare"),
        "spec": {"scalableRef": {"kind": "Deployment", "name": "web"}, "podTemplateRef": {"name": "given"}},
        "status": {
            "podTemplateRef": {"name": "made"},
            "replicas": 3,
            "conditions": [condition("ReadyForProvisioning")],
        },
    },
    Kind.POD_TEMPLATE: {"metadata": metadata("made"), "template": SMALL_TEMPLATE},
}
KINDS = sorted(SAMPLES)


def sample(kind: Kind) -> JSON:
    """Return a copy of the kind's object."""
    return copy.deepcopy(SAMPLES[kind])


def text(value: Any) -> bytes:
    """Return JSON as Go writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def page(*items: Any, **meta: Any) -> bytes:
    return text({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "7"} | meta, "items": list(items)})


def line(type_: str, item: Any) -> bytes:
    return text({"type": type_, "object": item})


# Decoded values of the samples

READ_SELECTOR = LabelSelector((("app", "web"), ("tier", "x")), (LabelSelectorRequirement("env", "NotIn", ("dev",)),))
READ_TERM = NodeSelectorTerm(
    (NodeSelectorRequirement("zone", "In", ("a",)),), (NodeSelectorRequirement("metadata.name", "In", ("a",)),)
)


def amounts(resources: Any) -> dict[str, str]:
    return {name: str(amount) for name, amount in resources.items()}
