"""What EC2NodeClasses make of the room on a node: pods, memory, disks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import pool_ref, share
from karptui.aws.labels import LOCAL_NVME_GB
from karptui.aws.lint import reserved_more_than_node
from karptui.aws.nodeclass import BlockDevice, Ec2NodeClass
from karptui.aws.user_data import user_data_settings
from karptui.karpenter.nodeclass import EC2_KIND
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY, memory_bytes, pod_count
from karptui.kube.units import counted, mebibytes_text, verb
from karptui.provisioning.catalogue import Catalogue, bits
from karptui.whatif.edits import ObjectRef


@rule(
    "nodeclass-eviction-soft",
    title="evictionSoft does not count",
    what="An EC2NodeClass sets spec.kubelet.evictionSoft.",
    why="Since version 1.9 only hard thresholds reduce the memory and storage that Karpenter plans with; some pages of "
    "the documentation still say otherwise. Pods are packed up to the hard threshold and may be evicted by the soft "
    "one.",
    source="pkg/providers/instancetype/types.go of the AWS provider",
    remedy="To reserve room on nodes, use systemReserved or evictionHard.",
)
def _eviction_soft(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        soft = nodeclass.kubelet.eviction_soft
        if not soft:
            continue
        text = ", ".join(f"{signal} {value}" for signal, value in sorted(soft.items()))
        yield Finding(
            severity=Severity.INFO,
            objects=(ObjectRef(EC2_KIND, nodeclass.name), *map(pool_ref, context.pools_with(nodeclass.name))),
            fact=f"{EC2_KIND} {nodeclass.name} sets evictionSoft ({text}): the kubelet applies it, but Karpenter "
            "subtracts only evictionHard from a node's allocatable.",
        )


_BASE_MIB: Final = 255
_PER_POD_MIB: Final = 11


@rule(
    "nodeclass-max-pods-memory",
    title="maxPods and the memory reserve",
    what="An EC2NodeClass of AL2, AL2023 or Custom sets maxPods without kubeReserved memory.",
    why="kubeReserved memory is 11 MiB per pod plus 255 MiB. On AL2, AL2023 and Custom the number of pods comes from "
    "the type's network interfaces, regardless of maxPods; on Bottlerocket and Windows maxPods counts.",
    source="pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Set spec.kubelet.kubeReserved memory yourself if the difference matters.",
)
def _max_pods_memory(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        limit, kubelet = nodeclass.kubelet.max_pods, nodeclass.kubelet
        reserves_itself = "memory" in (kubelet.kube_reserved or {})
        if not isinstance(limit, int) or reserves_itself or not nodeclass.family.reserves_for_eni_pods:
            continue
        pools = context.pools_with(nodeclass.name)
        by_limit_mib = _BASE_MIB + _PER_POD_MIB * limit
        most, name = max(
            (
                (abs((memory_bytes(instance_type.overhead.kube_reserved) >> 20) - by_limit_mib), instance_type.name)
                for pool in pools
                for i in bits(context.catalogue_of(pool).compatible(context.requirements_of(pool)))
                if pod_count((instance_type := context.catalogue_of(pool).types[i]).capacity) == limit
            ),
            default=(0, ""),
        )
        if not most:
            continue
        yield Finding(
            severity=Severity.INFO,
            objects=(ObjectRef(EC2_KIND, nodeclass.name), *map(pool_ref, pools)),
            fact=f"{EC2_KIND} {nodeclass.name} sets maxPods {limit}, but the kubelet's memory reservation follows the "
            f"pod limit of a type's network interfaces: on {name} it differs by {mebibytes_text(most << 20)} from "
            f"{by_limit_mib:,}Mi, the reservation for {limit} pods.",
        )


@rule(
    "nodeclass-raid0-size",
    title="RAID0 changes what storage counts",
    what="An EC2NodeClass has instanceStorePolicy RAID0, and its NodePools allow types without local disks.",
    why="With RAID0 a type's ephemeral storage is the size of its local disks, in decimal gigabytes, and the EBS size "
    "is ignored. Types without local disks silently keep the EBS size, which is often much smaller.",
    source="ephemeralStorage in pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Require instance-local-nvme (Gt 0) in the NodePool where pods need the local disks.",
)
def _raid0_size(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        pools = context.pools_with(nodeclass.name)
        if not nodeclass.uses_raid0 or not pools:
            continue
        without, total = 0, 0
        for pool in pools:
            offered = frozenset(context.offered_types(pool))
            total += len(offered)
            without += sum(
                instance_type.name in offered
                for instance_type in context.catalogue_of(pool).types
                if not any(need.key == LOCAL_NVME_GB and need.operator == "In" for need in instance_type.requirements)
            )
        if not without:
            continue
        yield Finding(
            severity=Severity.INFO,
            objects=(ObjectRef(EC2_KIND, nodeclass.name), *map(pool_ref, pools)),
            fact=f"{EC2_KIND} {nodeclass.name} puts pods' storage on local disks (RAID0), and "
            f"{share(without, total, 'available type')} of {counted(len(pools), 'NodePool')} "
            f"{verb(without, 'has', 'have')} none: there the EBS volume's size counts, elsewhere only that of the "
            "disks.",
        )


@rule(
    "nodeclass-reserved-node",
    title="reservations use up the whole node",
    what="kubeReserved, systemReserved and eviction thresholds leave no cpu, memory or ephemeral storage on types that "
    "a NodePool allows.",
    why="Reservations are amounts, the same on small types and on large ones. A type with a negative remainder is "
    "unusable; Karpenter still plans with a type that has nothing left, but no pod fits.",
    source="pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Lower the reservations, or keep them in an EC2NodeClass that only large types use.",
)
def _reserved_node(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodeclass = context.ec2_nodeclass_of(pool)
        if nodeclass is None:
            continue
        catalogue = context.catalogue_of(pool)
        allowed = catalogue.compatible(context.requirements_of(pool))
        if not _exhausted(catalogue, allowed):
            continue
        types = [catalogue.types[i] for i in bits(allowed)]
        for finding in reserved_more_than_node(nodeclass.name, types):
            yield Finding(
                severity=Severity(str(finding.severity)),
                objects=(ObjectRef(EC2_KIND, nodeclass.name), pool_ref(pool)),
                fact=f"In {pool.name} {finding.fact}",
                remedy=finding.remedy,
            )


def _exhausted(catalogue: Catalogue, allowed: int) -> int:
    """Return the types with nothing left of something that can be reserved, or without it: cheap to tell."""
    result = 0
    for resource in (CPU, MEMORY, EPHEMERAL_STORAGE):
        if (ladder := catalogue.allocatable.get(resource)) is not None:
            result |= allowed & ~ladder.at_least(1)
    return result


@rule(
    "nodeclass-userdata-kubelet",
    title="kubelet settings in userData",
    what="userData of an EC2NodeClass sets maxPods, podsPerCore, reservations or eviction thresholds that are not in "
    "spec.kubelet, or differ from it.",
    why="Karpenter never reads userData. It plans with spec.kubelet and the limits of the type's network interfaces; "
    "on most families it overwrites maxPods, while reservations and eviction thresholds from userData stay on the "
    "node, which then offers less, or more, than was planned.",
    source="pkg/providers/amifamily/bootstrap of the AWS provider",
    remedy="Move the settings from userData to spec.kubelet.",
)
def _userdata_kubelet(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        users = tuple(map(pool_ref, context.pools_with(nodeclass.name)))
        for setting in user_data_settings(nodeclass):
            yield Finding(
                severity=Severity(str(setting.severity)),
                objects=(ObjectRef(EC2_KIND, nodeclass.name), *users),
                fact=setting.fact,
                remedy=setting.remedy,
            )


@rule(
    "nodeclass-volume-size",
    title="the disk size is unknown",
    what="An EC2NodeClass maps block devices, but the device for pod storage has no volumeSize or is not mapped (on "
    "Bottlerocket that is /dev/xvdb, not the root device).",
    why="Karpenter takes pods' ephemeral storage from the volumeSize of the data device and never looks at snapshots. "
    "Without a size it plans with 20Gi, 50Gi on Windows, however large the disk is.",
    source="ephemeralStorage in pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Set volumeSize on the data device, or mark the right one with rootVolume.",
)
def _volume_size(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        if problem := _size_problem(nodeclass):
            size = nodeclass.family.default_storage_bytes >> 30
            yield Finding(
                severity=Severity.WARNING,
                objects=(ObjectRef(EC2_KIND, nodeclass.name), *map(pool_ref, context.pools_with(nodeclass.name))),
                fact=f"{EC2_KIND} {nodeclass.name} ({nodeclass.family.name}) {problem}: Karpenter plans with {size}Gi "
                "of ephemeral storage for pods.",
            )


def _size_problem(nodeclass: Ec2NodeClass) -> str:
    devices = nodeclass.block_devices
    if not devices or nodeclass.uses_raid0:
        return ""
    device, named = nodeclass.family.data_device, [b for b in devices if b.root_volume][:1]
    named += [devices[-1]] if device is None else [b for b in devices if b.device_name == device][:1]
    if not named:
        return f"maps {_names(devices)}, and pods' storage is on {device}, which it does not map"
    if any(block_device.ebs is None or block_device.ebs.volume_size is not None for block_device in named):
        return ""
    return f"gives {_names(tuple(named))} no volumeSize, and the size of a snapshot does not count"


def _names(devices: tuple[BlockDevice, ...]) -> str:
    return ", ".join(device.device_name or "a device without a name" for device in devices)
