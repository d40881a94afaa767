"""A cluster whose every name is a canary: a unique word that redaction must remove.

Each ``~`` becomes a canary, so that a canary left in a recording shows which field leaked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

META: dict[str, Any] = {
    "name": "~",
    "generateName": "~-",
    "uid": "0b4f7d7e-6f0f-4a59-9a0e-3c1f1f2e9d11",
    "creationTimestamp": "2026-11-20T11:00:00Z",
    "labels": {
        "~": "~",
        "~.example/~": "~",
        "app": "~",
        "app.kubernetes.io/name": "~",
        "app.kubernetes.io/part-of": "~",
        "node-role.kubernetes.io/~": "",
        "karpenter.sh/~": "~",
        "kubernetes.io/metadata.name": "~",
        "pod-template-hash": "~",
        "team": "~-7",
    },
    "annotations": {
        "~.example/~": "~",
        "~": "~",
        "karpenter.sh/do-not-disrupt": "~",
        "karpenter.sh/~": "~",
        "controller.kubernetes.io/pod-deletion-cost": "~",
        "meta.helm.sh/release-name": "~",
        "kubectl.kubernetes.io/last-applied-configuration": '{"x": "~"}',
        "deployment.kubernetes.io/~": "~",
    },
    "finalizers": ["~.example/~"],
    "managedFields": [{"manager": "~"}],
    "ownerReferences": [{"apiVersion": "~.example/v1", "kind": "Zq~", "name": "~", "controller": True}],
}
NAMESPACED = {**META, "namespace": "~"}
TEXTS = (
    "~",
    "pod ~/~ on node ip-10-11-12-13.~.internal: ~",
    "arn:aws:iam::998877665544:role/~ may not ec2:RunInstances; Encoded authorization failure message: ~AbC-_x~",
    "no subnet-0123456789abcdef0 in vpc-0fedcba9876543210, kms key 1b2c3d4e-0000-4111-8222-~ (998877665544)",
    'Get "https://~:~@~.~.svc.cluster.local:8443/~?x=~": dial tcp [2001:db8:dead:beef::17]:443, fd12:~: 10.11.12.13',
    "image ~.dkr.ecr.eu-west-1.amazonaws.com/~/~:~@sha256:~, team=~, ~.example/~ In [~ ~]",
    "~=~:NoSchedule, <~>, `~`, ~@~.com",
)
CONDITIONS = [
    {
        "type": "Ready",
        "status": "False",
        "reason": "KubeletNotReady",
        "message": text,
        "lastTransitionTime": "2026-11-20T11:00:00Z",
    }
    for text in TEXTS
] + [{"type": "Zq~", "status": "True", "reason": "Zq~", "message": "~"}]
TAINTS = [{"key": "~.example/~", "value": "~", "effect": "NoSchedule"}, {"key": "~", "effect": "NoExecute"}]
REQUIREMENTS = [
    {"key": "~.example/~", "operator": "In", "values": ["~", "~"]},
    {"key": "~", "operator": "Exists"},
    {"key": "karpenter.sh/nodepool", "operator": "In", "values": ["~"]},
    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
]
SELECTOR = {"matchLabels": {"~": "~", "app": "~"}, "matchExpressions": REQUIREMENTS[:2]}
RESOURCES = {"requests": {"cpu": "1", "~.example/~": "1"}, "limits": {"memory": "1Gi", "~.example/~": "1"}}
TERM = {"topologyKey": "~.example/~", "labelSelector": SELECTOR, "namespaces": ["~"], "namespaceSelector": SELECTOR}
POD_SPEC = {
    "nodeName": "~.~.compute.internal",
    "serviceAccountName": "~",
    "serviceAccount": "~",
    "priorityClassName": "~",
    "schedulerName": "~",
    "runtimeClassName": "~",
    "hostname": "~",
    "subdomain": "~",
    "nodeSelector": {"~.example/~": "~", "kubernetes.io/hostname": "~", "team": "~"},
    "imagePullSecrets": [{"name": "~"}],
    "dnsConfig": {"searches": ["~.svc"]},
    "containers": [
        {
            "name": "~",
            "image": "~.dkr.ecr.eu-west-1.amazonaws.com/~:~",
            "command": ["~"],
            "args": ["~"],
            "env": [{"name": "~", "value": "~"}],
            "ports": [{"name": "~", "hostPort": 80, "hostIP": "10.11.12.13"}],
            "resources": RESOURCES,
            "volumeMounts": [{"name": "~", "mountPath": "/~"}],
        }
    ],
    "initContainers": [{"name": "~", "image": "~"}],
    "volumes": [
        {"name": "~", "persistentVolumeClaim": {"claimName": "~"}},
        {"name": "~", "ephemeral": {"volumeClaimTemplate": {"metadata": META, "spec": {"storageClassName": "~"}}}},
        {"name": "~", "secret": {"secretName": "~"}},
        {"name": "~", "hostPath": {"path": "/~"}},
    ],
    "resourceClaims": [{"name": "~", "resourceClaimName": "~"}],
    "tolerations": [{"key": "~.example/~", "operator": "Equal", "value": "~", "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": REQUIREMENTS,
                        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["~"]}],
                    }
                ]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": REQUIREMENTS}}
            ],
        },
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": TERM}]
        },
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "~.example/~",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": SELECTOR,
            "matchLabelKeys": ["~.example/~"],
        }
    ],
}
TEMPLATE = {"metadata": META, "spec": POD_SPEC}
CLAIM_SPEC = {
    "requirements": REQUIREMENTS,
    "taints": TAINTS,
    "startupTaints": TAINTS,
    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "~"},
    "expireAfter": "720h",
    "resources": {"requests": {"cpu": "1", "~.example/~": "1"}},
}
TERMS = [
    {"tags": {"~": "~", "Name": "~", "kubernetes.io/cluster/~": "owned"}},
    {"id": "sg-0123456789abcdef0"},
    {"name": "~"},
]
REFERENCE = {"apiVersion": "v1", "kind": "Pod", "namespace": "~", "name": "~", "fieldPath": "spec.containers{~}"}


def _object(api_version: str, kind: str, *, namespaced: bool = True, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": NAMESPACED if namespaced else META, **fields}


OBJECTS: tuple[dict[str, Any], ...] = (
    _object(
        "v1",
        "Node",
        namespaced=False,
        spec={
            "providerID": "aws:///eu-west-1a/i-0123456789abcdef0",
            "taints": TAINTS,
            "podCIDR": "10.11.0.0/24",
            "podCIDRs": ["2001:db8:dead:beef::/64"],
        },
        status={
            "capacity": {"cpu": "4", "~.example/~": "1"},
            "allocatable": {"cpu": "4", "~.example/~": "1"},
            "conditions": CONDITIONS,
            "addresses": [
                {"type": "InternalIP", "address": "10.11.12.13"},
                {"type": "InternalIP", "address": "2001:db8:dead:beef::17"},
                {"type": "Hostname", "address": "~"},
                {"type": "InternalDNS", "address": "~.~.internal"},
                {"type": "ExternalDNS", "address": "~.compute.amazonaws.com"},
            ],
            "nodeInfo": {
                "machineID": "~",
                "systemUUID": "~",
                "bootID": "~",
                "kernelVersion": "6.1.~",
                "osImage": "Zq~ 1.2",
                "kubeletVersion": "v1.34.1-~",
                "architecture": "amd64",
            },
            "images": [{"names": ["~"]}],
            "volumesAttached": [{"name": "~"}],
            "daemonEndpoints": {"~": {"Port": 10250}},
        },
    ),
    _object(
        "v1",
        "Node",
        namespaced=False,
        spec={"providerID": "azure:///subscriptions/~/resourceGroups/~/providers/~/virtualMachines/~"},
    ),
    _object(
        "v1",
        "Pod",
        spec=POD_SPEC,
        status={
            "phase": "Pending",
            "reason": "Zq~",
            "message": "~",
            "hostIP": "10.11.12.13",
            "podIPs": [{"ip": "10.11.12.13"}],
            "nominatedNodeName": "~",
            "conditions": CONDITIONS,
            "containerStatuses": [
                {
                    "name": "~",
                    "image": "~",
                    "imageID": "~",
                    "containerID": "~",
                    "state": {"waiting": {"reason": "Zq~", "message": "~"}},
                }
            ],
        },
    ),
    _object(
        "karpenter.sh/v1",
        "NodePool",
        namespaced=False,
        spec={
            "template": {"metadata": META, "spec": CLAIM_SPEC},
            "limits": {"cpu": "10", "~.example/~": "4"},
            "disruption": {"budgets": [{"nodes": "10%", "reasons": ["Zq~"]}]},
        },
        status={"resources": {"cpu": "1", "~.example/~": "1"}, "conditions": CONDITIONS},
    ),
    _object(
        "karpenter.sh/v1",
        "NodeClaim",
        namespaced=False,
        spec=CLAIM_SPEC,
        status={
            "nodeName": "~.~.internal",
            "providerID": "aws:///eu-west-1a/i-0123456789abcdef0",
            "imageID": "ami-0123456789abcdef0",
            "capacity": {"~.example/~": "1"},
            "conditions": CONDITIONS,
        },
    ),
    _object(
        "karpenter.sh/v1alpha1",
        "NodeOverlay",
        namespaced=False,
        spec={"requirements": REQUIREMENTS, "capacity": {"~.example/~": "1"}, "priceAdjustment": "-10%"},
        status={"conditions": CONDITIONS},
    ),
    _object(
        "karpenter.k8s.aws/v1",
        "EC2NodeClass",
        namespaced=False,
        spec={
            "amiFamily": "AL2023",
            "role": "~",
            "instanceProfile": "~",
            "context": "~",
            "amiSelectorTerms": [*TERMS, {"ssmParameter": "/~/~/ami"}, {"owner": "998877665544", "name": "~*"}],
            "subnetSelectorTerms": TERMS,
            "securityGroupSelectorTerms": TERMS,
            "capacityReservationSelectorTerms": [{"id": "cr-0123456789abcdef0", "ownerID": "998877665544"}],
            "placementGroupSelector": {"name": "~"},
            "tags": {"~": "~", "Name": "~"},
            "kubelet": {"clusterDNS": ["10.11.12.13"], "maxPods": 58},
            "userData": "#!/bin/bash\nexport ~=~\n/etc/eks/bootstrap.sh ~ --apiserver-endpoint https://~.eks "
            "--kubelet-extra-args "
            "'--node-labels=~.example/~=~ --register-with-taints=~=~:NoSchedule --max-pods=40'\n  maxPods: 30 # ~\n",
            "blockDeviceMappings": [
                {
                    "deviceName": "/dev/~",
                    "ebs": {
                        "kmsKeyID": "arn:aws:kms:eu-west-1:998877665544:key/~",
                        "snapshotID": "snap-0123456789abcdef0",
                        "volumeSize": "20Gi",
                    },
                }
            ],
        },
        status={
            "amis": [{"id": "ami-0123456789abcdef0", "name": "~-al2023-~"}],
            "subnets": [{"id": "subnet-0123456789abcdef0", "zone": "eu-west-1a", "zoneID": "euw1-az1"}],
            "securityGroups": [{"id": "sg-0123456789abcdef0", "name": "~"}],
            "instanceProfile": "~",
            "capacityReservations": [
                {"id": "cr-0123456789abcdef0", "ownerID": "998877665544", "instanceType": "m5.large"}
            ],
            "conditions": CONDITIONS,
        },
    ),
    _object(
        "karpenter.azure.com/v1beta1",
        "AKSNodeClass",
        namespaced=False,
        spec={
            "vnetSubnetID": "/subscriptions/~/resourceGroups/~",
            "tags": {"~": "~"},
            "imageFamily": "~",
            "x": ["~", {"y": "~"}],
        },
        status={"z": "~", "conditions": CONDITIONS},
    ),
    *(
        _object(version, kind, spec={"replicas": 2, "selector": SELECTOR, "template": TEMPLATE, "serviceName": "~"})
        for version, kind in (
            ("apps/v1", "DaemonSet"),
            ("apps/v1", "ReplicaSet"),
            ("apps/v1", "Deployment"),
            ("apps/v1", "StatefulSet"),
            ("batch/v1", "Job"),
        )
    ),
    _object("v1", "ReplicationController", spec={"selector": {"~": "~"}, "template": TEMPLATE}),
    _object(
        "batch/v1",
        "CronJob",
        spec={"schedule": "*/5 * * * *", "jobTemplate": {"metadata": META, "spec": {"template": TEMPLATE}}},
    ),
    _object(
        "policy/v1",
        "PodDisruptionBudget",
        spec={"selector": SELECTOR, "minAvailable": "50%"},
        status={"conditions": CONDITIONS, "disruptedPods": {"~": "2026-11-20T11:00:00Z"}},
    ),
    _object(
        "v1",
        "PersistentVolumeClaim",
        spec={
            "storageClassName": "~",
            "volumeName": "~",
            "dataSource": {"kind": "VolumeSnapshot", "name": "~"},
            "selector": SELECTOR,
        },
        status={"phase": "Bound"},
    ),
    _object(
        "v1",
        "PersistentVolume",
        namespaced=False,
        spec={
            "storageClassName": "~",
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "~", "name": "~"},
            "csi": {"driver": "~.csi.example", "volumeHandle": "vol-0123456789abcdef0", "volumeAttributes": {"~": "~"}},
            "nfs": {"server": "~", "path": "/~"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": REQUIREMENTS}]}},
        },
    ),
    _object(
        "storage.k8s.io/v1",
        "StorageClass",
        namespaced=False,
        provisioner="~.csi.example",
        parameters={"~": "~"},
        allowedTopologies=[{"matchLabelExpressions": [{"key": "~.example/~", "values": ["~"]}]}],
    ),
    _object(
        "storage.k8s.io/v1",
        "CSINode",
        namespaced=False,
        spec={"drivers": [{"name": "~.csi.example", "nodeID": "~", "topologyKeys": ["~.example/~"]}]},
    ),
    _object("v1", "Namespace", namespaced=False, status={"phase": "Active"}),
    _object("scheduling.k8s.io/v1", "PriorityClass", namespaced=False, value=5, description="~ ~"),
    _object("v1", "Service", spec={"selector": {"~": "~"}, "clusterIP": "10.11.12.13", "externalName": "~.com"}),
    _object(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        namespaced=False,
        webhooks=[{"name": "~.example", "clientConfig": {"url": "https://~.example/~", "caBundle": "~"}}],
    ),
    _object("v1", "PodTemplate", template=TEMPLATE),
    _object(
        "autoscaling.x-k8s.io/v1alpha1",
        "CapacityBuffer",
        spec={"podTemplateRef": {"name": "~"}, "scalableRef": {"kind": "Deployment", "name": "~"}},
        status={"conditions": CONDITIONS},
    ),
    _object(
        "autoscaling.k8s.io/v1",
        "VerticalPodAutoscaler",
        spec={"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "~"}},
        status={
            "recommendation": {
                "containerRecommendations": [{"containerName": "~", "target": {"cpu": "25m", "memory": "262144k"}}]
            },
            "conditions": CONDITIONS,
        },
    ),
    {
        **_object(
            "coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "~_~", "renewTime": "2026-11-20T11:00:00Z"}
        ),
        "metadata": {"name": "karpenter-leader-election", "namespace": "~"},
    },
    *(
        _object(
            "v1",
            "Event",
            reason="FailedScheduling",
            message=text,
            involvedObject=REFERENCE,
            related=REFERENCE,
            source={"component": "karpenter", "host": "~.internal"},
            reportingInstance="~",
        )
        for text in TEXTS
    ),
    _object(
        "events.k8s.io/v1",
        "Event",
        reason="Zq~",
        note="~ said ~",
        regarding=REFERENCE,
        reportingController="~.example/~",
        action="Zq~",
    ),
)
TYPES = [
    {
        "name": "m5.large",
        "requirements": [{"key": "~.example/~", "operator": "In", "values": ["~"]}],
        "capacity": {"cpu": "2", "~.example/~": "1"},
        "overhead": {"kubeReserved": {"~.example/~": "1"}},
        "offerings": [{"requirements": [{"key": "~.example/~", "operator": "In", "values": ["~"]}], "price": 0.1}],
    }
]
SETTINGS = {
    "CLUSTER_NAME": "~",
    "FEATURE_GATES": "SpotToSpotConsolidation=true,Zq~=false",
    "SCHEDULER_CONFIG": json.dumps(
        {"defaultConstraints": [{"maxSkew": 1, "topologyKey": "~.example/~", "whenUnsatisfiable": "ScheduleAnyway"}]}
    ),
}
LITERALS = (
    "10.11.12.13", "10.11.0.0", "2001:db8", "dead:beef", "fd12:", "998877665544", "0123456789abcdef0",
    "0fedcba9876543210", "ip-10-11-12-13", "1b2c3d4e",
)  # fmt: skip


class Canaries:
    """Creates canaries and knows the field of each."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}

    def plant(self, value: Any, path: str = "") -> Any:
        """Return a value with a new canary for each ``~``."""
        if isinstance(value, dict):
            return {self.plant(key, f"{path}.{key}"): self.plant(part, f"{path}.{key}") for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.plant(part, path) for part in value]
        return re.sub("~", lambda _: self._word(path), value) if isinstance(value, str) else value

    def left_in(self, text: str) -> dict[str, str]:
        """Return the canaries and literals found in a text, each with its field."""
        words = self.places.keys() & set(re.findall("zq[b-m]+q", text.lower()))
        return {word: self.places[word] for word in words} | {
            literal: "literal" for literal in LITERALS if literal in text
        }

    def _word(self, path: str) -> str:
        word = f"zq{_letters(len(self.places))}"
        self.places[word] = path
        return word


def _letters(number: int) -> str:
    return "".join("bcdfghjklm"[int(digit)] for digit in f"{number:04d}") + "q"


def kinds() -> Iterator[str]:
    yield from dict.fromkeys(manifest["kind"] for manifest in OBJECTS)
