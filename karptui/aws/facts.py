"""EC2's data about an instance type, from ``DescribeInstanceTypes``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec


class Gpu(msgspec.Struct, frozen=True):
    """A kind of GPU of an instance type."""

    manufacturer: str
    """As EC2 spells it: ``NVIDIA``, ``AMD``, ``Habana``."""
    name: str
    count: int
    """0 for types that hold a fraction of a GPU (g6f, gr6f)."""
    memory_mib: int
    """Memory of a single GPU."""


class NeuronDevice(msgspec.Struct, frozen=True):
    """A kind of AWS Neuron device (Inferentia, Trainium) of an instance type."""

    name: str
    count: int
    cores: int


class InferenceAccelerator(msgspec.Struct, frozen=True):
    """A kind of inference accelerator other than Neuron."""

    manufacturer: str
    name: str
    count: int


class InstanceTypeFacts(msgspec.Struct, frozen=True, cache_hash=True):
    """An EC2 instance type from ``DescribeInstanceTypes``, with limits that only the VPC tables contain."""

    name: str
    vcpus: int
    memory_mib: int
    """Advertised memory, before any overhead."""
    architectures: tuple[str, ...]
    """EC2's names in EC2's order; the first is decisive."""
    hypervisor: str
    """``nitro``, ``xen``, or empty on bare metal."""
    cpu_manufacturer: str
    clock_mhz: int
    """Sustained clock speed; 0 if unknown."""
    ebs_mbps: int | None
    """Maximum EBS bandwidth; None if the type is not EBS-optimized by default."""
    network_mbps: int | None
    """Baseline network bandwidth; None if undocumented."""
    encryption_in_transit: bool
    card_enis: tuple[int, ...]
    """Network interfaces per network card, by card index."""
    default_card: int
    """Index of the network card that has the pods' addresses."""
    ipv4_per_eni: int
    ena: bool
    """Whether the Elastic Network Adapter is supported."""
    efas: int
    """Maximum number of EFA interfaces."""
    gpus: tuple[Gpu, ...]
    neuron_devices: tuple[NeuronDevice, ...]
    inference_accelerators: tuple[InferenceAccelerator, ...]
    store_gb: int | None
    """Total size of the local disks, in decimal gigabytes; None without local disks."""
    store_nvme: bool
    """Whether the local disks are NVMe."""
    usage_classes: tuple[str, ...]
    """``on-demand``, ``spot``, ``capacity-block``."""
    placement_strategies: tuple[str, ...]
    """``cluster``, ``partition``, ``spread``."""
    nested_virtualization: bool
    nitro_enclaves: bool
    branch_enis: int
    """Branch interfaces for security groups per pod; 0 if trunking is unsupported or unknown."""
    windows_ipv4: int
    """Addresses for Windows pods; 0 if unknown."""

    @property
    def family(self) -> str:
        """The part of the name before the dot: ``m5``, ``c7i-flex``, ``u7i-12tb``."""
        return self.name.partition(".")[0]

    @property
    def size(self) -> str:
        """The part of the name after the dot: ``large``, ``metal-48xl``."""
        return self.name.partition(".")[2]


SUPPORTED_ARCHITECTURES: Final = frozenset({"x86_64", "arm64"})


def is_usable(info: Mapping[str, Any]) -> bool:
    """Return whether Karpenter uses the type: hvm, and an architecture of Kubernetes nodes.

    Rule: the filters in pkg/providers/instancetype/instancetype.go, which exclude Macs and 32-bit types.
    """
    return "hvm" in info.get("SupportedVirtualizationTypes", ()) and not SUPPORTED_ARCHITECTURES.isdisjoint(
        info["ProcessorInfo"]["SupportedArchitectures"]
    )


def facts_from_ec2(
    info: Mapping[str, Any], *, network_mbps: int | None, branch_enis: int, windows_ipv4: int
) -> InstanceTypeFacts:
    """Return the data of an ``InstanceTypeInfo``.

    Args:
        info: An entry of ``InstanceTypes`` in the EC2 API.
        network_mbps: Baseline bandwidth, which the API does not report reliably.
        branch_enis: From the VPC resource controller's limits; not in the API.
        windows_ipv4: From the same limits.
    """
    network, processor, ebs = info["NetworkInfo"], info["ProcessorInfo"], info.get("EbsInfo", {})
    store = info.get("InstanceStorageInfo", {})
    optimised = ebs.get("EbsOptimizedInfo") if ebs.get("EbsOptimizedSupport") == "default" else None
    return InstanceTypeFacts(
        name=info["InstanceType"],
        vcpus=info["VCpuInfo"]["DefaultVCpus"],
        memory_mib=info["MemoryInfo"]["SizeInMiB"],
        architectures=tuple(processor["SupportedArchitectures"]),
        hypervisor=info.get("Hypervisor", ""),
        cpu_manufacturer=processor.get("Manufacturer", ""),
        clock_mhz=int(processor.get("SustainedClockSpeedInGhz", 0) * 1000 + 0.5),
        ebs_mbps=optimised["MaximumBandwidthInMbps"] if optimised else None,
        network_mbps=network_mbps,
        encryption_in_transit=bool(network.get("EncryptionInTransitSupported")),
        card_enis=_card_enis(network),
        default_card=network.get("DefaultNetworkCardIndex", 0),
        ipv4_per_eni=network["Ipv4AddressesPerInterface"],
        ena=network.get("EnaSupport") != "unsupported",
        efas=network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
        gpus=tuple(
            Gpu(gpu["Manufacturer"], gpu["Name"], gpu["Count"], gpu["MemoryInfo"]["SizeInMiB"])
            for gpu in info.get("GpuInfo", {}).get("Gpus", ())
        ),
        neuron_devices=tuple(
            NeuronDevice(device["Name"], device["Count"], device["CoreInfo"]["Count"])
            for device in info.get("NeuronInfo", {}).get("NeuronDevices", ())
        ),
        inference_accelerators=tuple(
            InferenceAccelerator(accelerator["Manufacturer"], accelerator["Name"], accelerator["Count"])
            for accelerator in info.get("InferenceAcceleratorInfo", {}).get("Accelerators", ())
        ),
        store_gb=store.get("TotalSizeInGB"),
        store_nvme="TotalSizeInGB" in store and store.get("NvmeSupport") != "unsupported",
        usage_classes=tuple(info.get("SupportedUsageClasses", ())),
        placement_strategies=tuple(info.get("PlacementGroupInfo", {}).get("SupportedStrategies", ())),
        nested_virtualization="nested-virtualization" in processor.get("SupportedFeatures", ()),
        nitro_enclaves=info.get("NitroEnclavesSupport") == "supported",
        branch_enis=branch_enis,
        windows_ipv4=windows_ipv4,
    )


def _card_enis(network: Mapping[str, Any]) -> tuple[int, ...]:
    cards: Sequence[Mapping[str, Any]] = sorted(network["NetworkCards"], key=lambda card: int(card["NetworkCardIndex"]))
    return tuple(card["MaximumNetworkInterfaces"] for card in cards)
