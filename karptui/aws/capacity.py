"""Capacity of a node before reservations: memory, ephemeral storage, accelerators, pod slots.

Source: ``computeCapacity`` and ``ephemeralStorage`` in pkg/providers/instancetype/types.go in Karpenter's AWS provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.kubelet import max_pods
from karptui.aws.labels import architecture
from karptui.aws.nodeclass import GIB, BlockDevice, Ec2NodeClass, NodeClassError
from karptui.aws.overhead import MIB, contiguous_memory_mib, vm_overhead_mib
from karptui.karpenter.nodeclass import EC2_KIND
from karptui.karpenter.settings import Settings
from karptui.kube.quantity import ZERO, Quantity, QuantityError, QuantityFormat, of_units, parse_quantity
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS


def estimated_memory_mib(facts: InstanceTypeFacts, overhead_percent: float) -> int:
    """Return the memory capacity that Karpenter assumes until a node of the type has reported its own."""
    return facts.memory_mib - contiguous_memory_mib(facts) - vm_overhead_mib(facts, overhead_percent)


GIGABYTE: Final = 10**9
UNKNOWN_STORAGE_BYTES: Final = 20 * GIB
"""Assumed if the disk size is unknown."""


def ephemeral_storage(facts: InstanceTypeFacts, nodeclass: Ec2NodeClass) -> Quantity:
    """Return the size of the file system for pods' ephemeral storage.

    Raises:
        NodeClassError: A relevant mapping has no ``ebs`` or ``deviceName``, which crashes Karpenter.
    """
    if nodeclass.uses_raid0 and facts.store_gb is not None:
        return of_units(facts.store_gb * GIGABYTE)
    if (size := _volume_size(nodeclass)) is not None:
        return size
    family = nodeclass.family
    default = UNKNOWN_STORAGE_BYTES if family.data_device is None else family.default_storage_bytes
    return of_units(default, QuantityFormat.BINARY_SI)


def _volume_size(nodeclass: Ec2NodeClass) -> Quantity | None:
    """Return the first size of the mappings that Karpenter checks, in its order; None without any."""
    devices = nodeclass.block_devices
    if not devices:
        return None
    root = next((index for index, device in enumerate(devices) if device.root_volume), None)
    if root is not None and (size := _size(nodeclass, root)) is not None:
        return size
    if nodeclass.family.data_device is None:
        return _size(nodeclass, len(devices) - 1)
    data = _data_device(nodeclass, devices)
    return None if data is None else _size(nodeclass, data)


def _data_device(nodeclass: Ec2NodeClass, devices: tuple[BlockDevice, ...]) -> int | None:
    """Return the index of the first mapping of the family's data device; later ones are ignored."""
    for index, device in enumerate(devices):
        if device.device_name is None:
            raise NodeClassError(
                f"{EC2_KIND} {nodeclass.name}: spec.blockDeviceMappings[{index}] has no deviceName; "
                "Karpenter crashes on it"
            )
        if device.device_name == nodeclass.family.data_device:
            return index
    return None


def _size(nodeclass: Ec2NodeClass, index: int) -> Quantity | None:
    field = f"{EC2_KIND} {nodeclass.name}: spec.blockDeviceMappings[{index}]"
    ebs = nodeclass.block_devices[index].ebs
    if ebs is None:
        raise NodeClassError(f"{field} has no ebs; Karpenter crashes on it")
    if ebs.volume_size is None:
        return None
    try:
        return parse_quantity(str(ebs.volume_size))
    except QuantityError as error:
        raise NodeClassError(f"{field}.ebs.volumeSize: {error}") from None


POD_ENI: Final = "vpc.amazonaws.com/pod-eni"
PRIVATE_IPV4: Final = "vpc.amazonaws.com/PrivateIPv4Address"
EFA: Final = "vpc.amazonaws.com/efa"
NVIDIA_GPU: Final = "nvidia.com/gpu"
AMD_GPU: Final = "amd.com/gpu"
GAUDI: Final = "habana.ai/gaudi"
NEURON: Final = "aws.amazon.com/neuron"
NEURON_CORE: Final = "aws.amazon.com/neuroncore"

_GPU_RESOURCES: Final = ((NVIDIA_GPU, "NVIDIA"), (AMD_GPU, "AMD"), (GAUDI, "Habana"))


def capacity(facts: InstanceTypeFacts, nodeclass: Ec2NodeClass, settings: Settings) -> dict[str, Quantity]:
    """Return a node's capacity with estimated memory; missing resources are listed as zero."""
    amounts = dict(_of_type(facts))
    amounts[MEMORY] = estimated_memory(facts, settings)
    amounts[EPHEMERAL_STORAGE] = ephemeral_storage(facts, nodeclass)
    amounts[PODS] = of_units(max_pods(facts, nodeclass, settings.reserved_enis))
    amounts[EFA] = of_units(_efas(facts, nodeclass))
    if nodeclass.family.is_windows and architecture(facts) == "amd64":
        amounts[PRIVATE_IPV4] = of_units(facts.windows_ipv4)
    return amounts


@lru_cache(maxsize=4096)
def _of_type(facts: InstanceTypeFacts) -> Mapping[str, Quantity]:
    """Return the capacity that depends only on the type, with placeholders for the rest."""
    return {
        CPU: of_units(facts.vcpus),
        MEMORY: ZERO,
        EPHEMERAL_STORAGE: ZERO,
        PODS: ZERO,
        POD_ENI: of_units(facts.branch_enis),
        NEURON: of_units(sum(device.count for device in facts.neuron_devices)),
        NEURON_CORE: of_units(_neuron_cores(facts)),
        EFA: ZERO,
        **{
            resource: of_units(sum(gpu.count for gpu in facts.gpus if gpu.manufacturer == manufacturer))
            for resource, manufacturer in _GPU_RESOURCES
        },
    }


def estimated_memory(facts: InstanceTypeFacts, settings: Settings) -> Quantity:
    """Return memory after VM_MEMORY_OVERHEAD_PERCENT, always whole MiB."""
    return of_units(estimated_memory_mib(facts, settings.vm_memory_overhead_percent) * MIB, QuantityFormat.BINARY_SI)


def _neuron_cores(facts: InstanceTypeFacts) -> int:
    """Return the cores of the first kind of Neuron device; others are not counted, as in Karpenter."""
    return next((device.count * device.cores for device in facts.neuron_devices), 0)


def _efas(facts: InstanceTypeFacts, nodeclass: Ec2NodeClass) -> int:
    """Return the EFA interfaces listed in the NodeClass (even if it lists none), otherwise all of the type."""
    return facts.efas if nodeclass.spec.network_interfaces is None else nodeclass.efa_only_count
