"""Everything a node of a type has: the capacity that Karpenter plans with.

Source: ``computeCapacity`` in pkg/providers/instancetype/types.go of Karpenter's AWS provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.labels import architecture
from karptui.aws.memory import MIB, estimated_memory_mib
from karptui.aws.nodeclass import Ec2NodeClass
from karptui.aws.pods import max_pods
from karptui.aws.storage import ephemeral_storage
from karptui.karpenter.settings import Settings
from karptui.kube.quantity import ZERO, Quantity, QuantityFormat, of_units
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS

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
    """Return the capacity of a node, memory by the estimate; resources the type lacks are listed as zero."""
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
    """Return what no NodeClass and no setting changes, with a place for the rest."""
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
    """Return the cores of the first kind of device; further kinds are not counted."""
    return next((device.count * device.cores for device in facts.neuron_devices), 0)


def _efas(facts: InstanceTypeFacts, nodeclass: Ec2NodeClass) -> int:
    """Return the EFA interfaces: those the NodeClass lists, even if it lists none, else all the type has."""
    return facts.efas if nodeclass.spec.network_interfaces is None else nodeclass.efa_only_count
