"""Plain API objects: metadata, conditions, events, and the sizes of a few EC2 instance types."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

Object = dict[str, Any]

TYPES: Final[dict[str, tuple[int, int, int, int]]] = {
    "m6i.large": (2, 8192, 3, 10),
    "m6i.xlarge": (4, 16384, 4, 15),
    "m6i.2xlarge": (8, 32768, 4, 15),
    "m6a.xlarge": (4, 16384, 4, 15),
    "m7i.xlarge": (4, 16384, 4, 15),
    "m7i.2xlarge": (8, 32768, 4, 15),
    "m7i.4xlarge": (16, 65536, 8, 30),
    "c6i.xlarge": (4, 8192, 4, 15),
    "c6i.2xlarge": (8, 16384, 4, 15),
    "c7i.2xlarge": (8, 16384, 4, 15),
    "c7i.4xlarge": (16, 32768, 8, 30),
    "r6i.xlarge": (4, 32768, 4, 15),
    "r6i.2xlarge": (8, 65536, 4, 15),
    "r7i.2xlarge": (8, 65536, 4, 15),
    "m7g.xlarge": (4, 16384, 4, 15),
    "g5.2xlarge": (8, 32768, 4, 15),
    "g5.xlarge": (4, 16384, 4, 15),
    "inf2.xlarge": (4, 16384, 4, 15),
}
"""vCPUs, memory in MiB, network interfaces and IPv4 addresses per interface."""
API: Final = {
    "Namespace": "v1",
    "Node": "v1",
    "Pod": "v1",
    "Event": "v1",
    "PersistentVolume": "v1",
    "PersistentVolumeClaim": "v1",
    "Service": "v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "PodDisruptionBudget": "policy/v1",
    "StorageClass": "storage.k8s.io/v1",
    "CSINode": "storage.k8s.io/v1",
    "VolumeAttachment": "storage.k8s.io/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "LimitRange": "v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "VerticalPodAutoscaler": "autoscaling.k8s.io/v1",
    "Lease": "coordination.k8s.io/v1",
    "NodePool": "karpenter.sh/v1",
    "NodeClaim": "karpenter.sh/v1",
    "NodeOverlay": "karpenter.sh/v1alpha1",
    "CapacityBuffer": "autoscaling.x-k8s.io/v1beta1",
    "PodTemplate": "v1",
    "EC2NodeClass": "karpenter.k8s.aws/v1",
    "ValidatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
    "MutatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
}
_UNITS: Final = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


@cache
def duration(text: str) -> timedelta:
    """Return a duration such as ``2d4h`` or ``90s``."""
    parts = re.findall(r"(\d+)([dhms])", text)
    assert parts, text
    return timedelta(**{_UNITS[unit]: int(number) for number, unit in parts})


def rfc3339(instant: datetime) -> str:
    """Return an instant as the API server writes it."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def digest(*words: object) -> str:
    """Return 64 hexadecimal digits that depend on nothing but the words."""
    return hashlib.sha256("/".join(map(str, words)).encode()).hexdigest()


def uid(*words: object) -> str:
    """Return a UID in its usual form."""
    text = digest(*words)
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


def condition(type_: str, status: str, since: str, reason: str = "", message: str = "") -> Object:
    """Return a status condition."""
    return {"type": type_, "status": status, "reason": reason or type_, "message": message, "lastTransitionTime": since}


def owner(parent: Object) -> Object:
    """Return the controlling ownerReference to an object."""
    return {
        "apiVersion": parent["apiVersion"],
        "kind": parent["kind"],
        "name": parent["metadata"]["name"],
        "uid": parent["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def node_resources(instance_type: str, gpus: int = 0) -> tuple[Object, Object]:
    """Return the capacity and allocatable resources of a node of an instance type with AL2023."""
    cpus, memory_mib, interfaces, addresses = TYPES[instance_type]
    pods = interfaces * (addresses - 1) + 2
    reserved_cpu_millis = 60 + 10 + max(0, min(cpus, 4) - 2) * 5 + max(0, cpus - 4) * 2.5
    memory_ki = int(memory_mib * 1024 * 0.9684)
    reserved_memory_ki = (255 + 11 * pods + 100) * 1024
    shared = {"pods": str(pods)} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    capacity = {"cpu": str(cpus), "memory": f"{memory_ki}Ki", "ephemeral-storage": "104779756Ki", **shared}
    allocatable = {
        "cpu": f"{int(cpus * 1000 - reserved_cpu_millis)}m",
        "memory": f"{memory_ki - reserved_memory_ki}Ki",
        "ephemeral-storage": "95491281146",
        **shared,
    }
    return capacity, allocatable


def instance_labels(instance_type: str) -> dict[str, str]:
    """Return the labels by which the AWS provider describes an instance type."""
    cpus, memory_mib, _, _ = TYPES[instance_type]
    family, size = instance_type.split(".")
    category, generation = re.findall(r"[a-z]+|\d+", family)[:2]
    made_by = "aws" if family.endswith("g") else "amd" if family.endswith("a") or family in ("g5", "inf2") else "intel"
    return {
        "node.kubernetes.io/instance-type": instance_type,
        "kubernetes.io/arch": "arm64" if family == "m7g" else "amd64",
        "kubernetes.io/os": "linux",
        "karpenter.k8s.aws/instance-category": category,
        "karpenter.k8s.aws/instance-family": family,
        "karpenter.k8s.aws/instance-generation": generation,
        "karpenter.k8s.aws/instance-size": size,
        "karpenter.k8s.aws/instance-cpu": str(cpus),
        "karpenter.k8s.aws/instance-cpu-manufacturer": made_by,
        "karpenter.k8s.aws/instance-memory": str(memory_mib),
        "karpenter.k8s.aws/instance-hypervisor": "nitro",
    }


def suffix(*words: object) -> str:
    """Return five characters as generated names end in."""
    return "".join("bcdfghjklmnpqrstvwxz2456789"[byte % 27] for byte in bytes.fromhex(digest(*words)[:10]))


def later(age: str, after: str) -> str:
    """Return an age less what passed after it, at least a second."""
    return f"{max(1, int((duration(age) - duration(after)).total_seconds()))}s"
