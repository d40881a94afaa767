"""Public values by field, which a redacted recording keeps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

from karptui.aws.catalogue import instance_type_facts, region_zones, regions
from karptui.aws.labels import ZONE_ID, requirements
from karptui.aws.nodeclass import AL2023
from karptui.aws.prices import region_of
from karptui.karpenter.controller import LEADER_LEASE
from karptui.karpenter.labels import (
    INSTANCE_TYPE,
    KEY_ALIASES,
    NODE_CLASS,
    NODEPOOL,
    REGION,
    RESERVATION_ID,
    WELL_KNOWN,
    ZONE,
)
from karptui.kube.generated_names import ORIGIN_LABELS, TEMPLATE_HASHES
from karptui.kube.objects import MANAGER_LEASE

DOMAINS: Final = (
    "kubernetes.io",
    "k8s.io",
    "k8s.aws",
    "karpenter.sh",
    "amazonaws.com",
    "amazon.com",
    "nvidia.com",
    "amd.com",
    "intel.com",
    "google.com",
)
"""Public domains of label keys and resources."""
SHARED_DOMAINS: Final = frozenset({*DOMAINS, "kops.k8s.io", "node-restriction.kubernetes.io", "readiness.k8s.io"})
"""Domains that rules treat in a special way, and those under which many have keys."""
_NAMES_BY_DOMAIN: Final[Mapping[str, str]] = {
    "kubernetes.io": "hostname metadata.name cluster-service pvc-protection pv-protection config.mirror",
    "": (
        "metadata.name CriticalAddonsOnly controller-revision-hash controller-uid job-name pod-template-generation "
        "pod-template-hash app k8s-app Name count nodes cpu memory pods ephemeral-storage storage"
    ),
    "karpenter.sh": (
        "registered initialized unregistered disrupted disruption rebooting do-not-consolidate do-not-disrupt "
        "do-not-evict do-not-repair do-not-sync-taints disruption-cost discovery termination init provisioner-name "
        "voluntary-disruption nodepool-hash nodepool-hash-version nodeclaim-termination-timestamp "
        "nodeclaim-min-values-relaxed reboot-termination-grace-period"
    ),
    "karpenter.k8s.aws": "ec2nodeclass-hash ec2nodeclass-hash-version nvidia-consumable-capacity termination",
    "eks.amazonaws.com": "nodeclass capacityType nodegroup compute-type",
    "k8s.io": "cloud-provider-aws",
    "node.kubernetes.io": (
        "not-ready unreachable unschedulable memory-pressure disk-pressure pid-pressure network-unavailable "
        "out-of-service exclude-from-external-load-balancers"
    ),
    "node.cloudprovider.kubernetes.io": "uninitialized",
    "node-role.kubernetes.io": "control-plane master",
    "pv.kubernetes.io": "bind-completed",
    "volume.kubernetes.io": "selected-node",
    "cluster-autoscaler.kubernetes.io": "safe-to-evict",
    "controller.kubernetes.io": "pod-deletion-cost",
    "batch.kubernetes.io": "controller-uid job-completion-index job-name",
    "statefulset.kubernetes.io": "pod-name",
    "storageclass.kubernetes.io": "is-default-class",
    "apps.kubernetes.io": "pod-index",
    "app.kubernetes.io": "component instance managed-by name part-of version",
    "helm.sh": "chart",
    "kueue.x-k8s.io": "admission pod-group-name queue-name topology",
    "scheduling.x-k8s.io": "pod-group",
    "nvidia.com": "gpu",
    "amd.com": "gpu",
    "aws.amazon.com": "neuron neuroncore neurondevice",
    "habana.ai": "gaudi",
    "vpc.amazonaws.com": "efa pod-eni PrivateIPv4Address",
    "intel.com": "cpu",
}
KEYS: Final = frozenset(
    {*WELL_KNOWN, *KEY_ALIASES, *KEY_ALIASES.values(), *ORIGIN_LABELS, *TEMPLATE_HASHES, NODEPOOL, NODE_CLASS}
    | {f"{domain}/{name}".lstrip("/") for domain, names in _NAMES_BY_DOMAIN.items() for name in names.split()}
)
"""Keys of labels, taints, annotations, finalizers, tags and resources that stay."""
_KEY: Final = re.compile(
    r"hugepages-\d+[KMGT]i|attachable-volumes-(aws-ebs|csi-ebs\.csi\.aws\.com)|(memory|nodefs|imagefs|pid)\.[a-zA-Z]{4,10}"
    r"|eks\.amazonaws\.com/instance-[a-z-]+"
)
_LABEL_WORDS: Final = frozenset(
    {"linux", "windows", "amd64", "arm64", "on-demand", "spot", "reserved", "default", "dedicated", "host", "auto"}
    | {"interface", "efa", "efa-only", "enabled", "disabled", "active", "expiring", "expired", "ended"}
    | {"gp2", "gp3", "io1", "io2", "st1", "sc1", "standard"}
    | {"ON_DEMAND", "SPOT", "capacity-block", "xen", "nitro", "true", "false", "10.0.17763", "10.0.20348", "10.0.26100"}
)
"""Values of well-known labels, and of fields of EC2NodeClasses, that do not follow from AWS's instance types."""
DRIVERS: Final = frozenset(
    {"ebs.csi.aws.com", "efs.csi.aws.com", "fsx.csi.aws.com", "s3.csi.aws.com", "file.csi.aws.com"}
    | {"pd.csi.storage.gke.io", "disk.csi.azure.com", "file.csi.azure.com", "secrets-store.csi.k8s.io"}
    | {"kubernetes.io/aws-ebs", "kubernetes.io/no-provisioner", "ebs.csi.eks.amazonaws.com"}
    | {"kubernetes.io/gce-pd", "kubernetes.io/azure-disk", "kubernetes.io/cinder", "kubernetes.io/vsphere-volume"}
)
"""Drivers of volumes."""
COMPONENTS: Final = frozenset(
    {"karpenter", "kubelet", "default-scheduler", "kube-proxy", "kernel-monitor", "node-controller", "kwok"}
    | {"taint-eviction-controller", "replicaset-controller", "daemonset-controller", "statefulset-controller"}
    | {"deployment-controller", "job-controller", "cronjob-controller", "controllermanager", "cluster-autoscaler"}
    | {"aws-node", "aws-node-termination-handler", "vpc-resource-controller", "cloud-node-lifecycle-controller"}
    | {"cidrAllocator", "route_controller", "resource_claim", "fargate-scheduler", "custom-vm-event-monitor"}
    | {"sigs.k8s.io/descheduler", "vpa-updater", "kueue-admission", "volcano", "yunikorn"}
    | {"attachdetach-controller", "persistentvolume-controller", "horizontal-pod-autoscaler", "endpoint-controller"}
)
"""Components that publish events."""
LEASES: Final = frozenset({LEADER_LEASE, MANAGER_LEASE})
"""Leases that a recording keeps: they show whether Karpenter and Kubernetes' own controllers act."""
GATES: Final = frozenset(
    {"SpotToSpotConsolidation", "NodeRepair", "ReservedCapacity", "NodeOverlay", "StaticCapacity", "CapacityBuffer"}
    | {"DynamicResources", "TerminateFirstDrift", "TerminateFirstRepair", "PodDeletionCostManagement", "NodeClassCEL"}
    | {"RebootForRepair"}
)
"""Karpenter's feature gates."""
GROUPS: Final = frozenset({"karpenter.sh", "karpenter.k8s.aws", "eks.amazonaws.com", "apps", "batch"})
INTEGER: Final = re.compile(r"-?\d{1,9}")
"""Longer ones may be accounts."""
INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
DURATION: Final = re.compile(r"[+-]?((\d{1,9}(\.\d{0,9})?|\.\d{1,9})(ns|us|µs|ms|s|m|h))+|0|Never")
QUANTITY: Final = re.compile(
    r"[+-]?(\d{1,15}(\.\d{0,9})?|\.\d{1,9})([eE][+-]?\d{1,2}|[numkMGTPE]i?|Ki|%)?|[+-]?(inf(inity)?|nan)", re.IGNORECASE
)
_CRON_FIELD: Final = re.compile(
    r"[\d*/,?LW#-]+|(\d|[*/,-]|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)+",
    re.IGNORECASE,
)
_CRON_NAMES: Final = frozenset({"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"})
_CRON_ZONE: Final = re.compile(r"(CRON_)?TZ=[A-Za-z0-9_+/-]+")
_LOCAL_ZONE: Final = re.compile(r"[a-z]|-[a-z]{3}-\d[a-z]|-wl\d-[a-z]{3}-wlz-\d")
"""Suffixes of AWS zone names after the region."""


