"""Reading EC2's ``DescribeInstanceTypes`` answers as facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from karptui.aws.facts import Gpu, InferenceAccelerator, InstanceTypeFacts, NeuronDevice

SUPPORTED_ARCHITECTURES: Final = frozenset({"x86_64", "arm64"})


def is_usable(info: Mapping[str, Any]) -> bool:
    """Tell whether Karpenter asks EC2 for the type at all: hvm, and an architecture that Kubernetes nodes run on.

    Rule: the filters in pkg/providers/instancetype/instancetype.go; Macs and 32-bit types never exist for Karpenter.
    """
    return "hvm" in info.get("SupportedVirtualizationTypes", ()) and not SUPPORTED_ARCHITECTURES.isdisjoint(
        info["ProcessorInfo"]["SupportedArchitectures"]
    )


def facts_from_ec2(
    info: Mapping[str, Any], *, network_mbps: int | None, branch_enis: int, windows_ipv4: int
) -> InstanceTypeFacts:
    """Return the facts of one ``InstanceTypeInfo``.

    Args:
        info: One entry of ``InstanceTypes``, in the spelling of the EC2 API.
        network_mbps: Baseline bandwidth, which the API does not state reliably.
        branch_enis: From the VPC resource controller's limits, which the API does not state.
        windows_ipv4: Likewise.
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
        gpus=_gpus(info),
        neuron_devices=_neuron_devices(info),
        inference_accelerators=_inference_accelerators(info),
        store_gb=store.get("TotalSizeInGB"),
        store_nvme="TotalSizeInGB" in store and store.get("NvmeSupport") != "unsupported",
        usage_classes=tuple(info.get("SupportedUsageClasses", ())),
        placement_strategies=tuple(info.get("PlacementGroupInfo", {}).get("SupportedStrategies", ())),
        nested_virtualization="nested-virtualization" in processor.get("SupportedFeatures", ()),
        branch_enis=branch_enis,
        windows_ipv4=windows_ipv4,
    )


def _card_enis(network: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the interfaces of each card, by card index."""
    cards: Sequence[Mapping[str, Any]] = sorted(network["NetworkCards"], key=lambda card: int(card["NetworkCardIndex"]))
    return tuple(card["MaximumNetworkInterfaces"] for card in cards)


def _gpus(info: Mapping[str, Any]) -> tuple[Gpu, ...]:
    return tuple(
        Gpu(gpu["Manufacturer"], gpu["Name"], gpu["Count"], gpu["MemoryInfo"]["SizeInMiB"])
        for gpu in info.get("GpuInfo", {}).get("Gpus", ())
    )


def _neuron_devices(info: Mapping[str, Any]) -> tuple[NeuronDevice, ...]:
    return tuple(
        NeuronDevice(device["Name"], device["Count"], device["CoreInfo"]["Count"])
        for device in info.get("NeuronInfo", {}).get("NeuronDevices", ())
    )


def _inference_accelerators(info: Mapping[str, Any]) -> tuple[InferenceAccelerator, ...]:
    return tuple(
        InferenceAccelerator(accelerator["Manufacturer"], accelerator["Name"], accelerator["Count"])
        for accelerator in info.get("InferenceAcceleratorInfo", {}).get("Accelerators", ())
    )
