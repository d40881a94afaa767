"""What EC2 says about an instance type: the facts that Karpenter's model of a node is computed from."""

from __future__ import annotations

import msgspec


class Gpu(msgspec.Struct, frozen=True):
    """One kind of GPU of an instance type."""

    manufacturer: str
    """As EC2 spells it: ``NVIDIA``, ``AMD``, ``Habana``."""
    name: str
    count: int
    """0 for types that hold a fraction of a GPU (g6f, gr6f)."""
    memory_mib: int
    """Of one GPU."""


class NeuronDevice(msgspec.Struct, frozen=True):
    """One kind of AWS Neuron device (Inferentia, Trainium) of an instance type."""

    name: str
    count: int
    cores: int
    """Of one device."""


class InferenceAccelerator(msgspec.Struct, frozen=True):
    """One kind of inference accelerator other than Neuron."""

    manufacturer: str
    name: str
    count: int


class InstanceTypeFacts(msgspec.Struct, frozen=True, cache_hash=True):
    """One EC2 instance type, as ``DescribeInstanceTypes`` reports it, with the limits that only the VPC tables know."""

    name: str
    vcpus: int
    memory_mib: int
    """Advertised: before any overhead."""
    architectures: tuple[str, ...]
    """EC2's names in EC2's order: the first one decides."""
    hypervisor: str
    """``nitro``, ``xen``, or empty on bare metal."""
    cpu_manufacturer: str
    clock_mhz: int
    """Sustained clock speed; 0 where EC2 gives none."""
    ebs_mbps: int | None
    """Largest EBS bandwidth; None where the type is not EBS-optimised by default."""
    network_mbps: int | None
    """Baseline network bandwidth; None where AWS documents none."""
    encryption_in_transit: bool
    card_enis: tuple[int, ...]
    """Network interfaces per network card, by card index."""
    default_card: int
    """Index of the card that carries the pods' addresses."""
    ipv4_per_eni: int
    ena: bool
    """Whether the Elastic Network Adapter works."""
    efas: int
    """EFA interfaces, at most."""
    gpus: tuple[Gpu, ...]
    neuron_devices: tuple[NeuronDevice, ...]
    inference_accelerators: tuple[InferenceAccelerator, ...]
    store_gb: int | None
    """Size of all local disks together, in decimal gigabytes; None without local disks."""
    store_nvme: bool
    """Whether the local disks speak NVMe."""
    usage_classes: tuple[str, ...]
    """``on-demand``, ``spot``, ``capacity-block``."""
    placement_strategies: tuple[str, ...]
    """``cluster``, ``partition``, ``spread``."""
    nested_virtualization: bool
    branch_enis: int
    """Branch interfaces for security groups per pod; 0 where trunking does not work or is not known to."""
    windows_ipv4: int
    """Addresses for Windows pods; 0 where the limit is not known."""

    @property
    def family(self) -> str:
        """The part of the name before the dot: ``m5``, ``c7i-flex``, ``u7i-12tb``."""
        return self.name.partition(".")[0]

    @property
    def size(self) -> str:
        """The part of the name after the dot: ``large``, ``metal-48xl``."""
        return self.name.partition(".")[2]