@cache
def vocabulary() -> frozenset[str]:
    """Return the words of Kubernetes, Karpenter and AWS that fields such as ``reason`` and ``phase`` hold."""
    text = resources.files("karptui.sources.snapshot").joinpath("vocabulary.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


@cache
def _label_values() -> frozenset[str]:
    facts = instance_type_facts().values()
    values = {value for fact in facts for part in requirements(fact, AL2023, "", (), ()) for value in part.values}
    return _LABEL_WORDS | {value for value in values if value}


@cache
def _zone_ids() -> frozenset[str]:
    return frozenset(id_ for region in regions() if (zones := region_zones(region)) for id_ in zones.zone_ids)


def is_public_key(key: str) -> bool:
    """Return whether a key of a label, resource or the like is public."""
    return key in KEYS or _KEY.fullmatch(key) is not None


def is_public_domain(domain: str) -> bool:
    """Return whether a domain is public."""
    return any(domain == public or domain.endswith(f".{public}") for public in DOMAINS)


def is_instance_type(name: str) -> bool:
    """Return whether EC2 has an instance type."""
    return name in instance_type_facts()


def is_part_of_type(text: str) -> bool:
    """Return whether a text is part of the name of one of EC2's instance types."""
    return any(text in name for name in instance_type_facts())


def is_region(name: str) -> bool:
    """Return whether AWS has a region."""
    return name in regions()


def is_zone(name: str) -> bool:
    """Return whether a zone has the name of one of AWS's."""
    region = next(
        (region_name for region_name in (region_of(name), region_of(name[:-1])) if region_name in regions()), ""
    )
    return bool(region) and _LOCAL_ZONE.fullmatch(name.removeprefix(region)) is not None


def is_zone_id(name: str) -> bool:
    """Return whether AWS has a zone with an ID."""
    return name in _zone_ids()


def kind_of_label(key: str) -> str:
    """Return the kind of name in a well-known label's values: a zone, a type; empty if something else."""
    return _KINDS.get(KEY_ALIASES.get(key, key), "")


_KINDS: Final = {ZONE: "Zone", REGION: "Region", INSTANCE_TYPE: "InstanceType", ZONE_ID: "ZoneID", RESERVATION_ID: "ID"}


def is_public_label_value(value: str) -> bool:
    """Return whether a value of a well-known label is public."""
    return value in _label_values() or INTEGER.fullmatch(value) is not None


def is_schedule(text: str) -> bool:
    """Return whether a text is a cron schedule and nothing else."""
    fields = text.split()
    if fields and _CRON_ZONE.fullmatch(fields[0]):
        fields = fields[1:]
    is_named = len(fields) == 1 and fields[0] in _CRON_NAMES
    return is_named or (len(fields) in (5, 6) and all(map(_CRON_FIELD.fullmatch, fields)))
