"""Labels of a type's nodes, as requirements: every key is defined for every type.

Source: ``computeRequirements`` in pkg/providers/instancetype/types.go in Karpenter's AWS provider.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.nodeclass import AmiFamily, CapacityReservation, SubnetZone
from karptui.karpenter.labels import (
    ARCH,
    AWS_GROUP,
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    ON_DEMAND,
    OS,
    REGION,
    RESERVED,
    SPOT,
    WINDOWS_BUILD,
    ZONE,
)
from karptui.kube.selectors import NodeSelectorRequirement

ZONE_ID: Final = "topology.k8s.aws/zone-id"
RESERVATION_ID: Final = f"{AWS_GROUP}/capacity-reservation-id"
RESERVATION_TYPE: Final = f"{AWS_GROUP}/capacity-reservation-type"
RESERVATION_INTERRUPTIBLE: Final = f"{AWS_GROUP}/capacity-reservation-interruptible"
PLACEMENT_GROUP_ID: Final = f"{AWS_GROUP}/placement-group-id"
PLACEMENT_GROUP_PARTITION: Final = f"{AWS_GROUP}/placement-group-partition"
TENANCY: Final = f"{AWS_GROUP}/instance-tenancy"
CATEGORY: Final = f"{AWS_GROUP}/instance-category"
FAMILY: Final = f"{AWS_GROUP}/instance-family"
GENERATION: Final = f"{AWS_GROUP}/instance-generation"
SIZE: Final = f"{AWS_GROUP}/instance-size"
FLEX: Final = f"{AWS_GROUP}/instance-capability-flex"
CPU: Final = f"{AWS_GROUP}/instance-cpu"
CPU_MANUFACTURER: Final = f"{AWS_GROUP}/instance-cpu-manufacturer"
CPU_CLOCK_MHZ: Final = f"{AWS_GROUP}/instance-cpu-sustained-clock-speed-mhz"
MEMORY_MIB: Final = f"{AWS_GROUP}/instance-memory"
EBS_MBPS: Final = f"{AWS_GROUP}/instance-ebs-bandwidth"
NETWORK_MBPS: Final = f"{AWS_GROUP}/instance-network-bandwidth"
HYPERVISOR: Final = f"{AWS_GROUP}/instance-hypervisor"
ENCRYPTION: Final = f"{AWS_GROUP}/instance-encryption-in-transit-supported"
LOCAL_NVME_GB: Final = f"{AWS_GROUP}/instance-local-nvme"
GPU_NAME: Final = f"{AWS_GROUP}/instance-gpu-name"
GPU_MANUFACTURER: Final = f"{AWS_GROUP}/instance-gpu-manufacturer"
GPU_COUNT: Final = f"{AWS_GROUP}/instance-gpu-count"
GPU_MEMORY_MIB: Final = f"{AWS_GROUP}/instance-gpu-memory"
ACCELERATOR_NAME: Final = f"{AWS_GROUP}/instance-accelerator-name"
ACCELERATOR_MANUFACTURER: Final = f"{AWS_GROUP}/instance-accelerator-manufacturer"
ACCELERATOR_COUNT: Final = f"{AWS_GROUP}/instance-accelerator-count"

_KUBE_ARCHITECTURE: Final = {"x86_64": "amd64", "arm64": "arm64"}
_SCHEME: Final = re.compile(r"(^[a-z]+)(?:-[0-9]+tb)?([0-9]+).*\.")


def architecture(facts: InstanceTypeFacts) -> str:
    """Return the Kubernetes name of the first architecture that has one."""
    names = (_KUBE_ARCHITECTURE[name] for name in facts.architectures if name in _KUBE_ARCHITECTURE)
    return next(names, f"[{' '.join(facts.architectures)}]")


def has_value(key: str, *values: str) -> NodeSelectorRequirement:
    """Return ``key In values``; without values DoesNotExist, as Karpenter reads an empty list."""
    return NodeSelectorRequirement(key, "In" if values else "DoesNotExist", tuple(sorted(set(values))))


def requirements(
    facts: InstanceTypeFacts,
    family: AmiFamily,
    region: str,
    zones: Iterable[SubnetZone],
    reservations: tuple[CapacityReservation, ...],
) -> tuple[NodeSelectorRequirement, ...]:
    """Return the requirements of a type in a NodeClass.

    Args:
        zones: Zones that have a subnet and offer the type.
        reservations: Capacity reservations of this type, in any zone and state.
    """
    return (
        *_type_requirements(facts),
        *_system_requirements(architecture(facts), family),
        *_place_requirements(region, tuple(zones)),
        *_purchase_requirements(facts.usage_classes, reservations),
    )


@lru_cache(maxsize=4096)
def _type_requirements(facts: InstanceTypeFacts) -> tuple[NodeSelectorRequirement, ...]:
    scheme = _SCHEME.search(facts.name)
    store = facts.store_gb if facts.store_nvme else None
    return (
        has_value(INSTANCE_TYPE, facts.name),
        has_value(ARCH, architecture(facts)),
        has_value(CATEGORY, *([scheme[1]] if scheme else [])),
        has_value(GENERATION, *([scheme[2]] if scheme else [])),
        has_value(FAMILY, facts.family),
        has_value(SIZE, facts.size),
        has_value(FLEX, "true" if "-flex" in facts.family else "false"),
        has_value(CPU, str(facts.vcpus)),
        has_value(CPU_MANUFACTURER, _kebab(facts.cpu_manufacturer)),
        has_value(CPU_CLOCK_MHZ, str(facts.clock_mhz)),
        has_value(MEMORY_MIB, str(facts.memory_mib)),
        _optional(EBS_MBPS, facts.ebs_mbps),
        _optional(NETWORK_MBPS, facts.network_mbps),
        _optional(LOCAL_NVME_GB, store),
        has_value(HYPERVISOR, facts.hypervisor),
        has_value(ENCRYPTION, "true" if facts.encryption_in_transit else "false"),
        has_value(TENANCY, "default", "dedicated"),
        *_gpu_requirements(facts),
        *_accelerator_requirements(facts),
    )


def _gpu_requirements(facts: InstanceTypeFacts) -> tuple[NodeSelectorRequirement, ...]:
    """Return the GPU labels; only types with a single kind of GPU have values."""
    keys = (GPU_NAME, GPU_MANUFACTURER, GPU_COUNT, GPU_MEMORY_MIB)
    if len(facts.gpus) != 1:
        return tuple(has_value(key) for key in keys)
    gpu = facts.gpus[0]
    values = (_kebab(gpu.name), _kebab(gpu.manufacturer), str(gpu.count), str(gpu.memory_mib))
    return tuple(has_value(key, value) for key, value in zip(keys, values, strict=True))


def _accelerator_requirements(facts: InstanceTypeFacts) -> tuple[NodeSelectorRequirement, ...]:
    """Return the accelerator labels of Neuron devices or other inference accelerators, if there is a single kind."""
    keys = (ACCELERATOR_NAME, ACCELERATOR_MANUFACTURER, ACCELERATOR_COUNT)
    if len(facts.neuron_devices) == 1:
        device = facts.neuron_devices[0]
        values = (_kebab(device.name), "aws", str(device.count))
    elif len(facts.inference_accelerators) == 1 and not facts.neuron_devices:
        accelerator = facts.inference_accelerators[0]
        values = (_kebab(accelerator.name), _kebab(accelerator.manufacturer), str(accelerator.count))
    else:
        return tuple(has_value(key) for key in keys)
    return tuple(has_value(key, value) for key, value in zip(keys, values, strict=True))


@lru_cache(maxsize=64)
def _system_requirements(arch: str, family: AmiFamily) -> tuple[NodeSelectorRequirement, ...]:
    """Return operating system and Windows build; arm64 has no operating system in a Windows family."""
    if family.windows_build is None:
        return has_value(OS, "linux"), has_value(WINDOWS_BUILD)
    return has_value(OS, *(["windows"] if arch == "amd64" else [])), has_value(WINDOWS_BUILD, family.windows_build)


@lru_cache(maxsize=1024)
def _place_requirements(region: str, zones: tuple[SubnetZone, ...]) -> tuple[NodeSelectorRequirement, ...]:
    """Return region, zones and zone IDs; without a common zone the zone ID key is omitted."""
    place = (has_value(REGION, region), has_value(ZONE, *(zone.name for zone in zones)))
    return (*place, has_value(ZONE_ID, *(zone.zone_id for zone in zones))) if zones else place


@lru_cache(maxsize=1024)
def _purchase_requirements(
    usage_classes: tuple[str, ...], reservations: tuple[CapacityReservation, ...]
) -> tuple[NodeSelectorRequirement, ...]:
    """Return capacity types and reservations; any reservation of the type allows ``reserved``."""
    capacity_types = [usage for usage in usage_classes if usage in (ON_DEMAND, SPOT)]
    if reservations:
        capacity_types.append(RESERVED)
    return (
        has_value(CAPACITY_TYPE, *capacity_types),
        has_value(RESERVATION_ID, *(reservation.id for reservation in reservations)),
        has_value(RESERVATION_TYPE, *(reservation.reservation_type for reservation in reservations)),
        has_value(
            RESERVATION_INTERRUPTIBLE,
            *("true" if reservation.interruptible else "false" for reservation in reservations),
        ),
    )


def _optional(key: str, value: int | None) -> NodeSelectorRequirement:
    return has_value(key) if value is None else has_value(key, str(value))


def _kebab(text: str) -> str:
    return text.replace(" ", "-").lower()
